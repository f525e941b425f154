"""`audit`: two evaluations of the same weights under other settings, sample by sample, and the noise floor."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eyechart.errors import ReportError
from eyechart.gate.comparison.compare_metrics import differences, remarks
from eyechart.gate.verdicts.power import POWER
from eyechart.messages.plurals import count_of
from eyechart.reports.comparison.run_comparison import case_without_model
from eyechart.reports.runs import CaseRun, load
from eyechart.reports.tables.render import NumberCell, NumberFormat, Row, Table
from eyechart.results.evidence import Evidence
from eyechart.statistics.noise_floor import FlipRate, NoiseFloor, flip_rate, noise_floor

SCORE = "score1"
LARGEST_SCORE_CHANGE = NumberFormat(1, 6)
COLUMNS = (
    *("Case", "Protocol", "Changed setting", "n", "Predictions changed", "Flip rate", "Lost", "Gained"),
    *("Noise floor", "Excludable loss", "Largest score change"),
)
NOTES = (
    "Flip rate: changed predictions / n in %, with the 95 % interval.",
    "Lost: right before and wrong after; gained: wrong before and right after.",
    "Noise floor: the smallest loss, in points, that the gate detects with a probability of 80 % beside these changes.",
    "Brackets of the noise floor: its values at both ends of the 95 % interval of the proportion of lost and gained.",
    "Excludable loss: the smallest margin, in points, that is excluded with a probability of 80 % if there is no loss.",
)
Key = tuple[str, str]  # a case without its model, and its protocol
Audited = Mapping[Key, tuple[CaseRun, Evidence]]


@dataclass(frozen=True)
class Variation:
    """A case of the reference beside the same case under another setting, at the level `alpha` of the gate.

    `setting` says what was changed. `flipped` are the samples whose prediction or outcome changed, with the columns
    key, target, before, after, correct_before and correct_after. `score_change` is the largest change of the score of
    the best answer, NaN without scores. `errors` is the number of samples that ended in an error under a setting, which
    are left out. `remarks` are other differences, such as other weights.
    """

    case: str
    protocol: str
    setting: str
    alpha: float
    flips: FlipRate
    floor: NoiseFloor
    score_change: float
    flipped: pd.DataFrame
    errors: int = 0
    remarks: tuple[str, ...] = ()

    @property
    def notes(self) -> Iterator[str]:
        """Yield a sentence for every other difference, and one on samples that are left out."""
        for remark in self.remarks:
            yield f"{self.setting}: {remark}."
        if self.errors:
            left_out = count_of(self.errors, "sample")
            yield f"{self.case} ({self.protocol}), {self.setting}: {left_out} ended in an error, and do not count."


def audited_cases(run: Path) -> Audited:
    """Return the cases of a run of one model, by their names without the model."""
    cases = ((case, case.evidence) for case in load([run]).cases)
    return {(case_without_model(evidence), evidence.protocol): (case, evidence) for case, evidence in cases}


def compare_settings(reference: Audited, other: Audited, setting: str, alpha: float) -> Iterator[Variation]:
    """Yield a variation for every case of the reference; raise ReportError for a case that cannot be compared."""
    for (case, protocol), (before, old) in reference.items():
        if (case, protocol) not in other:
            there = ", ".join(f"{name} ({word})" for name, word in other) or "none"
            raise ReportError(
                f"{setting} has no case {case} ({protocol}). Its cases are: {there}. Name a protocol that both models "
                "have, with --protocol."
            )
        after, new = other[case, protocol]
        tables = before.samples(), after.samples()
        reasons = differences(old, new, ("of the reference", f"of {setting}"))
        if [*tables[0]["key"]] != [*tables[1]["key"]]:
            reasons = [*reasons, "the samples"]
        if reasons:
            raise ReportError(f"{case} ({protocol}) with {setting} cannot be compared: {'; '.join(reasons)}.")
        other_remarks = (*remarks(old, new, ("in the reference", "now")),)
        clusters = _sample_clusters(old, tables[0]["key"])
        yield _compare_samples(tables, clusters, (case, protocol, setting), alpha, other_remarks)


def _sample_clusters(evidence: Evidence, keys: "pd.Series[str]") -> NDArray[np.int64]:
    """Return the cluster of each row of a sample table: that of the evidence, else its image."""
    clusters = evidence.cluster_ids()
    ids = [*keys] if clusters is None else [*keys.map(dict(zip(evidence.keys, clusters.tolist(), strict=True)))]
    return np.unique(ids, return_inverse=True)[1].astype(np.int64)


def _compare_samples(
    tables: tuple[pd.DataFrame, pd.DataFrame],
    clusters: NDArray[np.int64],
    names: tuple[str, str, str],
    alpha: float,
    other_remarks: tuple[str, ...],
) -> Variation:
    """Return the variation of two sample tables; samples that ended in an error on a side do not count."""
    answered = (tables[0]["error"] == "") & (tables[1]["error"] == "")
    before, after = (table[answered] for table in tables)
    units = clusters[answered.to_numpy()]
    flips = flip_rate(before["prediction"].to_numpy(str), after["prediction"].to_numpy(str), units)
    floor = noise_floor(before["correct"].to_numpy(), after["correct"].to_numpy(), units, alpha, POWER)
    scores, changes, errors = score_change(before, after), flipped(before, after), int((~answered).sum())
    return Variation(*names, alpha, flips, floor, scores, changes, errors, other_remarks)


def score_change(before: pd.DataFrame, after: pd.DataFrame) -> float:
    """Return the largest change of the score of the best answer, NaN without scores."""
    if SCORE not in before or SCORE not in after:
        return float("nan")
    old, new = (pd.to_numeric(table[SCORE], errors="coerce").to_numpy(np.float64) for table in (before, after))
    changes = np.abs(new - old)[np.isfinite(old) & np.isfinite(new)]
    return float(changes.max()) if changes.size else float("nan")


def flipped(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Return the samples whose prediction or outcome changed."""
    table = before[["key", "target"]].assign(
        before=before["prediction"],
        after=after["prediction"],
        correct_before=before["correct"],
        correct_after=after["correct"],
    )
    outcomes = before["correct"].fillna(-1) != after["correct"].fillna(-1)
    return table[(table["before"] != table["after"]) | outcomes].reset_index(drop=True)


