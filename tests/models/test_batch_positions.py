"""On a CPU, a row of a packaged model depends on the batch's size alone: not on its place, nor on the other images."""

from typing import Any

import numpy as np
import pytest

from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.deep]
SIZE, TRIALS = 16, 2


@pytest.mark.parametrize("spec", ["timm[]", "open_clip[toybox-clip]", "conse[]"])
def test_a_row_has_the_same_bytes_at_every_place_and_beside_any_images(spec: str, exact: Any) -> None:
    model = create_model(parse_spec(spec), device="cpu", offline=True)
    ask = getattr(model, "encode_images", None) or model.classify
    images = [model.prepare(image) for image in exact.images[: 2 * SIZE]]
    found: dict[int, bytes] = {}
    for trial in range(TRIALS):
        order = np.random.default_rng(trial).permutation(len(images))[: SIZE - trial].tolist()
        order += order[-1:] * trial  # a short batch repeats its last image
        for index, row in zip(order, np.asarray(ask([images[index] for index in order])), strict=True):
            assert found.setdefault(index, row.tobytes()) == row.tobytes()
    assert len(found) > SIZE
