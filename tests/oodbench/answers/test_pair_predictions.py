"""What cases about pairs write down: columns, the record, notes."""

import csv
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from eyechart.evaluation.settings import Case
from eyechart.models.spec import parse_spec
from eyechart.models.types import Answer
from eyechart.oodbench.division.division_files import labels_sha256
from eyechart.oodbench.protocols.existence import Existence
from eyechart.protocol.registry import get_protocol
from eyechart.results.records import Record, decode, encode
from eyechart.results.sample_table import SHARED_COLUMNS

PAIR = "pair key category name set main present"
QUESTIONS = "pair category category_name main present question response truncated"
SAMPLES = (
    "sample question first_category first_name first_count second_category second_name second_count response truncated"
)
MEASURES = ("acc", "f1", "precision", "recall", "mcc")
REFUSED = Answer("", (), False, error="refused")


@pytest.fixture
def recorded(pair_world: Any, make_run: Any, evaluate_predictions: Any, tmp_path: Path) -> Callable[..., Record]:
    """Ask a model, score what it says and write it down under tmp_path."""

    def recorded(model: Any, protocol: str = "existence", **more: Any) -> Record:
        context = pair_world.sit(model, protocol, **more)
        case = Case("oodbench", "memory", parse_spec("talker[]"), protocol, context.options)
        found, settings = get_protocol(protocol).predict(context), make_run.settings(case, None)
        result = evaluate_predictions(case, settings, context.dataset, model.identity, found, tmp_path)
        recorded.errors = found.error_messages()
        return result.write_record(1.5, {}, "pytest -k oodbench")

    return recorded


@pytest.fixture
def rows(tmp_path: Path) -> Callable[..., list[dict[str, str]]]:
    """The rows of a file of the record, whose bytes must be those that the record vouches for."""

    def rows(record: Record, what: str = "") -> list[dict[str, str]]:
        file = record.artifacts[what] if what else record.predictions
        assert file is not None
        content = (tmp_path / file.path).read_bytes()
        assert sha256(content).hexdigest() == file.sha256
        return list(csv.DictReader(content.decode().splitlines()))

    return rows


def test_every_question_has_a_row(recorded: Any, rows: Any, pair_world: Any) -> None:
    found = rows(recorded(pair_world.talker(lambda kind, row, *_: "Well, no." if row == 2 else None)))
    assert [*found[0]] == [*SHARED_COLUMNS, *QUESTIONS.split()]
    assert [row["question"] for row in found] == ["positive", "negative"] * 6
    (one, other) = (row for row in found if (row["key"], row["category"]) == ("s02", "3"))
    pair = {"key": "s02", "subset": "OOD-S", "pair": one["pair"], "category": "3", "category_name": "cup, plate"}
    same = {"main": "1", "present": "1", "response": "Well, no.", "prediction": "no", "error": "", "truncated": "0"}
    assert one == pair | same | {"question": "positive", "target": "yes", "correct": "0"}
    assert other == pair | same | {"question": "negative", "target": "no", "correct": "1"}


@pytest.mark.parametrize(
    ("say", "cells"), [("Maybe.", ("", "0", "Maybe.", "")), (REFUSED, ("", "", "", "refused")), ("", ("", "0", "", ""))]
)
def test_what_is_no_answer_is_told_apart(recorded: Any, rows: Any, pair_world: Any, say: Any, cells: Any) -> None:
    found = rows(recorded(pair_world.talker(lambda kind, row, *_: say if row == 2 else None)))
    told = [
        tuple(row[name] for name in ("prediction", "correct", "response", "error"))
        for row in found
        if row["key"] == "s02"
    ]
    assert {*told} == {cells}


def test_pairs_of_the_initial_benchmark_are_marked(recorded: Any, rows: Any, pair_world: Any) -> None:
    found = rows(recorded(pair_world.talker(), max_pairs=1, division_scope="initial"))
    assert {(row["subset"], row["main"]) for row in found} == {("ID", "1")} | {
        (name, main) for name in ("OOD-S", "OOD-H") for main in "01"
    }


def test_the_division_is_kept_pair_by_pair(recorded: Any, rows: Any, pair_world: Any) -> None:
    record = recorded(pair_world.talker(), max_pairs=1, hard_samples="own")
    found = rows(record, "division")
    assert " ".join(found[0]) == f"{PAIR} flags hardness"
    assert {row["set"]: row["flags"] for row in found if row["set"].startswith("OOD")} == {"OOD-S": "02", "OOD-H": "22"}
    assert [row["pair"] for row in found] == [str(index) for index in range(len(found))]
    assert {row["set"] for row in found if row["hardness"]} == {"Hard"}
    names = ("key", "category", "category_name", "subset", "main", "present")
    asked = {row["pair"]: [row[name] for name in names] for row in rows(record)}
    assert asked.items() <= {row["pair"]: [row[name] for name in PAIR.split()[1:]] for row in found}.items()


