"""The lines of docs/realbirdid.md about anyone's birds, but for their sizes: drawn, asked about, in a table."""

import csv
import json
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from eyechart.realbirdid.catalogue import FIGURES, TABLES
from eyechart.results.records import subset_text

pytestmark = pytest.mark.deep

SECTION = (Path(__file__).parents[2] / "docs/realbirdid.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^    (.+)$", SECTION, re.MULTILINE)
TEXT = SECTION.replace("\n", " ")
COLUMNS = dict(re.findall(r"`(birds|taxonomy|ranges)` \(((?:\w+, )*\w+)(?=[,)])", TEXT))
ENCODERS, MLLM = ("open_clip[toybox-clip]", "conse[]"), "hf[toybox-mllm]"
PROTOCOLS = ("abstention", "flat_list", "free_form", "species")
ASKED = ["--pyargs", "eyechart.benchmarks", "--eye-offline", "-p", "no:cacheprovider"]
SMALLER = {  # what is added to each command
    "eyechart toybox": ["--birds=12"],
    "pytest": [*ASKED, "--eye-limit=4", "-k", "realbirdid/drawn"],  # and none of the packaged splits
    "eyechart table": ["--format", "csv"],
}
EXPORT = (
    *("id", "quality_grade", "url", "image_url", "latitude", "longitude", "scientific_name", "taxon_genus_name"),
    "taxon_species_name",
)
SITE = "https://www.inaturalist.org"


def call(python: Sequence[str], folder: Path, module: str, *told: str) -> str:
    """Run a module of Python; what it prints."""
    command = [*python, "-m", module, *told]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str]) -> Path:
    """Where all lines were run; `said` has what the last printed."""
    found = tmp_path_factory.mktemp("readme")
    for command in COMMANDS:
        more = next(more for start, more in SMALLER.items() if command.startswith(start))
        (found / "said").write_text(call(warm_python, found, *shlex.split(command), *more), encoding="utf-8")
    return found


def records(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "reports/runs/latest/records.json").read_bytes())["records"]
    return found


def test_the_tables_have_the_columns_that_are_named(folder: Path) -> None:
    assert {*COLUMNS} == {"birds", "taxonomy", "ranges"}
    for kind, columns in COLUMNS.items():
        (head, *_) = read(folder / "toys/realbirdid/drawn" / f"{kind}.csv")
        assert {*columns.split(", ")} <= {*head}


def test_a_folder_of_ones_own_is_asked_about_under_every_protocol(folder: Path) -> None:
    met = sorted((each["model"]["spec"], each["protocol"]) for each in records(folder) if each["split"] == "drawn")
    assert met == sorted([*product([MLLM], PROTOCOLS), *product(ENCODERS, ("flat_list", "species"))])
    for record in records(folder):
        assert record["outcomes"]["error"] == 0
        assert bool(record["metrics"]) == any(record["outcomes"].values())  # four birds may be none that is asked about


def test_every_packaged_wording_is_put_and_has_its_number(folder: Path) -> None:
    (record,) = (each for each in records(folder) if (each["split"], each["protocol"]) == ("drawn", "abstention"))
    told = {
        subset_text(one["subset"], one["level"], one["prompt"])
        for one in record["metrics"]
        if one["name"] == "abstention"
    }
    levels, numbers = ("naive", "unanswerable", "refuse"), [f"{number:02}" for number in range(1, 16)]
    assert told == {f"unanswerable/{level}" for level in levels} | {
        f"unanswerable/{'/'.join(each)}" for each in product(levels, numbers)
    }


def test_the_table_has_every_split_and_model(folder: Path) -> None:
    rows = list(csv.DictReader(StringIO((folder / "said").read_text(encoding="utf-8"))))
    splits = [f"realbirdid/{name}" for name in ("drawn", "drawn-train")]
    shown = sorted((row["split"].partition(",")[0], row["Model"]) for row in rows)
    assert shown == sorted(product(splits, ("conse[]", MLLM, "toybox-clip")))


