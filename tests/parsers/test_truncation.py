"""A truncated response is no answer, unless the answer was complete before, in every protocol of words."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eyechart.classification.answers.class_predictions import ClassPredictions, Targets
from eyechart.classification.protocols.closed_world import ClosedWorld
from eyechart.classification.protocols.mcq import MillMCQ
from eyechart.classification.protocols.multiple_choice import MultipleChoice
from eyechart.classification.protocols.open_world import OpenWorld
from eyechart.data.dataset.dataset import Row, build_original_labels
from eyechart.data.labels.equivalences import LabelPolicy
from eyechart.models.types import Answer
from eyechart.parsers.truncation import read_complete_letter, read_complete_name, read_complete_word
from eyechart.protocol.registry import get_protocol
from eyechart.results.records import OutcomeCounts

TWELVE = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kite", "lynx")


def cut(text: str) -> Callable[..., Answer]:
    """Say a text that the token limit cut."""
    return lambda *_: Answer(text, (), finished=False)


def outcomes(found: ClassPredictions, labels: list[int], classes: int) -> OutcomeCounts:
    rows = [Row(key, key, "", label) for key, label in zip(found.keys, labels, strict=True)]
    truth = build_original_labels("pets", rows, [[label] for label in labels], "test")
    targets = Targets((truth,), np.array(labels, np.int64), LabelPolicy(), classes)
    return replace(found, targets=targets).count_outcomes()


@pytest.mark.parametrize(
    ("text", "truncated"),
    [("The answer is B", True), ("B) goldf", True), ("B", True), ("It has scales.\n**B**\nBecause", False), ("", True)],
)
def test_a_letter_counts_on_a_line_of_its_own(sit: Any, talker: Any, text: str, truncated: bool) -> None:
    found = MillMCQ().predict(sit(talker(cut(text)), [0], "mcq", TWELVE))
    assert (found.truncated == found.unparsed == {0}) == truncated
    assert (found.top[0, 0] < 0) == truncated
    counted = outcomes(found, [0], 12)
    assert (counted.truncated, counted.unparsed) == (int(truncated), 0)
    assert counted.correct + counted.wrong + counted.truncated == 1


def test_mills_scorer_reads_what_is_there(sit: Any, talker: Any) -> None:
    found = MillMCQ().predict(sit(talker(cut("The answer is B")), [0], "mcq", TWELVE, parser="mill"))
    assert (found.truncated, found.unparsed) == (frozenset(), frozenset())


def test_a_complete_answer_that_cannot_be_read_is_unparsed(sit: Any, talker: Any) -> None:
    found = MillMCQ().predict(sit(talker(lambda *_: "I cannot tell"), [0], "mcq", TWELVE))
    assert (found.truncated, found.unparsed) == (frozenset(), {0})
    assert outcomes(found, [0], 12) == OutcomeCounts(unparsed=1)


def test_every_round_of_repeats_has_its_truncated_responses(sit: Any, talker: Any) -> None:
    found = MultipleChoice().predict(sit(talker(cut("Let me think: B")), [0, 1], "multiple_choice", TWELVE, epochs=2))
    assert [each.truncated for each in found.epochs] == [{0, 1}, {0, 1}]


@pytest.mark.parametrize(
    ("text", "index", "truncated"),
    [
        ('{"1": "cat"', 0, False),
        ('{"1": "dog", "note": "it b', 1, False),
        ('{"1": "great white', -1, True),
        ("cat", -1, True),
        ("dog\nIt barks and", 1, False),
        ("Let me look at the\npicture", -1, True),
    ],
)
@pytest.mark.parametrize("protocol", ["closed_world", "closed_world_plus"])
def test_a_name_counts_where_its_value_or_line_is_complete(
    sit: Any, talker: Any, protocol: str, text: str, index: int, truncated: bool
) -> None:
    more = {"mapping": "inclusion"} if protocol == "closed_world_plus" else {}
    found = get_protocol(protocol).predict(sit(talker(cut(text)), [0], protocol, **more))
    assert isinstance(found, ClassPredictions)
    assert found.texts
    assert found.top[0, 0] == index
    assert (found.truncated == {0}) == truncated
    assert found.texts.out_of_prompt == ("",)
    assert outcomes(found, [0], 3).truncated == truncated


def test_only_the_images_without_a_complete_value_are_truncated(sit: Any, talker: Any) -> None:
    found = ClosedWorld().predict(sit(talker(cut('{"1": "cat", "2": "do')), [0, 1], images_per_request=2))
    assert sorted(found.top[:, 0].tolist()) == [-1, 0]
    assert len(found.truncated) == 1


@pytest.mark.parametrize(("text", "truncated"), [("great white", True), ('{"1": "cat"}', False), ("cat\nIt is", False)])
def test_a_free_name_that_is_cut_is_not_mapped(sit: Any, talker: Any, text: str, truncated: bool) -> None:
    found = OpenWorld().predict(sit(talker(cut(text)), [0], "open_world", mapping="inclusion"))
    assert (found.truncated == {0}) == truncated
    assert (found.top[0, 0] < 0) == truncated


def test_thoughts_that_never_end_are_truncated(sit: Any, talker: Any) -> None:
    for text in ("<think>\nB\nor A", "Okay, the answer is B.\nWait, it", "<thinking>B\n"):
        found = MillMCQ().predict(sit(talker(cut(text)), [0], "mcq", TWELVE, seed=len(text)))
        assert found.truncated == {0}


@pytest.mark.parametrize(
    ("text", "word", "letter", "name"),
    [
        ("Yes.\n\nI see", "Yes.", "", "Yes."),
        ("Yes", "", "", ""),
        ("Yes, I need to check whether … Let me", "", "", ""),
        ("\n**3**\nOne", "**3**", "**3**", "**3**"),
        ("Answer: B\nIt", "Answer: B", "Answer: B", "Answer: B"),
        ("Okay, the answer is B.\nWait, it", "", "", "Okay, the answer is B."),
        ('{"answer": "B"}', '{"answer": "B"}', '{"answer": "B"}', ""),
        ('{"answer": "B', "", "", ""),
        ("[1]", "", "", ""),
        ("<think>Yes\nNo\n", "", "", ""),
        ("A? B?</think>\nB\nIt", "B", "B", "B"),
        ("A\nB\nC", "A", "", "A"),
        ("The answer may be:\nB\nor", "", "B", ""),
    ],
)
def test_what_is_complete_before_the_cut(text: str, word: str, letter: str, name: str) -> None:
    assert (read_complete_word(text), read_complete_letter(text), read_complete_name(text)) == (word, letter, name)
