"""What toybox-mllm is taught: pictures of crowds, questions about them, and the tokens of both."""

import json
import random
import re
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.labels.class_names import load_class_names
from eyechart.models.runtime.torchvision_repair import repair

repair()
from eyechart.toybox.art.bird_looks import species  # noqa: E402
from eyechart.toybox.art.toy_classes import equivalent_classes, names  # noqa: E402
from toybox import questions  # noqa: E402
from toybox.crowds import NOTHING, UNCLEAR, Crowds, crowds, plot  # noqa: E402
from toybox.lessons import Lesson, group_indices, sequences  # noqa: E402
from toybox.pieces import ASSISTANT, END, IMAGE, USER, Reader, write_tokenizer  # noqa: E402
from toybox.questions import BIRDS, LONG, SHORT, WORDINGS, PictureContent, QAPair, ask_batch, draw_questions  # noqa: E402
from toybox.sprites import sprites  # noqa: E402

FEW = (0, 2, 40, 80)
CROWD = PictureContent((3, 3, 17, 3))
Kinds = tuple[tuple[questions.Ask, int], ...]
VOCABULARIES = ("mill", "openai", "kisel", "wordnet")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder)
    return Reader(folder)


@pytest.fixture(scope="module")
def drawn() -> Crowds:
    return crowds(sprites(("google",), FEW), 1, 12, 96, 0.0, (0, 1, 3, 5))


def test_pictures_are_those_of_their_seed(drawn: Crowds) -> None:
    art = sprites(("google",), FEW)
    same, other = (crowds(art, seed, 12, 96, 0.0, (0, 1, 3, 5)) for seed in (1, 2))
    assert torch.equal(drawn.pixels, same.pixels)
    assert torch.equal(drawn.cells, same.cells)
    assert not torch.equal(drawn.pixels, other.pixels)
    assert drawn.pixels.shape == (12, 3, 96, 96)
    assert drawn.pixels.abs().max() <= 1


def test_cells_show_the_things_of_their_picture_and_no_other(drawn: Crowds) -> None:
    for cells, labels in zip(drawn.cells.tolist(), drawn.labels.tolist(), strict=True):
        assert {*cells} - {NOTHING, UNCLEAR} <= {*labels} - {NOTHING}
    numbers = (drawn.labels != NOTHING).sum(1)
    assert {*numbers.tolist()} == {0, 1, 3, 5}
    assert torch.equal(drawn.centres.sum(1).long().clamp(max=1), numbers.clamp(max=1))
    assert (drawn.centres.sum(1) <= numbers).all()


def test_cells_of_a_thing_differ_from_the_background(drawn: Crowds) -> None:
    empty = drawn.cells[(drawn.labels == NOTHING).all(1)]
    assert (empty == NOTHING).all()
    single = drawn.cells[(drawn.labels != NOTHING).sum(1) == 1]
    assert (single >= 0).any(1).all()


@given(seed=st.integers(0, 10_000), number=st.integers(0, 5))
def test_things_lie_apart_with_the_largest_first_and_no_two_classes_mean_the_same(seed: int, number: int) -> None:
    found = plot(random.Random(seed), number, range(len(names())))
    shares = [share for _, _, share in found.positions]
    assert len(found.labels) == len(shares) == number
    assert shares == sorted(shares, reverse=True)
    assert not any(other in equivalent_classes(label) for label in found.labels for other in {*found.labels} - {label})
    for index, (x, y, share) in enumerate(found.positions):
        assert all(
            max(abs(x - a), abs(y - b)) > 0.7 * (share + other) / 2 for a, b, other in found.positions[index + 1 :]
        )


def _answers(view: PictureContent, kind: questions.Ask) -> list[QAPair]:
    return [found for seed in range(60) if (found := kind(view, random.Random(seed)))]


def test_letters_point_at_the_main_thing() -> None:
    for question in _answers(CROWD, questions.ask_letter):
        lines = [line for line in question.prompt.splitlines() if line.lower().endswith(f" {names()[3]}")]
        assert len(lines) == 1
        assert lines[0].lstrip("(").startswith(question.answer)


def test_yes_and_no_are_true_and_as_frequent() -> None:
    found = _answers(CROWD, questions.ask_presence)
    for question in found:
        there = any(f" {names()[label]}" in question.prompt.split("?")[0] for label in CROWD.labels)
        denied = " not contain" in question.prompt or "Is there no" in question.prompt
        assert question.answer.lower() == ("yes" if there != denied else "no")
    assert 15 < sum(question.answer.lower() == "yes" for question in found) < 45


def test_counts_are_those_of_the_picture() -> None:
    for question in _answers(CROWD, questions.ask_count):
        asked = max((name for name in names() if f" {name}" in question.prompt), key=len)
        assert question.answer == str(sum(names()[label] == asked for label in CROWD.labels))
    assert {question.answer for question in _answers(CROWD, questions.ask_total_count)} == {"4"}


