"""`--eye-blank`: the same cases, about a blank instead of every image."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.reports.runs import load

pytestmark = pytest.mark.deep


def test_models_see_the_blank_alone_and_the_records_are_of_the_images(world: Any) -> None:
    world.passes("--eye-out=seen")
    world.passes("--eye-out=blank", "--eye-blank=grey")
    seen, blank = (
        {case.record.protocol: case for case in load([Path(world.folder, name, "latest")]).cases}
        for name in ("seen", "blank")
    )
    assert {*seen} == {*blank}
    for protocol, case in blank.items():
        assert case.record.variant["blank"] == "grey"
        assert "blank" not in seen[protocol].record.variant
        assert case.record.data.fingerprint == seen[protocol].record.data.fingerprint
        assert case.samples()["key"].tolist() == seen[protocol].samples()["key"].tolist()
        assert case.samples()["prediction"].nunique() == 1  # every image is the same one
        assert seen[protocol].samples()["prediction"].nunique() > 1


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--eye-blank=white",), "--eye-blank: 'white' is no blank. Expected black, grey, or noise1, noise2"),
        (("--eye-blank=grey", "--eye-baseline=b"), "baselines are of images. Leave out --eye-baseline."),
        (("--eye-blank=grey", "--eye-update-baseline"), "Leave out --eye-update-baseline."),
    ],
)
def test_what_has_no_meaning_is_refused(world: Any, arguments: tuple[str, ...], sentence: str) -> None:
    result = world.run(*arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert sentence in result.stderr.str() + result.stdout.str()
