"""Stored responses: they are read as they were written, and damage is found."""

from pathlib import Path

import pytest

from eyechart.errors import StoreError
from eyechart.inference.store import responses
from eyechart.inference.store.entries import Key, Store, StoreEntry
from eyechart.inference.store.responses import Response
from eyechart.models.types import Answer, Identity, Usage

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
            responses.append(writer, index, SAID[index])
        responses.seal(writer, len(order))


def test_responses_are_read_as_they_were_written(entry: StoreEntry) -> None:
    keep(entry, [0, 1, 2, 3])
    found = responses.load(entry)
    assert found.responses == tuple(Response(each.text, each.tokens, each.finished, each.error) for each in SAID)
    assert found.usage == Usage(101, 64, 4)


def test_responses_are_stored_in_the_order_of_their_requests(entry: StoreEntry, tmp_path: Path) -> None:
    other = Store(tmp_path / "other").entry(entry.key)
    keep(entry, [0, 1, 2, 3])
    keep(other, [3, 1, 0, 2])
    assert responses.load(entry).responses == responses.load(other).responses
    assert responses.load(entry).path.read_bytes() == responses.load(other).path.read_bytes()


def test_an_entry_without_responses_is_stored(entry: StoreEntry) -> None:
    keep(entry, [])
    assert (responses.load(entry).responses, responses.load(entry).usage) == ((), Usage())


def test_what_no_file_can_hold_is_replaced(entry: StoreEntry) -> None:
    with entry.lock_for_writing() as writer:
        kept, _ = responses.append(writer, 0, Answer("half \ud83d of a cat \U0001f408", (), True, error="at \udc00"))
        responses.seal(writer, 1)
    assert responses.load(entry).responses == (kept,)
    assert kept.text == "half \ufffd of a cat \U0001f408"


def test_changed_responses_are_refused(entry: StoreEntry) -> None:
    keep(entry, [0, 1, 2, 3])
    path = entry.folder / responses.RESPONSES_FILE
    path.write_bytes(path.read_bytes().replace(b"a cat", b"a dog"))
    with pytest.raises(StoreError, match=r"replies.jsonl are damaged \(its sha256 is .*Delete the folder"):
        responses.load(entry)


@pytest.mark.parametrize("content", [None, b"", b"[1,2]\n", b"[1,0,0]\n[1,0"])
def test_a_lost_count_of_tokens_is_told_like_any_damage(entry: StoreEntry, content: bytes | None) -> None:
    keep(entry, [0, 1, 2, 3])
    path = entry.folder / responses.USAGE_FILE
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(StoreError, match=r"usage.jsonl are damaged .*Delete the folder"):
        responses.load(entry)
