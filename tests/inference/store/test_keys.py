"""The store's key covers every input: two keys are one only if everything that was asked is one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eyechart.data.dataset.dataset import Dataset, Row
from eyechart.data.index.file_index import whole_file_source
from eyechart.inference.requests.row_requests import BaseRequest, Classify, ClassWeights, Encode
from eyechart.inference.store.entries import Key, request_key
from eyechart.models.types import Identity

pytestmark = pytest.mark.deep

words = st.text("ab", max_size=3)
facts = st.dictionaries(words, words | st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=2), max_size=3)
identities = st.builds(
    Identity,
    backend=words,
    name=words,
    weights_sha256=words,
    revision=words,
    dtype=words,
    device=words,
    processor=facts,
    libraries=st.dictionaries(words, words, max_size=3),
)
keys = st.builds(
    Key,
    owner=words,
    format=st.integers(0, 3),
    kind=words,
    model=identities,
    data=words,
    decoder=facts,
    prompts=words,
    decoding=facts,
    batch_size=st.integers(0, 3),
)
SOME_KEY, OTHER_KEY = (
    Key(
        owner=text,
        format=number,
        kind=text,
        model=Identity(
            backend=text,
            name=text,
            weights_sha256=text,
            revision=text,
            dtype=text,
            device=text,
            processor={"a": number},
            libraries={"a": text},
        ),
        data=text,
        decoder={"a": number},
        prompts=text,
        decoding={"a": number},
        batch_size=number,
    )
    for text, number in (("a", 1), ("b", 2))
)


@given(keys, keys)
def test_equal_digests_mean_equal_keys(one: Key, other: Key) -> None:
    assert (one.digest == other.digest) == (one == other)


def one_field_changed(one: Any, other: Any) -> dict[str, Any]:
    """Copies of a struct by the field in which each differs: it has the value of another struct."""
    values = {
        name: getattr(other, name) for name in one.__struct_fields__ if getattr(one, name) != getattr(other, name)
    }
    return {name: msgspec.structs.replace(one, **{name: value}) for name, value in values.items()}


@given(keys, keys)
@example(SOME_KEY, OTHER_KEY)
def test_every_field_changes_the_digest(one: Key, other: Key) -> None:
    changed = one_field_changed(one, other)
    assert [name for name, key in changed.items() if key.digest == one.digest] == []


@given(keys, identities)
@example(SOME_KEY, OTHER_KEY.model)
def test_everything_about_the_model_changes_the_digest(key: Key, other: Identity) -> None:
    changed = one_field_changed(key.model, other)
    same = [name for name, model in changed.items() if msgspec.structs.replace(key, model=model).digest == key.digest]
    assert same == []


@pytest.mark.parametrize(("one", "other"), [(SOME_KEY, OTHER_KEY), (SOME_KEY.model, OTHER_KEY.model)])
def test_the_examples_differ_in_every_field(one: Any, other: Any) -> None:
    """So the two tests above compare every field, whatever is drawn."""
    assert [*one_field_changed(one, other)] == [*one.__struct_fields__]


@given(keys)
def test_the_order_of_facts_does_not(key: Key) -> None:
    model = msgspec.structs.replace(key.model, processor=turned(key.model.processor))
    other = msgspec.structs.replace(key, model=model, decoder=turned(key.decoder), decoding=turned(key.decoding))
    assert other.digest == key.digest


def turned(facts: Any) -> dict[str, Any]:
    return dict(reversed([*facts.items()]))


@given(keys)
def test_a_key_comes_back_from_its_file(key: Key) -> None:
    assert msgspec.json.decode(msgspec.json.encode(key), type=Key).digest == key.digest


ROWS = tuple(Row(f"key{index}", f"file{index}", f"sha{index}", index) for index in range(4))
SPLIT = Dataset("imagenet", "tiny", ROWS, whole_file_source(()), 4)


@dataclass
class Model:
    """As much of a model as a key sees."""

    batch_size: int = 1
    owner: str = ""
    loads, templates = 0, "1"
    identity = Identity(
        backend="b", name="n", weights_sha256="w", dtype="float32", device="cpu", processor={}, libraries={}
    )


FEATURES = Encode()


def digest(dataset: Dataset = SPLIT, request: BaseRequest = FEATURES, batch_size: int = 1) -> str:
    return request_key(request, Model(batch_size), dataset).digest


def with_row(**facts: Any) -> Dataset:
    return replace(SPLIT, index=(*ROWS[:3], msgspec.structs.replace(ROWS[3], **facts)))


@pytest.mark.parametrize(
    "other",
    [
        lambda: digest(request=Classify()),
        lambda: digest(batch_size=2),
        lambda: digest(replace(SPLIT, upright=False)),
        lambda: digest(replace(SPLIT, index=ROWS[::-1])),
        lambda: digest(with_row(sha256="other bytes")),
        lambda: digest(with_row(key="other key")),
    ],
)
def test_every_part_of_a_question_about_pictures_is_in_its_key(other: Callable[[], str]) -> None:
    assert other() != digest()


@pytest.mark.parametrize(
    "same",
    [
        with_row(label=0),
        with_row(file="other"),
        replace(SPLIT, split="other"),
        SPLIT.subsample(2, 0),
        SPLIT.subsample(2, 1),
    ],
)
def test_labels_names_and_limits_are_not(same: Dataset) -> None:
    assert digest(same) == digest()


wordings = st.builds(
    ClassWeights,
    st.lists(st.sampled_from(["a", "b", "a a", "b a"]), min_size=1, max_size=3).map(tuple),
    st.lists(st.sampled_from(["{c}", "a {c}", "{c} a"]), min_size=1, max_size=3).map(tuple),
)


@given(wordings, wordings)
def test_the_prompts_of_every_class_are_in_the_key_of_its_weights(one: ClassWeights, other: ClassWeights) -> None:
    assert (weights_key(one) == weights_key(other)) == (rendered(one) == rendered(other))


def weights_key(request: ClassWeights) -> Key:
    return request_key(request, Model())


def rendered(wording: ClassWeights) -> list[list[str]]:
    return [[template.replace("{c}", name) for template in wording.templates] for name in wording.names]
