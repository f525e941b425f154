"""Every kind of case can be looked at item by item, and its items say what its record says."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from eyechart.gate.baselines.baseline_files import write_baselines
from eyechart.gate.baselines.stored_cases import case_evidence
from eyechart.gate.verdicts.page_link import page_address
from eyechart.realbirdid.data.observations import REASONS
from eyechart.reports.comparison.run_comparison import comparison_tables, match_runs
from eyechart.reports.page.changes import sample_filter
from eyechart.reports.page.sample_groups import CaseSamples
from eyechart.reports.page.samples import (
    MIXED,
    RIGHT,
    UNSCORED,
    WRONG,
    Samples,
    _merge_epochs,
    class_namer,
    read_samples,
)
from eyechart.reports.page.write_page import PageOptions, glossary_entries
from eyechart.reports.runs import CaseRun, load
from eyechart.reports.tables.render import format_cell
from eyechart.results.evidence import Evidence, PackedArrays
from eyechart.results.records import decode, read_run
from eyechart.results.shared_samples import with_samples

pytestmark = pytest.mark.deep

CASES = "(realbirdid/sample/ or oodbench/sample-lvis/) and not conse and not clip-b"


@pytest.fixture(scope="session")
def kinds(tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str], answers: Path) -> Path:
    """A run of pairs and birds by the packaged models."""
    folder = tmp_path_factory.mktemp("kinds")
    (folder / "store").symlink_to(answers)
    options = ["--eye-limit=20", f"--eye-out={folder / 'runs'}", f"--eye-store={folder / 'store'}", "--eye-offline"]
    options.append("--eye-set=abstention.prompts_per_level=2")  # of 15
    command = ["pytest", "--pyargs", "eyechart.benchmarks", "-k", CASES, "-p", "no:cacheprovider", *options]
    done = subprocess.run([*warm_python, "-m", *command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "runs" / "latest"


@pytest.fixture(scope="session")
def samples_by_case(kinds: Path) -> Mapping[tuple[str, str], tuple[CaseRun, Samples]]:
    """What every case said, by its protocol and model."""
    cases = [case for group in load([kinds]).groups for case in group.cases]
    read = {(e.record.protocol, e.model): (e, read_samples(e, class_namer(()))) for e in cases}
    return {name: (case, samples) for name, (case, samples) in read.items() if samples is not None}


def counted(samples: Samples, label_set: str) -> tuple[int, int]:
    """How many items are right and wrong."""
    outcomes = samples.label_sets[label_set].outcomes
    return int((outcomes == RIGHT).sum()), int((outcomes == WRONG).sum())


FIRST = {
    "existence": "OODBench",
    "detection": "OODBench",
    "flat_list": "flat list, all",
    "free_form": "free form",
}


def test_there_is_one_of_every_kind(samples_by_case: Any) -> None:
    protocols = {protocol for protocol, _ in samples_by_case}
    assert protocols == {"existence", "progression", "detection", "species", "flat_list", "free_form", "abstention"}


@pytest.mark.parametrize("protocol", FIRST)
def test_right_and_wrong_items_are_as_many_as_the_record_says(samples_by_case: Any, protocol: str) -> None:
    for (name, _), (case, samples) in samples_by_case.items():
        came = case.record.outcomes
        if name == protocol:
            assert counted(samples, FIRST[protocol]) == (came.correct, came.wrong + came.unparsed + came.truncated)


def test_progression_has_three_questions_a_sample_and_the_records_shares(samples_by_case: Any) -> None:
    (case, samples) = next(value for (name, _), value in samples_by_case.items() if name == "progression")
    held = samples.label_sets["OODBench"]
    sets = np.array(held.categories)
    for metric in (metric_ for metric_ in case.record.metrics if metric_.name != "answered"):
        rows = slice(("e_acc", "c_acc", "l_acc").index(metric.name), None, 3)
        right = (held.outcomes == RIGHT)[rows][sets[rows] == metric.subset_text]
        assert metric.value == pytest.approx(float(right.mean()))


def test_species_are_scored_at_every_level(samples_by_case: Any) -> None:
    for (name, _), (case, samples) in samples_by_case.items():
        if name == "species":
            right, wrong = counted(samples, "species")
            assert right / (right + wrong) == pytest.approx(
                case.metric("acc", "all species", "answerable.species").value
            )


def test_abstention_is_right_where_a_bird_cannot_be_told(samples_by_case: Any) -> None:
    (_, samples) = next(value for (name, _), value in samples_by_case.items() if name == "abstention")
    held = samples.label_sets["abstention"]
    abstained = np.array([("abstained", "yes") in more for more in samples.more])
    known = held.outcomes != UNSCORED
    wanted = np.array([label == ("abstain",) for label in held.labels])
    assert ((held.outcomes == RIGHT) == (abstained == wanted))[known].all()


def test_every_name_of_the_packaged_benchmarks_has_a_sentence(kinds: Path) -> None:
    records = read_run(kinds).records
    known = glossary_entries(records)
    metrics = [metric for record in records for metric in record.metrics]
    assert {metric.name for metric in metrics} == {*known["metrics"]}
    assert {metric.labels for metric in metrics} == {*known["labels"]}
    assert {metric.ci_method for metric in metrics} == {*known["intervals"]}
    assert {record.protocol for record in records} == {*known["protocols"]}
    without = {metric.subset_text for metric in metrics} - {*known["subsets"]}
    assert {metric.subset for metric in metrics if metric.subset_text in without} <= {"", *REASONS}


def test_the_page_shows_them_all(page_of_birds: Path, opened: Any) -> None:
    driver = opened(page_of_birds, None)
    for name in ("realbirdid/sample", "realbirdid/sample/abstention", "oodbench/sample-lvis/existence"):
        driver.go(f"#/samples/{name}?outcome=wrong")
        driver.page.locator(".cards a").first.click()
        driver.page.locator(".answers .wrong").first.wait_for()
        if name == "oodbench/sample-lvis/existence":
            category, _, kind = driver.page.locator(".question").inner_text().partition(": ")
            negation = "not " if kind.startswith("negative") else ""
            asked = f"Does this image {negation}contain a {category}? (yes or no)"
            assert driver.page.locator(".prompts .raw").all_text_contents() == [asked]
        loaded = "image => image.decode().then(() => image.naturalWidth > 20)"
        assert driver.page.locator(".parts img").evaluate(loaded)


SPECIES = "realbirdid/sample/hf[toybox-mllm]", "species", "all species"
ASKED = "oodbench/sample-lvis/hf[toybox-mllm]", "existence", "OODBench"
SHARE = "acc (all species, answerable.species)"


def evidence(kinds: Path) -> dict[tuple[str, str], Evidence]:
    """What every case kept, by its name and protocol."""
    records = read_run(kinds).records
    paths = {(one.case, one.protocol): kinds / one.evidence.path for one in records if one.evidence}
    return {case: with_samples(decode(path.read_bytes(), Evidence), path.parent) for case, path in paths.items()}


def better(now: Evidence) -> Evidence:
    """The same with every bird right, in one number."""
    planes = PackedArrays()
    correct = planes.add(np.packbits(np.ones(now.samples, bool)).tobytes())
    proofs = [
        structs.replace(metric, correct=correct, value=1.0) if metric.full_name == SHARE else metric
        for metric in now.metrics
    ]
    return structs.replace(now, metrics=tuple(proofs), arrays={**now.arrays, **planes.packed})


@pytest.fixture(scope="module")
def page_of_birds(kinds: Path, studio: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the run beside baselines that are the same but for a better model of birds."""
    folder = tmp_path_factory.mktemp("birds")
    before = evidence(kinds)
    before[SPECIES[:2]] = better(before[SPECIES[:2]])
    write_baselines(folder / "kept", before.values())
    wish = PageOptions((kinds,), folder / "kept", store=kinds.parents[1] / "store", figures=False)
    notes = studio.write(wish, folder / "page")
    assert [note for note in notes if not note.endswith("the previous result has other items.")] == []
    return folder / "page" / "index.html"


