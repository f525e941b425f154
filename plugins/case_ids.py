"""The node ids of cases: their pattern and their spelling; this module imports nothing slow."""

import re
import sys
from dataclasses import replace
from functools import cache
from unicodedata import normalize

import pytest


@cache
def case_pattern(aliases: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of a case at the end of a node id.

    A model is an alias or ends in a bracket, which distinguishes a case from the ids of other tests. The other
    parameters of the test follow after a dash.
    """
    model = "|".join([*map(re.escape, sorted(aliases, key=len, reverse=True)), r".+?\]"])
    return re.compile(
        rf"\[(?P<benchmark>[^\s/\[\]:]+)/(?P<split>[^\s/\[\]:]+)/(?P<model>{model})(?:@(?P<choices>.+))?(?:-.*)?\]$"
    )


def escaped(name: str) -> str:
    """Return a name as pytest writes it in a node id: in ASCII."""
    return name.encode("unicode_escape").decode("ascii")


def _is_printable(name: str) -> bool:
    """Return whether a name can stand in a terminal, in an environment variable and in a file of this machine."""
    try:
        name.encode(sys.getfilesystemencoding())
    except UnicodeEncodeError:
        return False
    return name.isprintable()


def unescape_ids(metafunc: pytest.Metafunc, names: list[str]) -> None:
    """Give cases their names as ids, also where pytest would write them with escapes: they are typed and compared.

    pytest has no hook for it; its option against escapes is for all tests of a session.
    """
    plain = {escaped(name): name for name in names if _is_printable(name)}
    if any(written != name for written, name in plain.items()):
        metafunc._calls[:] = [
            replace(call, _idlist=[plain.get(part, part) for part in call._idlist]) for call in metafunc._calls
        ]


def spellings(name: str) -> set[str]:
    """Return the words of a case for `-k`: its name, composed as it is typed, and decomposed as macOS writes it."""
    return set() if name.isascii() else {name, normalize("NFC", name), normalize("NFD", name)}
