"""The tables of OODBench agree with the records and answers that they are made of, and with one another."""

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.deep

KINDS = {"coco": "COCO", "lvis": "LVIS"}
MLLM, A, B = "hf[toybox-mllm]", "open_clip[toybox-clip]", "open_clip[toybox-clip-b]"
MODELS = [MLLM, "mild", "odd", "poor"]
MEASURES = {"Accuracy": "acc", "F1": "f1", "Precision": "precision", "Recall": "recall", "MCC": "mcc"}
SETS, WIDE = ("ID", "OOD-S", "OOD-H"), ("OOD-S'", "OOD-H'")
STAGES = ("E-Acc", "C-Acc", "L-Acc")
Record = dict[str, Any]
Rows = list[dict[str, str]]
Table = Callable[[str], Rows]


def metric(record: Record, name: str, category: str) -> Record:
    """One number of a record."""
    found: list[Record] = [each for each in record["metrics"] if (each["name"], each["subset"]) == (name, category)]
    (one,) = found
    return one


def agree(row: Mapping[str, str], head: str, found: Record, scale: float = 100, digits: int = 2) -> None:
    """A number with its interval is what a record says."""
    ends = found["ci"] or (None, None)
    for part, value in zip(("", " low", " high"), (found["value"], *ends), strict=True):
        if value is not None:
            assert float(row[head + part]) == pytest.approx(scale * value, abs=0.51 * 10**-digits), (row, head, found)


def of(rows: Rows, **wanted: str) -> Rows:
    """The rows with these cells."""
    return [
        row for row in rows if {name.replace("_", " "): cell for name, cell in wanted.items()}.items() <= row.items()
    ]


def only(rows: Rows, **wanted: str) -> dict[str, str]:
    """The one row with these cells."""
    (found,) = of(rows, **wanted)
    return found


def direct(rows: Rows, kind: str) -> Rows:
    """The rows of a data set whose questions asked for no reasoning."""
    return [row for row in of(rows, split=f"oodbench/sample-{kind}") if "reasoning direct" in row["asked"]]


def pairs_of(table: Table, index: int) -> Rows:
    """The rows of a data set's table about the pairs that all models were asked about."""
    rows = table(f"T{index}")
    return of(rows, pairs=of(rows, Model="mild")[0]["pairs"])


@pytest.mark.parametrize(("index", "kind"), [*enumerate(KINDS, 10)])
def test_existence_has_the_numbers_of_its_records(bench: Any, table: Table, index: int, kind: str) -> None:
    for mark, reasoning in (("", "direct"), ("^CoT", "cot")):
        found = bench.cases("existence", kind, reasoning=reasoning)
        assert [*found] == (MODELS if reasoning == "direct" else [MLLM])
        for (model, record), name in product(found.items(), (*SETS, *WIDE)):
            row = only(pairs_of(table, index), Model=model, Data_Type=name + mark)
            assert row["Num"] == str(metric(record, "acc", name)["n"])
            for head, measure in {**MEASURES, "Yes": "yes_rate", "Unparsed": "unparsed"}.items():
                agree(row, head, metric(record, measure, name))


@pytest.mark.parametrize(("index", "kind"), [*enumerate(KINDS, 14)])
def test_progression_has_the_numbers_of_its_record(bench: Any, table: Table, index: int, kind: str) -> None:
    record = bench.cases("progression", kind)[MLLM]
    assert {row["Data Type"] for row in table(f"T{index}")} >= {"OOD-S", "OOD-H"}
    for row, head in product(table(f"T{index}"), STAGES):
        found = metric(record, f"{head[0].lower()}_acc", row["Data Type"])
        agree(row, head, found)
        assert row[f"{head} n"] == str(found["n"])


@pytest.mark.parametrize("kind", KINDS)
def test_hard_samples_have_the_numbers_of_their_records(bench: Any, table: Table, kind: str) -> None:
    for model, record in bench.cases("existence", kind, reasoning="direct").items():
        rows = of(direct(table("T8"), kind), Model=model)
        ood, hard = (only(rows, Data_Type=name) for name in ("OOD-H", "Hard Sample"))
        for row, name in ((ood, "OOD-H"), (hard, "Hard")):
            agree(row, "Accuracy", metric(record, "acc", name))
            agree(row, "ID − Accuracy", metric(record, "acc_delta", name))
            agree(row, "p", metric(record, "acc_p", name), 1, 4)
        falls = only(direct(table("F11"), kind), Model=model)
        assert (falls["ID − OOD-H"], falls["ID − Hard"]) == (ood["ID − Accuracy"], hard["ID − Accuracy"])


def ablation(bench: Any, run: str, choice: str) -> dict[str, Record]:
    """The records of an ablation by what was chosen."""
    return {record["variant"][choice]: record for record in bench.records(run)}


