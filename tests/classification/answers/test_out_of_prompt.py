"""Answers in free words: the nearest class, the included name, and the kinds of answers out of the prompt."""

from collections import Counter
from collections.abc import Sequence
from csv import DictReader
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eyechart.classification.answers import class_mapping
from eyechart.classification.answers.class_mapping import (
    embed_class_names,
    included_classes,
    map_by_inclusion,
    nearest_classes,
)
from eyechart.classification.answers.out_of_prompt import KINDS_OUT_OF_PROMPT, Kind, match_exactly, out_of_prompt_kinds
from eyechart.data.labels.class_names import load_class_names
from eyechart.errors import ModelError
from eyechart.models.types import Floats
from eyechart.parsers.abstention import is_abstention
from eyechart.parsers.text import lowercase_words

GOLDEN = Path(__file__).parents[2] / "golden"
TEMPLATES = ("a photo of a {c}.", "art of the {c}.", "{c}")
texts = st.text(st.sampled_from("abc -'é"), max_size=6)
name_lists = st.lists(texts.filter(str.strip), min_size=1, max_size=6)
answer_lists = st.lists(texts, max_size=8)
templates = st.sampled_from([("{c}",), TEMPLATES])


def encode(asked: Sequence[str]) -> Floats:
    """Features that depend on nothing but the text."""
    return np.array([list(sha256(text.encode()).digest()) for text in asked], np.float32) - 128


def brute_force(answer: str, names: Sequence[str], frames: Sequence[str]) -> int:
    """The nearest class, one text at a time in float64."""

    def vector(text: str) -> np.ndarray:
        rows = np.array([encode([frame.replace("{c}", text)])[0] for frame in frames], np.float64)
        mean = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).mean(axis=0)
        return mean / np.linalg.norm(mean)

    near = np.array([vector(answer.strip()) @ vector(name) for name in names])
    return int((near >= near.max() - 1e-6).argmax())


@given(answer_lists, name_lists, templates)
def test_the_nearest_class_is_brute_forces(answers: list[str], names: list[str], frames: tuple[str, ...]) -> None:
    found = nearest_classes(embed_class_names(encode, names, frames), answers)
    assert found.classes.tolist() == [brute_force(each, names, frames) if each.strip() else -1 for each in answers]


@given(name_lists, templates)
def test_a_classs_own_name_has_cosine_one(names: list[str], frames: tuple[str, ...]) -> None:
    found = nearest_classes(embed_class_names(encode, [name.strip() for name in names], frames), names)
    np.testing.assert_allclose(found.cosines, 1, atol=1e-5)
    stripped = [name.strip() for name in names]
    assert found.classes.tolist() == [stripped.index(name) for name in stripped]


@given(answer_lists, name_lists, st.integers(1, 20))
def test_neither_batches_nor_neighbours_change_a_mapping(answers: list[str], names: list[str], size: int) -> None:
    known = embed_class_names(encode, names, TEMPLATES)
    whole = nearest_classes(known, answers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_mapping, "_PROMPTS", size)
        apart = nearest_classes(known, answers[::-1])
    assert apart.classes[::-1].tolist() == whole.classes.tolist()


def test_ties_go_to_the_first_class_however_they_round() -> None:
    rows = {"a": (1, 0), "b": (1, 1e-3), "c": (1, -1e-3), "x": (1, 0)}
    known = embed_class_names(lambda asked: np.array([rows[each] for each in asked], np.float32), ["b", "c", "a"])
    assert nearest_classes(known, ["x"]).classes.tolist() == [0]


def test_different_texts_are_encoded_once() -> None:
    seen: list[str] = []
    known = embed_class_names(lambda asked: (seen.extend(asked), encode(asked))[1], ["b", "c", "b"])
    nearest_classes(known, ["x", " x", "y", "", "x"])
    assert seen == ["b", "c", "x", "y"]


def test_answers_may_go_into_templates_of_their_own() -> None:
    known = embed_class_names(encode, ["cat", "dog"], ["{c}"], answer_templates=["{c}t"])
    assert nearest_classes(known, ["ca"]).cosines == pytest.approx([1])


@given(name_lists)
def test_blank_answers_have_no_class(names: list[str]) -> None:
    found = nearest_classes(embed_class_names(encode, names), ["", " \n"])
    assert found.classes.tolist() == [-1, -1]
    assert np.isnan(found.cosines).all()


def test_an_encoder_that_drops_texts_is_refused() -> None:
    known = embed_class_names(lambda asked: encode(asked)[: 2 if "cat" in asked else 0], ["cat", "dog"])
    with pytest.raises(ModelError, match="for 1 texts"):
        nearest_classes(known, ["bird"])


@given(name_lists, st.data())
def test_a_name_is_read_whatever_its_case_and_margins(names: list[str], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(names))
    index = int(match_exactly([f" {name.upper()}\n"], names)[0])
    assert names[index].lower().strip() == name.lower().strip()
    assert not {each.lower().strip() for each in names[:index]} & {name.lower().strip()}


