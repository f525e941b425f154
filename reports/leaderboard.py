"""`leaderboard`: models ranked by one number, where what is no more than chance shares a rank.

The models stand by their number. The best has rank 1. Going down, a model shares the rank above unless it is
significantly worse than that rank's best, by the paired test after Holm's correction over all pairs of the table; then
its own rank begins, which is one more than there are models above, and it is what the next are held against. Equal
numbers always share a rank, and begin it together. So nothing hangs on the order in which models were given.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isnan

from msgspec import structs

from eyechart.errors import ReportError
from eyechart.gate.comparing import Compared, compared
from eyechart.gate.evidence import Evidence
from eyechart.gate.headlines import LABELLED, WHOLE, headlines
from eyechart.metrics.degenerate_intervals import ROUNDING
from eyechart.metrics.significance import holm
from eyechart.records import Metric
from eyechart.spec import did_you_mean

from .evidence_io import case_evidence
from .render import P_VALUE, NumberCell, Row, Table
from .runs import CaseRun, ComparableCases, Runs
from .verdicts import change_cell

COLUMNS = ("Rank", "Model")
COMPARED = ("Δ", "p after Holm", "Held against")
REPORTED = ("Reported", "Source")


@dataclass(frozen=True)
class RankedMetric:
    """Which number a board is about."""

    name: str
    labels: str
    category: str

    def find(self, entry: CaseRun) -> Metric | None:
        """The number, where it has a value."""
        found = entry.metric(self.name, self.labels, self.category)
        return None if found is None or found.value is None else found

    def __str__(self) -> str:
        part = "" if self.category in WHOLE else f", {self.category}"
        return f"{self.name} under {self.labels}{part}"


@dataclass(frozen=True)
class ModelScore:
    """A model with its number and what that was made of."""

    name: str
    entry: CaseRun
    metric: Metric
    evidence: Evidence

    @property
    def score(self) -> float:
        """How good the number is, more being better."""
        value = self.metric.value or 0.0
        return -value if self.metric.higher_is_better is False else value


Tests = Mapping[tuple[int, int], tuple[Compared, float]]  # of each pair, the better first, with p after correction


@dataclass(frozen=True)
class RankedModel:
    """A contender's rank, and the test that gave it."""

    rank: int
    model: ModelScore
    against: str | None = None
    test: tuple[Compared, float] | None = None


def leaderboards(pool: Runs, metric: str | None, labels: str | None, alpha: float) -> list[Table]:
    """A table for each split, protocol, ground truth and set of images; without a metric, how many are right."""
    names = metrics_with_direction(pool)
    if metric is not None and metric not in names:
        near = did_you_mean(metric, names)
        raise ReportError(f"--metric: no models are ranked by '{metric}'{near} Choose of: {', '.join(names)}.")
    found = [
        leaderboard_table(group.with_protocols(protocol), spot, group.reference, alpha)
        for group in pool.groups
        for protocol in sorted({entry.record.protocol for entry in group.cases})
        for spot in ranked_metrics(group.with_protocols(protocol), metric)
        if labels in (None, spot.labels)
    ]
    if not found:
        raise no_metric_error(pool, metric, labels)
    return found


def metrics_with_direction(pool: Runs) -> list[str]:
    """Return the names of the numbers that have a direction."""
    metrics = (found for entry in pool.cases for found in entry.record.metrics)
    return sorted({found.name for found in metrics if found.higher_is_better is not None})


def ranked_metrics(group: ComparableCases, metric: str | None) -> list[RankedMetric]:
    """The numbers to rank by: over all images, or where there is none such, over each set of images."""
    every = dict.fromkeys(
        RankedMetric(found.name, found.labels, found.category)
        for entry in group.cases
        for found in entry.record.metrics
        if found.name == (metric or entry.accuracy_name) and found.value is not None
    )
    known = {metric_key(found) for entry in group.cases for found in headlines(entry.record.metrics)}
    whole = {(name, labels) for name, labels, _ in known}
    return [spot for spot in every if metric_key(spot) in known or (spot.name, spot.labels) not in whole]


def metric_key(found: Metric | RankedMetric) -> tuple[str, str, str]:
    """Return what tells a number from the others of its case."""
    return found.name, found.labels, found.category


def no_metric_error(pool: Runs, metric: str | None, labels: str | None) -> ReportError:
    """Say what there is instead."""
    entries = [*pool.cases]
    there = {f"{found.name} ({found.labels})" for entry in entries for found in entry.record.metrics}
    ranked = sorted(each for each in there if each.partition(" ")[0] in metrics_with_direction(pool))
    asked = f"--metric={metric or 'acc1'}" + (f" --labels={labels}" if labels else "")
    return ReportError(f"No record has a number for {asked}. There are: {', '.join(ranked) or 'none to rank by'}.")