def test_thresholds_have_the_numbers_of_their_records(bench: Any, table: Table) -> None:
    found = ablation(bench, "thresholds", "threshold")
    assert [row["Threshold T"] for row in table("T2")[::2]] == sorted(found, reverse=True) == ["0.05", "0.01", "0.005"]
    for row in table("T2"):
        for head, measure in MEASURES.items():
            agree(row, head, metric(found[row["Threshold T"]], measure, row["Data Type"]))


def test_detectors_have_the_numbers_of_their_records_in_the_order_of_the_command(bench: Any, table: Table) -> None:
    found = [metric(ablation(bench, "detectors", "detectors")[spec], "acc", "OOD-H'") for spec in bench.divided]
    several, more = [row for row in table("T9") if row["OOD Detectors"] != "Δ"], table("F13")
    for row, wanted in zip([*several, *more], [found[n] for n in (0, 2, 3, 1, 0, 4, 5)], strict=True):
        assert row["Num"] == str(wanted["n"])
        agree(row, "Accuracy", wanted)
    changes = [float(row["Accuracy"]) for row in of(table("T9"), OOD_Detectors="Δ")]
    assert changes == pytest.approx([100 * (found[0]["value"] - found[n]["value"]) for n in (2, 3)], abs=0.0051)


def test_all_data_sets_are_pooled_by_their_answers(bench: Any, table: Table) -> None:
    rows = of(table("T1"), data=" + ".join(KINDS.values()))
    for model, name in product(MODELS, SETS):
        asked = [bench.lines(bench.cases("existence", kind, reasoning="direct")[model]) for kind in KINDS]
        said = [row for each in asked for row in of(each, subset=name, main="1")]
        found = only(rows, Model=model, Data_Type=name)
        assert (found["Num"], found["Accuracy"]) == (str(len(said)), share(said, "correct"))


def share(rows: Rows, column: str) -> str:
    """How much of a column is 1, in per cent."""
    return f"{100 * sum(row[column] == '1' for row in rows) / len(rows):.2f}"


def test_all_data_sets_are_pooled_by_their_samples(bench: Any, table: Table) -> None:
    samples = [row for kind in KINDS for row in bench.lines(bench.cases("progression", kind)[MLLM])]
    assert len(table("T3")) == len(SETS)
    for row in table("T3"):
        chosen = of(samples, subset=row["Data Type"])
        for head, question in zip(STAGES, ("existence", "counting", "logic"), strict=True):
            answers = of(chosen, question=question)
            assert (row[head], row[f"{head} n"]) == (share(answers, "correct"), str(len(answers)))


def test_scales_are_compared_data_set_by_data_set(table: Table) -> None:
    for index, (model, name) in product(range(10, 10 + len(KINDS)), product(MODELS, (*SETS[1:], *WIDE))):
        wanted = only(pairs_of(table, index), Model=model, Data_Type=name)
        rows = of(table("T18"), Data=[*KINDS.values()][index - 10], Model=model)
        assert {head: wanted[head] for head in rows[0] if head != "Data"} in [
            {head: cell for head, cell in row.items() if head != "Data"} for row in rows
        ]


@pytest.mark.parametrize("kind", [*KINDS][1:])  # COCO stands in several tables
def test_falls_are_those_of_the_records(bench: Any, table: Table, kind: str) -> None:
    for model, record in bench.cases("existence", kind, reasoning="direct").items():
        for name, (head, measure) in product(SETS[1:], MEASURES.items()):
            row = only(of(table("degradation"), data=KINDS[kind]), Model=model, Data_Type=name)
            agree(row, f"{head} Δ", metric(record, f"{measure}_delta", name))
            agree(row, f"{head} p", metric(record, f"{measure}_p", name), 1, 4)


@pytest.fixture(scope="module")
def pooled(table: Table) -> Mapping[tuple[str, str, str], dict[str, str]]:
    """The rows of Figure 9 about all data sets, by model, set and measure."""
    rows = of(table("F9"), data=" + ".join(KINDS.values()))
    return {(row["Model"], row["Data Type"], row["Measure"]): row for row in rows}


def test_falls_of_all_data_sets_are_differences_of_table_1(table: Table, pooled: Any) -> None:
    assert len(pooled) == (len(MODELS) + 1) * 2 * len(MEASURES)
    rows = of(table("T1"), data=" + ".join(KINDS.values()))
    for (model, name, measure), row in pooled.items():
        start = "ID" + "^CoT" * name.endswith("CoT")
        one, other = (float(only(rows, Model=model, Data_Type=each)[measure]) for each in (start, name))
        assert float(row["Δ"]) == pytest.approx(one - other, abs=0.0101)
        assert 0 < float(row["p"]) <= 1


