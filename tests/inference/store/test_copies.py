"""Merged and copied stores: the result is the same in any order, and a copy has the bytes of the original."""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import fsspec
import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.cli import main
from eyechart.errors import StoreError
from eyechart.inference.store import responses
from eyechart.inference.store.arrays import Block, append, compact, gather, seal, stored_rows
from eyechart.inference.store.copies import RemoteStore, merge_store, pull_store, push_store
from eyechart.inference.store.entries import Key, Store, StoreEntry
from eyechart.models.description.identity import (
    ModelDescription,
    find_descriptions,
    read_descriptions,
    write_description,
)
from eyechart.models.spec import parse_spec
from eyechart.models.types import Answer, Identity, Usage

ROWS = 5
VALUES = np.arange(2 * ROWS, dtype=np.float32).reshape(ROWS, 2)
Answered = Mapping[int, frozenset[int]]  # the rows that a store has of each entry
ANSWERED = st.dictionaries(st.integers(0, 2), st.frozensets(st.integers(0, ROWS - 1), min_size=1), max_size=3)


def identity(name: str = "m", device: str = "cpu") -> Identity:
    return Identity(
        backend="test", name=name, weights_sha256="0", dtype="float32", device=device, processor={}, libraries={}
    )


def entry_of(root: Path, number: int) -> StoreEntry:
    return Store(root).entry(Key(kind=f"kind{number}", model=identity().in_key))


def write(root: Path, answered: Answered, plus: float = 0) -> Path:
    """A store with some rows of some entries, row by row; an entry with all rows is sealed."""
    root.mkdir(parents=True)
    for number, rows in answered.items():
        with entry_of(root, number).lock_for_writing() as writer:
            for row in sorted(rows):
                append(writer, Block((row,), 2), VALUES[row : row + 1] + plus)
            if len(rows) == ROWS:
                seal(writer, ROWS)
    return root


def contents(root: Path) -> dict[str, bytes]:
    paths = [path for path in root.rglob("*") if path.is_file() and path.name != "lock"]
    return {str(path.relative_to(root)): path.read_bytes() for path in paths}


@settings(deadline=None)
@given(st.lists(ANSWERED, min_size=1, max_size=3))
def test_a_merge_has_all_rows_in_any_order_and_again(stores: list[Answered]) -> None:
    with TemporaryDirectory() as location:
        folders = [write(Path(location) / str(number), answered) for number, answered in enumerate(stores)]
        forward, backward = Path(location) / "forward", Path(location) / "backward"
        for folder in folders:
            merge_store(forward, folder)
        for folder in reversed(folders):
            merge_store(backward, folder)
        once = contents(forward) if forward.exists() else {}
        assert (contents(backward) if backward.exists() else {}) == once
        for folder in folders:
            merge_store(forward, folder)
        assert (contents(forward) if forward.exists() else {}) == once
        for number in {number for answered in stores for number in answered}:
            rows = frozenset().union(*(answered.get(number, frozenset()) for answered in stores))
            entry = entry_of(forward, number)
            sealed = any(len(answered.get(number, ())) == ROWS for answered in stores)
            assert entry.complete == sealed
            assert sealed or stored_rows(entry) == rows


def test_a_merge_keeps_both_entries_in_conflict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Entries of one key with other answers are left as they are, and all others are merged."""
    whole = frozenset(range(ROWS))
    one = write(tmp_path / "one", {0: whole})
    other = write(tmp_path / "other", {0: whole, 1: frozenset({2})}, plus=1)
    before = contents(one)
    assert main(["store", "merge", str(one), str(other)]) == 1
    said = capsys.readouterr().out
    assert "have other answers. Delete the wrong one, and merge again." in said
    assert "1 entries added" in said or "1 completed" in said
    after = contents(one)
    assert {name: after[name] for name in before} == before
    assert stored_rows(entry_of(one, 1)) == {2}


def test_rows_with_other_numbers_are_not_united(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two entries that are not sealed have one row in common, with other numbers: both stay, in either order."""
    one, other = write(tmp_path / "one", {0: frozenset({0, 1})}), write(tmp_path / "other", {0: frozenset({1, 2})}, 1)
    for number, order in enumerate(((one, other), (other, one))):
        into = tmp_path / f"into{number}"
        assert main(["store", "merge", str(into), *map(str, order)]) == 1
        assert f"{entry_of(order[1], 0).folder} have other answers" in capsys.readouterr().out
        plus = 0 if order[0] == one else 1
        rows = sorted(stored_rows(entry_of(order[0], 0)))
        assert stored_rows(entry_of(into, 0)) == {*rows}
        assert np.array_equal(gather(entry_of(into, 0), rows)[0].values, VALUES[rows] + plus)


