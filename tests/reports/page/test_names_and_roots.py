"""A run keeps its class names and data root, so that its page needs no --data; reports name it by folder and time."""

import json
from pathlib import Path
from typing import Any

import pytest

from eyechart.cli import main
from eyechart.errors import ReportError
from eyechart.results.records import read_run
from tests.reports.page.pet_pages import FIRST, NAMES, SECOND, changed, thumbnails


def shown_names(folder: Path) -> str:
    """All texts of the page's data."""
    return "".join(path.read_text(encoding="utf-8") for path in (folder / "data").rglob("*.js"))


def test_a_run_keeps_its_class_names_once_a_split(pet_run: Any) -> None:
    folder = pet_run()
    files = {record.data.class_names for record in read_run(folder).records}
    (file,) = files
    assert file is not None
    assert tuple(json.loads((folder / file.path).read_bytes())) == NAMES
    assert [path.name for path in (folder / "class_names").iterdir()] == [Path(file.path).name]


def test_a_record_has_the_data_root_as_an_absolute_path(pet_run: Any, pet_root: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(pet_root.parent)
    assert {record.data.root for record in read_run(pet_run(root="data")).records} == {str(pet_root)}


def test_the_page_without_data_has_names_and_pictures(pet_run: Any, pet_page: Any) -> None:
    index, folder = pet_page(pet_run())
    assert "Abyssinian" in shown_names(folder)
    assert "class 0" not in shown_names(folder)
    assert thumbnails(folder) == 2 * len(NAMES)
    assert not any("no images" in note for note in index["notes"])


@pytest.mark.deep
def test_the_page_has_names_where_the_data_are_gone(pet_run: Any, pet_page: Any, pet_root: Path) -> None:
    folder_ = pet_run()
    pet_root.rename(pet_root.with_name("elsewhere"))
    index, folder = pet_page(folder_)
    assert "Abyssinian" in shown_names(folder)
    assert not (folder / "images").exists()
    (note,) = [note for note in index["notes"] if "no images" in note]
    assert str(pet_root) in note


@pytest.mark.deep
def test_the_option_data_wins_over_the_root_of_the_run(pet_run: Any, pet_page: Any, pet_root: Path) -> None:
    folder_ = pet_run()
    moved = pet_root.rename(pet_root.with_name("elsewhere"))
    _, folder = pet_page(folder_, data=str(moved))
    assert thumbnails(folder) == 2 * len(NAMES)


def test_what_another_tool_evaluated_is_called_samples_and_has_no_note_on_pictures(pet_run: Any, pet_page: Any) -> None:
    index, _ = pet_page(changed(pet_run(root=""), protocol=["inspect_ai"] * 2))
    assert [group["unit"] for group in index["groups"]] == ["sample"]
    assert not any("no images" in note for note in index["notes"])


def test_a_changed_file_of_class_names_is_refused(pet_run: Any, pet_page: Any, pet_root: Path) -> None:
    folder_ = pet_run()
    pet_root.rename(pet_root.with_name("elsewhere"))
    (path,) = (folder_ / "class_names").iterdir()
    path.write_text('["a", "b", "c"]', encoding="utf-8")
    with pytest.raises(ReportError, match="has changed since the run"):
        pet_page(folder_)


def test_runs_without_a_common_case_are_no_lack_of_an_earlier_run(pet_run: Any, pet_page: Any) -> None:
    index, _ = pet_page(pet_run("one", models=("timm[a]",)), pet_run("two", models=("timm[b]",)))
    assert "The runs of this page have no case in common" in index["verdict"]["text"]


def test_compare_names_runs_by_folder_and_time(linked_runs: tuple[Path, Path], capsys: Any) -> None:
    assert main(["compare", *map(str, linked_runs)]) == 0
    written = capsys.readouterr().out
    assert f"Before: {FIRST} (2026-01-01 00:00:01 UTC). After: {SECOND} (2026-01-02 12:30:00 UTC)." in written
    assert "latest" not in written


def test_the_overview_names_runs_by_folder_and_time(
    linked_runs: tuple[Path, Path], capsys: Any, tmp_path: Path
) -> None:
    assert main(["overview", *linked_runs, "--out", str(tmp_path / "out")]) == 0
    written = capsys.readouterr().out
    assert f"{FIRST} (2026-01-01 00:00:01 UTC): eyechart" in written
    assert f"the record of {SECOND} (2026-01-02 12:30:00 UTC) replaces that of an earlier run" in written
    assert "latest" not in written
