"""`eyechart explain`: the parts of one number, computed again from what the run stored."""

import re
from pathlib import Path
from typing import Any

import pytest

import eyechart
from eyechart.cli import main
from eyechart.protocol.registry import get_protocol, list_protocols
from eyechart.reports.explanation import explain, find_case
from eyechart.reports.runs import CaseRun, load

VALUE = re.compile(r"count as 1: (\d+) / (\d+) = ([\d.]+)\. The record has ([\d.]+)\.")
INTERVAL = re.compile(r"Computed again: ([\d.]+) to ([\d.]+)\. The record has ([\d.]+) to ([\d.]+)\.")


FORMULA = re.compile(r"z = 1\.959964 and n = [\d.]+.*?: ([\d.]+) ± ([\d.]+)\.")


def _check_every_number(case: CaseRun) -> int:
    """Check that each proportion of a case is computed again as its record has it; return how many there are."""
    checked = 0
    for metric in case.record.metrics:
        text = " ".join(explain(case, metric).split())
        if value := VALUE.search(text):
            right, counted, again, recorded = value.groups()
            assert (int(counted), again) == (metric.n, recorded)
            assert int(right) / int(counted) == pytest.approx(metric.value)
            checked += 1
        if metric.ci and metric.ci_method == "wilson":
            interval = INTERVAL.search(text)
            assert interval, text
            assert interval.groups()[:2] == interval.groups()[2:]
        if metric.ci and metric.ci_method in ("wilson", "clustered wilson"):
            formula = FORMULA.search(text)
            assert formula, text
            centre, half = map(float, formula.groups())
            assert (centre - half, centre + half) == pytest.approx(metric.ci, abs=2e-6)
    return checked


def test_every_number_follows_from_the_stored_outcomes(run_folder: Path) -> None:
    cases = [*load([run_folder]).cases]
    assert sum(map(_check_every_number, cases)) >= 3 * len(cases)  # each model under three label sets


def test_each_function_is_shown_with_what_it_does(run_folder: Path) -> None:
    case = next(load([run_folder]).cases)
    text = " ".join(explain(case, case.record.metrics[0]).split())
    assert re.search(r"class_predictions\.py:\d+ ScoredLabels\.score Return the scores of predictions under a", text)


def test_a_case_is_found_by_its_protocol_and_says_what_equal_classes_decide(session: Any) -> None:
    answered = session()
    answered.closed_world(answered.right({1: 0}))
    (case,) = answered.pool().cases
    assert find_case(answered.pool(), "closed_world").record == case.record
    text = " ".join(explain(case, case.record.metrics[0]).split())
    assert "11 correct, 6 wrong, 0 unparsed, 0 truncated. 0 errors, which no metric counts; 0 of them refusals." in text
    assert "Correct by an equal class alone: 1 of 11." in text
    assert re.search(r"model: eyechart/models/hf/generator\.py:\d+ HfGenerator Generates answers", text)


def test_the_code_is_named_where_it_stands(run_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = next(load([run_folder]).cases).record
    assert main(["explain", run_folder, case.case, "--protocol", case.protocol]) == 0
    package = Path(eyechart.__file__).parents[1]
    named = re.findall(r"(eyechart/\S+\.py):(\d+) (\S+)", capsys.readouterr().out)
    assert "Estimate.proportion" in {name for _, _, name in named}
    for file, line, name in named:
        lines = (package / file).read_text().splitlines()[int(line) - 1 :]
        assert any(name.rpartition(".")[2] in one for one in lines[:3])  # a decorator may stand above it


@pytest.mark.parametrize(
    ("case", "options", "words"),
    [
        ("no such case", [], "No case has 'no such case' in its name. The cases of the run are:\n  imagenet/"),
        ("imagenet", [], "cases have 'imagenet' in their name. Give the whole name, or --protocol."),
        ("CASE", ["--metric", "acc2"], "has no metric 'acc2'; did you mean acc5 or acc1? It has acc1,"),
        ("CASE", ["--metric", "acc1", "--labels", "mine"], "Give --labels and --subset as one of these has them."),
    ],
)
def test_a_wrong_name_is_answered_with_what_there_is(
    run_folder: Path, capsys: pytest.CaptureFixture[str], case: str, options: list[str], words: str
) -> None:
    known = next(load([run_folder]).cases).record.case
    assert main(["explain", run_folder, known if case == "CASE" else case, *options]) == 2
    assert words in capsys.readouterr().err


def test_every_protocol_says_which_steps_decide_its_numbers() -> None:
    assert [name for name in list_protocols() if not get_protocol(name).steps] == []


@pytest.mark.deep
@pytest.mark.parametrize(
    ("protocol", "split", "words"),
    [
        ("closed_world", "toybox/sample-cutouts", "A text is what was read from the JSON of a response."),
        ("existence", "oodbench/sample-coco", "Does this image contain a {category}? (yes or no)"),
        ("species", "realbirdid/sample-drawn", "The answer is compared at the level of the genus."),
    ],
)
def test_answers_of_a_model_in_words_are_explained(
    tmp_path: Path, answers: Path, protocol: str, split: str, words: str
) -> None:
    options = {"detectors": "open_clip[toybox-clip]"} if protocol == "existence" else {}
    run = eyechart.evaluate(
        "hf[toybox-mllm]", split, protocol=protocol, limit=8, options=options, out=tmp_path, store=answers, offline=True
    )
    (case,) = load([run.folder]).cases
    assert _check_every_number(case)
    texts = [" ".join(explain(case, metric).split()) for metric in case.record.metrics]
    assert any(words in text for text in texts)
    for option in get_protocol(protocol).options:
        assert f"{option.name}={case.option(option.name)}: {option.help}" in texts[0]
