"""What a model says may be anything: it is shown as text, in its own direction, cut where it is long, and never run."""

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

HARM = (
    "</script></pre><script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"
    "<svg onload=\"document.title = 'owned'\"><a href=\"javascript:document.title='owned'\">link</a>"
    "{{7*7}} ${7*7} %s\\u003c"
)
TURNED = "abc\u202e fed\u2066\u2069\u200b\x00\x1b[31m end"
LONG = "word " * 200_000
WIDE = "W" * 1_000_000
PLACES = {HARM: 3, TURNED: 4, LONG: 5, WIDE: 10, HARM + TURNED + "\u2028": 8}  # one run has all of these texts


@pytest.fixture
def page(studio: Any) -> Path:
    """The page of a run in which the last model said all of them."""
    return Path(studio.page(studio.run(texts={index: text for text, index in PLACES.items()})))


@pytest.fixture
def shown(studio: Any, page: Path, opened: Any) -> Any:
    """Shows the sample about which the last model said something."""

    def shown(text: str, **how: Any) -> Any:
        driver = opened(page, f"#/samples/imagenet/sample?at={studio.keys[PLACES[text]]}", **how)
        driver.page.locator("pre.raw").wait_for()
        return driver

    return shown


def test_html_and_script_are_text(shown: Any) -> None:
    driver = shown(HARM)
    assert driver.page.locator("pre.raw").inner_text() == HARM
    assert driver.page.title() == "Samples imagenet/sample – eyechart"
    assert driver.page.locator("article :is(script, svg, pre img, pre a)").count() == 0


def test_marks_of_direction_and_control_characters_are_made_visible_and_turn_nothing_else(shown: Any) -> None:
    driver = shown(TURNED)
    assert driver.page.locator("pre.raw").inner_text() == "abcU+202E fedU+2066 U+2069 U+200B U+0000 U+001B[31m end"
    style = "node => [getComputedStyle(node).unicodeBidi, node.dir]"
    assert driver.page.locator("pre.raw").evaluate(style) == ["isolate", "auto"]


@pytest.mark.parametrize("text", [LONG, WIDE], ids=["long", "wide"])
def test_a_line_of_a_megabyte_is_cut_and_it_is_said(shown: Any, text: str) -> None:
    driver = shown(text, width=400, height=800)
    assert len(driver.page.locator("pre.raw").text_content()) == 4000
    driver.page.get_by_text("Cut after 4,000 of 1,000,000 letters.").wait_for()
    assert driver.page.evaluate("document.documentElement.scrollWidth") == 400


def test_an_error_and_a_class_name_are_text_too(studio: Any, opened: Any, copied: Any) -> None:
    page = copied(studio.page())
    names = page.parent / "data/a0/names.js"
    names.write_text(names.read_text().replace("(355)", "<img src=x onerror=alert(1)>"), encoding="ascii")
    driver = opened(page, f"#/samples/imagenet/sample?at={studio.keys[1]}")
    driver.page.get_by_text("<img src=x onerror=alert(1)>").first.wait_for()


PLANTED = {
    "inline": "<script>document.title = 'owned'</script>",
    "handler": "<img src=x onerror=\"document.title = 'owned'\">",
    "remote": '<script src="https://example.org/harm.js"></script>',
    "style": "<style>body { display: none }</style>",
    "frame": "<iframe srcdoc=\"<script>parent.document.title = 'owned'</script>\"></iframe>",
    "base": '<base href="https://example.org/">',
}


def test_planted_scripts_do_not_run(studio: Any, opened: Any, copied: Any) -> None:
    page = copied(studio.page())
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("<body>", f"<body>{''.join(PLANTED.values())}"), encoding="utf-8")
    driver = opened(page)
    assert driver.page.title() == "Summary – eyechart"
    assert driver.page.locator("tbody tr").first.is_visible()
    refused = [complaint for complaint in driver.complaints if "Content Security Policy" in complaint]
    assert len(refused) >= len(PLANTED), refused
    driver.complaints.clear()


ACTS = (
    "document.body.innerHTML = '<b>x</b>'",
    "document.head.append(Object.assign(document.createElement('script'), { src: 'data/index.js' }))",
    "trustedTypes.createPolicy('eyechart', { createScriptURL: (url) => url })",
    "window.eval('1')",
)


def test_not_even_the_page_can_make_html_or_script_of_text(studio: Any, opened: Any) -> None:
    driver = opened(studio.page())
    for act in ACTS:
        tried = f"try {{ {act}; done(''); }} catch (error) {{ done(error.name); }}"
        refused = driver.page.evaluate(f"new Promise((done) => setTimeout(() => {{ {tried} }}))")
        assert refused in ("TypeError", "EvalError"), act
    driver.complaints.clear()


def test_data_are_no_code(page: Path) -> None:
    """A chunk is one call with two texts, in ASCII, whatever was said."""
    chunks = sorted((page.parent / "data").rglob("*.js"))
    for chunk in chunks:
        text = chunk.read_text(encoding="ascii")
        assert text.startswith('eyechart("'), chunk
        assert text.count("\n") == 1, chunk
    assert len(chunks) > 10
