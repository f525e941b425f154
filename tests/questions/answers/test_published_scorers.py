"""Answers have the verdicts of the published scorers, but for the differences that docs/questions.md explains."""

import csv
from pathlib import Path

import pytest

from eyechart.questions.answers.kinds import CHOICE, EXACT, NUMBER, TEXT, VQA, YES_NO
from eyechart.questions.answers.readings import Reading, read_answer
from eyechart.questions.data.question_set import Question

FOLDER = Path(__file__).parents[2] / "golden" / "questions"
OPTIONS = ("red apple", "blue plum", "green pear", "banana")


def verdicts(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = [*csv.DictReader(file)]
    assert len(rows) == 30
    return rows


def read(kind: str, response: str, *answers: str, tolerance: str = "0") -> Reading:
    options = OPTIONS if kind == CHOICE else ()
    return read_answer(kind, Question("1", "?", (0,), "", answers, options, (1,)), response, "lenient", tolerance)


def letter_of(response: str) -> str:
    return read(CHOICE, response).prediction[:1]


def test_vlmevalkits_letters_are_ours() -> None:
    found = {row["response"]: (row["vlmevalkit"], letter_of(row["response"])) for row in verdicts("choices")}
    assert {response: pair for response, pair in found.items() if pair[0] != pair[1]} == {
        "b": ("", "B"),  # read here
        "B, because A is not in the image": ("", "B"),
        "A blue plum": ("A", ""),  # an article, or the letter of another option
    }


def test_mmmus_letters_are_ours_where_it_does_not_draw_at_random() -> None:
    found = {row["response"]: (row["mmmu"], letter_of(row["response"])) for row in verdicts("choices")}
    drawn = {response for response, (published, _) in found.items() if published == "random"}
    assert len(drawn) == 13
    assert {response: pair for response, pair in found.items() if pair[0] != pair[1]} == {
        **{response: ("random", found[response][1]) for response in drawn},
        "A blue plum": ("A", ""),
        "It could be A or B": ("B", ""),  # two letters: the published scorer takes the last one
        "A or B": ("B", ""),
        "B, because A is not in the image": ("A", "B"),
        "The fruit in front is a blue plum, not a red apple.": ("A", ""),
    }


def test_every_letter_that_scienceqas_scorer_reads_is_ours() -> None:
    rows = [row for row in verdicts("choices") if row["scienceqa"]]
    assert len(rows) == 4  # "B", "A", and "The answer is B.", "… C."
    assert [letter_of(row["response"]) for row in rows] == [row["scienceqa"] for row in rows]


def test_popes_yes_and_no_are_ours_where_there_is_an_answer() -> None:
    found = {
        row["response"]: (row["pope"], read(YES_NO, row["response"], "yes").prediction) for row in verdicts("yes_no")
    }
    assert {response: pair for response, pair in found.items() if pair[0] != pair[1]} == {
        # without yes or no: every text without "no" and "not" is yes there
        "There is a dog.": ("yes", ""),
        "There is no dog.": ("no", ""),
        "It is not a dog, it is a cat.": ("no", ""),
        "not sure": ("no", ""),
        "I am not sure.": ("no", ""),
        "Maybe": ("yes", ""),
        "": ("yes", ""),
        "I cannot see the image.": ("yes", ""),
        "The dog is sitting. No cat.": ("yes", ""),
        # two answers, or one that is taken back
        "yes and no": ("no", ""),
        "Yes. Actually, no.": ("yes", ""),
        # "no" in other letters or before a line break is yes there
        "NO": ("yes", "no"),
        "Nope": ("yes", "no"),
        "No\n": ("yes", "no"),
        # a yes, whose sentence has "no" or "not"
        "Yes, there is no dog.": ("no", "yes"),
        "Yes, a dog, not a cat, is there.": ("no", "yes"),
    }


def test_vqas_soft_accuracy_is_ours() -> None:
    rows = verdicts("vqa")
    found = {
        (row["response"], row["people"]): (
            float(row["vqa"]),
            read(VQA, row["response"], *row["people"].split(";")).credit,
        )
        for row in rows
    }
    different = {key: pair for key, pair in found.items() if pair[1] != pytest.approx(pair[0], abs=1e-8)}
    assert different == {("Red", ";".join(["red"] * 10)): (0.0, 1.0)}  # where all agree, nothing is normalised there


def test_mmmus_open_answers_are_ours_but_for_parts_of_words_and_sentences() -> None:
    found = {}
    for row in verdicts("open"):
        number = row["answer"].isdecimal()
        reading = read(
            NUMBER if number else EXACT, row["response"], row["answer"], tolerance="0.005" if number else "0"
        )
        found[row["response"]] = (int(row["mmmu"]), reading.credit)
    assert {response: pair for response, pair in found.items() if pair[0] != (pair[1] or 0)} == {
        "twelve": (0, 1),  # numbers in words are read here
        "between 10 and 12": (1, None),  # two numbers: every number of the answer counts there
        "caterpillar": (1, 0),  # the right answer is a part of a word or of a longer answer
        "no cat": (1, 0),
        "cats": (1, 0),
        "black cat": (1, 0),
        "sodium chloride": (1, 0),
        "sodium or potassium": (1, 0),
    }
    assert (read(TEXT, "black cat", "cat").credit, read(TEXT, "no cat", "cat").credit) == (1, None)
