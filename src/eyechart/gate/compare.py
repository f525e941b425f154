"""A run held against a baseline, number by number, on the same samples; what is a real loss, and what is noise."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from eyechart.errors import SpecError
from eyechart.gate.evidence import Evidence, Ints, MetricEvidence
from eyechart.gate.headlines import ANSWERED, LABELLED
from eyechart.metrics.clusters import clustered_change_interval, clustered_mcnemar
from eyechart.metrics.intervals import Interval
from eyechart.metrics.significance import bootstrap_change, holm, interval_change
from eyechart.records import EMPTY, empty_label_rules

SAME = ("fingerprint", "limit", "seed", "samples")
SIDES = ("in the baseline", "now")
RULES = (
    "parser_version",
    "equivalences",
    "categories",
    "support_n",
    "support_sha256",
)  # how answers and labels are read
HASH = re.compile("[0-9a-f]{64}")
ALPHA = 0.01
MAX_DROP_BOUND = 0.5  # nobody tolerates a loss of half of all samples: who writes 1 means 1 %
MCNEMAR, SIGN_FLIPS = "exact McNemar", "exact sign flips of clusters"  # how shares are tested
VERDICTS = LOSS, TOLERATED, GAIN, NOISE, UNTESTED = "loss", "tolerated", "gain", "noise", "not tested"
SHOWN = 10
ROUNDED = 1e-6  # what other threads or another machine make of a number in single precision, of every image alike
NO_INTERVAL = (float("nan"), float("nan"))


@dataclass(frozen=True)
class MetricComparison:
    """A number before and after, over the same n samples, of so many images; with the samples that it lost."""

    case: str
    protocol: str
    metric: MetricEvidence
    before: float
    after: float
    n: int
    n_clusters: int
    delta: float
    ci: Interval | None
    p: float
    method: str
    lost: tuple[int, ...] = ()
    gained: int = 0
    counts: tuple[int, int] | None = None  # n of either side, where they differ

    def __post_init__(self) -> None:
        if abs(self.delta) <= ROUNDED and not isnan(self.p):
            object.__setattr__(self, "p", 1.0)  # no change but that of rounding, whatever the draws say

    @property
    def name(self) -> str:
        """The number's name, with its set and its ground truth."""
        return metric_title(self.metric)

    @property
    def changed_samples(self) -> object:
        """What a number lost and gained, the same for numbers that say the same of the same samples."""
        return (self.lost, self.gained, self.n, self.before) if self.lost else self.name

    @property
    def loss(self) -> float:
        """By how much the number is worse; less than 0 where it is better."""
        return -self.delta * self.metric.direction


@dataclass(frozen=True)
class Verdict:
    """A comparison with its p-value after Holm's correction over all that it is judged with, and what follows."""

    comparison: MetricComparison
    adjusted: float
    decision: str

    @property
    def regression(self) -> bool:
        """Whether it is a real loss, larger than what is let pass."""
        return self.decision == LOSS

    @property
    def tolerated(self) -> bool:
        """Whether it is a significant loss that is no larger than max-drop."""
        return self.decision == TOLERATED

    @property
    def improvement(self) -> bool:
        """Whether it is a real gain."""
        return self.decision == GAIN


def differences(before: Evidence, after: Evidence, when: tuple[str, str] = SIDES) -> list[str]:
    """What forbids to compare two cases: other data, labels or choice of samples, or another way to read them.

    A ground truth that one of them alone has is none of it: its numbers are `missing`, or `added`.
    """
    truths = before.label_hashes.keys() & after.label_hashes.keys()
    return _unlike(*(_conditions(each, truths) for each in (before, after)), when=when)


def _conditions(evidence: Evidence, truths: Collection[str]) -> dict[str, object]:
    """What numbers under some ground truths depend on."""
    labels = {f"ground truth {name}": found for name, found in evidence.label_hashes.items() if name in truths}
    empty = {
        f"no labels in {name}": rule for name, rule in empty_label_rules(evidence.variant).items() if name in truths
    }
    rules = {what: evidence.variant.get(what) for what in RULES}
    return {what: getattr(evidence, what) for what in SAME} | labels | empty | rules