def test_every_sample_has_a_row(recorded: Any, rows: Any, pair_world: Any) -> None:
    pair_world.failed = {"first[]": {(5, 0), (5, 4)}}
    record = recorded(pair_world.talker(lambda kind, *_: "6!" if kind.endswith("counting") else None), "progression")
    found = [row for row in rows(record) if row["subset"] == "OOD-H"]
    assert [*found[0]] == [*SHARED_COLUMNS, *SAMPLES.split()]
    assert [row["question"] for row in found] == ["existence", "counting", "logic"]
    first, more = ("cat", "No") if found[0]["first_category"] == "0" else ("é", "Yes")
    count = found[0]["second_count"]
    assert {(row["key"], row["first_name"], row["second_count"], row["error"]) for row in found} == {
        ("s05", first, count, "")
    }
    assert [row["response"] for row in found] == ["Yes", "6!", more]
    assert [row["prediction"] for row in found] == ["yes", "6", more.lower()]
    assert [row["target"] for row in found] == ["yes", count, more.lower()]
    assert [row["correct"] for row in found] == ["1", *[str(int(count == "6"))] * 2]


def test_a_sample_with_an_error_is_neither_right_nor_wrong(recorded: Any, rows: Any, pair_world: Any) -> None:
    pair_world.failed = {"first[]": {(5, 0), (5, 4)}}
    model = pair_world.talker(lambda kind, row, *_: REFUSED if (kind, row) == ("progression_logic", 5) else None)
    record = recorded(model, "progression")
    found = [row for row in rows(record) if row["subset"] == "OOD-H"]
    assert [(row["correct"], row["error"]) for row in found] == [("", "refused")] * 3
    assert (found[0]["prediction"], found[2]["prediction"], record.outcomes.error) == ("yes", "", 1)


def test_the_record_has_the_measures_of_every_set_and_their_falls(recorded: Any, pair_world: Any) -> None:
    record = recorded(pair_world.talker())
    named = [(one.name, one.subset_text) for one in record.metrics]
    sets, parts = ("ID", "OOD-S", "OOD-H"), (MEASURES, ("yes_rate", "unparsed"))
    own = [(name, of) for names in parts for of in sets for name in names]
    falls = [(f"{name}_{what}", of) for of in ("OOD-S", "OOD-H") for what in ("delta", "p") for name in MEASURES]
    assert named == [*own, *falls, ("answered", "asked")]
    assert {one.labels for one in record.metrics} == {*record.data.labels} == {"OODBench"}
    assert {one.ci_method for one in record.metrics if one.name.endswith("_p")} == {"permutation"}
    assert {one.n for one in record.metrics if one.name in MEASURES} == {4}


def test_the_record_vouches_for_the_division(recorded: Any, pair_world: Any) -> None:
    context = pair_world.sit(pair_world.talker())
    wanted = labels_sha256(Existence().predict(context).division, context.dataset)
    assert recorded(pair_world.talker()).data.labels == {"OODBench": wanted}


def test_the_record_says_every_choice(recorded: Any, pair_world: Any) -> None:
    told = dict(recorded(pair_world.talker()).variant)
    assert told.pop("prompt").count("(") == 2
    of_division = {"detectors": "first[]+second[]", "detector_templates": "1", "threshold": "0.05", "max_pairs": "3000"}
    others = {"absent_categories": "no", "hard_samples": "none", "division": "built", "source": "coco", "seed": "0"}
    asked = {
        "division_scope": "main",
        "reasoning": "direct",
        "parser": "lenient",
        "max_tokens": "auto",
        "parser_version": "yes_no 3",
        "names": "split",
    }
    assert told == of_division | others | asked


def test_the_record_of_progression_has_its_stages(recorded: Any, pair_world: Any) -> None:
    pair_world.failed = {"first[]": {(5, 0), (5, 4)}}
    record = recorded(pair_world.talker(), "progression")
    assert [(one.name, one.value, one.n) for one in record.metrics if one.subset_text == "OOD-H"] == [
        (stage, 1.0, 1) for stage in ("e_acc", "c_acc", "l_acc")
    ]
    assert record.variant["parser_version"] == "yes_no 3, number 3"
    assert "reasoning" not in record.variant


def test_a_record_can_be_read_back(recorded: Any, pair_world: Any) -> None:
    record = recorded(pair_world.talker())
    assert decode(encode(record), Record) == record
    assert {type(part) for one in record.metrics for part in (one.value, one.n)} <= {float, int}


def test_what_was_asked_stands_by_set(recorded: Any, pair_world: Any) -> None:
    usage = recorded(pair_world.talker()).usage
    sets = {name: (took.answers, took.fresh) for name, took in usage.sets.items()}
    assert sets == dict.fromkeys(("ID", "OOD-S", "OOD-H"), (4, 4))
    assert (usage.requests, usage.prompt_tokens, usage.answer_tokens) == (12, 120, 24)