def test_bands_and_equivalence_are_of_the_other_models_falls(table: Table, pooled: Any) -> None:
    for row, test in zip(table("signature"), table("F10"), strict=True):
        name, measure = row["Data Type"], row["Measure"]
        rest = [pooled[model, name, measure] for model in MODELS if model != row["Model"]]
        assert float(row["Band low"]) == min(float(each["Δ low"]) for each in rest)
        assert float(row["Band high"]) == max(float(each["Δ high"]) for each in rest)
        mean = sum(float(each["Δ"]) for each in rest) / len(rest)
        assert float(test["δ"]) == pytest.approx(float(row["Δ"]) - mean, abs=0.0151)  # three rounded numbers
        inside = -float(test["η"]) < float(test["δ low"]) <= float(test["δ high"]) < float(test["η"])
        assert (test["Equivalent"], test["Num"]) == ("yes" if inside else "no", row["Num"])


@pytest.mark.parametrize("kind", KINDS)
def test_models_own_sets_are_the_pairs_they_get_wrong(bench: Any, table: Table, kind: str) -> None:
    rows = [row for row in table("F6") if row["split"] == f"oodbench/sample-{kind}"]
    shared = of(rows, asked=of(rows, Model="mild")[0]["asked"])
    wrong: dict[str, set[str]] = {}
    for model, record in bench.cases("existence", kind, reasoning="direct").items():
        asked = [row for row in bench.lines(record) if row["subset"] in SETS[1:]]
        wrong[model] = {row["pair"] for row in asked if row["correct"] == "0"}
        every = {row["pair"] for row in asked}
        assert only(shared, Model=model, Data_Type="OOD")["Own"] == f"{100 * len(wrong[model]) / len(every):.2f}"
    covered = of(shared, Data_Type="OOD")[-1]["Covered"]
    assert covered == f"{100 * len(set().union(*wrong.values())) / len(every):.2f}"


@pytest.mark.parametrize(("name", "kind"), [*product(("F2", "F8"), KINDS)])
def test_sizes_are_those_of_the_division(bench: Any, table: Table, name: str, kind: str) -> None:
    rows = bench.lines(bench.cases("existence", kind, reasoning="direct")["mild"], "division")
    found = of(table(name), Data=KINDS[kind], Category="all")[0]
    for head in (*SETS, "Hard Sample"):
        wanted = of(rows, set="Hard" if head == "Hard Sample" else head, **({"main": "1"} if name == "F2" else {}))
        assert found[head + "'" * (name == "F8" and head[:3] == "OOD")] == str(len(wanted))


@pytest.mark.parametrize("kind", KINDS)
def test_hard_samples_are_compared_over_models(table: Table, kind: str) -> None:
    rows = [row for row in table("F12") if row["split"] == f"oodbench/sample-{kind}"]
    falls = [
        row for row in table("F11") if row["split"] == f"oodbench/sample-{kind}" and "reasoning direct" in row["asked"]
    ]
    hard, ood = (np.array([float(row[head]) for row in falls]) for head in ("ID − Hard", "ID − OOD-H"))
    assert [row["Evidence"] for row in rows] == [*"12234455"]
    assert float(rows[0]["Value"]) == pytest.approx(hard.var(ddof=1) / ood.var(ddof=1), rel=0.01, abs=0.006)
    assert float(rows[1]["Value"]) == pytest.approx(np.corrcoef(hard, ood)[0, 1], abs=0.006)
    assert float(rows[3]["Value"]) == pytest.approx(ood.var(ddof=1), rel=0.01)


@pytest.mark.parametrize(("name", "detector", "kind"), [*product(("F14", "F15", "F16"), (A, B), KINDS)])
def test_logits_are_those_of_the_detectors(bench: Any, table: Table, name: str, detector: str, kind: str) -> None:
    bins = bench.lines(bench.cases("detection", kind)[detector], "logits")
    rows = of(table(name), split=f"oodbench/sample-{kind}")
    chosen = [row for row in rows if row.get("Detector", row.get("detector")) == detector[10:-1]]
    assert bool(chosen) == ((name, detector) not in (("F15", B), ("F16", A)))
    for (what, present), label in {("logit", "1"): "logit, present", ("logit", "0"): "logit, absent"}.items():
        wanted = sum(int(row["count"]) for row in of(bins, what=what, present=present))
        assert sum(int(row["Num"]) for row in of(chosen, Values=label)) == (wanted if chosen else 0)


def test_distances_are_those_of_the_records(bench: Any, table: Table) -> None:
    found = bench.cases("distribution")
    assert [row["Encoder"] for row in table("mmd")] == ["toybox-clip", "toybox-clip-b"]
    for row, spec in zip(table("mmd"), (A, B), strict=True):
        agree(row, "MMD² · 10⁴", metric(found[spec], "mmd2", "OOD"), 1e4, 3)
        agree(row, "τ · 10⁴", metric(found[spec], "mmd2_tau", "OOD"), 1e4, 3)
        assert (row["Data"], row["Reference"]) == ("COCO", "sample-lvis")
