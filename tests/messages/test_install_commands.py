"""Messages that say how to install something name extras that exist, in one form."""

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from eyechart.messages.install_commands import Extra, install_command

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
SOURCES = [path for name in ("src", "benchmarks", "fixtures", "plugins") for path in (ROOT / name).rglob("*.py")]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]


@pytest.mark.parametrize("extra", get_args(Extra))
def test_every_extra_of_a_message_exists(extra: Extra) -> None:
    assert extra in EXTRAS
    assert install_command(extra) == f"pip install 'eyechart[{extra}]'"


def test_every_extra_of_users_can_be_named_in_a_message() -> None:
    assert {*EXTRAS} - {*get_args(Extra)} == {"docs", "lint", "speed", "test", "test-all"}  # those are for a clone


def test_messages_take_the_command_from_one_function() -> None:
    """mypy checks that the function is called with an extra that exists."""
    assert len(SOURCES) > 200
    written = [path for path in SOURCES if "pip install" in path.read_text(encoding="utf-8")]
    assert [str(path.relative_to(ROOT)) for path in written] == ["src/eyechart/messages/install_commands.py"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_pages_name_extras_that_exist(page: Path) -> None:
    named = re.findall(r"(?:eyechart|'\.)\[([a-z,-]+)\]", page.read_text(encoding="utf-8"))
    assert {extra for names in named for extra in names.split(",")} <= {*EXTRAS}
