"""The page can be read: on a phone, in the dark, by a screen reader (axe-core), and on paper."""

from pathlib import Path
from typing import Any

import pytest

from eyechart.gate.verdicts.decide import Rule

pytestmark = pytest.mark.deep

AXE = (Path(__file__).parents[2] / "vendor/axe.min.js").read_text(encoding="utf-8")
VIEWS = (
    "",
    "#/changes",
    "#/samples/imagenet/sample",
    "#/samples/imagenet/sample?size=table",
    "#/metrics",
    "#/cases",
    "#/figures",
    "#/trends",
    "#/tables/label-categories",
)
FOR_PHONES = ("", "#/changes", "#/samples/imagenet/sample", "#/metrics")  # whose parts are other ones there
WIDE, TABLET, PHONE = ({"width": width, "height": 844} for width in (1400, 1000, 390))
CUT = """async () => {
    document.querySelectorAll("details:has(.table)").forEach((part) => { part.open = true; });
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
    const cut = (part) => part.scrollWidth > part.clientWidth + 1;
    return [...document.querySelectorAll(".table .scroll")].filter(cut).map((part) => part.ariaLabel);
}"""
# Signs of one letter are too short for axe to tell their contrast; those are reckoned below.
FOUND = "axe.run(OPTIONS).then((found) => found.violations.map((one) => [one.id, one.nodes[0].html]))"
ALL = "{ preload: false }"
BUT_CONTRAST = (
    "{ preload: false, rules: { 'color-contrast': { enabled: false } } }"  # colours are those of the wide page
)


def test_nothing_is_amiss_to_axe_and_everything_fits(studio: Any, opened: Any, contrast: str) -> None:
    runs = studio.run("one", other=[]), studio.run("two", other=[*range(12)])
    driver = opened(studio.page(*runs, figures=True, rule=Rule(0.5)), None)
    for view in (*VIEWS, f"#/samples/imagenet/sample?at={studio.keys[0]}"):
        driver.page.set_viewport_size(WIDE)
        driver.go(view)
        driver.page.locator(":is(main table, .cards, .answers)").first.wait_for()
        driver.page.evaluate(AXE)
        on_a_phone = BUT_CONTRAST if view in FOR_PHONES else ""
        for shape, options in ((WIDE, ALL), (PHONE, on_a_phone), (TABLET, "")):
            driver.page.set_viewport_size(shape)
            assert not options or driver.page.evaluate(FOUND.replace("OPTIONS", options)) == [], (view, shape)
            assert driver.page.evaluate("document.documentElement.scrollWidth") == shape["width"], view
            assert driver.page.evaluate(CUT) == [], (view, shape)
            for scheme in ("dark", "light"):
                driver.page.emulate_media(color_scheme=scheme)
                assert driver.page.evaluate(contrast) >= 4.5, (view, shape, scheme)


def test_outcomes_differ_by_sign_and_word_not_by_colour_alone(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(), "#/samples/imagenet/sample")
    card = driver.page.locator(".cards li", has_text=studio.keys[1])
    card.wait_for()
    assert card.locator(".mark").all_inner_texts() == ["✓", "✗", "✗"]
    assert card.locator(".visually-hidden").last.text_content() == "1 right, 2 wrong"


def test_everything_can_be_reached_with_the_keyboard_alone(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(), "#/cases")
    driver.page.keyboard.press("Tab")
    driver.page.keyboard.press("Enter")  # skip to the content
    assert driver.page.evaluate("document.activeElement.id") == "main"
    driver.page.keyboard.press("Tab")
    driver.page.keyboard.press("Tab")
    assert driver.page.evaluate("document.activeElement.matches('th .sort')")
    assert driver.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_on_paper_there_is_what_is_read_and_nothing_to_press(studio: Any, opened: Any) -> None:
    driver = opened(studio.page(), "#/samples/imagenet/sample?outcome=wrong")
    driver.page.emulate_media(color_scheme="dark")
    driver.page.locator(".cards").wait_for()
    driver.page.emulate_media(media="print")
    assert driver.page.locator(".found").inner_text() == "3 of 12 images; outcome: wrong"
    assert not driver.page.locator(":is(.filter, header nav, .pages)").first.is_visible()
    assert driver.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert driver.page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"


def test_on_paper_changes_keep_their_words_and_numbers(studio: Any, opened: Any) -> None:
    runs = studio.run("one", other=[]), studio.run("two", other=[*range(12)])
    driver = opened(studio.page(*runs, rule=Rule(0.5)), "#/changes", width=794, height=1123)
    driver.page.locator(".since tbody tr").first.wait_for()
    driver.page.emulate_media(media="print")
    assert driver.page.locator(".since tbody .decision").first.inner_text() == "▼ regression"
    assert driver.page.evaluate("document.documentElement.scrollWidth") <= 794
    assert not driver.page.locator(".since .tools").is_visible()


def test_printing_opens_what_is_folded_away(studio: Any, opened: Any) -> None:
    driver = opened(studio.page())
    assert driver.page.locator("details").count() > 0
    driver.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert driver.page.locator("details:not([open])").count() == 0


def test_without_javascript_it_says_so(studio: Any, browser: Any) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(studio.page().as_uri())
    assert page.locator("noscript").inner_text().startswith("This page needs JavaScript")
    page.context.close()
