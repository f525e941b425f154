"""The page's files are what the sources in web/ build, and nobody has changed them since; this needs no node."""

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
WEB, ASSETS = ROOT / "web", ROOT / "src/eyechart/reports/page/assets"
FIXED = ("build.mjs", "package-lock.json", "package.json", "tsconfig.json")
BUILT = ("index.html", "page.css", "page.js")
STAMP = re.compile(r"sources ([0-9a-f]{64}); body ([0-9a-f]{64})")


def sources() -> str:
    """The sha256 of all sources, as web/build.mjs reckons it."""
    names = sorted([*FIXED, *(p.relative_to(WEB).as_posix() for p in (WEB / "src").rglob("*") if p.is_file())])
    lines = [f"{name} {sha256((WEB / name).read_bytes()).hexdigest()}\n" for name in names]
    return sha256("".join(lines).encode()).hexdigest()


def stamped(name: str) -> tuple[str, str, str]:
    """What a built file says it is made of, and what follows."""
    text = (ASSETS / name).read_text(encoding="utf-8").removeprefix("<!doctype html>\n")
    head, _, body = text.partition("\n")
    stamp = STAMP.search(head)
    assert stamp, f"{name} has no stamp"
    return stamp[1], stamp[2], body


@pytest.mark.parametrize("name", BUILT)
def test_a_built_file_is_of_these_sources(name: str) -> None:
    assert stamped(name)[0] == sources(), "Run `npm run build` in web/, and commit what it writes."


@pytest.mark.parametrize("name", BUILT)
def test_a_built_file_is_as_it_was_built(name: str) -> None:
    _, body, text = stamped(name)
    assert sha256(text.encode()).hexdigest() == body, f"{name} was changed by hand: change web/src instead."


def test_the_lock_names_every_package_with_its_hash_and_no_registry() -> None:
    text = (WEB / "package-lock.json").read_text(encoding="utf-8")
    packages = {name: package for name, package in json.loads(text)["packages"].items() if name}
    assert all(package["integrity"].startswith("sha512-") for package in packages.values())
    assert "resolved" not in text
    assert "://" not in re.sub(r'"funding": \{[^}]*\}', "", text)


def test_what_is_built_in_is_named_with_its_licence() -> None:
    third = (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")
    versions = json.loads((WEB / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert [*versions] == ["preact"]
    assert "Preact" in third
    assert f"preact {versions['preact']}, MIT" in (ASSETS / "page.js").read_text(encoding="utf-8").partition("\n")[0]
    assert "Permission is hereby granted" in (ASSETS / "LICENSE-preact.txt").read_text(encoding="utf-8")
