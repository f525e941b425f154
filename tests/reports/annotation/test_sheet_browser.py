"""The sheets of disputed images and of spot checks in a browser: they fit and bear hostile names and many pictures."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eyechart.oodbench.spot_check.spot_check import SpotCheckOptions, write

pytestmark = pytest.mark.deep


@pytest.fixture
def spot_check(make_division: Any) -> Path:
    """The sheet of a division."""
    division = make_division()
    out: Path = division.with_suffix(".html")
    write(division, SpotCheckOptions(data=str(division.parents[1] / "data"), store=division.parent), out)
    return out


@pytest.mark.parametrize("kind", ["sheet", "spot_check"])
def test_it_fits_and_can_be_read(opened: Any, request: Any, contrast: str, kind: str) -> None:
    driver = opened(request.getfixturevalue(kind))
    for summary in driver.page.locator("summary").all():
        summary.click()
    driver.page.locator("#all button").last.wait_for()
    for width, scheme in product((400, 1280), ("light", "dark")):
        driver.page.set_viewport_size({"width": width, "height": 800})
        driver.page.emulate_media(color_scheme=scheme)
        assert driver.page.evaluate("document.documentElement.scrollWidth") == width, scheme
        assert driver.page.evaluate(contrast) >= 4.5, (width, scheme)


def test_hostile_names_do_nothing(opened: Any, world: Any) -> None:
    harm = "</script><img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"
    (world.out / "names.txt").write_text("\n".join(f"{harm}{n} {'wide' * 40}" for n in range(1000)), encoding="utf-8")
    driver = opened(world.sheet(names=str(world.out / "names.txt")), width=400, height=800)
    assert driver.page.locator("#candidates span").first.inner_text().startswith(harm)
    driver.press("1", "ArrowRight")
    assert driver.page.title() == "What is in the picture?"
    assert driver.page.evaluate("document.documentElement.scrollWidth") == 400


def test_many_pictures_are_no_burden(opened: Any, make_shot_world: Any, shot: Any) -> None:
    world = make_shot_world({str(n): shot(n, (n + 300,), n + 301, n + 302) for n in range(100)})
    driver = opened(world.sheet())
    assert driver.text("where") == "Picture 1 of 100"
    driver.page.get_by_text("All pictures").click()
    driver.page.get_by_role("button", name="Picture 100").click()
    assert driver.page.evaluate("[document.images.length, picture.naturalWidth > 0]") == [1, True]
