"""Links of the documentation lead somewhere, its command lines exist, its site builds strictly and fetches nothing."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from runpy import run_path
from urllib.parse import unquote, urlsplit

import click
import documentation
import pytest
from option_tables import own_protocols

from eyechart.cli import command
from eyechart.evaluation.presets import preset_names
from eyechart.plugins.options import OPTIONS
from eyechart.protocol.registry import get_protocol

ROOT = Path(__file__).parents[2]
mistakes = run_path(str(ROOT / "examples" / "eyechart_examples" / "command.py"))["mistakes"]  # the example's command
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples/README.md", *sorted(ROOT.glob("docs/*.md"))]
CODE = re.compile(r"```\w*\n(.*?)```|`([^`\n]+)`|^ {4,}(\S.*)$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^(?:export |.*&& )?(eyechart|pytest) ")
FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """The links, anchors and files of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.files: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if values.get(FETCHED.get(tag, "")) and values.get("rel") != "canonical":
            self.files.append(values[FETCHED[tag]])


@cache
def text_of(page: Path) -> str:
    """The text of a page with its generated parts, and without its blocks of code."""
    return FENCE.sub("", documentation.fill_page(page.read_text(encoding="utf-8")))


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page, which its headings are or name."""
    found = set()
    for heading in HEADING.findall(text_of(page)):
        title, _, attributes = re.sub(r"\]\([^)]*\)", "]", heading).partition("{")
        named = re.search(r"#([\w-]+)", attributes)
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())
        found.add(named[1] if named else slug)
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if page.exists()], ids=lambda page: page.name)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    dead = []
    for link in LINK.findall(text_of(page)):
        parts = urlsplit(link)
        target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
        is_elsewhere = parts.scheme or parts.netloc
        if not is_elsewhere and not (target.exists() and (not parts.fragment or parts.fragment in anchors(target))):
            dead.append(link)
    assert dead == []


def test_links_to_a_missing_file_or_heading_are_found(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("# The `one` way\n\n[a](#the-one-way) [b](#the-other) [c](none.md)\n")
    with pytest.raises(AssertionError, match=r"\['#the-other', 'none.md'\] == \[\]"):
        test_every_link_of_a_page_leads_somewhere(tmp_path / "page.md")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    """Every page of the site, by its path."""
    folder = tmp_path_factory.mktemp("site")
    documentation.write_pages(documentation.SITE_PAGES)
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return {path: Page(path) for path in folder.rglob("*.html") if path.name != "404.html"}


@pytest.mark.deep
def test_every_link_and_anchor_of_the_site_is_there(site: dict[Path, Page]) -> None:
    assert len(site) > 20
    dead = []
    for path, page in site.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in site and anchor not in site[target].anchors):
                dead.append((path.name, link))
    assert dead == []


@pytest.mark.deep
def test_the_site_fetches_nothing(site: dict[Path, Page]) -> None:
    assert [(path.name, file) for path, page in site.items() for file in page.files if urlsplit(file).netloc] == []
    missing = [
        (path.name, file)
        for path, page in site.items()
        for file in page.files
        if not file.startswith("data:") and not (path.parent / unquote(urlsplit(file).path)).is_file()
    ]
    assert missing == []


@pytest.mark.deep
def test_every_generated_part_of_the_site_is_there(site: dict[Path, Page]) -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in site}
    assert not [name for name, text in texts.items() if "generated: " in text]
    assert "<code>eyechart table</code>" in texts["command-line.html"]
    assert "--format [md|csv|tex]" in texts["command-line.html"]
    assert "constrained: the most probable of all class names" in texts["protocols.html"]


def test_the_number_of_images_in_the_documentation_is_the_computed_one() -> None:
    assert "\n".join(documentation.images_needed()) in (ROOT / "docs/statistics.md").read_text(encoding="utf-8")


def test_every_protocol_has_a_row_in_the_documentation() -> None:
    rows = re.findall(
        r"^\| \[`(\w+)`\]\(#\1\) \|", (ROOT / "docs/protocols.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert sorted(rows) == sorted(own_protocols())


@pytest.mark.parametrize("protocol", [name for name in own_protocols() if name not in ("questions", "linear_probe")])
def test_every_protocol_has_an_example_record(protocol: str) -> None:
    texts = re.findall(r"```json\n(.*?)```", "\n".join(documentation.example_of(protocol)), re.DOTALL)
    assert texts, f"no golden record of the example. Write it: python tools/golden.py write -k {protocol}"
    (text,) = texts
    record = json.loads(text)
    example = get_protocol(protocol).example
    assert (record["case"], record["protocol"]) == (example.case, protocol)
    assert {metric["name"] for metric in record["metrics"]} == {name.partition(" ")[0] for name in example.numbers}
    assert sum(record["outcomes"].values()) or protocol == "distribution"  # which asks no questions


def command_lines(page: Path) -> Iterator[str]:
    """Yield the command lines of eyechart and pytest in the code of a page."""
    for match in CODE.finditer(page.read_text(encoding="utf-8")):
        block = next(filter(None, match.groups())).replace("\\\n", " ")
        for line in block.splitlines():
            for part in re.split(r"&&|\|\|", re.sub(r"\s#.*", "", line)):
                if COMMAND.match(f"{part.strip()} ") and "…" not in part:
                    yield part.strip()


def check_command(words: list[str], known: set[str]) -> None:
    """Fail if a command line names a command or an option that does not exist."""
    group: click.Command = command
    context = click.Context(command)
    rest = words[1:]
    while words[0] == "eyechart" and isinstance(group, click.Group) and rest and not rest[0].startswith("-"):
        name, *rest = rest
        found = group.get_command(context, name) or (mistakes if name == mistakes.name else None)
        assert found is not None, f"no command {name} in {' '.join(words)}"
        group = found
    is_pytest = words[0] == "pytest" or group.name == "run"
    options = known if is_pytest else {opt for param in group.params for opt in (*param.opts, "--help", "--version")}
    named = {word.partition("=")[0] for word in rest if word.startswith("--") and word != "--"}
    assert named <= options, f"{named - options} in {' '.join(words)}"


@pytest.fixture(scope="module")
def pytest_options(pytestconfig: pytest.Config) -> set[str]:
    """Every option of this pytest, with those of eyechart and of pytest-xdist."""
    known = {name for group in pytestconfig._parser._groups for option in group.options for name in option.names()}
    known |= {name for option in pytestconfig._parser._anonymous.options for name in option.names()}
    return known | {option.flag_name for option in OPTIONS}


@pytest.mark.parametrize("page", [page for page in PAGES if page.exists()], ids=lambda page: page.name)
def test_every_command_line_names_commands_and_options_that_exist(page: Path, pytest_options: set[str]) -> None:
    for line in command_lines(page):
        check_command(shlex.split(line), pytest_options)


def test_every_table_of_the_papers_has_a_command_with_the_preset_of_its_study(pytest_options: set[str]) -> None:
    rows = [line for line in documentation.paper_tables() if line.startswith("| `")]
    commands = [re.findall("`([^`]+)`", row)[1] for row in rows]
    tables = documentation.resolve_name("eyechart.reports.tables.registry:table_builders")()
    for table, line in zip(tables.values(), commands, strict=True):
        if table.source and table.command.startswith("pytest "):
            assert "--eye-preset=" in line
        if line.startswith("eyechart run "):
            check_command(shlex.split(line), pytest_options)
    for name in re.findall(r"--eye-preset=(\S+)", "\n".join(commands)):
        assert name in preset_names()


def test_the_command_lines_of_pages_are_found() -> None:
    lines = [line for page in PAGES if page.exists() for line in command_lines(page)]
    assert len(lines) > 40
    with pytest.raises(AssertionError, match="no command tabel"):
        check_command(["eyechart", "tabel"], set())
    with pytest.raises(AssertionError, match="--fromat"):
        check_command(["eyechart", "table", "T4", "RUN", "--fromat=csv"], set())
