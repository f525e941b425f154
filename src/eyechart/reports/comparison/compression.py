"""`compress`: a model beside its compressed variants, sample by sample, and the verdict on each variant."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eyechart.errors import ReportError
from eyechart.gate.session.compare_cases import CasePair, SessionComparison, compare_cases
from eyechart.gate.slices.slice_messages import describe_slice
from eyechart.gate.verdicts.decide import IMPROVEMENT, REGRESSION, Rule, Verdict
from eyechart.gate.verdicts.power import POWER
from eyechart.inference.engines.speed import Speed
from eyechart.messages.plurals import count_of
from eyechart.reports.comparison.run_comparison import case_without_model
from eyechart.reports.runs import CaseRun
from eyechart.results.evidence import Evidence, Floats
from eyechart.results.run_folder import evidence_folder
from eyechart.statistics.logit_changes import LogitChange, logit_change
from eyechart.statistics.noise_floor import FlipRate, NoiseFloor, flip_rate, noise_floor

EQUAL, KEPT, WORSE, NOT_SHOWN = "equal", "kept", "worse", "not shown"
ORIGINAL = "original"
LISTED_CLASSES = 6
Key = tuple[str, ...]  # a case without its model, and its protocol


@dataclass(frozen=True)
class Answers:
    """A case of one model: its record, its evidence, and the scores (n, classes) as the model gave them, if any."""

    case: CaseRun
    evidence: Evidence
    scores: Floats | None = None

    @property
    def key(self) -> Key:
        """What the same case of another model has in common with it."""
        return case_without_model(self.evidence), self.evidence.protocol


@dataclass(frozen=True)
class Variant:
    """What is known of a model beside its answers: the bytes of its files, 0 if unknown, its speed, how it differs."""

    name: str
    size: int = 0
    difference: str = ""
    speed: Speed | None = None


@dataclass(frozen=True)
class CompressedCase:
    """A case of the original beside the same case of a variant.

    `comparison` is the gate's, on all cases of the variant. `flipped` are the samples whose prediction or outcome
    changed, with the columns key, target, before, after, correct_before and correct_after. `scores` says how much
    scores moved, None without scores. `errors` is the number of samples that ended in an error, which are left out.
    """

    key: Key
    original: Variant
    variant: Variant
    comparison: SessionComparison = field(repr=False)
    flips: FlipRate
    floor: NoiseFloor
    scores: LogitChange | None
    flipped: pd.DataFrame = field(repr=False)
    errors: int = 0

    @cached_property
    def primary(self) -> Verdict | None:
        """The gate's verdict on the primary metric, None if the case has none."""
        verdicts = self.comparison.verdicts_of[self.key]
        return next((verdict for verdict in verdicts if verdict.comparison.primary), None)

    @property
    def verdict(self) -> str:
        """One of equal, kept, worse and not shown."""
        if self.scores and self.scores.is_equal and not self.errors:
            return EQUAL
        if self.primary is None:
            return NOT_SHOWN
        if self.primary.limit < self.margin or self.primary.decision == IMPROVEMENT:
            return KEPT
        return WORSE if self.primary.decision == REGRESSION else NOT_SHOWN

    @property
    def smaller(self) -> float:
        """How many times the files of the original are as large, NaN if a size is not known."""
        return self.original.size / self.variant.size if self.original.size and self.variant.size else float("nan")

    @property
    def margin(self) -> float:
        """The loss that must be excluded."""
        return self.comparison.rule.margin or 0.0

    @property
    def is_faster(self) -> bool:
        """Whether it was faster in every round."""
        return self.variant.speed is not None and self.variant.speed.rounds.low > 1

    @cached_property
    def lost_classes(self) -> pd.Series:
        """The classes that lost more samples than they gained, with the difference; most first, then by name."""
        changes = self.flipped["correct_after"].fillna(0) - self.flipped["correct_before"].fillna(0)
        losses = (-changes).groupby(self.flipped["target"]).sum().sort_index()
        return losses[losses > 0].astype(int).sort_values(ascending=False, kind="stable")

    @property
    def lost_slices(self) -> list[Verdict]:
        """The gate's verdicts on slices of this case that lost significantly."""
        mine = (item for item in self.comparison.slices if item.decision == REGRESSION)
        numbers = self.comparison.cases[self.key].numbers
        return [item for item in mine if any(item.comparison.whole is number for number in numbers)]

    @property
    def notes(self) -> Iterator[str]:
        """Yield a sentence on samples that are left out, one on classes that lost, and one on slices."""
        name = self.variant.name
        if self.errors:
            yield f"{name}: {count_of(self.errors, 'sample')} ended in an error, and do not count."
        if len(self.lost_classes):
            named = [f"{target} ({count})" for target, count in self.lost_classes.head(LISTED_CLASSES).items()]
            more = len(self.lost_classes) - len(named)
            yield f"{name}: classes that lost most: {', '.join(named)}{f' and {more} more' if more else ''}."
        if self.lost_slices:
            yield f"{name}: slices that lost significantly: {'; '.join(map(describe_slice, self.lost_slices))}."


