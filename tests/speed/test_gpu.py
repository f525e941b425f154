"""The measurement for a GPU runs from beginning to end on the processor, in a toy size."""

import pytest

from tests.speed.gpu import SIZES, rows

pytestmark = pytest.mark.deep


def test_the_measurement_runs_on_the_processor() -> None:
    found = {row.what: row.measured for row in rows("cpu", "toy")}
    assert len(found) == 5
    assert all(float(measured.split()[0]) > 0 for measured in found.values())
    (apart,) = (measured for measured in found.values() if "apart at most" in measured)
    assert float(apart.split("; ")[1].split()[0]) < 1e-3
    (answers,) = (measured for what, measured in found.items() if "beside a loop of generate" in what)
    assert answers.endswith("4 of 4 equal")


@pytest.mark.parametrize("name", SIZES["full"].encoders)
def test_the_architectures_are_in_open_clip(name: str) -> None:
    settings, images, _ = SIZES["full"].encoders[name]
    assert settings()["vision_cfg"]["image_size"] in (224, 384)
    assert images >= 2_000
