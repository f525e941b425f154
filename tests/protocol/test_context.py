"""What a protocol may use of a case: names, the positive class, clusters, kinds of models, token limits, a variant."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from eyechart.data.dataset.dataset import SliceVariable
from eyechart.errors import ModelError, SpecError, VocabularyError
from eyechart.models.types import Generator
from eyechart.protocol.context import Context, usual_token_limit
from eyechart.protocol.options import THINKING_TOKENS
from eyechart.protocol.prompts import Prompt

NONE: Mapping[str, object] = MappingProxyType({})


@pytest.fixture
def case(sit: Any, talker: Any) -> Callable[..., Context]:
    """A case of a model that talks, about pictures with labels; the facts replace what it usually has."""

    def case(labels: Sequence[int] = (0, 1, 2), options: Mapping[str, object] = NONE, **facts: Any) -> Context:
        context: Context = sit(talker(lambda *_: ""), labels, "open_world", **options)
        return replace(context, **facts)

    return case


def test_candidates_are_the_classes_of_the_subset(case: Callable[..., Context]) -> None:
    every, some = case(), case(options={"subset": (0, 2)})
    assert (every.candidate_classes, every.candidate_names) == ((0, 1, 2), ("cat", "dog", "great white shark"))
    assert (some.candidate_classes, some.candidate_names) == ((0, 2), ("cat", "great white shark"))


def test_names_are_one_for_each_class_and_may_be_equal_where_it_is_allowed(case: Callable[..., Context]) -> None:
    with pytest.raises(VocabularyError, match="has 3 classes, but the class names 'mine' are 2"):
        _ = case(raw_names=("cat", "dog")).names
    twins = ("cat", "dog", "dog")
    with pytest.raises(VocabularyError, match="dog"):
        _ = case(raw_names=twins, duplicate_names=False).names
    assert case(raw_names=twins, duplicate_names=True).names == twins


def test_the_positive_class_is_one_of_two(case: Callable[..., Context]) -> None:
    two = {"names": ("good", "defect")}
    assert case((0, 1), two, positive="defect").positive_class == 1
    assert case((0, 1), two).positive_class is None
    assert case(positive="defect").positive_class is None  # of three classes
    with pytest.raises(SpecError) as refused:
        _ = case((0, 1), two, positive="cow").positive_class
    assert str(refused.value) == (
        "--eye-positive is 'cow', and the two classes of imagenet/memory are good and defect. Name one of them."
    )


def test_an_image_without_a_value_is_a_cluster_of_its_own(case: Callable[..., Context]) -> None:
    patients = SliceVariable("patient", ("a", "b"), np.array([1, -1, 0, -1, 1]))
    context = case((0, 0, 0, 0, 0))
    dataset = replace(context.dataset, slices=(patients,))
    assert context.clusters is None
    found = replace(context, dataset=dataset, cluster="patient").clusters
    assert found is not None
    alike = found[:, None] == found[None, :]
    assert [np.flatnonzero(row).tolist() for row in alike] == [[0, 4], [1], [2], [3], [0, 4]]
    assert np.array_equal(replace(context, dataset=dataset, cluster="Patient").clusters, found)
    some = dataset.subsample(3, 0)
    part = replace(context, dataset=some, cluster="patient").clusters
    assert part is not None
    assert np.array_equal(part[:, None] == part[None, :], alike[np.ix_(some.selected, some.selected)])
    for split, why in ((dataset, "its columns are patient"), (context.dataset, "the split has no such file")):
        with pytest.raises(SpecError) as refused:
            _ = replace(context, cluster="ward", dataset=split).clusters
        assert str(refused.value) == (
            f"--eye-cluster is 'ward', and slices.csv of imagenet/memory has no such column: {why}. Add the column, or "
            "choose other splits with -k."
        )


@pytest.mark.parametrize(
    ("kind", "does"),
    [
        ("encoder", "compares images with texts"),
        ("image_encoder", "encodes images"),
        ("classifier", "classifies"),
        ("neighbours", "compares images with labelled ones"),
        ("probe", "is fitted on labelled images"),
        ("scorer", "gives log-probabilities"),
        ("replayed_words", "is a file of words"),
    ],
)
def test_a_model_of_another_kind_is_refused(case: Callable[..., Context], kind: str, does: str) -> None:
    context = case()
    assert context.generator is context.model
    with pytest.raises(ModelError) as refused:
        getattr(context, kind)
    assert str(refused.value) == f"talker is no model that {does}, which open_world needs."


def test_a_model_that_only_reads_does_not_answer(case: Callable[..., Context], letters: Any) -> None:
    with pytest.raises(ModelError, match="talker is no model that answers in words, which open_world needs"):
        _ = case(model=letters).generator


class Thinker(Generator):
    """Thinks before it answers."""

    thinks = True

    def generate(self, *_: Any) -> Any:
        """Answer nothing."""
        return iter(())


def test_who_thinks_has_more_tokens_unless_the_option_says_how_many(case: Callable[..., Context], letters: Any) -> None:
    thinker = Thinker.__new__(Thinker)
    assert [usual_token_limit(model, 7) for model in (letters, case().model, thinker)] == [7, 7, 7 + THINKING_TOKENS]
    assert case().token_limit(7) == 7
    assert case(model=thinker).token_limit(7) == 7 + THINKING_TOKENS
    assert case(options={"max_tokens": 5}, model=thinker).token_limit(7) == 5


def test_the_variant_says_what_answers_depend_on(case: Callable[..., Context]) -> None:
    prompt = Prompt("mine", "What is it?", "me")
    context = case(options={"mapping": "inclusion"}, extra_variant={"text_encoder_weights": "01234567"})
    variant = context.variant(prompt, "free 3")
    added = {
        "prompt": f"mine ({prompt.sha256[:8]})",
        "parser_version": "free 3",
        "names": "mine",
        "text_encoder_weights": "01234567",
    }
    assert variant == {**context.options, **added}
    assert variant["mapping"] == "inclusion"
    assert context.prompts == {prompt.sha256: prompt}
