"""OODBench's published tables hold together, save for the errata, and the metrics give them back."""

import csv
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.oodbench.statistics.statistical_tests import correlation, f_test
from eyechart.statistics.yes_no import MEASURES, confusion_measures, derive_measures

GOLDEN = Path(__file__).parents[1] / "golden"
ROW = ("table", "dataset", "model", "set", "cot")
SOURCES = {"10": "COCO", "11": "LVIS", "12": "nuScenes", "13": "Cityscapes"}
PARTS = ("e", "c", "l")
ONE_ROUNDING = 0.005 + 1e-9  # of two decimals
TWO_ROUNDINGS = 0.01 + 1e-9  # of two decimals: in the parts and in the whole
CONSISTENT = 0.06  # per cent: what two decimals of accuracy and recall leave open, unless hardly any answer is yes
FEW_YES = ("13", "Cityscapes", "DeepSeek-VL2-Small", "OOD-H", "yes")  # 9 wrong ones, so that precision is loose
LATER_GPT = "GPT-4o"  # another version in Table 9, as its footnote 3 says


def read(name):
    with (GOLDEN / f"oodbench_{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def index(row):
    return tuple(row.get(key, "no") for key in ROW)


def each(rows):
    """Check every row in one test, which lists the rows that fail."""

    def decorate(check):
        def test(subtests: Any) -> None:
            for row in rows:
                with subtests.test("-".join(row.get(key, "") for key in (*ROW, "detectors", "column"))):
                    check(row)

        return test

    return decorate


EXISTENCE, PROGRESSION, ERRATA = read("existence"), read("bap"), read("errata")
SOURCED = [row for row in EXISTENCE if row["table"] in SOURCES]
SIZED = [row for row in EXISTENCE if row["num"]]


def corrected(row, *, but=()):
    """A row with the errata's values, those of some kinds left as printed."""
    found = {e["column"]: e["holds"] for e in ERRATA if index(e) == index(row) and e["why"] not in but}
    return row | found


def column(rows, name):
    return np.array([float(row[name]) for row in rows])


def one(rows, **wanted):
    (found,) = (row for row in rows if all(row[key] == value for key, value in wanted.items()))
    return found


def mismatch(rows):
    """The furthest, in per cent, that F1, precision or Matthews' correlation is from what accuracy and recall say."""
    told = derive_measures(column(rows, "acc") / 100, column(rows, "recall") / 100)
    return np.max([abs(100 * told[name] - column(rows, name)) for name in ("f1", "precision", "mcc")], axis=0)


def candidates(row):
    """Every confusion table of as many yes as no questions near a row's accuracy and recall."""
    pairs = int(row["num"]) // 2
    near = np.arange(-4, 5)
    hits = round(pairs * float(row["recall"]) / 100) + near[:, None]
    right = round(2 * pairs * float(row["acc"]) / 100) + near
    cells = np.stack(np.broadcast_arrays(hits, pairs - right + hits, pairs - hits, right - hits), axis=-1)
    return cells[((cells >= 0) & (cells <= pairs)).all(axis=-1)]


def rebuilt(row):
    """The confusion table whose measures are nearest to a row's, and how near."""
    cells = candidates(row)
    values = confusion_measures(cells)
    gaps = np.max([abs(100 * values[name] - float(row[name])) for name in MEASURES], axis=0)
    return cells[gaps.argmin()], gaps.min()


@cache
def counts(dataset, model, kind, cot):
    table = next(number for number, name in SOURCES.items() if name == dataset)
    row = one(EXISTENCE, table=table, dataset=dataset, model=model, set=kind, cot=cot)
    return rebuilt(corrected(row))[0]


def pooled(row, kinds=None):
    """Table 1's measures out of the answers of Tables 10 to 13."""
    sets = kinds or dict.fromkeys(SOURCES.values(), row["set"])
    cells = sum(counts(name, row["model"], kind, row["cot"]) for name, kind in sets.items())
    return {name: 100 * value for name, value in confusion_measures(cells).items()}


def printed(row, columns=MEASURES):
    return {name: pytest.approx(float(row[name]), abs=TWO_ROUNDINGS) for name in columns}


def test_the_tables_are_whole() -> None:
    rows = {"1": 60, "2": 6, "8": 27, "9": 12, "10": 80, "11": 70, "12": 80, "13": 60, "18": 26}
    assert Counter(row["table"] for row in EXISTENCE) == rows
    assert Counter(row["table"] for row in PROGRESSION) == dict.fromkeys(["3", "14", "15", "16", "17"], 30)


@each(ERRATA)
def test_errata_are_as_printed(erratum) -> None:
    rows = [row for row in EXISTENCE + PROGRESSION if index(row) == index(erratum)]
    assert [row[erratum["column"]] for row in rows] == [erratum["printed"]] != [erratum["holds"]]


def test_accuracy_and_recall_say_the_rest_save_for_the_errata() -> None:
    wrong = {index(row) for row, gap in zip(EXISTENCE, mismatch(EXISTENCE), strict=True) if gap > CONSISTENT}
    swapped = {index(e) for e in ERRATA if e["why"] == "swapped"}
    scaled = {index(e) for e in ERRATA if e["table"] == "18" and e["column"] == "precision"}
    assert (len(swapped), len(scaled)) == (12, 2)
    assert wrong == swapped | scaled | {FEW_YES}


def test_all_false_positive_rates_are_rates() -> None:
    rows = [corrected(row, but=("initial",)) for row in EXISTENCE]
    rates = derive_measures(column(rows, "acc") / 100, column(rows, "recall") / 100)["fpr"]
    assert rates.min() > -2e-4  # rounding makes of none a little less than none
    assert rates.max() < 1


def test_exchanging_precision_and_recall_repairs_two_models_of_table_1() -> None:
    rows = [row for row in EXISTENCE if row["table"] == "1" and mismatch([row])[0] > CONSISTENT]
    assert {row["model"] for row in rows} == {"DeepSeek-VL2-Small", "Qwen2.5-VL-7B-Instruct"}
    exchanged = [row | {"precision": row["recall"], "recall": row["precision"]} for row in rows]
    assert exchanged == [corrected(row, but=("initial",)) for row in rows]
    assert mismatch(exchanged).max() <= CONSISTENT


@each(SIZED)
def test_every_row_is_the_measures_of_whole_answers(row) -> None:
    cells, gap = rebuilt(corrected(row))
    assert gap <= ONE_ROUNDING
    assert cells.sum() == int(corrected(row)["num"])


def test_the_errata_are_not_the_measures_of_whole_answers() -> None:
    wrong = {index(row) for row in SIZED if rebuilt(row)[1] > ONE_ROUNDING}
    assert wrong == {index(e) for e in ERRATA if e["why"] in ("size", "misprint")}


@each([row for row in EXISTENCE if row["table"] == "1"])
def test_table_1_pools_the_answers_of_the_four_sources(row) -> None:
    assert pooled(row) == printed(corrected(row))


@pytest.mark.parametrize("name", ["acc", "recall"])
def test_table_1_weights_the_sources_by_num(name) -> None:
    for row in (row for row in EXISTENCE if row["table"] == "1"):
        parts = [
            corrected(part) for part in EXISTENCE if part["table"] in SOURCES and index(part)[2:] == index(row)[2:]
        ]
        mean = np.average(column(parts, name), weights=column(parts, "num"))
        assert (len(parts), mean) == (4, pytest.approx(float(corrected(row)[name]), abs=TWO_ROUNDINGS))


def test_one_row_of_table_1_pools_the_initial_set_of_lvis() -> None:
    (key,) = {index(e) for e in ERRATA if e["why"] == "initial"}
    row = one([row for row in EXISTENCE if index(row) == key], table="1")
    sets = dict.fromkeys(SOURCES.values(), row["set"]) | {"LVIS": f"{row['set']}'"}
    assert pooled(row, sets) == printed(corrected(row, but=("initial",)))


def test_one_row_of_table_11_is_another_models() -> None:
    (key,) = {index(e) for e in ERRATA if e["why"] == "copied"}
    row = one([row for row in EXISTENCE if index(row) == key], table="11")
    other = one(EXISTENCE, table="11", model="InternVL2.5-8B", set=row["set"], cot=row["cot"])
    assert row | {"model": other["model"]} == other


def test_what_stands_in_several_tables_is_the_same() -> None:
    keys = (*ROW[1:], "detectors", "threshold")
    rows = [row for row in EXISTENCE if not (row["table"] == "9" and row["model"] == LATER_GPT)]
    seen = {}
    for row in rows:
        values = [corrected(row)[name] for name in ("num", *MEASURES)]
        assert values == seen.setdefault(tuple(row[key] for key in keys), values)
    assert len(rows) - len(seen) == 18 + 2 + 3 + 13  # in Tables 8, 2, 9 and 18


def test_several_cards_share_the_pairs_evenly() -> None:
    shared = [row for row in EXISTENCE if row["cards"] and row["num"]]
    assert {row["cards"] for row in shared} == {"1", "2"}
    assert all(int(row["num"]) // 2 % int(row["cards"]) == 0 for row in shared)


@pytest.mark.parametrize(("threshold", "difference"), [("0.05", 7.44), ("0.01", 1.86), ("0.005", 1.73)])
def test_table_2_a_lower_threshold_sets_simple_and_hard_less_apart(threshold, difference) -> None:
    simple, hard = (float(one(EXISTENCE, table="2", threshold=threshold, set=s)["acc"]) for s in ("OOD-S'", "OOD-H'"))
    assert round(simple - hard, 2) == difference


@each(read("detector_deltas"))
def test_table_9_differences_are_from_clip_and_blip2(row) -> None:
    base, other = (one(EXISTENCE, table="9", model=row["model"], detectors=d) for d in ("CLIP+BLIP2", row["detectors"]))
    found = {name: round(float(base[name]) - float(other[name]), 2) for name in MEASURES}
    assert found == {name: float(row[name]) for name in MEASURES}


def rows_of(table, kind):
    return [row for row in EXISTENCE if (row["table"], row["set"]) == (table, kind)]


def falls():
    """How much each model of Table 8 falls from ID to Hard and to OOD-H."""
    top, hard, ood = (column(rows_of("8", kind), "acc") for kind in ("ID", "Hard", "OOD-H"))
    return top - hard, top - ood


def test_table_8_does_not_give_the_printed_f() -> None:
    found = f_test(*falls())
    assert (round(found.f, 2), found.df1, found.df2, round(found.p, 4)) == (4.34, 8, 8, 0.0266)  # F = 4.59 printed
    both = correlation(*falls())
    assert (round(both.pearson, 2), round(both.spearman, 2)) == (-0.66, -0.63)  # -0.65 and -0.58 printed


def test_the_printed_f_takes_one_models_hard_samples_for_anothers() -> None:
    hard, ood = falls()
    deepseek, qwen = 1, 6  # the models' order, without DeepSeek-VL2-Small
    hard[qwen] += float(rows_of("8", "Hard")[qwen]["acc"]) - float(rows_of("8", "Hard")[deepseek]["acc"])
    both = correlation(hard, ood)
    assert (round(f_test(hard, ood).f, 2), round(f_test(hard, ood).p, 4)) == (4.59, 0.0227)
    assert (round(both.pearson, 2), round(both.spearman, 2), round(both.spearman_p, 3)) == (-0.65, -0.58, 0.099)


def test_the_printed_f_has_the_printed_p() -> None:
    x = np.array([-1.0, 1, 0, 0, 0, 0, 0, 0, 0])
    assert f_test(4.59**0.5 * x, x).p == pytest.approx(0.0227, abs=1e-4)


def test_logic_needs_counting() -> None:
    assert all(float(row["l"]) <= float(row["c"]) for row in PROGRESSION)


def test_counting_does_not_need_existence() -> None:
    (row,) = (row for row in PROGRESSION if float(row["c"]) > float(row["e"]))
    assert index(row) == ("16", "nuScenes", "DeepSeek-VL2-Small", "OOD-H", "no")


def samples(row):
    """How many samples a model answered: all; for two cards, the last one twice if need be; fewer where some failed."""
    true = int(one(read("bap_sizes"), dataset=row["dataset"], set=row["set"])["samples"])
    whole = [n for n in range(true - 3, true + 2) if all(is_share(row[part], n) for part in PARTS)]
    (n,) = whole
    return n, true


def is_share(percent, of):
    return abs(round(float(percent) * of / 100) / of * 100 - float(percent)) <= ONE_ROUNDING


@each([row for row in PROGRESSION if row["table"] != "3"])
def test_progression_is_in_whole_samples(row) -> None:
    n, true = samples(row)
    assert n == true + true % 2 if row["cards"] == "2" else n <= true
    assert n == true or row["cards"] != "1"


@each([row for row in PROGRESSION if row["table"] == "3"])
def test_table_3_pools_the_samples_of_the_four_sources(row) -> None:
    parts = [p for p in PROGRESSION if p["table"] != "3" and index(p)[2:] == index(row)[2:]]
    weights = [samples(part)[0] for part in parts]
    found = {name: np.average(column(parts, name), weights=weights) for name in PARTS}
    assert found == printed(corrected(row), PARTS)
