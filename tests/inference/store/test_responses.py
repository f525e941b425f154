"""Responses in the store: what one run asked, another need not ask again; the bytes do not depend on the order."""

import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import StoreError
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store import responses
from eyechart.inference.store.copies import RemoteStore, push_store
from eyechart.inference.store.entries import Key, Store, StoreEntry, Writer
from eyechart.inference.store.responses import Response, Responses
from eyechart.models.types import Answer, Identity, Usage
from tests.inference.library import COUNT, Library, said

PASSING = Answer("", (), False, error="429: too many requests", retry=True)


def indices(model: Any) -> list[int]:
    """The places that a model was asked about."""
    return [2 * numbers[0] + int(text[-1]) for numbers, text in model.asked]


def texts(found: Responses) -> list[str]:
    return [reply.text for reply in found.responses]


def test_replies_come_in_the_order_of_the_questions(library: Library, talker: Any) -> None:
    found = library.ask(talker(said, turned=True), [5, 0, 3])
    assert texts(found) == ["question 1 2", "question 0 0", "question 1 1"]


def test_two_choices_that_share_questions_ask_each_once(library: Library, talker: Any) -> None:
    first, second = talker(said), talker(said)
    assert library.ask(first, [0, 1, 4, 5]).fresh == 4
    found = library.ask(second, [4, 5, 6, 7, 0])
    assert (indices(second), found.fresh) == ([6, 7], 2)
    assert texts(found) == [said((index // 2,), f"question {index % 2}") for index in (4, 5, 6, 7, 0)]


def test_what_is_there_is_given_without_a_question(library: Library, talker: Any) -> None:
    library.ask(talker(said), range(6))
    again = talker(said)
    found = library.ask(again, [5, 2])
    assert (again.how, found.fresh, texts(found)) == ([], 0, ["question 1 2", "question 0 1"])


def test_equal_places_are_asked_once_and_counted_once(library: Library, talker: Any) -> None:
    model = talker(said)
    found = library.ask(model, [3, 2, 3, 3])
    assert (sorted(indices(model)), found.fresh) == ([2, 3], 2)
    assert texts(found) == ["question 1 1", "question 0 1", "question 1 1", "question 1 1"]
    assert found.usage == Usage(20, 8, 4)


def test_nothing_asked_writes_nothing(library: Library, talker: Any) -> None:
    assert library.ask(talker(said), []).responses == ()
    assert not library.root.exists()


@pytest.mark.parametrize("order", [[[7, 1, 0], [1, 2, 3, 4, 5, 6]], [[*range(7, -1, -1)]], [[4], [4, 4], [*range(8)]]])
def test_bytes_do_not_tell_in_which_order_it_grew(
    library: Library, other: Library, talker: Any, order: list[list[int]]
) -> None:
    for some in order:
        library.ask(talker(said, turned=True, window=3), some)
    other.ask(talker(said), range(8))
    assert library.files(talker(said)) == other.files(talker(said))
    assert set(library.files(talker(said))) == {"key.json", "00000.part"}


def test_the_sha256_is_of_the_replies_asked_for_alone(library: Library, other: Library, talker: Any) -> None:
    library.ask(talker(said), range(8))
    one, two = library.ask(talker(said), [3, 4]), other.ask(talker(said), [3, 4])
    assert one.sha256 == two.sha256 != library.ask(talker(said), [4, 3]).sha256
    lines = [b'{"text":"question 1 1","tokens":[1,2]}\n', b'{"text":"question 0 2","tokens":[1,2]}\n']
    assert one.sha256 == sha256(b"".join(lines)).hexdigest()


@pytest.mark.parametrize("stop", [0, 1, 5, 7])
@pytest.mark.parametrize("turned", [False, True])
def test_a_stopped_run_ends_as_if_it_had_never_stopped(
    library: Library, other: Library, talker: Any, stop: int, turned: bool
) -> None:
    first, second = talker(said, stop=stop, turned=turned), talker(said, window=3)
    with pytest.raises(ConnectionResetError):
        library.ask(first, range(8))
    resumed, whole = library.ask(second, range(8)), other.ask(talker(said), range(8))
    assert (resumed.sha256, resumed.responses, resumed.fresh) == (whole.sha256, whole.responses, 8 - stop)
    assert sorted(indices(first) + indices(second)) == [*range(8)]
    assert library.files(first) == other.files(first)


@pytest.mark.parametrize("cut", [1, 9, 40])
def test_a_torn_tail_is_asked_again(library: Library, other: Library, talker: Any, cut: int) -> None:
    with pytest.raises(ConnectionResetError):
        library.ask(talker(said, stop=5), range(8))
    part = library.entry(talker(said)).folder / "00000.part"
    part.write_bytes(part.read_bytes()[:-cut])
    model = talker(said)
    library.ask(model, range(8))
    other.ask(talker(said), range(8))
    assert indices(model) == [4, 5, 6, 7]
    assert library.files(model) == other.files(model)


def test_a_stopped_addition_loses_nothing_of_before(library: Library, talker: Any) -> None:
    library.ask(talker(said), [6, 7])
    with pytest.raises(ConnectionResetError):
        library.ask(talker(said, stop=1), range(4))
    model = talker(said)
    assert library.ask(model, range(8)).fresh == 5
    assert indices(model) == [1, 2, 3, 4, 5]


def test_a_part_after_a_missing_one_is_not_written_into(library: Library, talker: Any) -> None:
    library.ask(talker(said), [0, 1])
    folder = library.entry(talker(said)).folder
    (folder / "00002.part").write_bytes(b"EYE1 torn")
    with pytest.raises(ConnectionResetError):
        library.ask(talker(said, stop=1), range(8))
    model = talker(said)
    library.ask(model, range(8))
    assert indices(model) == [3, 4, 5, 6, 7]


def test_what_a_killed_tidying_left_is_swept_away(library: Library, other: Library, talker: Any) -> None:
    library.ask(talker(said), [0, 1])
    folder = library.entry(talker(said)).folder
    (folder / "00000.part.17-1").write_bytes(b"half")
    (folder / "00001.part").write_bytes((folder / "00000.part").read_bytes())
    library.ask(talker(said), range(8))
    other.ask(talker(said), range(8))
    assert library.files(talker(said)) == other.files(talker(said))


@pytest.fixture
def left(library: Library, talker: Any) -> Path:
    """What a run leaves that was killed when the last answer was kept, or while it tidied."""
    with pytest.raises(ConnectionResetError):
        library.ask(talker(said, stop=3, turned=True), range(8))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Writer, "replace", lambda *_: None)
        library.ask(talker(said), range(8))
    folder = library.entry(talker(said)).folder
    (folder / "00000.part.17-1").write_bytes(b"half")
    assert {path.name for path in folder.glob("*.part")} == {"00000.part", "00001.part"}
    return folder


def test_a_book_that_was_not_tidied_is_when_it_is_read(
    left: Path, library: Library, other: Library, talker: Any
) -> None:
    model = talker(said)
    found, whole = library.ask(model, [3]), other.ask(talker(said), range(8))
    assert (found.responses, model.asked) == (whole.responses[3:4], [])
    assert library.files(model) == other.files(model)


def test_one_part_out_of_order_is_put_in_order(library: Library, other: Library, talker: Any) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Writer, "replace", lambda *_: None)
        library.ask(talker(said, turned=True), range(8))
    before = library.files(talker(said))
    library.ask(talker(said), [3])
    other.ask(talker(said), range(8))
    assert before != library.files(talker(said)) == other.files(talker(said))


def test_a_book_that_another_run_holds_is_read_as_it_is(left: Path, library: Library, talker: Any) -> None:
    before = library.files(talker(said))
    with library.entry(talker(said)).lock_for_writing():
        assert texts(library.ask(talker(said), [3])) == ["question 1 1"]
    assert library.files(talker(said)) == before


def test_a_fault_that_may_pass_is_told_and_not_kept(library: Library, other: Library, talker: Any) -> None:
    busy = talker(lambda numbers, text: PASSING if numbers[0] == 1 else said(numbers, text))
    found = library.ask(busy, range(6))
    assert [index for index, reply in enumerate(found.responses) if reply.error] == [2, 3]
    assert (found.fresh, found.usage) == (4, Usage(40, 16, 8))
    model = talker(said)
    assert library.ask(model, range(6)).responses == other.ask(talker(said), range(6)).responses
    assert indices(model) == [2, 3]
    assert library.files(model) == other.files(model)


def test_any_other_fault_is_an_answer_for_good(library: Library, talker: Any) -> None:
    refused = Answer("", (), False, error="content filter")
    library.ask(talker(lambda numbers, text: refused), [2])
    again = talker(said)
    assert library.ask(again, [2]).responses == (Response("", (), False, error="content filter"),)
    assert again.asked == []


def test_a_broken_image_is_an_error_of_its_questions_alone(tmp_path: Path, pictures: Any, talker: Any) -> None:
    found = Library(tmp_path, pictures([-1] * COUNT, frozenset({1}))).ask(talker(said), range(6))
    assert [bool(reply.error) for reply in found.responses] == [False, False, True, True, False, False]


def test_two_runs_at_once_share_the_work(library: Library, other: Library, talker: Any) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(numbers: tuple[int, ...], text: str) -> str:
        begun.set()
        assert go.wait(30)
        return said(numbers, text)

    first, second = talker(slow), talker(said)
    one = threading.Thread(target=library.ask, args=(first, range(6)))
    two = threading.Thread(target=library.ask, args=(second, range(2, 8)))
    one.start()
    assert begun.wait(30)
    two.start()
    go.set()
    one.join(30), two.join(30)
    other.ask(talker(said), range(8))
    assert (indices(first), indices(second)) == ([*range(6)], [6, 7])
    assert library.files(first) == other.files(first)


def test_another_run_may_read_while_one_asks(library: Library, talker: Any) -> None:
    library.ask(talker(said), [0, 1])
    reader, read = talker(said), []

    def curious(numbers: tuple[int, ...], text: str) -> str:
        read.append(texts(library.ask(reader, [1, 0])))
        return said(numbers, text)

    library.ask(talker(curious), [4])
    assert (reader.asked, read) == ([], [["question 1 0", "question 0 0"]])


def test_a_part_that_is_tidied_away_while_it_is_read_is_waited_for(
    library: Library, talker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.ask(talker(said), range(4))

    def gone(entry: StoreEntry) -> Any:
        raise StoreError("a part is gone")

    monkeypatch.setattr(StoreEntry, "blocks", gone)
    model = talker(said)
    assert library.ask(model, range(4)).fresh == 0
    assert model.asked == []


def test_what_was_pushed_is_not_asked_on_another_machine(
    library: Library, other: Library, talker: Any, tmp_path: Path
) -> None:
    library.ask(talker(said), range(8))
    push_store(library.root, url := f"file://{tmp_path}/remote")
    model, store = talker(said), Store(other.root, copy_entry=RemoteStore(url, other.root).copy_entry)
    found = Runner(store, None, 0, lambda *_: None).run(other.asked(range(8)), model, other.dataset)
    assert (model.asked, found.fresh) == ([], 0)
    assert other.files(model) == library.files(model)


def test_progress_counts_the_questions_asked_for(library: Library, talker: Any) -> None:
    library.ask(talker(said), range(4))
    told: list[tuple[int, int, str]] = []
    library.ask(talker(said), [2, 3, 4, 4, 5], lambda *how: told.append(how[:3]))
    assert told == [(done, 4, "requests") for done in (2, 3, 4)]


def test_a_budget_is_told_what_others_asked(library: Library, talker: Any) -> None:
    library.ask(talker(said), range(4))
    model = talker(said)
    model.told = []
    model.on_cached_usage = lambda *how: model.told.append(how)
    for some in ([0], [4]):
        library.ask(model, some)
    first, second = (library.asked([index]).requests[0].id(library.dataset.selected_digests) for index in (0, 4))
    assert model.told == [({first: Usage(10, 4, 2)},), ({},), ({second: Usage()},)]


def test_a_disk_that_is_full_while_tidying_loses_nothing(
    library: Library, talker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("The store cannot be written")

    with monkeypatch.context() as patched:
        patched.setattr(Writer, "replace", full)
        with pytest.raises(StoreError):
            library.ask(talker(said), range(4))
    again = talker(said)
    assert library.ask(again, range(4)).fresh == 0
    assert again.asked == []


WHO = Identity(backend="b", name="n", weights_sha256="0", dtype="float32", device="cpu", processor={}, libraries={})
SAID = (
    Answer("a cat", (5, 6, 7), True, usage=Usage(100, 64, 3)),
    Answer('{"1": "cat",\n\t"2": "é \u2028 \x85 \x1e \r\n 猫 🐈"}', (), False, usage=Usage(1, 0, 1)),
    Answer("", (), True),
    Answer("", (), False, error="mine/val: s1 is broken."),
)


@pytest.fixture
def entry(tmp_path: Path) -> StoreEntry:
    return Store(tmp_path).entry(Key(kind="mine", model=WHO))


def keep(entry: StoreEntry, order: list[int]) -> None:
    with entry.lock_for_writing() as writer:
        for index in order:
            responses.append(writer, f"request {index}", SAID[index])
        responses.compact(writer, responses.read_stored(writer))


def read(entry: StoreEntry) -> Responses:
    stored = responses.read_stored(entry)
    return responses.select(stored, sorted(stored), entry, 0)


def test_what_another_run_adds_is_read(entry: StoreEntry) -> None:
    keep(entry, [0, 1])
    assert len(responses.read_stored(entry)) == len(responses.read_stored(entry)) == 2
    keep(entry, [2])
    assert len(responses.read_stored(entry)) == 3


def test_responses_are_read_as_they_were_written(entry: StoreEntry) -> None:
    keep(entry, [0, 1, 2, 3])
    found = read(entry)
    assert found.responses == tuple(Response(each.text, each.tokens, each.finished, each.error) for each in SAID)
    assert found.usage == Usage(101, 64, 4)


def test_responses_are_stored_in_the_order_of_their_requests(entry: StoreEntry, tmp_path: Path) -> None:
    other = Store(tmp_path / "other").entry(entry.key)
    keep(entry, [0, 1, 2, 3])
    keep(other, [3, 1, 0, 2])
    assert read(entry).responses == read(other).responses
    assert (entry.folder / "00000.part").read_bytes() == (other.folder / "00000.part").read_bytes()


def test_an_entry_without_responses_is_stored(entry: StoreEntry) -> None:
    keep(entry, [])
    assert (read(entry).responses, read(entry).usage) == ((), Usage())


def test_what_no_file_can_hold_is_replaced(entry: StoreEntry) -> None:
    with entry.lock_for_writing() as writer:
        kept, _ = responses.append(
            writer, "request 0", Answer("half \ud83d of a cat \U0001f408", (), True, error="at \udc00")
        )
    assert read(entry).responses == (kept,)
    assert kept.text == "half \ufffd of a cat \U0001f408"