def audit_table(variations: Sequence[Variation], model: str) -> Table:
    """Return the table of an audit; its last notes are the conclusion of each case."""
    other = dict.fromkeys(note for item in variations for note in item.notes)
    notes = (*NOTES, *other, *conclusions(variations))
    return Table(f"Determinism of {model}", COLUMNS, tuple(map(_audit_row, variations)), notes)


def _audit_row(item: Variation) -> Row:
    flips, floor = item.flips, item.floor
    return (
        *(item.case, item.protocol, item.setting, flips.n, flips.changed, NumberCell(flips.rate, ci=flips.ci)),
        *(floor.lost, floor.gained, NumberCell(floor.detectable, ci=floor.detectable_ci)),
        *(NumberCell(floor.excludable), NumberCell(item.score_change, style=LARGEST_SCORE_CHANGE)),
    )


def conclusions(variations: Sequence[Variation]) -> Iterator[str]:
    """Yield a sentence for each case: the noise floor of the setting with the most changed outcomes."""
    for key in dict.fromkeys((item.case, item.protocol) for item in variations):
        yield _conclude([item for item in variations if (item.case, item.protocol) == key])


def _conclude(variations: Sequence[Variation]) -> str:
    worst = max(variations, key=lambda item: (item.floor.lost + item.floor.gained, item.flips.changed))
    floor = worst.floor
    changed = f"{worst.case} ({worst.protocol}): {_describe_flips(worst, len(variations))}"
    if not floor.n:
        return f"{changed}. No sample has an outcome under both settings, so that there is no noise floor."
    outcomes = f"{changed}; of {floor.n:,} outcomes, {floor.lost} became wrong and {floor.gained} correct"
    detected = "detects no loss" if isnan(floor.detectable) else f"detects losses from {_points(floor.detectable)} on"
    excluded = "excludes none" if isnan(floor.excludable) else f"excludes losses from {_points(floor.excludable)} on"
    return (
        f"{outcomes}. A gate at alpha {worst.alpha:g} {detected} and {excluded}; it cannot decide about smaller ones."
    )


def _describe_flips(item: Variation, settings: int) -> str:
    """Return a sentence part on the changed predictions; `settings` is the number of all variations."""
    if item.flips.changed:
        return f"{item.flips.changed} of {item.flips.n:,} predictions changed with {item.setting}"
    most = 100 * item.flips.ci.high
    return f"none of {item.flips.n:,} predictions changed in {count_of(settings, 'comparison')} (at most {most:.2f} %)"


def _points(fraction: float) -> str:
    """Return a fraction as percentage points."""
    return f"{100 * fraction:.2f} points"