def remarks(before: Evidence, after: Evidence, when: tuple[str, str] = SIDES) -> list[str]:
    """What else is different: weights, prompts, libraries, the machine."""
    sides = [{"weights": each.weights_sha256, **each.variant, **each.environment} for each in (before, after)]
    unlike = _unlike(*({what: side[what] for what in side if what not in (*RULES, EMPTY)} for side in sides), when=when)
    return [*unlike, *_shrunken(before, after, when)]


def _shrunken(before: Evidence, after: Evidence, when: tuple[str, str]) -> Iterator[str]:
    """Which numbers are over fewer samples since more samples ended in errors, or may have, in a sentence at most."""
    old, new = ({proof.key: proof for proof in each.metrics if proof.direction} for each in (before, after))
    shares = [next((proof.value for proof in each.values() if proof.name == ANSWERED), None) for each in (old, new)]
    if shares[0] is not None and shares[1] is not None and shares[1] >= shares[0]:
        return
    fewer = [key for key in new if key in old and new[key].n < old[key].n]
    if fewer:
        counts = f"n={old[fewer[0]].n} {when[0]}, n={new[fewer[0]].n} {when[1]}"
        rest = f" (and {len(fewer) - 1} more number{'s' * (len(fewer) > 2)})" if fewer[1:] else ""
        yield f"fewer samples: {metric_title(new[fewer[0]])} has {counts}{rest}"


def _unlike(before: Mapping[str, object], after: Mapping[str, object], *, when: tuple[str, str]) -> list[str]:
    return [
        f"{what}: {_shown(before.get(what))} {when[0]}, {_shown(after.get(what))} {when[1]}"
        for what in {**before, **after}
        if before.get(what) != after.get(what)
    ]


def _shown(value: object) -> object:
    if value is None:
        return "nothing"
    return value[:8] if isinstance(value, str) and HASH.fullmatch(value) else value


def compare_metrics(before: Evidence, after: Evidence) -> Iterator[MetricComparison]:
    """Hold every number that can be judged against its own in the baseline."""
    old, new = ({proof.key: proof for proof in each.metrics} for each in (before, after))
    for proof in after.metrics:
        was = old.get(proof.key)
        if proof.name == ANSWERED and was is not None and was.value == proof.value == 1:
            continue  # no error on either side: nothing to test, and its p-value could be nothing but 1
        twin = (proof.name, proof.labels, LABELLED)
        if proof.category == "A" and twin in old and twin in new:
            continue  # it has the same lost and gained samples, and others that no answer can change
        if proof.direction and was is not None and was.value is not None and proof.value is not None:
            yield _compare_metric(before, after, was, proof)


def missing_metrics(before: Evidence, after: Evidence) -> list[str]:
    """Numbers that the baseline has and that now have no value: a loss that no test would see."""
    now = _named(after)
    return [what for what in _named(before) if what not in now]


def added_metrics(before: Evidence, after: Evidence) -> list[str]:
    """Numbers that the baseline does not have."""
    return missing_metrics(after, before)


def lacking_metrics(before: Evidence, after: Evidence) -> list[str]:
    """Return the numbers that the baseline does not have although their ground truth is no new one.

    A complete baseline lacks none: numbers were removed from it by hand, or another version of eyechart wrote it.
    """
    new = after.label_hashes.keys() - before.label_hashes.keys()
    of_new = {metric_title(proof) for proof in after.metrics if proof.labels in new}
    return [what for what in added_metrics(before, after) if what not in of_new]


def changed_counts(was: MetricEvidence, now: MetricEvidence) -> tuple[int, int] | None:
    """The n of a number before and now, where they differ."""
    return None if was.n == now.n else (was.n, now.n)


def _named(evidence: Evidence) -> list[str]:
    return [metric_title(proof) for proof in evidence.metrics if proof.direction and proof.value is not None]


def metric_title(proof: MetricEvidence) -> str:
    """A number's name, with its set and its ground truth."""
    return f"{proof.name} ({proof.labels}, {proof.category})"


