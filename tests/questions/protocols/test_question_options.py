"""Orders of options, prompts of one's own, several pictures, blanks, limits and errors."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import SpecError, UnavailableError
from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables
from tests.questions.asked import PLAIN, ROW, record_of, say_blue, values

Shop = Callable[..., Path]


def test_options_are_shuffled_by_a_seed_that_is_recorded(shop: Shop, ask: Any, talker: Any) -> None:
    folder = shop([{**ROW, "id": str(number)} for number in range(8)])
    run = ask(talker(say_blue), folder, options={"shuffle": 3}, name="m")
    assert values(run)["question_acc", "all"] == 1.0
    assert len({*run.samples.options}) > 2
    assert record_of(run)["variant"]["shuffle"] == "3"


def test_a_prompt_of_ones_own_has_the_form_of_the_answer(shop: Shop, ask: Any, talker: Any, tmp_path: Path) -> None:
    folder, path = shop([{**ROW, "hint": "Look twice."}]), tmp_path / "mine.toml"
    path.write_text('source = "me"\ntext = "{options}\\n{hint}Say the letter after {question}"\n')
    model = talker(lambda numbers, text: "B")
    run = ask(model, folder, options={"prompt": path})
    assert model.asked == [((1,), "A) red\nB) blue\nC) grey\nLook twice.\nSay the letter after Which?")]
    assert record_of(run)["variant"]["prompt"].startswith(f"{path} (")
    assert (run.folder / record_of(run)["artifacts"]["prompt_texts"]["path"]).is_file()
    path = tmp_path / "other.toml"
    path.write_text('source = "me"\ntext = "{question} Say a letter."\n')
    with pytest.raises(
        SpecError, match=r"has the slots \{question\}\. The questions need: \{hint\}, \{options\}, \{question\}"
    ):
        ask(model, folder, options={"prompt": path})


def test_several_pictures_stand_where_the_question_names_them(shop: Shop, ask: Any, talker: Any) -> None:
    rows = [
        {**PLAIN, "image": "1.png;2.png", "question": "Compare <image 2> with <image 1>."},
        {**PLAIN, "id": "b", "image": "3.png;1.png"},
    ]
    model = talker(lambda numbers, text: "tea")
    ask(model, shop(rows))
    assert sorted(numbers for numbers, _ in model.asked) == [(2, 1), (3, 1)]
    (named,) = (request for request in model.requests if "Compare" in str(request.parts[0]))
    assert [part if isinstance(part, str) else "" for part in named.parts][:3] == ["Compare ", "", " with "]


def test_a_blank_stands_for_every_picture_and_the_sampling_units_stay(shop: Shop, ask: Any, talker: Any) -> None:
    rows = [{**PLAIN, "image": "1.png;2.png"}, {**PLAIN, "id": "b"}, {**PLAIN, "id": "c", "image": "3.png"}]
    model = talker(lambda numbers, text: "tea")
    run = ask(model, shop(rows), blank="black")
    assert {numbers for numbers, _ in model.asked} == {(0, 0), (0,)}
    assert run.metrics.set_index(["metric", "subset"]).n_clusters["question_acc", "all"] == 2


def test_answers_are_stored_by_what_was_asked(shop: Shop, ask: Any, talker: Any) -> None:
    folder = shop([ROW])
    first, again, scored = (talker(lambda numbers, text: "B") for _ in "abc")
    ask(first, folder, name="m", identity="one")
    shop([{**ROW, "answer": "C"}])  # another answer of the table: nothing is asked again
    run = ask(again, folder, name="m", identity="one")
    assert (len(first.asked), len(again.asked), values(run)["question_acc", "all"]) == (1, 0, 0.0)
    ask(scored, folder, name="m", identity="one", options={"parser": "strict"})
    assert not scored.asked


@pytest.mark.parametrize(("tolerance", "right"), [("0", 0.0), ("2", 1.0), ("1%", 0.0), ("2%", 1.0)])
def test_a_number_has_a_tolerance(shop: Shop, ask: Any, talker: Any, tolerance: str, right: float) -> None:
    rows = [{**PLAIN, "answer": 100}]
    run = ask(talker(lambda numbers, text: "102"), shop(rows), options={"tolerance": tolerance})
    assert values(run)["question_acc", "all"] == right


def test_a_wrong_tolerance_is_refused(shop: Shop, ask: Any, talker: Any) -> None:
    with pytest.raises(SpecError, match=r"questions\.tolerance is 'wide'\. Expected a number, such as 0\.5"):
        ask(talker(lambda numbers, text: "102"), shop([{**PLAIN, "answer": 100}]), options={"tolerance": "wide"})


def test_a_file_of_answers_has_one_order(shop: Shop, ask: Any, tmp_path: Path) -> None:
    (tmp_path / "said.csv").write_text("key,answer\na,B\n")
    model = f"replay[path={tmp_path / 'said.csv'},of=questions]"
    assert values(ask(model, shop([ROW])))["question_acc", "all"] == 1.0
    with pytest.raises(UnavailableError, match=r"one answer to each question\. Leave out questions\.circular=true"):
        ask(model, shop([ROW]), options={"circular": "true"})


def test_a_split_without_questions_is_left_out(ask: Any, talker: Any) -> None:
    with pytest.raises(UnavailableError, match=r"toybox/sample has no questions\. Put a table"):
        ask(talker(lambda numbers, text: "x"), "toybox/sample")


def test_a_limit_chooses_questions(shop: Shop, ask: Any, talker: Any) -> None:
    rows = [{**PLAIN, "id": str(number), "image": f"{number}.png"} for number in range(1, 5)]
    model = talker(lambda numbers, text: "tea")
    run = ask(model, shop(rows), limit=2)
    assert (len(run.samples), len(model.asked)) == (2, 2)
    assert {str(numbers[0]) for numbers, _ in model.asked} == {*run.samples.key}


def test_chance_is_by_options_and_by_the_commonest_answer_of_the_others(shop: Shop, ask: Any, talker: Any) -> None:
    plain = {**PLAIN, "answer": "yes"}
    others = [
        {**plain, "id": f"{said}{number}", "image": f"{number}.png", "answer": said}
        for number, said in ((2, "yes"), (3, "yes"), (4, "no"))
    ]
    numbers = [{**plain, "id": said, "answer": said, "kind": "number"} for said in ("5", "6")]
    rows = [ROW, *({**row, "kind": row.get("kind", "yes_no")} for row in (*others, *numbers))]
    folder = shop(rows)
    runs = [ask(talker(lambda numbers, text: "yes"), folder, name="m", **more) for more in ({}, {"blank": "black"})]
    (table,) = tables("blind", load([run.folder for run in runs]))
    (row,) = table.rows
    assert row[5].value == pytest.approx((1 / 3 + 1 + 1 + 0 + 1 + 0) / 6)  # with images, blind, chance


@pytest.mark.deep
def test_a_sentence_is_the_nearest_of_the_given_answers(shop: Shop, ask: Any, talker: Any) -> None:
    said = {
        1: "A cup of hot tea stands there.",
        2: "A kitten sleeps on it.",
        3: "A kitten",
        4: "I cannot see the image.",
    }
    given = {1: "tea", 2: "a cat", 3: "a bicycle", 4: "tea"}
    rows = [{**PLAIN, "id": str(key), "image": f"{key}.png", "answer": given[key], "kind": "text"} for key in given]
    folder, model = shop(rows), talker(lambda numbers, text: said[numbers[0]])
    run = ask(model, folder, options={"mapping": "nearest"})
    assert run.samples.prediction.tolist() == ["tea", "a cat", "a cat", ""]
    assert run.samples.correct.tolist() == [1, 1, 0, 0]
    assert len(record_of(run)["variant"]["text_encoder_weights"]) == 8
    assert ask(model, folder).samples.correct.tolist() == [1, 0, 0, 0]