def test_a_merge_after_a_run_put_the_rows_in_order_changes_nothing(tmp_path: Path) -> None:
    stores = [write(tmp_path / "one", {0: frozenset({0, 2})}), write(tmp_path / "other", {0: frozenset({1})})]
    for store in stores:
        merge_store(tmp_path / "into", store)
    with entry_of(tmp_path / "into", 0).lock_for_writing() as writer:
        compact(writer)
    before = contents(tmp_path / "into")
    assert [merge_store(tmp_path / "into", store).present for store in stores] == [1, 1]
    assert contents(tmp_path / "into") == before


REPLIES = st.dictionaries(st.integers(0, 6), st.integers(1, 2), max_size=7)  # the place of each reply, and its tokens


@settings(deadline=None)
@given(REPLIES, REPLIES)
def test_responses_are_united_in_any_order(one: dict[int, int], other: dict[int, int]) -> None:
    with TemporaryDirectory() as location:
        stores = []
        for number, replies in enumerate((one, other)):
            stores.append(Path(location) / str(number))
            with entry_of(stores[-1], 0).lock_for_writing() as writer:
                for request, tokens in replies.items():
                    responses.append(
                        writer, str(request), Answer(f"response {request}", (), True, usage=Usage(tokens, 1))
                    )
        forward, backward = Path(location) / "forward", Path(location) / "backward"
        for into, order in ((forward, stores * 2), (backward, stores[::-1])):
            for store in order:
                merge_store(into, store)
        assert contents(forward) == contents(backward)
        found = responses.read_stored(entry_of(forward, 0))
        assert {int(index): reply.text for index, (reply, _) in found.items()} == {
            index: f"response {index}" for index in {*one, *other}
        }


def test_what_a_killed_merge_left_is_taken_away(tmp_path: Path) -> None:
    store, into = write(tmp_path / "store", {0: frozenset(range(ROWS))}), tmp_path / "into"
    folder = entry_of(into, 0).folder
    folder.mkdir(parents=True)
    (folder / "answers.npy.1-1").write_bytes(b"half of the answers")
    merge_store(into, store)
    assert contents(into) == contents(store)


def test_the_key_of_another_version_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, key = tmp_path / "store", b'{"question":"kind0"}'
    folder = store / sha256(key).hexdigest()[:2] / sha256(key).hexdigest()
    folder.mkdir(parents=True)
    (folder / "key.json").write_bytes(key)
    assert main(["store", "merge", str(tmp_path / "into"), str(store)]) == 2
    assert "another version of eyechart wrote key.json" in capsys.readouterr().err


def test_a_merge_of_what_is_no_store_or_damaged_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = write(tmp_path / "store", {0: frozenset(range(ROWS))})
    assert main(["store", "merge", str(tmp_path / "into"), str(tmp_path / "none")]) == 2
    assert "There is no store at" in capsys.readouterr().err
    (entry_of(store, 0).folder / "answers.npy").write_bytes(b"other bytes")
    assert main(["store", "merge", str(tmp_path / "into"), str(store)]) == 2
    assert "Delete this folder, and merge again." in capsys.readouterr().err
    assert not entry_of(tmp_path / "into", 0).complete


def test_descriptions_of_models_are_merged(tmp_path: Path) -> None:
    """Of one model that answered on two devices, the same description is kept in both orders."""
    stores = [tmp_path / "cpu", tmp_path / "cuda"]
    for store in stores:
        write(store, {})
        write_description(store, ModelDescription(spec="m[]", identity=identity(device=store.name), interfaces=()))
    for into, order in (("a", stores), ("b", stores[::-1])):
        for store in order:
            merge_store(tmp_path / into, store)
    (kept,), (other,) = (list(read_descriptions(tmp_path / into)) for into in ("a", "b"))
    assert kept == other


def test_the_model_that_answered_last_is_scored_after_a_merge_in_any_order(tmp_path: Path) -> None:
    stores = [write(tmp_path / name, {}) for name in ("old", "new")]
    for number, store in enumerate(stores):
        model = msgspec.structs.replace(identity(), weights_sha256=store.name)
        write_description(store, ModelDescription(spec="m[]", identity=model, interfaces=()))
        (path,) = (store / "models").iterdir()
        os.utime(path, (1000 + number, 1000 + number))
    for into, order in (("a", stores), ("b", stores[::-1])):
        for store in order:
            merge_store(tmp_path / into, store)
        found = find_descriptions(tmp_path / into, parse_spec("m[]"), "")
        assert [description.identity.weights_sha256 for description in found] == ["new", "old"]