def _compare_metric(before: Evidence, after: Evidence, was: MetricEvidence, now: MetricEvidence) -> MetricComparison:
    one, other = before.sample_outcomes(was), after.sample_outcomes(now)
    if one is not None and other is not None:
        groups = after.cluster_ids()
        found = _compare_proportions(after, now, one, other, before.cluster_ids() if groups is None else groups)
        return replace(found, counts=changed_counts(was, now))
    drawn = before.bootstrap_samples(was), after.bootstrap_samples(now)
    values, n = (float(was.value or 0), float(now.value or 0)), min(was.n, now.n)
    units = min(was.sampling_units, now.sampling_units)
    if drawn[0] is not None and drawn[1] is not None:
        change = bootstrap_change(*values, drawn[0], drawn[1], n=units)
        method = "paired bootstrap"
    else:
        change = interval_change(values[0], was.ci or NO_INTERVAL, values[1], now.ci or NO_INTERVAL)
        method = "unpaired"
    numbers = (*values, n, units, change.delta, change.ci, change.p, method)
    return MetricComparison(after.case, after.protocol, now, *numbers, counts=changed_counts(was, now))


def _compare_proportions(
    after: Evidence, now: MetricEvidence, one: np.ndarray, other: np.ndarray, groups: Ints | None
) -> MetricComparison:
    """A share held against its own, sample by sample; `groups` says which samples are of one unit, if several are."""
    both = ~np.isnan(one) & ~np.isnan(other)
    plain = groups is None or len(np.unique(groups[both])) == both.sum()
    units = np.arange(len(one)) if groups is None else groups
    test, lost = clustered_mcnemar(one, other, units), np.flatnonzero(both & (one == 1) & (other == 0))
    n = int(both.sum())
    values = (float(one[both].mean()), float(other[both].mean())) if n else (float("nan"), float("nan"))
    return MetricComparison(
        case=after.case,
        protocol=after.protocol,
        metric=now,
        before=values[0],
        after=values[1],
        n=n,
        n_clusters=len(np.unique(units[both])),
        delta=values[1] - values[0],
        ci=clustered_change_interval(one, other, units),
        p=test.p,
        method=MCNEMAR if plain else SIGN_FLIPS,
        lost=tuple(lost.tolist()),
        gained=test.gained,
    )


def decide(found: Sequence[MetricComparison], alpha: float = ALPHA, max_drop: float = 0.0) -> list[Verdict]:
    """Correct the p-values over all that is given, and tell losses and gains from noise."""
    adjusted = holm([each.p for each in found]).tolist()
    return [Verdict(each, p, _decide(each, p, alpha, max_drop)) for each, p in zip(found, adjusted, strict=True)]


def parse_max_drop(text: str) -> float:
    """Return the largest tolerated loss, a fraction. Raises SpecError for a value that is none or that is 0.5 or more.

    >>> parse_max_drop("0.01")
    0.01
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value < MAX_DROP_BOUND:
        raise SpecError(
            f"must be from 0 up and below {MAX_DROP_BOUND}. Got {text!r} instead. Values are fractions: 1 % is 0.01."
        )
    return value


def _decide(found: MetricComparison, adjusted: float, alpha: float, max_drop: float) -> str:
    if isnan(adjusted):
        return UNTESTED
    if adjusted >= alpha or found.loss == 0:
        return NOISE
    if found.loss < 0:
        return GAIN
    return LOSS if found.loss > max_drop else TOLERATED


def group_by_samples(verdicts: Iterable[Verdict]) -> list[list[Verdict]]:
    """A case's verdicts, those together whose numbers lost and gained the same samples."""
    found: dict[object, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.comparison.changed_samples, []).append(verdict)
    return [*found.values()]


def samples_to_show(found: MetricComparison, all_of_case: Sequence[MetricComparison]) -> list[int]:
    """The samples that say most about a loss: those that most numbers of the case lost, in the data's order."""
    votes: dict[int, int] = {}
    for each in all_of_case:
        for row in each.lost:
            votes[row] = votes.get(row, 0) + 1
    return sorted(found.lost, key=lambda row: (-votes[row], row))[:SHOWN]
