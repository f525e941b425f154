"""Orders of options, prompts of one's own, several pictures, blanks, limits and errors."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import SpecError, ToleranceError, UnavailableError
from eyechart.models.types import Answer
from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables

Shop = Callable[..., Path]
ROW = {"id": "a", "image": "1.png", "question": "Which?", "A": "red", "B": "blue", "C": "grey", "answer": "B"}
PLAIN = {"id": "a", "image": "1.png", "question": "What?", "answer": "tea"}


def record_of(run: Any) -> dict[str, Any]:
    (record,) = json.loads((run.folder / "records.json").read_bytes())["records"]
    return record


def values(run: Any) -> dict[tuple[str, str], float]:
    return run.metrics.set_index(["metric", "subset"]).value.to_dict()


def say_blue(numbers: tuple[int, ...], text: str) -> str:
    """Find the letter of blue."""
    return next(line[0] for line in text.splitlines() if line.endswith(") blue"))


def test_a_choice_is_right_in_every_rotation_or_wrong(shop: Shop, ask: Any, talker: Any) -> None:
    folder = shop([ROW, {**PLAIN, "id": "b"}])
    always = talker(lambda numbers, text: "B" if ")" in text else "tea")
    run = ask(always, folder, options={"circular": "true"}, name="m")
    assert len(always.asked) == 4
    assert values(run)["question_acc", "all"] == 0.5
    assert values(run)["first_order_acc", "all"] == 1.0
    assert run.samples.order.tolist() == ["0", "1", "2", "0"]
    assert run.samples.options.tolist() == ["red;blue;grey", "blue;grey;red", "grey;red;blue", ""]
    assert run.samples.correct.tolist() == [1, 0, 0, 1]
    assert "@circular=true" in record_of(run)["case"]
    clever = ask(
        talker(lambda *said: say_blue(*said) if ")" in said[1] else "tea"), folder, options={"circular": "true"}
    )
    assert values(clever)["question_acc", "all"] == 1.0


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


def test_an_error_and_a_truncated_answer_are_counted_apart(shop: Shop, ask: Any, talker: Any) -> None:
    said = {
        1: Answer("", (), True, "refused"),
        2: Answer("B, because the thing in the", (1,), False),
        3: Answer("B\nSo", (1,), False),
    }
    rows = [{**ROW, "id": str(number), "image": f"{number}.png"} for number in said]
    run = ask(talker(lambda numbers, text: said[numbers[0]]), shop(rows), max_errors=1)
    counts = record_of(run)["outcomes"]
    assert (counts["error"], counts["truncated"], counts["correct"]) == (1, 1, 1)
    assert values(run)["question_acc", "all"] == 0.5
    with pytest.raises(ToleranceError, match="1: refused"):
        ask(talker(lambda numbers, text: said[numbers[0]]), shop(rows))


def test_answers_that_are_right_in_part_have_a_mean_credit(shop: Shop, ask: Any, talker: Any) -> None:
    rows = [{**PLAIN, "answer": "milk;tea", "kind": "list"}, {**PLAIN, "id": "b", "image": "2.png", "answer": "tea"}]
    run = ask(talker(lambda numbers, text: "tea"), shop(rows), options={"kind": "exact"})
    assert run.metrics.metric.tolist()[0] == "credit"
    assert values(run)["credit", "all"] == pytest.approx((2 / 3 + 1) / 2)
    assert values(run)["question_acc", "all"] == 0.5
    assert run.samples.credit.astype(float).tolist() == pytest.approx([2 / 3, 1])


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


def test_an_option_is_asked_as_it_is_written(shop: Shop, ask: Any, talker: Any) -> None:
    model = talker(lambda numbers, text: "B")
    run = ask(model, shop([{**ROW, "A": "red; or pink"}]))
    assert "A) red; or pink\nB) blue" in model.asked[0][1]
    assert run.samples.options.tolist() == ["red, or pink;blue;grey"]
