"""What cases about birds in words write down."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.evaluation.settings import Case
from eyechart.models.spec import parse_spec
from eyechart.models.types import Answer
from eyechart.plugins.summary import select_rows
from eyechart.realbirdid.protocols.abstention import Abstention
from eyechart.realbirdid.protocols.free_form import FreeForm
from eyechart.results.sample_table import SHARED_COLUMNS

FAILED = Answer("", (), False, error="content filter")


@pytest.fixture
def recorded(
    asked_birds: Any, talker: Any, tmp_path: Path, make_run: Any, evaluate_predictions: Any
) -> Callable[..., Any]:
    """Record what a model says of each bird; `wordings` are those of one level."""

    def make(protocol: str, say: Callable[..., Any], wordings: str = "", **more: Any) -> Any:
        if wordings:
            (tmp_path / "mine.toml").write_text(wordings)
            more["prompt_set"] = tmp_path / "mine.toml"
        context = asked_birds(talker(say), protocol, extraction="inclusion", **more)
        case = Case("realbirdid", "memory", parse_spec("hf[talker]"), protocol, context.options)
        found = (Abstention() if protocol == "abstention" else FreeForm()).predict(context)
        settings = make_run.settings(case, None)
        return evaluate_predictions(case, settings, context.dataset, context.model.identity, found, tmp_path)

    return make


def test_every_bird_is_written(recorded: Any) -> None:
    said = ["Corvus corax", "A Corvus?", FAILED, "Unknown", "Turdus merula", "hm", "Corvus", ""]
    head, *rows = recorded("free_form", lambda shown, _: said[shown[0]]).predictions.samples()
    about = ["observation", "species", "genus", "reason"]
    assert head == [*SHARED_COLUMNS, *about, "response", "answer_level", "truncated"]
    assert {row.pop() for row in rows} == {0}
    raven = "Corvus corax"
    assert rows[0] == ["s00", raven, raven, 1, "answerable", "", "o0", raven, "Corvus", "", raven, "species"]
    assert (rows[1][2:4], rows[1][10:]) == (["Corvus", 0], ["A Corvus?", "genus"])
    assert (rows[2][2:6], rows[2][10:]) == (["", "", "answerable", "content filter"], ["", ""])
    assert rows[3][:6] == ["s03", "Corvus", "cannot tell", 1, "unanswerable", ""]
    assert rows[3][6:] == ["o3", "", "Corvus", "image quality", "Unknown", "abstained"]
    assert [(*row[2:4], row[11]) for row in rows[4:]] == [
        ("Turdus merula", 0, "species"),
        ("", 0, ""),
        ("Corvus", 0, "genus"),
        ("", 0, ""),
    ]


def test_a_record_of_free_form_is_whole(recorded: Any, tmp_path: Path) -> None:
    found = recorded("free_form", lambda *_: "hm").write_record(1.0, {}, "pytest")
    assert (found.outcomes.unparsed, found.usage.requests, found.variant["extraction"]) == (8, 8, "inclusion")
    assert {"genera"} <= {*found.artifacts}
    assert any("8 of 8 images got an answer that could not be parsed" in note for note in found.notes)
    assert any("common names of several species were not looked for: Thrush" in note for note in found.notes)
    assert (tmp_path / found.predictions.path).read_text().count("\n") == 9


TWO = 'plain = ["What?", "Who?"]'


def say(shown: tuple[int, ...], text: str) -> Any:
    if text == "What?":
        return FAILED if shown == (7,) else ""
    return ["", "", "", "blurry", "a matter of song", "blurry", "I can't tell", "Unknown"][shown[0]]


def test_every_answer_to_every_wording_is_written(recorded: Any) -> None:
    head, *rows = recorded("abstention", say, TWO).predictions.samples()
    about = ["prompt_level", "prompt", "observation", "reason"]
    assert head == [*SHARED_COLUMNS, *about, "response", "stated_reason", "truncated"]
    assert {row.pop() for row in rows} == {0}
    assert rows[0] == ["s03", "abstain", "", 0, "unanswerable", "", "plain", "plain/01", "o3", "image quality", "", ""]
    assert rows[4] == [
        "s07",
        "abstain",
        "",
        "",
        "unanswerable",
        "content filter",
        "plain",
        "plain/01",
        "o7",
        "",
        "",
        "",
    ]
    assert rows[6][:6] == ["s04", "abstain", "abstain", 1, "unanswerable", ""]
    assert rows[6][6:] == ["plain", "plain/02", "o4", "angle/occlusion", "a matter of song", "vocalization"]
    assert len(rows) == 10


def test_a_bird_is_answered_where_no_answer_about_it_is_an_error(recorded: Any) -> None:
    one = recorded("free_form", lambda shown, _: FAILED if shown[0] == 2 else "hm").predictions.answered_images()
    np.testing.assert_array_equal(one, [1, 1, 0, 1, 1, 1, 1, 1])
    found = recorded("abstention", lambda shown, text: FAILED if shown[0] == 4 and text == "Who?" else "hm", TWO)
    asked = {*found.predictions.image_indices.tolist()}
    wanted = [(0.0 if row == 4 else 1.0) if row in asked else np.nan for row in range(8)]
    np.testing.assert_array_equal(found.predictions.answered_images(), wanted)
    assert 0 < len(asked) < 8


def test_the_confusion_counts_who_declined_by_their_own_reason(recorded: Any) -> None:
    head, *rows = recorded("abstention", say, TWO).predictions.confusion_rows()
    assert (head, len(rows)) == (["level", "issue", "reason", "count"], 12)
    assert [row[1:] for row in rows if row[3]] == [
        ["image quality", "image quality", 1],
        ["image quality", "another reason", 1],
        ["angle/occlusion", "vocalization", 1],
        ["vocalization", "image quality", 1],
    ]


def test_who_names_a_species_gives_no_reason(recorded: Any) -> None:
    found = recorded("abstention", lambda shown, _: "Corvus corax" if shown[0] % 2 else "blurry", 'a = ["What?"]')
    _, *rows = found.predictions.confusion_rows()
    assert [row[1:] for row in rows if row[3]] == [
        ["image quality", "image quality", 1],
        ["angle/occlusion", "image quality", 1],
    ]


def test_every_wording_has_its_rate(recorded: Any) -> None:
    _, *rows = recorded("abstention", say, TWO, abstention_images="all").predictions.prompt_rows()
    assert rows == [
        ["plain", "01", "What?", 4, 0, "0.000000", "0.000000", "0.489891"],
        ["plain", "02", "Who?", 5, 5, "1.000000", "0.565518", "1.000000"],
    ]


def test_a_record_of_abstention_is_whole(recorded: Any) -> None:
    found = recorded("abstention", say, TWO).write_record(1.0, {}, "pytest")
    came = found.outcomes
    assert (came.correct, came.wrong, came.unparsed, came.error) == (5, 0, 4, 1)
    assert {"genera", "confusion", "wordings"} <= {*found.artifacts}
    assert any(
        "s07: content filter" in error for error in recorded("abstention", say, TWO).predictions.error_messages()
    )
    assert any("4 of 10 answers could not be parsed" in note for note in found.notes)


def test_nothing_to_abstain_from_is_said(recorded: Any, asked_birds: Any) -> None:
    asked_birds.birds = ((0, 0, -1),)
    found = recorded("abstention", say, TWO).write_record(1.0, {}, "pytest")
    assert any("no bird of the split is unanswerable" in note for note in found.notes)
    assert found.outcomes.correct == 0


def test_the_terminal_has_a_row_for_each_level_and_none_for_a_wording(recorded: Any) -> None:
    found = recorded("abstention", say, TWO, abstention_images="all").write_record(1.0, {}, "pytest")
    rows = select_rows([found], verbose=True).rows[1:]
    assert [(row[2], row[3]) for row in rows] == [
        ("abstention", "unanswerable, plain"),
        ("abstention", "answerable, plain"),
    ]


def test_the_terminal_has_what_was_named_and_how_often_nothing_was(recorded: Any) -> None:
    found = recorded("free_form", lambda *_: "hm").write_record(1.0, {}, "pytest")
    rows = select_rows([found], verbose=True).rows[1:]
    assert [(row[2], row[3]) for row in rows] == [
        ("acc", "answerable, species"),
        ("abstained", "answerable"),
        ("abstained", "unanswerable"),
    ]
