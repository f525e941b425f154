"""Thinking is told from the answer, whatever is in it, and nothing of it is read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.inference.store.responses import Response
from eyechart.parsers import class_name, compat, json_answers, letter, number, yes_no
from eyechart.parsers.thinking import END, START, remove_thinking, split_thinking
from eyechart.parsers.truncation import read_complete_letter, read_complete_name, read_complete_word

TAGS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<THINK>", "</THINK>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("<thought>", "</thought>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought\n", "<channel|>"),
)
PARTS = ("A", "B)", "answer: C", "cat", '{"1": "cat"}', "yes", "no", "3", "\n", " ", "because", "ﬁ", "<", "think")
OPTIONS = ("cat", "dog", "great white shark")
plain = st.lists(st.sampled_from(PARTS), max_size=8).map(" ".join)
free = st.text(max_size=20).filter(lambda text: not START.search(text) and not END.search(text))


@pytest.mark.parametrize(("begin", "end"), TAGS)
@given(thought=plain | free, answer=plain | free)
def test_the_answer_is_what_follows_the_thinking(begin: str, end: str, thought: str, answer: str) -> None:
    for text in (
        f"{begin}{thought}{end}{answer}",
        f"{thought}{end}{answer}",
        f"{begin}{answer}{end}{thought}{end}{answer}",
    ):
        thinking, read = split_thinking(text)
        assert read == answer.lstrip()
        assert thinking + read == text
        assert remove_thinking(text) == read


@pytest.mark.parametrize(("begin", "end"), TAGS)
@given(thought=plain | free, before=plain)
def test_thinking_without_an_end_has_no_answer(begin: str, end: str, thought: str, before: str) -> None:
    for text in (f"{begin}{thought}", f"{before}{begin}{thought}", f"{begin}{before}{end}{begin}{thought}"):
        assert split_thinking(text) == (text, "")
        response = Response.from_completion(text, finished=False)
        for read in (read_complete_letter, read_complete_name, read_complete_word):
            assert read(response.text) == read(text) == ""


@given(text=plain | free)
def test_a_text_without_tags_is_all_answer(text: str) -> None:
    assert split_thinking(text) == ("", text)
    assert Response.from_completion(text) == Response(text)


@given(thought=plain, answer=plain)
def test_parsers_read_a_response_as_if_there_was_no_thinking(thought: str, answer: str) -> None:
    response, alone = Response.from_completion(f"<think>{thought}</think>{answer}"), Response(answer.lstrip())
    assert (response.text, response.thinking) == (
        alone.text,
        f"<think>{thought}</think>" + answer[: len(answer) - len(answer.lstrip())],
    )
    for read in (
        lambda text: letter.parse(text, OPTIONS),
        lambda text: class_name.parse(text, OPTIONS),
        lambda text: compat.parse_mill_letter(text, OPTIONS),
        compat.parse_authors_yes_no,
        compat.parse_first_number,
        yes_no.parse,
        number.parse,
        lambda text: json_answers.parse(text, ("1",)),
    ):
        assert read(response.text) == read(alone.text)
