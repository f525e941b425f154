"""A run keeps the class names and the data root, so that its page needs no --data; runs are named by label and time."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from PIL import Image

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.cli import main
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.errors import ReportError
from eyechart.evaluation.settings import Case
from eyechart.models.spec import parse_spec
from eyechart.reports.page.write_page import PageOptions
from eyechart.results.records import Records, encode, read_run

NAMES = ("Abyssinian", "beagle", "pug <b>")
ANSWERS = [0, 1, 1, 2, 2, 0]


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    """A data root with a split of class folders: two images of each class."""
    noise = np.random.default_rng(0).integers(0, 256, (2 * len(NAMES), 8, 8, 3), dtype=np.uint8)
    for index, pixels in enumerate(noise):
        folder = tmp_path / "data" / "pets" / "test" / NAMES[index // 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / f"{index}.png")
    return tmp_path / "data"


@pytest.fixture
def run(make_run: Any, pets: Path) -> Callable[..., Path]:
    """Record a run about the pets, with the data root that the command line gave."""

    def run(name: str = "run", root: str | None = None, models: tuple[str, ...] = ("timm[a]", "timm[b]")) -> Path:
        folder = Path(make_run.root / name)
        (ref,) = [split for split in list_splits(pets) if str(split) == "pets/test"]
        dataset = open_split(ref)
        scores = np.zeros((len(dataset), len(NAMES)), np.float32)
        scores[range(len(dataset)), ANSWERS] = 1
        predictions = ClassPredictions(dataset.keys, scores, {}, {})
        cases = [Case("pets", "test", parse_spec(model), "supervised") for model in models]
        data_root = str(pets) if root is None else root
        records = [make_run.record(case, dataset, predictions, folder, None, data=data_root) for case in cases]
        return Path(make_run.written(folder, tuple(records)))

    return run


@pytest.fixture
def page(tmp_path: Path, studio: Any) -> Callable[..., tuple[Any, Path]]:
    """Write the page of some runs and return its index and its folder."""

    def page(*runs: Path, **wanted: Any) -> tuple[Any, Path]:
        folder = tmp_path / "page"
        studio.write(PageOptions(runs, **{"store": tmp_path / "store", "figures": False} | wanted), folder)
        return chunk(folder, "index"), folder

    return page


def chunk(folder: Path, name: str) -> Any:
    """The data of one of the page's files."""
    text = (folder / "data" / f"{name}.js").read_text(encoding="utf-8")
    match = re.fullmatch(r"\w+\((\".*?\"),\s*(\".*\")\);?\s*", text, re.DOTALL)
    assert match
    return json.loads(json.loads(match[2]))


def thumbnails(folder: Path) -> int:
    """How many images the page has."""
    return sum(path.read_text("ascii").count("data:image/jpeg") for path in (folder / "images").rglob("*.js"))


def shown_names(folder: Path) -> str:
    """All texts of the page's data."""
    return "".join(path.read_text(encoding="utf-8") for path in (folder / "data").rglob("*.js"))


def test_a_run_keeps_its_class_names_once_a_split(run: Any) -> None:
    folder = run()
    files = {record.data.class_names for record in read_run(folder).records}
    (file,) = files
    assert file is not None
    assert tuple(json.loads((folder / file.path).read_bytes())) == NAMES
    assert [path.name for path in (folder / "class_names").iterdir()] == [Path(file.path).name]