def test_the_model_that_answered_last_is_scored_after_pulls(tmp_path: Path) -> None:
    """The time of the last answer is that of the store which was pushed, not that of the upload or download."""
    stores = {name: write(tmp_path / name, {}) for name in ("old", "new", "here")}
    for number, (name, store) in enumerate(stores.items()):
        model = msgspec.structs.replace(identity(), weights_sha256=name)
        write_description(store, ModelDescription(spec="m[]", identity=model, interfaces=()))
        (path,) = (store / "models").iterdir()
        os.utime(path, (1000 + number, 1000 + number))
    url = f"file://{tmp_path}/remote"
    for name in ("new", "old"):
        push_store(stores[name], url)
    remote = RemoteStore(url, stores["here"])
    for _ in range(2):
        remote.copy_models()
        found = find_descriptions(stores["here"], parse_spec("m[]"), "")
        assert [description.identity.weights_sha256 for description in found] == ["here", "new", "old"]
    for path in (tmp_path / "remote").rglob("*.time"):
        path.unlink()  # as an older copy
    copy = write(tmp_path / "copy", {})
    RemoteStore(url, copy).copy_models()
    merge_store(copy, stores["here"])
    assert next(iter(find_descriptions(copy, parse_spec("m[]"), ""))).identity.weights_sha256 == "here"


def test_a_session_that_waits_for_an_entry_of_a_copy_says_so(tmp_path: Path, answered: Path) -> None:
    push_store(answered, url := f"file://{tmp_path}/remote")
    copy, said = tmp_path / "copy", list[str]()
    entry = entry_of(copy, 0)
    with ThreadPoolExecutor(1) as threads:
        with entry.lock_for_writing():
            waiting = threads.submit(RemoteStore(url, copy, on_wait=said.append).copy_entry, entry.key.digest)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.5)
            assert ["another run is answering" in text for text in said] == [True]
        waiting.result(timeout=30)
    assert entry.complete


@pytest.fixture
def answered(tmp_path: Path) -> Path:
    """A store with two sealed entries, a partial one and a model."""
    whole = frozenset(range(ROWS))
    store = write(tmp_path / "store", {0: whole, 1: whole, 2: frozenset({1})})
    write_description(store, ModelDescription(spec="m[]", identity=identity(), interfaces=("scorer",)))
    return store