def _compared(prompt: str) -> tuple[str, ...]:
    for wording in WORDINGS["more"]:
        pattern = re.escape(wording).replace(r"\{c\}", "(.+)").replace(r"\{d\}", "(.+)").replace(r"\{picture\}", r"\w+")
        if found := re.fullmatch(pattern, prompt):
            return found.groups()
    raise AssertionError(prompt)


def test_more_is_more() -> None:
    counts = {names()[3]: 3, names()[17]: 1}
    for question in _answers(CROWD, questions.ask_comparison):
        first, second = _compared(question.prompt)
        assert question.answer == ("yes" if counts.get(first, 0) > counts.get(second, 0) else "no")


def test_a_bird_is_named_or_refused_for_its_reason() -> None:
    bird = species()[1]
    assert {question.answer for question in _answers(PictureContent(bird=bird), questions.ask_bird_name)} == {
        bird.name,
        bird.genus,
        bird.common_name,
    }
    refused = _answers(PictureContent(bird=bird, reason="image quality"), questions.ask_bird_name_or_reason)
    assert {question.answer for question in refused} == {"I cannot tell: image quality"}


def test_several_pictures_are_answered_in_order() -> None:
    found = [ask_batch([PictureContent((3,)), PictureContent((17,))], random.Random(seed)) for seed in range(20)]
    whole = [json.loads(question.answer) for question in found if question.answer.startswith("{")]
    assert whole
    assert all(answer == {"1": names()[3], "2": names()[17]} for answer in whole)
    assert {question.answer for question in found if not question.answer.startswith("{")} == {names()[3], names()[17]}


@pytest.mark.parametrize("kinds", [SHORT, LONG, BIRDS], ids=["short", "long", "birds"])
def test_every_prompt_and_answer_comes_back_from_its_tokens(
    kinds: tuple[tuple[questions.Ask, int], ...], reader: Reader
) -> None:
    view = PictureContent((5, 9, 9), species()[0])
    for seed in range(20):
        for question in draw_questions(view, kinds, 4, random.Random(seed)):
            for text in (question.prompt, question.answer):
                assert reader.text(reader.read(text)) == text


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\u2581")))  # which tokens have for a space
def test_any_text_comes_back_from_its_tokens(reader: Reader, text: str) -> None:
    assert reader.text(reader.read(text)) == text


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_a_list_of_a_thousand_names_is_read_whole(vocabulary: str, reader: Reader) -> None:
    prompt = WORDINGS["table_20"][0].replace("{list}", "\n".join(load_class_names(vocabulary).names))
    tokens = reader.read(prompt)
    assert len(tokens) < 8000
    assert reader.text(tokens) == prompt


def test_every_name_is_one_token_wherever_it_stands(reader: Reader) -> None:
    for name in names():
        assert [len(reader.read(text)) for text in (name, name.capitalize())] == [1, 1]
        assert reader.read(f'"{name}"')[1:2] == [reader.spellings(name)[0]]


def test_a_token_sees_the_pictures_and_its_own_question(reader: Reader) -> None:
    lesson = Lesson((0,), (QAPair("What is this?", "dog"), QAPair("How many cat?", "2")))
    (found,) = sequences(reader, [lesson])
    said = found.tokens[0, (found.blocks[0] == 1).nonzero()[-2:, 0]]
    assert said.tolist() == [*reader.read("dog"), reader.number(END)]
    seen = found.mask()[0, 0] == 0
    second = int((found.blocks[0] == 2).nonzero()[0])
    assert seen[second, :37].all()
    assert not seen[second, 37:second].any()
    assert found.positions[0, 37] == found.positions[0, second] == 37


def test_the_assistant_says_the_answer_and_then_ends(reader: Reader) -> None:
    (found,) = sequences(reader, [Lesson((0,), (QAPair("What is this?", "dog"),))])
    tokens, wanted = found.tokens[0].tolist(), found.wanted[0].tolist()
    assert tokens[0] == reader.number(USER)
    assert tokens.count(reader.number(IMAGE)) == 36
    begin = tokens.index(reader.number(ASSISTANT))
    assert wanted[begin : begin + 2] == [*reader.read("dog"), reader.number(END)]
    assert all(one == -100 for one in (*wanted[:begin], *wanted[begin + 2 :]))


@given(seed=st.integers(0, 1000), size=st.integers(0, 30))
def test_groups_hold_every_place_once(seed: int, size: int) -> None:
    found = group_indices(range(size), random.Random(seed))
    assert [index for group in found for index in group] == [*range(size)]
    assert all(1 <= len(group) <= 3 for group in found)


def test_lessons_of_like_length_go_together(reader: Reader) -> None:
    asked = [Lesson((index,), (QAPair("dog " * (1 + 7 * index % 40), "cat"),)) for index in range(40)]
    found = sequences(reader, asked)
    assert [len(some.tokens) for some in found] == [16, 16, 8]
    assert sorted(torch.cat([some.pictures for some in found]).tolist()) == [*range(40)]
    lengths = [(some.blocks >= 0).sum(1) for some in found]
    assert all(before.max() <= after.min() for before, after in pairwise(lengths))
    assert all(some.tokens.shape[1] == length.max() for some, length in zip(found, lengths, strict=True))
