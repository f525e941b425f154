"""Compare all cases of a session with a baseline, or those of two runs: numbers, slices, models, and drift.

It is the only comparison: the plugin, `eyechart compare`, `eyechart.compare` and the page give it their cases, and
equal cases and rules give equal verdicts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from unicodedata import normalize

from eyechart.files.folders import STORE
from eyechart.gate.baselines.baseline_files import head_of
from eyechart.gate.baselines.drift import NO_DRIFT, Drift, count_changes
from eyechart.gate.comparison.changed_data import describe_changed_samples
from eyechart.gate.comparison.compare_metrics import (
    SIDES,
    MetricComparison,
    added_metrics,
    compare_metrics,
    differences,
    lacking_metrics,
    missing_metrics,
    remarks,
)
from eyechart.gate.session.gate_status import ABSENT, INCONCLUSIVE
from eyechart.gate.session.gate_status import REGRESSION as FAILED
from eyechart.gate.slices.slice_tests import SliceChanges, compare_case_slices, count_slices, decide_slices
from eyechart.gate.verdicts.decide import REGRESSION, Rule, Verdict, decide_with_models, session_verdict
from eyechart.gate.verdicts.verdict_file import SessionVerdicts, summarise_session
from eyechart.gate.verdicts.verdict_messages import benchmark_of
from eyechart.results.evidence import Evidence
from eyechart.results.logit_files import read_logits
from eyechart.results.shared_samples import share_samples, with_samples
from eyechart.statistics.logit_changes import LogitChange, logit_change

Key = tuple[str, ...]  # a case and its protocol
Drifts = Mapping[tuple[str, str], Drift]  # what accepted versions lost, by benchmark and model


@dataclass(frozen=True)
class CasePair:
    """A case before and after; before is None for a case that has no baseline.

    `before_folder` and `folder` are where the keys and hashes of the samples are, if the evidence is without them.
    `folder` also has the slices of the case; it is None for a baseline. `store` has the logits of both sides.
    """

    before: Evidence | None
    after: Evidence
    folder: Path | None = None
    before_folder: Path | None = None
    store: Path = STORE

    @property
    def has_same_samples(self) -> bool:
        """Whether the case before has the same samples."""
        return self.before is not None and self.before.fingerprint == self.after.fingerprint

    def with_samples(self) -> tuple[Evidence, Evidence]:
        """Return the case before and after, with the keys and hashes of the samples as far as they are known."""
        assert self.before is not None
        return _with_samples(self.before, self.before_folder), _with_samples(self.after, self.folder)

    def share_samples(self) -> tuple[Evidence, Evidence, str]:
        """Return the case before and after on the samples that both have, and a remark on what is compared."""
        assert self.before is not None
        if self.has_same_samples:
            return self.before, self.after, ""
        return share_samples(*self.with_samples())

    def logit_change(self) -> LogitChange | None:
        """Return how far the logits moved, None if the store does not have those of both sides."""
        if self.before is None or not self.has_same_samples:
            return None
        before, after = (read_logits(self.store, side.logits or "") for side in (self.before, self.after))
        if before is None or after is None or before.shape != after.shape or before.shape[1] < 2:
            return None
        return logit_change(before, after)

    def compared_keys(self) -> Sequence[str]:
        """Return the keys of the samples that are compared."""
        return share_samples(*self.with_samples())[1].keys


def _with_samples(evidence: Evidence, folder: Path | None) -> Evidence:
    """Return a case with the keys and hashes of its samples, unchanged without a folder."""
    return evidence if folder is None else with_samples(evidence, folder)


@dataclass(frozen=True)
class CaseComparison:
    """A case before and after.

    `head` is the case after, without its metrics. `refused` says why the sides cannot be compared. `shared` is a remark
    on the samples if only a part is compared, `remarks` are other differences. `missing` are metrics that only the
    case before has, `added` those that only the case after has; `lacking` of these are those whose label set the case
    before has.
    """

    head: Evidence
    has_baseline: bool = True
    refused: tuple[str, ...] = ()
    shared: str = ""
    remarks: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    numbers: tuple[MetricComparison, ...] = ()
    slices: tuple[SliceChanges, ...] = ()

    @property
    def is_compared(self) -> bool:
        """Whether the case has a baseline that can be compared with it."""
        return self.has_baseline and not self.refused


@dataclass(frozen=True)
class _DriftAlarm:
    """Accepted versions and this session together have lost, at level `alpha`; the case of `key` lost most."""

    benchmark: str
    model: str
    drift: Drift
    alpha: float
    key: Key

    def __str__(self) -> str:
        return f"regression of {self.model} on {self.benchmark} over accepted versions: {self.drift}"


@dataclass(frozen=True)
class SessionComparison:
    """All cases, in the order of their keys, and the verdicts on them.

    `verdicts` are those on the metrics of all cases, in the order of the cases; `pooled` those on models that have
    several cases; `slices` those on slices that changed significantly, or on every slice if the policy is about slices.
    """

    rule: Rule
    cases: Mapping[Key, CaseComparison]
    verdicts: tuple[Verdict, ...] = ()
    pooled: tuple[Verdict, ...] = ()
    slices: tuple[Verdict, ...] = ()
    drifts: tuple[_DriftAlarm, ...] = ()

    @cached_property
    def verdicts_of(self) -> Mapping[Key, tuple[Verdict, ...]]:
        """The verdicts on the metrics of each case."""
        rest = iter(self.verdicts)
        return {key: tuple(islice(rest, len(case.numbers))) for key, case in self.cases.items()}

    @property
    def compared(self) -> Mapping[Key, CaseComparison]:
        """The cases that were compared."""
        return {key: case for key, case in self.cases.items() if case.is_compared}

    @property
    def refused(self) -> Mapping[Key, Sequence[str]]:
        """Why each case that has a baseline could not be compared with it."""
        return {key: case.refused for key, case in self.cases.items() if case.refused}

    @property
    def slice_changes(self) -> list[SliceChanges]:
        """The slices of all cases."""
        return [part for case in self.cases.values() for part in case.slices]

    @cached_property
    def gated_slices(self) -> list[Verdict]:
        """The verdicts on slices that can fail a case, by a rule of the policy."""
        return [verdict for verdict in self.slices if verdict.gated]

    @property
    def of_cases(self) -> list[Verdict]:
        """The verdicts that can fail a case: those on metrics, and on slices that are gated."""
        return [*self.verdicts, *self.gated_slices]

    @property
    def every(self) -> list[Verdict]:
        """All verdicts that decide on the session: on metrics, models, and slices that can fail a case."""
        return [*self.verdicts, *self.pooled, *self.gated_slices]

    @property
    def decision(self) -> str:
        """The verdict on the session."""
        return REGRESSION if self.drifts else session_verdict(self.every)

    @property
    def open_verdicts(self) -> list[Verdict]:
        """The verdicts on metrics and slices that must be decided, and are not."""
        return [verdict for verdict in self.of_cases if verdict.is_open]

    def unused_rules(self) -> list[str]:
        """Return the rules of the policy that match no metric and no slice, which may be misspelled."""
        known = [comparison for case in self.cases.values() for comparison in case.numbers]
        known += [verdict.comparison for verdict in self.slices]
        return [str(rule) for rule in self.rule.policy.unused_rules(known)]

    def exit_status(self, *, cases_are_missing: bool = False) -> int:
        """Return the exit status: that of a regression, else of missing cases, else of undecided metrics, else 0."""
        if self.decision == REGRESSION or any(case.refused or case.missing for case in self.cases.values()):
            return FAILED
        if cases_are_missing:
            return ABSENT
        return INCONCLUSIVE if self.open_verdicts else 0

    def summarise(self, exit_status: int) -> SessionVerdicts:
        """Return the verdicts as the file of `--eye-verdicts` and `eyechart compare --verdicts` has them."""
        names = [f"{case.head.case} ({case.head.protocol})" for case in self.cases.values() if not case.is_compared]
        return summarise_session(
            self.verdicts,
            self.pooled,
            self.rule,
            names,
            exit_status,
            slices=self.slices,
            slices_compared=count_slices(self.slice_changes),
            drifts=[*map(str, self.drifts)],
        )


def compare_cases(
    pairs: Iterable[tuple[Key, CasePair]],
    rule: Rule,
    sides: tuple[str, str] = SIDES,
    drifts: Drifts | None = None,
) -> SessionComparison:
    """Compare cases, and decide on all of them together.

    Args:
        pairs: The cases by key. They are read one after the other, and only what was compared stays in memory.
        rule: The significance level, the tolerated loss, the margin and the policy.
        sides: What the two sides are called in differences.
        drifts: What the accepted versions of the baselines lost; None if the cases before are no baselines.

    Returns:
        The comparisons and verdicts, which do not depend on the order of the pairs.
    """
    compared = [(key, compare_case(pair, sides)) for key, pair in pairs]
    cases = dict(sorted(compared, key=lambda item: item[0]))
    numbers = [comparison for case in cases.values() for comparison in case.numbers]
    verdicts, pooled = decide_with_models(numbers, rule)
    slices = decide_slices([part for case in cases.values() for part in case.slices], rule)
    result = SessionComparison(rule, cases, tuple(verdicts), tuple(pooled), tuple(slices))
    return result if drifts is None else replace(result, drifts=tuple(_find_drifts(result, drifts)))


def compare_case(pair: CasePair, sides: tuple[str, str] = SIDES) -> CaseComparison:
    """Return the comparisons of the metrics and slices of a case on the samples that both sides have."""
    head = head_of(pair.after)
    if pair.before is None:
        return CaseComparison(head, has_baseline=False)
    before, after, shared = pair.share_samples()
    if different := differences(before, after, sides):
        changed = [] if pair.has_same_samples else describe_changed_samples(*pair.with_samples(), sides)
        return CaseComparison(head, refused=(*changed, *different))
    numbers = tuple(
        replace(comparison, logit_change=pair.logit_change())
        if comparison.primary and comparison.is_proportion and not comparison.unchanged_model
        else comparison
        for comparison in compare_metrics(before, after)
    )
    run = _with_samples(pair.after, pair.folder) if shared else pair.after
    return CaseComparison(
        head,
        shared=shared,
        remarks=tuple(remarks(before, after, sides)),
        missing=tuple(missing_metrics(before, after)),
        added=tuple(added_metrics(before, after)),
        lacking=tuple(lacking_metrics(before, after)),
        numbers=numbers,
        slices=() if pair.folder is None else tuple(compare_case_slices(before, after, run, numbers, pair.folder)),
    )


def _find_drifts(result: SessionComparison, drifts: Drifts) -> Iterable[_DriftAlarm]:
    """Yield each model whose accepted versions and cases together have lost on a benchmark."""
    groups: dict[tuple[str, str], list[tuple[Key, MetricComparison]]] = {}
    for key, verdicts in result.verdicts_of.items():
        for comparison in (verdict.comparison for verdict in verdicts if verdict.gated):
            groups.setdefault((benchmark_of(comparison.case), comparison.model), []).append((key, comparison))
    for (benchmark, model), group in groups.items():
        comparisons = [comparison for _, comparison in group]
        drift = drifts.get((normalize("NFC", benchmark), model), NO_DRIFT).add(*count_changes(comparisons))
        if drift.is_alarm(alpha := result.rule.alpha / len(groups)):
            most, _ = max(group, key=lambda item: item[1].loss * item[1].n)
            yield _DriftAlarm(benchmark, model, drift, alpha, most)