def test_a_record_has_the_data_root_as_an_absolute_path(run: Any, pets: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(pets.parent)
    assert {record.data.root for record in read_run(run(root="data")).records} == {str(pets)}


def test_the_page_without_data_has_names_and_pictures(run: Any, page: Any) -> None:
    index, folder = page(run())
    assert "Abyssinian" in shown_names(folder)
    assert "class 0" not in shown_names(folder)
    assert thumbnails(folder) == 2 * len(NAMES)
    assert not any("no images" in note for note in index["notes"])


@pytest.mark.deep
def test_the_page_has_names_where_the_data_are_gone(run: Any, page: Any, pets: Path) -> None:
    folder_ = run()
    pets.rename(pets.with_name("elsewhere"))
    index, folder = page(folder_)
    assert "Abyssinian" in shown_names(folder)
    assert not (folder / "images").exists()
    (note,) = [note for note in index["notes"] if "no images" in note]
    assert str(pets) in note


@pytest.mark.deep
def test_the_option_data_wins_over_the_root_of_the_run(run: Any, page: Any, pets: Path) -> None:
    folder_ = run()
    moved = pets.rename(pets.with_name("elsewhere"))
    _, folder = page(folder_, data=str(moved))
    assert thumbnails(folder) == 2 * len(NAMES)


def changed(folder: Path, **per_record: list[Any]) -> Path:
    """A run whose records have other values of some fields."""
    found = read_run(folder)
    records = [
        msgspec.structs.replace(record, **{name: values[index] for name, values in per_record.items()})
        for index, record in enumerate(found.records)
    ]
    (folder / "records.json").write_bytes(encode(Records(run=found.run, records=tuple(records))))
    return folder


def test_what_another_tool_evaluated_is_called_samples_and_has_no_note_on_pictures(run: Any, page: Any) -> None:
    index, _ = page(changed(run(root=""), protocol=["inspect_ai"] * 2))
    assert [group["unit"] for group in index["groups"]] == ["sample"]
    assert not any("no images" in note for note in index["notes"])


def test_a_note_says_which_prompt_settings_a_letter_stands_for(run: Any, page: Any) -> None:
    index, _ = page(changed(run(), variant=[{"templates": "1"}, {"templates": "openai"}]))
    assert [case["protocolName"] for case in index["cases"]] == ["supervised (a)", "supervised (b)"]
    settings = "prompt settings of supervised (a): templates 1; supervised (b): templates openai."
    assert any(note.endswith(settings) for note in index["notes"])


def test_a_changed_file_of_class_names_is_refused(run: Any, page: Any, pets: Path) -> None:
    folder_ = run()
    pets.rename(pets.with_name("elsewhere"))
    (path,) = (folder_ / "class_names").iterdir()
    path.write_text('["a", "b", "c"]', encoding="utf-8")
    with pytest.raises(ReportError, match="has changed since the run"):
        page(folder_)


@pytest.fixture
def two(run: Any, tmp_path: Path) -> tuple[Path, Path]:
    """Two runs, each behind a link `latest` of its own folder."""

    def linked(name: str, started: str) -> Path:
        folder = run(f"{name}/20260101-00000{len(name)}-000000")
        records = read_run(folder)
        begun = msgspec.structs.replace(records.run, started=started)
        (folder / "records.json").write_bytes(encode(Records(run=begun, records=records.records)))
        latest = folder.parent / "latest"
        latest.symlink_to(folder.name)
        return latest

    return linked("a", "2026-01-01T00:00:01+00:00"), linked("bb", "2026-01-02T12:30:00+00:00")


FIRST, SECOND = "20260101-000001-000000", "20260101-000002-000000"


@pytest.mark.deep
def test_the_page_names_runs_behind_links_by_their_folders(two: tuple[Path, Path], page: Any) -> None:
    index, folder = page(*two)
    assert [run_["folder"] for run_ in index["runs"]] == [FIRST, SECOND]
    assert [run_["started"] for run_ in chunk(folder, "trends")["runs"]] == [
        "2026-01-01 00:00:01 UTC",
        "2026-01-02 12:30:00 UTC",
    ]


@pytest.mark.deep
def test_the_page_tells_runs_of_one_name_apart(run: Any, page: Any) -> None:
    index, _ = page(run("one/latest"), run("two/latest"))
    assert [run_["folder"] for run_ in index["runs"]] == ["one/latest", "two/latest"]


def test_runs_without_a_common_case_are_no_lack_of_an_earlier_run(run: Any, page: Any) -> None:
    index, _ = page(run("one", models=("timm[a]",)), run("two", models=("timm[b]",)))
    assert "The runs of this page have no case in common" in index["verdict"]["text"]


def test_compare_names_runs_by_folder_and_time(two: tuple[Path, Path], capsys: Any) -> None:
    assert main(["compare", *map(str, two)]) == 0
    written = capsys.readouterr().out
    assert f"Before: {FIRST} (2026-01-01 00:00:01 UTC). After: {SECOND} (2026-01-02 12:30:00 UTC)." in written
    assert "latest" not in written


def test_the_overview_names_runs_by_folder_and_time(two: tuple[Path, Path], capsys: Any, tmp_path: Path) -> None:
    assert main(["overview", *two, "--out", str(tmp_path / "out")]) == 0
    written = capsys.readouterr().out
    assert f"{FIRST} (2026-01-01 00:00:01 UTC): eyechart" in written
    assert f"the record of {SECOND} (2026-01-02 12:30:00 UTC) replaces that of an earlier run" in written
    assert "latest" not in written


def test_thumbnails_lie_together_in_few_files(run: Any, page: Any, opened: Any) -> None:
    folder_ = run()
    index, folder = page(folder_)
    assert len([*(folder / "images").rglob("*.js")]) == 1
    assert index["notes"] == []
    driver = opened(folder / "index.html", "#/samples/pets/test")
    driver.page.locator(".cards img").nth(2 * len(NAMES) - 1).wait_for()
    assert (
        driver.page.locator(".cards img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") == 8
    )


def test_a_thumbnail_is_an_address_of_an_image_and_nothing_else(run: Any, page: Any, opened: Any) -> None:
    _, folder = page(run())
    (file,) = (folder / "images").rglob("*.js")
    text = file.read_text(encoding="ascii")
    file.write_text(text.replace("data:image/jpeg;base64,", "data:text/html,<script>", 1), encoding="ascii")
    driver = opened(folder / "index.html", "#/samples/pets/test")
    driver.page.locator(".cards img").nth(2 * len(NAMES) - 2).wait_for()
    assert driver.page.locator(".cards img").count() == 2 * len(NAMES) - 1