def spelled(section: str) -> Iterator[str]:
    """The names of tables and figures that a section gives, from one to another written out."""
    for first, last in re.findall(r"`(?:realbirdid-)?([TF]\d+)`(?:–`([TF]\d+)`)?", section):
        yield from (f"realbirdid-{first[0]}{number}" for number in range(int(first[1:]), int((last or first)[1:]) + 1))
    yield from (f"realbirdid-{name}" for name in re.findall(r"`-([a-z-]+)`", section))


def test_every_table_and_figure_that_is_named_is_there() -> None:
    named = {*spelled(SECTION)}
    assert named == {table.alias or table.name for table in TABLES}
    assert {figure.alias for figure in FIGURES} == {name for name in named if "-F" in name}


@pytest.fixture(scope="module")
def imported(folder: Path, warm_python: Sequence[str]) -> Path:
    """A split of a user's own export, beside the others."""
    drawn = folder / "toys/realbirdid/drawn"
    birds = firsts(read(drawn / "birds.csv"), "observation_id")
    write(folder / "export.csv", [EXPORT, *map(exported, birds.values())])
    unsure = [(number, bird["reason"]) for number, bird in birds.items() if not bird["species"]]
    write(folder / "reasons.csv", [("observation_id", "reason"), *unsure])
    (folder / "pictures").mkdir()
    for number, bird in birds.items():
        (folder / "pictures" / f"{number}.jpg").write_bytes((drawn / bird["image"]).read_bytes())
    more = ("--reasons", "reasons.csv", "--taxonomy", str(drawn / "taxonomy.csv"), "toys/realbirdid/mine")
    call(warm_python, folder, "eyechart", "birds", "import", "export.csv", "--images", "pictures", *more)
    return folder / "toys/realbirdid/mine"


def write(path: Path, rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def firsts(rows: list[dict[str, str]], column: str) -> dict[str, dict[str, str]]:
    """The first picture of each observation."""
    return {row[column]: row for row in reversed(rows)}


def exported(bird: dict[str, str]) -> tuple[object, ...]:
    """An observation as iNaturalist writes it."""
    number, told = bird["observation_id"], bird["species"]
    return (
        *(number, "research" if told else "needs_id", f"{SITE}/observations/{number}", f"{SITE}/photos/9{number}"),
        *(bird["latitude"], bird["longitude"], told or bird["genus"], bird["genus"], told),
    )


def test_an_import_is_asked_about_like_the_folder_that_it_came_of(
    folder: Path, imported: Path, warm_python: Sequence[str]
) -> None:
    chosen = ["-k", "(realbirdid/mine/ or realbirdid/drawn/) and species and open_clip", "--eye-out=again"]
    call(warm_python, folder, "pytest", *ASKED, "--eye-data=toys", *chosen)
    made = json.loads((folder / "again/latest/records.json").read_bytes())["records"]
    mine, drawn = (firsts(read(answers(folder, record)), "observation") for record in by_split(made))
    assert {*mine} == {*drawn}
    for name, row in mine.items():
        for same in ("target", "subset", "species", "genus", "reason", "all.species"):
            assert row[same] == drawn[name][same]


def by_split(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records of the import and of the folder that it was made of."""
    return sorted(made, key=lambda record: str(record["split"]), reverse=True)


def answers(folder: Path, record: dict[str, Any]) -> Path:
    """Where the answers of a case lie."""
    path: str = record["predictions"]["path"]
    return folder / "again" / "latest" / path


def test_leaked_birds_are_counted_and_listed(folder: Path, imported: Path, warm_python: Sequence[str]) -> None:
    numbers = [bird["observation_id"] for bird in read(imported / "birds.csv")]
    urls = [f"{SITE}/photos/9{numbers[0]}/large.jpg", f"{SITE}/observations/{numbers[1]}", f"{SITE}/observations/777"]
    (folder / "trained.csv").write_text("\n".join(["source_url", *urls]), encoding="utf-8")
    said = call(
        warm_python, folder, "eyechart", "birds", "overlap", str(imported), "trained.csv", "--out", "leaked.csv"
    )
    assert {row["observation_id"] for row in read(folder / "leaked.csv")} == {*numbers[:2]}
    assert [line.split()[:2] for line in said.splitlines() if line.startswith("all ")] == [["all", str(len(numbers))]]
