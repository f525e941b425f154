"""`eyechart store`: the entries of a store are listed, measured, verified, and deleted if no run uses them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import filelock
import pytest

from eyechart.cli import main
from eyechart.cli.store import format_size
from eyechart.inference.store.entries import StoreEntry
from tests.inference.store.written_entries import KINDS, write_entries


@pytest.fixture
def entries(tmp_path: Path) -> Mapping[str, StoreEntry]:
    """Three entries of two models, of which the last is partial; and a file that is no entry."""
    return write_entries(tmp_path / "store")


@pytest.fixture
def store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run a command on the store; its output, or its errors if it fails."""

    def store(*arguments: object, code: int = 0) -> str:
        assert main(["store", *arguments, f"--store={tmp_path / 'store'}"]) == code
        captured = capsys.readouterr()
        return captured.err if code == 2 else captured.out

    return store


@pytest.fixture
def use(make_run: Callable[..., Path], entries: Mapping[str, StoreEntry]) -> Callable[..., Path]:
    """Make a run that uses some entries."""

    def use(*kinds: str) -> Path:
        folder = make_run("run")
        content = json.loads((folder / "records.json").read_bytes())
        for record in content["records"]:
            record["store_entries"] = [entries[kind].key.digest for kind in kinds]
        (folder / "records.json").write_text(json.dumps(content))
        return folder

    return use


def test_every_entry_is_listed_with_its_state_and_model(entries: Mapping[str, StoreEntry], store: Any) -> None:
    lines = sorted(line.split() for line in store("ls").splitlines())
    wanted = [
        [entry.key.digest[:12], "complete" if kind != KINDS[2] else "partial", kind, f"test[m{number % 2}]"]
        for number, (kind, entry) in enumerate(entries.items())
    ]
    assert [[line[0], *line[3:]] for line in lines] == sorted(wanted)


def test_sizes_are_those_of_the_files_by_model(entries: Mapping[str, StoreEntry], store: Any) -> None:
    sizes = {kind: sum(p.stat().st_size for p in entry.folder.iterdir()) for kind, entry in entries.items()}
    lines = [line.strip() for line in store("size").splitlines()]
    assert lines[-1].endswith("3  in all")
    assert lines[0].startswith(format_size(sizes[KINDS[0]] + sizes[KINDS[2]]))
    assert lines[0].endswith("2  test[m0]")
    assert lines[-1].startswith(format_size(sum(sizes.values())))


def test_whole_entries_are_verified(entries: Mapping[str, StoreEntry], store: Any) -> None:
    assert store("verify") == "3 entries: 1 are partial and 0 are damaged.\n"


def test_a_damaged_entry_is_named_and_the_command_fails(entries: Mapping[str, StoreEntry], store: Any) -> None:
    folder = entries[KINDS[1]].folder
    (folder / "answers.npy").unlink()
    assert store("verify", code=1).splitlines() == [
        f"{folder}: its answers are missing",
        "3 entries: 1 are partial and 1 are damaged.",
    ]


def test_entries_that_no_run_uses_are_deleted_and_nothing_else(
    entries: Mapping[str, StoreEntry], store: Any, use: Callable[..., Path], tmp_path: Path
) -> None:
    run = use(KINDS[0])
    listed = store("prune", run)
    assert {line.split()[0] for line in listed.splitlines()[:-1]} == {
        entries[kind].key.digest[:12] for kind in KINDS[1:]
    }
    assert "not used by these runs; --delete deletes them" in listed
    assert all(entry.folder.is_dir() for entry in entries.values())
    assert "2 entries (" in store("prune", run, "--delete")
    assert [kind for kind, entry in entries.items() if entry.folder.exists()] == [KINDS[0]]
    assert (tmp_path / "store" / "index" / "kept").read_text() == "an index"
    assert store("prune", run, "--delete") == "0 entries (0 B) deleted.\n"


def test_an_entry_that_a_run_holds_is_not_deleted(
    entries: Mapping[str, StoreEntry], store: Any, use: Callable[..., Path]
) -> None:
    folder = entries[KINDS[2]].folder
    with filelock.FileLock(folder / "lock"):
        assert f"Another run holds {folder}. Delete it when the run is done." in store(
            "prune", use(*KINDS[:2]), "--delete", code=2
        )
    assert folder.is_dir()


def test_nothing_is_deleted_beside_a_run_that_cannot_be_read(
    entries: Mapping[str, StoreEntry], store: Any, use: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "broken.json").write_text("{")
    assert "Nothing was deleted" in store("prune", use(*KINDS), tmp_path / "broken.json", "--delete", code=2)
    assert all(entry.folder.is_dir() for entry in entries.values())


def test_a_store_that_is_not_there_is_named(store: Any, tmp_path: Path) -> None:
    assert f"There is no store at {tmp_path / 'store'}. Name its folder with --store=DIR." in store("ls", code=2)
