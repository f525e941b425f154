"""Reasons in words."""

from typing import Any

import pytest

from eyechart.realbirdid.answers.abstention_reasons import ANSWERED, CHOICES, OTHER, ReasonParser, first_reason
from eyechart.realbirdid.answers.bird_vocabulary import BirdVocabulary
from eyechart.realbirdid.data.observations import REASONS

QUALITY, ANGLE, VOICE = REASONS
READ = [
    ("I cannot tell: image quality", QUALITY),
    ("I cannot tell: angle/occlusion", ANGLE),
    ("I cannot tell: vocalization", VOICE),
    ("The picture is too blurry to identify the species.", QUALITY),
    ("Its head is hidden behind leaves and the photo is blurry, so I can't tell.", ANGLE),
    ("One would have to hear its song.", VOICE),
    ("I'm not sure.", OTHER),
    ("Unknown", OTHER),
    ("none", OTHER),
    ("Corvus corax", ANSWERED),
    ("A Common Raven, though the image is blurry", ANSWERED),
    ("I am not sure, but probably Corvus corone.", ANSWERED),
    ("Corvus corax and Corvus corone differ in their calls, so I cannot tell them apart here.", VOICE),
    ("Corvus corax or Turdus merula, from the pose", ANSWERED),
    ("A Corvus, but I can't determine the species.", OTHER),
    ("A Blue Jay.", ANSWERED),
    ("recalling the plumage, a composed bird", ANSWERED),
]


@pytest.fixture
def reader(taxonomy: Any) -> ReasonParser:
    return ReasonParser(BirdVocabulary.from_taxonomy(taxonomy))


@pytest.mark.parametrize(("text", "reason"), READ)
def test_a_text_gives_a_reason(reader: ReasonParser, text: str, reason: str) -> None:
    assert CHOICES[reader.parse(text)] == reason


PLAIN = [("Vocalization.", VOICE), ("Corvus corax", ANSWERED), ("the Common Raven", ANSWERED)]


@pytest.mark.parametrize(("text", "reason"), PLAIN)
def test_a_reason_or_a_name_alone_needs_no_question(reader: ReasonParser, text: str, reason: str) -> None:
    assert CHOICES[reader.parse_exact(text)] == reason


@pytest.mark.parametrize("text", ["none", "Corvus", "cannot tell", "I cannot tell: vocalization", ""])
def test_all_else_does(reader: ReasonParser, text: str) -> None:
    assert reader.parse_exact(text) == -1


def test_the_first_reason_counts() -> None:
    assert [first_reason(text) for text in ("dark silhouette, silent call", "a call in the dark", "")] == [0, 2, -1]


def test_every_reason_is_read_as_itself(reader: ReasonParser) -> None:
    assert [reader.parse(reason) for reason in REASONS] == [0, 1, 2]