def occurs(answer: str, name: str) -> bool:
    """Whether the words of a name follow one another in an answer."""
    said, wanted = lowercase_words(answer), lowercase_words(name)
    return bool(wanted) and any(said[start : start + len(wanted)] == wanted for start in range(len(said)))


@given(answer_lists, name_lists)
def test_included_names_are_brute_forces(answers: list[str], names: list[str]) -> None:
    for answer, found in zip(answers, included_classes(answers, names), strict=True):
        assert {*found} == {index for index, name in enumerate(names) if occurs(answer, name)}
        assert [*found] == sorted(found, key=lambda index: (-len(names[index].strip()), index))


@given(answer_lists, name_lists)
def test_letters_include_what_words_do_and_more(answers: list[str], names: list[str]) -> None:
    for answer, found in zip(answers, included_classes(answers, names, whole_words=False), strict=True):
        assert {*found} == {index for index, name in enumerate(names) if name.strip() in answer}


@given(answer_lists, name_lists, st.booleans())
def test_a_mapping_by_inclusion_takes_the_only_name(answers: list[str], names: list[str], whole: bool) -> None:
    every = included_classes(answers, names, whole_words=whole)
    for found, taken in zip(every, map_by_inclusion(answers, names, whole_words=whole).tolist(), strict=True):
        longest = names[found[0]] if found else ""
        parts = [occurs(longest, names[each]) if whole else names[each].strip() in longest for each in found]
        assert taken == (found[0] if found and all(parts) else -1)


LISTED = ("German shepherd dog", "crane bird", "coffee mug", "jack-o'-lantern")
KNOWN = ("missile", "mug", "I don't know")
SORTED: dict[str, Kind] = {
    "I don't know": "Abstain",
    "i don’t know what this is": "Abstain",
    "Sorry, I cannot identify the object.": "Abstain",
    "UNKNOWN": "Abstain",
    "N/A": "Abstain",
    "none of the above": "Abstain",
    "Missile ": "IN",
    "mug": "IN",
    "dog, German": "Partial",
    "Lantern": "Partial",
    "bird": "Partial",
    "coffee bird": "Wrong",
    "a crane bird": "Wrong",
    "unknown soldier": "Wrong",
    "knot": "Wrong",
    "": "Wrong",
    "?!": "Wrong",
}


@pytest.mark.parametrize(("answer", "kind"), SORTED.items())
def test_answers_out_of_the_prompt_are_sorted(answer: str, kind: Kind) -> None:
    assert out_of_prompt_kinds([answer], LISTED, KNOWN) == [kind]


@given(answer_lists, name_lists, name_lists)
def test_kinds_are_brute_forces(answers: list[str], names: list[str], known: list[str]) -> None:
    out = [answer for answer, read in zip(answers, match_exactly(answers, names), strict=True) if read == -1]
    for answer, kind in zip(
        out, out_of_prompt_kinds(out, names, known) if all(map(str.strip, out)) else (), strict=False
    ):
        partial = bool(lowercase_words(answer)) and any(
            {*lowercase_words(answer)} <= {*lowercase_words(name)} for name in names
        )
        inside = answer.lower().strip() in {name.lower().strip() for name in known}
        assert kind == ("IN" if inside else "Partial" if partial else "Wrong")


@given(name_lists, st.data())
def test_an_answer_in_the_prompt_is_no_answer_out_of_it(names: list[str], data: st.DataObject) -> None:
    with pytest.raises(ValueError, match="is in the prompt's list"):
        out_of_prompt_kinds([data.draw(st.sampled_from(names)).upper()], names, [])


@given(st.text(max_size=20))
def test_case_and_margins_do_not_change_whether_an_answer_declines(answer: str) -> None:
    assume(answer.upper().lower() == answer.lower())
    assert is_abstention(answer) == is_abstention(f"\n {answer.upper()} ")


@pytest.mark.parametrize("vocabulary", ["openai", "mill", "kisel", "wordnet"])
def test_no_class_name_declines(vocabulary: str) -> None:
    assert [name for name in load_class_names(vocabulary).names if is_abstention(name)] == []


def published(table: str) -> list[dict[str, str]]:
    with (GOLDEN / f"{table}.csv").open(encoding="utf-8") as file:
        return list(DictReader(file))


@pytest.mark.parametrize("index", range(4))
def test_answers_built_to_the_counts_give_the_shares_of_table_16(index: int) -> None:
    counts, shares = published("out_of_prompt_counts")[index], published("table_16")[index]
    said: dict[Kind, str] = {"Partial": "shepherd", "IN": "missile", "Abstain": "unsure", "Wrong": "a kite"}
    found = Counter(
        out_of_prompt_kinds(
            [said[kind] for kind in KINDS_OUT_OF_PROMPT for _ in range(int(counts[kind]))], LISTED, KNOWN
        )
    )
    assert {kind: found[kind] for kind in KINDS_OUT_OF_PROMPT} == {
        kind: int(counts[kind]) for kind in KINDS_OUT_OF_PROMPT
    }
    assert [100 * found[kind] / found.total() for kind in KINDS_OUT_OF_PROMPT] == pytest.approx(
        [float(shares[kind]) for kind in KINDS_OUT_OF_PROMPT], abs=0.0051
    )
