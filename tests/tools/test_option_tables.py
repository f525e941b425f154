"""docs/options.md has the options that exist, and other pages name no other ones."""

import re
from pathlib import Path

import option_tables
import pytest

from eyechart.plugins.options import ADVANCED, EVERYDAY, OPTIONS
from eyechart.protocol.registry import get_protocol, protocol_modules

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "examples/README.md", *(f"docs/{path.name}" for path in sorted(ROOT.glob("docs/*.md"))))


def test_the_page_of_options_is_that_of_the_declarations() -> None:
    assert option_tables.PAGE.read_text(encoding="utf-8") == option_tables.write_page()


def test_the_page_has_every_option_once() -> None:
    found = re.findall(r"^\| `(--eye-[a-z-]+)`", option_tables.write_page(), re.MULTILINE)
    assert found == [option.flag_name for option in OPTIONS] == [*dict.fromkeys(found)]
    assert len(EVERYDAY) < len(ADVANCED)


@pytest.mark.parametrize("page", PAGES)
def test_pages_name_options_that_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    known = {option.flag_name for option in OPTIONS}
    assert {*re.findall(r"--eye-[a-z]+(?:-[a-z]+)*", text)} <= known
    for protocol, option in re.findall(r"--eye-set[= ]'?([a-z_]+)\.([a-z_]+)", text):
        assert protocol in protocol_modules()
        assert option in {each.name for each in get_protocol(protocol).options}
