"""Answers in free words as classes: the packaged MiniLM, with and without the 80 templates, and inclusion."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from eyechart.classification.answers.class_mapping import (
    BARE,
    ClassEmbeddings,
    embed_class_names,
    map_by_inclusion,
    nearest_classes,
)
from eyechart.data.labels.class_names import load_class_names, load_templates
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec

pytestmark = pytest.mark.deep

NAMES = load_class_names("openai").names
FEW = [NAMES[index] for index in (2, 207, 248, 250, 281, 322, 605, 606, 620, 681, 820, 839)]
DOGS = ["Golden Retriever", "Siberian Husky", "husky"]  # few, since each name and each answer is encoded 80 times
SAID = {
    "golden retriever puppy": "Golden Retriever",
    "a tabby cat": "tabby cat",
    "laptop computer": "laptop computer",
    "A great white shark, swimming.": "great white shark",
    "photo of a steam train": "steam locomotive",
    "an ipod": "iPod",
}


@pytest.fixture(scope="module")
def minilm() -> Any:
    return create_model(parse_spec("sentence[minilm]"), offline=True)


@pytest.fixture(scope="module")
def bare(minilm: Any) -> ClassEmbeddings:
    return embed_class_names(minilm.encode_texts, FEW)


@pytest.fixture(scope="module")
def framed(minilm: Any) -> ClassEmbeddings:
    return embed_class_names(minilm.encode_texts, DOGS, load_templates("80").formats)


def nearest_names(known: ClassEmbeddings, names: Sequence[str], answers: Sequence[str]) -> list[str]:
    return [names[index] for index in nearest_classes(known, answers).classes]


def test_answers_find_their_class(bare: ClassEmbeddings) -> None:
    assert nearest_names(bare, FEW, [*SAID]) == [*SAID.values()]


def test_templates_may_change_a_class(minilm: Any, framed: ClassEmbeddings) -> None:
    assert len(framed.templates) == 80
    said = ["golden retriever puppy", "I see a husky dog in the snow"]
    assert nearest_names(embed_class_names(minilm.encode_texts, DOGS, BARE), DOGS, said) == DOGS[:2]
    assert nearest_names(framed, DOGS, said) == [DOGS[0], DOGS[2]]


def test_a_name_lies_on_its_own_class_with_and_without_templates(
    bare: ClassEmbeddings, framed: ClassEmbeddings
) -> None:
    np.testing.assert_allclose(nearest_classes(bare, FEW).cosines, 1, atol=1e-5)
    np.testing.assert_allclose(nearest_classes(framed, DOGS[:1]).cosines, 1, atol=1e-5)


def test_a_caterpillar_is_no_cat_but_where_letters_count(minilm: Any) -> None:
    names = ["cat", "dog", "butterfly"]
    assert nearest_names(embed_class_names(minilm.encode_texts, names), names, ["caterpillar"]) == ["butterfly"]
    assert map_by_inclusion(["caterpillar"], names).tolist() == [-1]
    assert map_by_inclusion(["caterpillar"], names, whole_words=False).tolist() == [0]


def test_inclusion_leaves_answers_that_hold_no_name(bare: ClassEmbeddings) -> None:
    said = ["photo of a steam train", "a tabby cat"]
    assert map_by_inclusion(said, NAMES).tolist() == [-1, NAMES.index("tabby cat")]
    assert nearest_classes(bare, said).classes.min() >= 0
