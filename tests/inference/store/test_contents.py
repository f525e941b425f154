"""The entries of a store: what each is, whether its files are whole, and which may be deleted."""

from collections.abc import Mapping
from pathlib import Path

import filelock
import msgspec
import pytest

from eyechart.errors import StoreError
from eyechart.inference.requests.row_requests import ScoreChoices
from eyechart.inference.requests.text_requests import Generate
from eyechart.inference.store import responses
from eyechart.inference.store.arrays import Block, append
from eyechart.inference.store.contents import StoredEntry, list_entries, unused_entries
from eyechart.inference.store.entries import Store, StoreEntry
from eyechart.models.types import Answer
from tests.inference.store.written_entries import KINDS, ROWS, write_entries


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder of a store."""
    return tmp_path / "store"


@pytest.fixture
def entries(root: Path) -> Mapping[str, StoreEntry]:
    """Three entries of two models, of which the last is partial; and a file that is no entry."""
    return write_entries(root)


def test_entries_are_told_by_digest_and_others_left_aside(entries: Mapping[str, StoreEntry], root: Path) -> None:
    digests = sorted(entry.key.digest for entry in entries.values())
    for stray in ("00/00short", f"zz/{digests[0]}", f"{digests[1][:2]}/{digests[1].upper()}"):
        (root / stray).mkdir(parents=True)
    found = [*list_entries(root)]
    assert [entry.digest for entry in found] == digests
    by_digest = {entry.digest: entry for entry in found}
    for number, (kind, entry) in enumerate(entries.items()):
        stored = by_digest[entry.key.digest]
        assert (stored.description, stored.state) == (
            f"{kind}  test[m{number % 2}]",
            "partial" if kind == KINDS[2] else "complete",
        )
        assert (stored.damage(), stored.size) == ("", sum(path.stat().st_size for path in entry.folder.iterdir()))
    used = entries[KINDS[0]].key.digest
    assert [entry.digest for entry in unused_entries(root, [used])] == [each for each in digests if each != used]


@pytest.mark.parametrize("number", [0, 1])
def test_texts_are_open_to_every_run_and_not_partial(
    entries: Mapping[str, StoreEntry], root: Path, number: int
) -> None:
    request = (Generate(()), ScoreChoices(("a text",), (0,), ("a", "b")))[number]
    key = msgspec.structs.replace(entries[KINDS[0]].key, kind=request.key_fields.kind)
    entry = Store(root).entry(key)
    with entry.lock_for_writing() as writer:
        if number:
            append(writer, Block((0,), 2), ROWS[:1])
        else:
            responses.append(writer, "request", Answer("a response", (), True))
    assert StoredEntry(entry.folder).state == "open"


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("answers.npy", b"other", "answers.npy has the sha256 d9298a10d1b0…"),
        ("answers.npy", None, "its answers are missing"),
        ("done.json", b"{", "done.json cannot be read (Input data was truncated)"),
        ("key.json", b"{", "key.json cannot be read"),
        ("key.json", b'{"kind": "x"}', "key.json belongs to another entry"),
    ],
)
def test_a_damaged_entry_is_named(
    entries: Mapping[str, StoreEntry], name: str, content: bytes | None, why: str
) -> None:
    folder = entries[KINDS[1]].folder
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    assert StoredEntry(folder).damage() == why


def test_an_entry_is_deleted_with_its_folder_unless_a_run_holds_it(entries: Mapping[str, StoreEntry]) -> None:
    folder = entries[KINDS[2]].folder
    with filelock.FileLock(folder / "lock"), pytest.raises(StoreError) as refused:
        StoredEntry(folder).delete()
    assert str(refused.value) == f"Another run holds {folder}. Delete it when the run is done."
    assert folder.is_dir()
    StoredEntry(folder).delete()
    assert not folder.exists()