def leaderboard_table(group: ComparableCases, spot: RankedMetric, reference: str, alpha: float) -> Table:
    """The models of one split and protocol."""
    places = assign_ranks(model_scores(group, spot), alpha)
    known = spot.name == "acc1" and spot.labels == reference and spot.category in WHOLE
    published = known and any(entry.record.reported for entry in group.cases)
    protocol = group.cases[0].record.protocol
    return Table(
        f"{group.title}, {protocol}: {spot}",
        (*COLUMNS, f"{spot.name}, %", *COMPARED, *(REPORTED if published else ())),
        tuple((*leaderboard_row(place), *(reported_cells(place.model.entry) if published else ())) for place in places),
        (*leaderboard_notes(alpha, spot, places), *unpaired_note(places), *group.notes()),
        {"split": group.title, "protocol": protocol, "labels": spot.labels, "category": spot.category},
    )


def leaderboard_notes(alpha: float, spot: RankedMetric, places: Sequence[RankedModel]) -> Iterator[str]:
    """How to read a board."""
    if spot.category == LABELLED:
        yield f"{LABELLED}: images with a label. T4 has the accuracy that counts images without one, incl. N."
    better = "Less" if any(place.model.metric.higher_is_better is False for place in places) else "More"
    yield (
        "Brackets: 95 % intervals. A model shares the rank above unless it is worse than the best of that rank with "
        f"p < {alpha:g}, two-sided, over the same samples, after Holm's correction over all pairs of models here; then "
        f"its own rank begins. {better} is better. Δ: the change from the model it is held against."
    )


def unpaired_note(places: Sequence[RankedModel]) -> Iterator[str]:
    """Say whose numbers could only be compared by their intervals."""
    if any(place.test and place.test[0].method == "unpaired" for place in places):
        yield "Some numbers were kept without what they were made of: they are compared by their intervals alone."


def model_scores(group: ComparableCases, spot: RankedMetric) -> list[ModelScore]:
    """The models that have the number, the best first, equal ones by name."""
    names = group.model_names()
    found = [
        ModelScore(names[id(entry)], entry, metric, select_metric(case_evidence(entry.record, entry.folder), spot))
        for entry in group.cases
        if (metric := spot.find(entry)) is not None
    ]
    return sorted(found, key=lambda one: (-one.score, one.name))


def select_metric(evidence: Evidence, spot: RankedMetric) -> Evidence:
    """The evidence of one number alone."""
    wanted = (spot.name, spot.labels, spot.category)
    kept = tuple(proof for proof in evidence.proofs if (proof.name, proof.labels, proof.category) == wanted)
    return structs.replace(evidence, proofs=kept)


def paired_tests(found: Sequence[ModelScore]) -> Tests:
    """Every pair, the better before and the worse after."""
    held = {(i, j): compare_pair(found[i].evidence, found[j].evidence) for i, j in combinations(range(len(found)), 2)}
    adjusted = holm([each.p for each in held.values()]).tolist()
    return {pair: (each, p) for (pair, each), p in zip(held.items(), adjusted, strict=True)}


def compare_pair(better: Evidence, worse: Evidence) -> Compared:
    """One pair; draws by another seed are of other samples, and are left out."""
    if better.seed != worse.seed:
        better, worse = (
            structs.replace(each, proofs=tuple(structs.replace(proof, draws="") for proof in each.proofs))
            for each in (better, worse)
        )
    return next(compared(better, worse))


def assign_ranks(found: Sequence[ModelScore], alpha: float) -> list[RankedModel]:
    """The ranks, as the head of this file says."""
    held, places = paired_tests(found), list[RankedModel]()
    rank, leaders = 1, list[int]()
    for block in group_equal_scores([one.score for one in found]):
        begins = not leaders or any(is_worse(held[leader, i], alpha) for leader in leaders for i in block)
        rank = block[0] + 1 if begins else rank
        for i in block:
            near = closest_leader(held, leaders, i)
            places.append(RankedModel(rank, found[i], *(() if near is None else (found[near].name, held[near, i]))))
        leaders = block if begins else leaders
    return places


def closest_leader(held: Tests, leaders: Sequence[int], i: int) -> int | None:
    """Of a rank's best, equal ones, the one that a model differs from most surely."""
    return min(leaders, key=lambda leader: (isnan(p := held[leader, i][1]), p, leader), default=None)


def is_worse(test: tuple[Compared, float], alpha: float) -> bool:
    """Whether the second of a pair is worse by more than chance."""
    return test[1] < alpha and test[0].worse > 0


def group_equal_scores(scores: Sequence[float]) -> list[list[int]]:
    """The places of equal scores, of scores that fall."""
    found: list[list[int]] = []
    for place, score in enumerate(scores):
        if found and scores[found[-1][0]] - score <= ROUNDING:
            found[-1].append(place)
        else:
            found.append([place])
    return found


def leaderboard_row(place: RankedModel) -> Row:
    """A model's rank and number, and how far behind it is."""
    metric, (found, p) = place.model.metric, place.test or (None, None)
    return (
        place.rank,
        place.model.name,
        NumberCell(metric.value, metric.n, metric.ci),
        None if found is None else change_cell(found),
        None if p is None else NumberCell(p, style=P_VALUE),
        place.against,
    )


def reported_cells(entry: CaseRun) -> Row:
    """What others published."""
    theirs = entry.record.reported
    return (NumberCell(theirs.value), theirs.source) if theirs else (None, None)