@pytest.fixture
def birds(page_of_birds: Path, opened: Any) -> Any:
    """This page at the address of a number of birds."""
    return opened(page_of_birds, page_address(*SPECIES, SHARE).partition("index.html")[2])


def test_a_number_of_birds_leads_to_those_that_it_lost(kinds: Path, birds: Any) -> None:
    now = evidence(kinds)[SPECIES[:2]]
    outcomes = now.sample_outcomes(next(metric for metric in now.metrics if metric.full_name == SHARE))
    birds.page.locator(".cards").wait_for()
    assert birds.page.locator(".cards .key").all_inner_texts() == [
        now.keys[row] for row in np.flatnonzero(outcomes == 0)
    ]
    birds.page.locator(".cards a").first.click()
    assert birds.page.locator(".moved").inner_text() == f"{SHARE}: ✓ right before, ✗ wrong now"


def test_a_number_of_pairs_leads_to_all_questions_of_its_case(birds: Any, samples_by_case: Any) -> None:
    birds.go(page_address(*ASKED).partition("index.html")[2])
    (samples,) = (samples for (protocol, _), (_, samples) in samples_by_case.items() if protocol == "existence")
    count = len(samples.items)
    assert birds.page.locator(".found").inner_text() == f"{count} of {count} questions"
    assert birds.page.get_by_label("Model", exact=True).input_value() == "hf[toybox-mllm]"