def compare_variant(
    original: Variant,
    before: Mapping[Key, Answers],
    variant: Variant,
    after: Mapping[Key, Answers],
    rule: Rule,
) -> Iterator[CompressedCase]:
    """Yield every case of the original beside that of a variant; raise ReportError for one that cannot be compared."""
    for key in before:
        if key not in after:
            there = ", ".join(f"{name} ({word})" for name, word in after) or "none"
            raise ReportError(
                f"{variant.name} has no case {key[0]} ({key[1]}). Its cases are: {there}. Name a protocol that both "
                "models have, with --protocol."
            )
    sides = (f"of {original.name}", f"of {variant.name}")
    pairs = {
        key: CasePair(old.evidence, after[key].evidence, evidence_folder(after[key].case.folder))
        for key, old in before.items()
    }
    comparison = compare_cases(pairs.items(), rule, sides)
    for key, old in before.items():
        new = after[key]
        tables = old.case.samples(), new.case.samples()
        reasons = [*comparison.cases[key].refused]
        if [*tables[0]["key"]] != [*tables[1]["key"]]:
            reasons = [*reasons, "the samples"]
        if reasons:
            raise ReportError(f"{key[0]} ({key[1]}) with {variant.name} cannot be compared: {'; '.join(reasons)}.")
        clusters = _sample_clusters(old.evidence, tables[0]["key"])
        answered = (tables[0]["error"] == "") & (tables[1]["error"] == "")
        first, second = (table[answered] for table in tables)
        units = clusters[answered.to_numpy()]
        yield CompressedCase(
            key,
            original,
            variant,
            comparison,
            flip_rate(first["prediction"].to_numpy(str), second["prediction"].to_numpy(str), units),
            noise_floor(first["correct"].to_numpy(), second["correct"].to_numpy(), units, rule.alpha, POWER),
            _compare_scores(old.scores, new.scores),
            _flipped(first, second),
            int((~answered).sum()),
        )


def _sample_clusters(evidence: Evidence, keys: "pd.Series[str]") -> NDArray[np.int64]:
    """Return the cluster of each row of a sample table: that of the evidence, else its image."""
    clusters = evidence.cluster_ids()
    ids = [*keys] if clusters is None else [*keys.map(dict(zip(evidence.keys, clusters.tolist(), strict=True)))]
    return np.unique(ids, return_inverse=True)[1].astype(np.int64)


def _compare_scores(before: Floats | None, after: Floats | None) -> LogitChange | None:
    """Return how much the scores (n, classes) of a model moved, None where these are not known.

    Rows without an answer and classes that neither side has do not count.

    >>> _compare_scores(np.array([[3.0, 1.0], [np.nan] * 2]), np.array([[3.0, 1.25], [0.0, 0.5]]))
    LogitChange(largest=0.25, margin=2.0)
    """
    if before is None or after is None or before.shape != after.shape or before.ndim != 2:
        return None
    rows = ~(np.isnan(before).any(axis=1) | np.isnan(after).any(axis=1))
    classes = np.isfinite(before[rows]).any(axis=0) | np.isfinite(after[rows]).any(axis=0)
    if not rows.any() or classes.sum() < 2:
        return None
    return logit_change(before[rows][:, classes], after[rows][:, classes])


def _flipped(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Return the samples whose prediction or outcome changed."""
    table = before[["key", "target"]].assign(
        before=before["prediction"],
        after=after["prediction"],
        correct_before=before["correct"],
        correct_after=after["correct"],
    )
    outcomes = before["correct"].fillna(-1) != after["correct"].fillna(-1)
    return table[(table["before"] != table["after"]) | outcomes].reset_index(drop=True)