@pytest.mark.parametrize("protocol", ["memory", "file"])
def test_sealed_entries_are_pushed_and_pulled(
    tmp_path: Path, answered: Path, protocol: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The copy has the bytes of the original, also of partial entries; what is there is not copied again."""
    url = f"{protocol}://{tmp_path}/remote"
    assert main(["store", "push", str(answered), url]) == 0
    assert "3 entries added" in capsys.readouterr().out
    assert main(["store", "push", str(answered), url]) == 0
    assert "0 entries added, 0 completed, 3 there already" in capsys.readouterr().out
    assert main(["store", "pull", url, str(tmp_path / "copy")]) == 0
    assert contents(tmp_path / "copy") == contents(answered)


def write_texts(root: Path, texts: Mapping[str, str]) -> Path:
    with entry_of(root, 0).lock_for_writing() as writer:
        for request, text in texts.items():
            responses.append(writer, request, Answer(text, (), True, usage=Usage(1, 1)))
        responses.compact(writer, responses.read_stored(writer))
    return root


def read_texts(root: Path) -> dict[str, str]:
    return {request: response.text for request, (response, _) in responses.read_stored(entry_of(root, 0)).items()}


@pytest.mark.parametrize("protocol", ["memory", "file"])
def test_texts_of_several_stores_are_pushed_and_pulled(tmp_path: Path, protocol: str) -> None:
    """A push adds what is not there in one file more; a session takes all, and keeps its own."""
    url = f"{protocol}://{tmp_path}/texts"
    one = write_texts(tmp_path / "one", {"a": "1", "b": "2"})
    other = write_texts(tmp_path / "other", {"b": "2", "c": "3"})
    assert [push_store(store, url).added for store in (one, one)] == [1, 0]
    assert push_store(other, url).completed == 1
    files, folder = fsspec.filesystem(protocol), entry_of(one, 0).folder.relative_to(one)
    assert len(files.glob(f"{tmp_path}/texts/{folder}/*.part")) == 2
    assert pull_store(url, tmp_path / "copy").added == 1
    third = write_texts(tmp_path / "third", {"d": "4"})
    remote = RemoteStore(url, third)
    for _ in range(2):
        remote.copy_entry(entry_of(third, 0).key.digest)
    assert read_texts(tmp_path / "copy") == {"a": "1", "b": "2", "c": "3"}
    assert read_texts(third) == {**read_texts(tmp_path / "copy"), "d": "4"}


def test_of_two_texts_each_store_keeps_its_own_and_takes_all_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"file://{tmp_path}/texts"
    one = write_texts(tmp_path / "one", {"a": "1", "b": "2"})
    other = write_texts(tmp_path / "other", {"b": "two", "c": "3"})
    push_store(one, url)
    for command in (["push", str(other), url], ["pull", url, str(other)], ["merge", str(one), str(other)]):
        assert main(["store", *command]) == 1
        assert "have other answers to 1 of the same requests" in capsys.readouterr().out
    assert read_texts(one) == {"a": "1", "b": "2", "c": "3"}
    assert read_texts(other) == {"a": "1", "b": "two", "c": "3"}


def test_a_damaged_part_at_the_url_is_refused(tmp_path: Path) -> None:
    one = write_texts(tmp_path / "one", {"a": "1"})
    push_store(one, url := f"file://{tmp_path}/texts")
    (part,) = (tmp_path / "texts").rglob("*.part")
    part.write_bytes(part.read_bytes()[:-1])
    for copy in (lambda: pull_store(url, tmp_path / "copy"), lambda: push_store(one, url)):
        with pytest.raises(
            StoreError, match=r"is damaged: its sha256 is .* Delete it there, and push its answers again"
        ):
            copy()


def test_an_upload_of_texts_that_was_cut_off_is_no_entry(tmp_path: Path) -> None:
    one = write_texts(tmp_path / "one", {"a": "1"})
    push_store(one, url := f"file://{tmp_path}/texts")
    (part,) = (tmp_path / "texts").rglob("*.part")
    part.rename(part.with_suffix(""))
    RemoteStore(url, tmp_path / "copy").copy_entry(entry_of(one, 0).key.digest)
    assert not entry_of(tmp_path / "copy", 0).folder.exists()
    assert push_store(one, url).added == pull_store(url, tmp_path / "copy").added == 1


def test_an_upload_that_was_cut_off_is_no_entry(tmp_path: Path, answered: Path) -> None:
    """Until its last file is there, nobody takes it; the next push completes it."""
    push_store(answered, f"file://{tmp_path}/remote")
    done = tmp_path / "remote" / entry_of(answered, 0).folder.relative_to(answered) / "done.json"
    done.unlink()
    assert pull_store(f"file://{tmp_path}/remote", tmp_path / "copy").added == 2
    assert push_store(answered, f"file://{tmp_path}/remote").added == 1
    assert pull_store(f"file://{tmp_path}/remote", tmp_path / "copy").added == 1


def test_a_damaged_entry_is_not_pushed(tmp_path: Path, answered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (entry_of(answered, 0).folder / "answers.npy").write_bytes(b"other bytes")
    assert main(["store", "push", str(answered), f"file://{tmp_path}/remote"]) == 2
    assert "Delete this folder, and push again." in capsys.readouterr().err


def test_other_answers_at_the_url_are_named(tmp_path: Path, answered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither a push nor a pull replaces them."""
    url, other = f"memory://{tmp_path}/conflict", write(tmp_path / "other", {0: frozenset(range(ROWS))}, plus=1)
    push_store(answered, url)
    before = contents(other)
    for command in (["push", str(other), url], ["pull", url, str(other)]):
        assert main(["store", *command]) == 1
        assert "1 in conflict" in capsys.readouterr().out
    assert {name: data for name, data in contents(other).items() if name in before} == before


def test_only_the_answers_of_an_entry_are_pushed(tmp_path: Path, answered: Path) -> None:
    """And no draft that a killed run left."""
    (entry_of(answered, 0).folder / "answers.npy.1-1").write_bytes(b"half of the answers")
    push_store(answered, f"file://{tmp_path}/remote")
    assert not list((tmp_path / "remote").rglob("answers.npy.*"))


def test_a_damaged_download_is_refused(tmp_path: Path, answered: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"memory://{tmp_path}/damaged"
    push_store(answered, url)
    files = fsspec.filesystem("memory")
    for path in files.glob(f"{tmp_path}/damaged/??/*/answers.npy"):
        files.pipe_file(path, b"other bytes")
    assert main(["store", "pull", url, str(tmp_path / "copy")]) == 2
    assert "is damaged" in capsys.readouterr().err
    assert not entry_of(tmp_path / "copy", 0).complete


@pytest.mark.parametrize(
    ("url", "message"),
    [("nothing://a/b", "cannot be opened"), ("memory://empty/place", "There are no answers at")],
)
def test_a_url_without_entries_is_refused(
    tmp_path: Path, url: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["store", "pull", url, str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
