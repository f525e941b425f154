"""The sheet in a real browser: it fits, can be read, bears hostile names and hundreds of pictures."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.reports.spot_check import Wish, write


@pytest.fixture
def spot_check(make_division: Any) -> Path:
    """The sheet of a division."""
    division = make_division()
    out: Path = division.with_suffix(".html")
    write(division, Wish(data=str(division.parents[1] / "data"), store=division.parent), out)
    return out


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("kind", ["sheet", "spot_check"])
def test_it_fits_and_can_be_read(opened: Any, request: Any, kind: str, width: int, scheme: str) -> None:
    seen = opened(request.getfixturevalue(kind), viewport={"width": width, "height": 800}, color_scheme=scheme)
    for summary in seen.page.locator("summary").all():
        summary.click()
    seen.page.locator("#all button").last.wait_for()
    assert seen.page.evaluate("document.documentElement.scrollWidth") == width
    assert seen.page.evaluate(CONTRAST) >= 4.5


# The least contrast of any text on the page with what is behind it, as WCAG 2 reckons it.
CONTRAST = """() => {
  const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const light = (rgb) => [0.2126, 0.7152, 0.0722].reduce((sum, w, i) => sum + w * channel(rgb[i]), 0);
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const found = numbers(getComputedStyle(node).backgroundColor);
      if (found.length === 3) return found;
    }
    return [255, 255, 255];
  };
  const texts = [...document.body.querySelectorAll("*")].filter((node) => node.offsetParent && !node.disabled &&
    [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim()));
  return Math.min(...texts.map((node) => {
    const [one, other] = [light(numbers(getComputedStyle(node).color)), light(behind(node))].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05);
  }));
}"""


def test_hostile_names_do_nothing(opened: Any, world: Any) -> None:
    harm = "</script><img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"
    (world.out / "names.txt").write_text("\n".join(f"{harm}{n} {'wide' * 40}" for n in range(1000)), encoding="utf-8")
    seen = opened(world.sheet(names=str(world.out / "names.txt")), viewport={"width": 400, "height": 800})
    assert seen.page.locator("#candidates span").first.inner_text().startswith(harm)
    seen.press("1", "ArrowRight")
    assert seen.page.title() == "What is in the picture?"
    assert seen.page.evaluate("document.documentElement.scrollWidth") == 400


def test_hundreds_of_pictures_are_no_burden(opened: Any, make_world: Any, shot: Any) -> None:
    world = make_world({str(n): shot(n, (n + 300,), n + 301, n + 302) for n in range(300)})
    seen = opened(world.sheet())
    assert seen.text("where") == "Picture 1 of 300"
    seen.page.get_by_text("All pictures").click()
    seen.page.get_by_role("button", name="Picture 300").click()
    assert seen.page.evaluate("[document.images.length, picture.naturalWidth > 0]") == [1, True]