def test_errors_are_told_with_their_images(recorded: Any, pair_world: Any) -> None:
    record = recorded(pair_world.talker(lambda kind, row, *_: REFUSED if row == 2 else None))
    assert recorded.errors == ["s02: refused"]
    assert "1 of 6 pairs ended in an error and are left out of every score." in record.notes[0]
    assert (record.outcomes.error, record.outcomes.correct) == (2, 10)


def test_errors_of_samples_are_told_with_their_images(recorded: Any, pair_world: Any) -> None:
    pair_world.failed = {"first[]": {(5, 0), (5, 4)}}
    record = recorded(pair_world.talker(lambda kind, row, *_: REFUSED if row == 5 else None), "progression")
    assert recorded.errors == ["s05: refused"]
    assert "samples ended in an error and are left out of every score." in record.notes[0]


def test_what_could_not_be_read_is_noted(recorded: Any, pair_world: Any) -> None:
    record = recorded(pair_world.talker(lambda kind, row, *_: "Hm." if row == 2 else None))
    note, _ = record.notes
    assert note.startswith("oodbench/memory/talker[]@detectors=first[]+second[] (existence): 2 of 12 answers could")
    assert record.outcomes.unparsed == 2


def test_what_the_division_left_out_is_noted(recorded: Any, pair_world: Any) -> None:
    record = recorded(pair_world.talker(), dataset=pair_world.dataset(broken=frozenset({4})))
    assert [note for note in record.notes if "1 × image left out of the division" in note]


def test_a_detector_writes_what_it_flags(recorded: Any, rows: Any, pair_world: Any) -> None:
    record = recorded(pair_world.get_model("first[]"), "detection")
    found = rows(record)
    assert [*found[0]] == [*SHARED_COLUMNS, "category", "category_name", "outscored", "unlikely", "probability"]
    assert {(row["key"], row["category"]) for row in found if row["unlikely"] == "1"} == {
        *(("s00", "1"), ("s01", "2"), ("s03", "0"))
    }
    assert {(row["target"], row["prediction"], row["correct"], row["unlikely"]) for row in found} == {
        ("detected", "detected", "1", "0"),
        ("detected", "missed", "0", "1"),
    }
    values = {one.name: (one.value, one.n) for one in record.metrics}
    images = len(pair_world.sit(pair_world.get_model("first[]")).dataset)
    assert values.pop("answered") == (1.0, images)
    assert [values.pop(name)[1] for name in ("log_score", "target_brier")] == [5, 5]
    assert values == {"flagged": (3 / 19, 19), "case1": (0.0, 19), "case2": (3 / 19, 19)}
    assert (record.outcomes.wrong, record.outcomes.correct) == (3, 16)


def test_a_detector_s_logits_are_all_in_bins(recorded: Any, rows: Any, pair_world: Any) -> None:
    found = rows(recorded(pair_world.get_model("first[]"), "detection"), "logits")
    assert list(found[0]) == ["what", "category", "name", "present", "low", "high", "count"]
    counts = {("logit", "1"): 19, ("logit", "0"): 16, ("probability", "1"): 19}
    for (what, present), count in counts.items():
        kept = [row for row in found if (row["what"], row["present"]) == (what, present)]
        assert sum(int(row["count"]) for row in kept) == count
    assert all(float(row["low"]) < float(row["high"]) for row in found)


def test_a_detector_is_asked_in_the_split_s_own_names(pair_world: Any, recorded: Any, rows: Any) -> None:
    record = recorded(pair_world.get_model("first[]"), "detection", asked=("a", "b", "c", "d", "e"))
    assert record.variant["names"] == "split"
    assert {row["category_name"] for row in rows(record)} == {*pair_world.names}


def test_an_image_without_logits_is_an_error_of_the_detector(pair_world: Any, recorded: Any, rows: Any) -> None:
    dataset = replace(pair_world.dataset(broken=frozenset({0})))
    record = recorded(pair_world.get_model("first[]"), "detection", dataset=dataset)
    failed = [row for row in rows(record) if row["error"]]
    assert (record.outcomes.error, len(rows(record)) - len(failed)) == (1, 17)
    assert {(row["key"], row["target"], row["prediction"], row["correct"], row["probability"]) for row in failed} == {
        ("s00", "detected", "", "", "")
    }
    assert recorded.errors[0].startswith("Image imagenet/memory: s00")


@pytest.mark.parametrize("protocol", ["existence", "progression"])
def test_a_division_without_pairs_is_noted(recorded: Any, pair_world: Any, protocol: str) -> None:
    pair_world.counts, pair_world.failed = ((0,) * 5,) * 3, {"first[]": set()}
    record = recorded(pair_world.talker(), protocol)
    assert record.notes[0].endswith(f"({protocol}): the division has no pairs for this case, so there are no metrics.")