def test_rounds_that_differ_are_mixed_and_an_unscored_one_says_nothing() -> None:
    rounds = [[RIGHT, RIGHT, WRONG, UNSCORED, UNSCORED], [RIGHT, WRONG, UNSCORED, RIGHT, UNSCORED]]
    merged = _merge_epochs([np.array(codes, np.uint8) for codes in rounds])
    assert merged.tolist() == [RIGHT, MIXED, WRONG, RIGHT, UNSCORED]


def all_right(samples: Samples, rows: list[int]) -> Samples:
    """The same answers, some of which were right before."""
    held = samples.label_sets["OODBench"]
    outcomes = held.outcomes.copy()
    outcomes[rows] = RIGHT
    return replace(samples, label_sets={"OODBench": replace(held, outcomes=outcomes)})


def test_what_a_stage_lost_is_looked_for_among_its_own_questions(samples_by_case: Any) -> None:
    (case, samples) = next(value for (name, _), value in samples_by_case.items() if name == "progression")
    wrong = np.flatnonzero(samples.label_sets["OODBench"].outcomes == WRONG).tolist()
    case_samples = CaseSamples(case, "progression", samples, all_right(samples, wrong))
    proofs = [metric for metric in case_evidence(case.record, case.folder).metrics if metric.name != "answered"]
    lost = {proof: sample_filter(proof, case_samples).get("lost", 0) for proof in proofs}
    assert sum(lost.values()) == len(wrong) > 0
    for proof, count in lost.items():
        stage = {"e_acc": "existence:", "c_acc": "counting:", "l_acc": "logic:"}[proof.name]
        kinds = samples.label_sets["OODBench"].categories
        mine = [row for row in wrong if samples.items[row][1].startswith(stage) and kinds[row] == proof.subset_text]
        assert count == len(mine)


def test_pairs_and_birds_have_the_cells_of_compare(kinds: Path, page_of_birds: Path) -> None:
    folder = page_of_birds.parent
    (call,) = (folder / "data/changes.js").read_text(encoding="ascii").splitlines()
    rows = json.loads(json.loads(f"[{call[9:-1]}]")[1])["metrics"]
    shown = [[row["name"], row["labels"], row["subset"], *map(text, row["cells"])] for row in rows]
    compared = comparison_tables(match_runs((folder.with_name("kept"), kinds)))[0]
    assert shown == [[*map(format_cell, row[2:])] for row in compared.rows]
    assert {row["cells"][-2] for row in rows} >= {"exact McNemar", "paired bootstrap"}
    assert {row["cells"][-1] for row in rows} <= {
        "regression",
        "inconclusive",
        "no regression",
        "not tested",
        "confidence unchanged",
    }


def text(cell: Any) -> str:
    """What stands in a cell of the page."""
    return str(cell if isinstance(cell, str) else cell[1])
