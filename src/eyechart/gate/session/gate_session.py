"""The gate of a session: which cases fail or are undecided and why, and which messages and errors are printed."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import isnan
from pathlib import Path

from eyechart.errors import EyechartError
from eyechart.files.folders import STORE
from eyechart.gate.baselines.baseline_files import FOLDER, BaselineIndex, case_key, read_drifts, write_baselines
from eyechart.gate.comparison.compare_metrics import lacking_metrics
from eyechart.gate.policy.floors import describe_missed_floor, find_missed_floors, parse_floor, suggest_names
from eyechart.gate.session.compare_cases import CaseComparison, CasePair, Key, SessionComparison, compare_cases
from eyechart.gate.session.missing_cases import (
    RequestedCases,
    describe_left_out,
    describe_missing_case,
    fold_lines,
)
from eyechart.gate.slices.slice_messages import describe_slices
from eyechart.gate.verdicts.decide import (
    CONFIDENCE_REGRESSION,
    DEFAULT_RULE,
    REGRESSION,
    TOLERATED,
    VERDICTS,
    Rule,
    Verdict,
    group_by_samples,
)
from eyechart.gate.verdicts.margin_messages import describe_open_end, describe_undecided
from eyechart.gate.verdicts.page_link import PageLink
from eyechart.gate.verdicts.power import power_lines, power_without_baseline
from eyechart.gate.verdicts.value_texts import format_change
from eyechart.gate.verdicts.verdict_messages import (
    MAX_LISTED,
    count_verdicts,
    describe_benchmarks,
    describe_drift,
    describe_floor,
    describe_incomplete_baseline,
    describe_loss,
    describe_losses,
    describe_missing_metrics,
    describe_nearest_to_loss,
    describe_no_baseline,
    describe_not_compared,
    describe_pooled,
    describe_pooled_loss,
    describe_refusal,
    describe_remark,
    describe_remarks,
    describe_session,
    describe_tolerated_loss,
    describe_written_baseline,
    explain_no_number,
    explain_nothing_compared,
    explain_nothing_recorded,
    format_adjusted,
    show_failing_numbers,
)
from eyechart.results.evidence import Evidence, read_evidence
from eyechart.results.records import Record
from eyechart.results.run_folder import evidence_folder
from eyechart.results.shared_samples import with_samples


class CaseReader:
    """Reads the evidence of the cases in a run's folder, by node id, and pairs it with that of baselines.

    It reads case by case, so that only one of them is in memory.
    """

    def __init__(self, folder: Path, records: Mapping[str, Record], store: Path = STORE) -> None:
        self.folder, self.records, self.store = folder, records, store

    def by_node(self) -> Iterator[tuple[str, Evidence]]:
        """Yield the node id and evidence of each case, sorted by node id, so that workers do not change the order."""
        for nodeid, record in sorted(self.records.items()):
            if record.evidence:
                yield nodeid, self.read(nodeid)

    def by_baseline(self) -> Iterator[str]:
        """Yield the node ids of cases, so that the cases of one baseline file follow each other."""
        cases = [
            (record.benchmark, record.model.title, node) for node, record in self.records.items() if record.evidence
        ]
        return (nodeid for *_, nodeid in sorted(cases))

    def read(self, nodeid: str) -> Evidence:
        """Return the evidence of a case, without the keys and hashes of its samples."""
        file = self.records[nodeid].evidence
        assert file is not None
        return read_evidence(self.folder / file.path)

    def with_samples(self, evidence: Evidence) -> Evidence:
        """Return a case with the keys and hashes of its samples."""
        return with_samples(evidence, evidence_folder(self.folder))

    def pairs(self, baselines: BaselineIndex) -> Iterator[tuple[Key, CasePair]]:
        """Yield each case with its baseline, if it has one, by case, protocol and node id."""
        for nodeid in self.by_baseline():
            pair = self.pair(nodeid, baselines)
            yield (*case_key(pair.after), nodeid), pair

    def pair(self, nodeid: str, baselines: BaselineIndex) -> CasePair:
        """Return a case with its baseline, if it has one."""
        now, folder = self.read(nodeid), evidence_folder(self.folder)
        if case_key(now) not in baselines.heads:
            return CasePair(None, now, folder)
        before, path = baselines.read(case_key(now))
        return CasePair(before, now, folder, path.parent, self.store)


def _pooled_order(verdict: Verdict) -> tuple[bool, int, float]:
    """Return the sort key of a pooled decision: regressions first."""
    is_loss = verdict.decision in (TOLERATED, REGRESSION, CONFIDENCE_REGRESSION)
    return not is_loss, VERDICTS.index(verdict.decision), verdict.adjusted


@dataclass(frozen=True)
class GateOptions:
    """The options of the gate; `folder` is where the session was started, `run` the run's folder.

    `baseline` and `policy`, the file of the rule's policy, are paths as they were given, relative to `folder`. A floor
    of `floors` that matches no metric is an error if `floors_are_strict`.
    """

    folder: Path
    run: Path
    rule: Rule = DEFAULT_RULE
    baseline: str = ""
    update: bool = False
    strict: bool = False
    power: bool = False
    verbose: bool = False
    floors: tuple[str, ...] = ()
    floors_are_strict: bool = False
    policy: str = ""
    data: str | None = None
    store: Path = STORE

    @property
    def is_comparison(self) -> bool:
        """Whether the session is compared with baselines."""
        return bool(self.baseline) and not self.update

    @property
    def baseline_path(self) -> Path:
        """The folder or file of the baselines."""
        return self.folder / (self.baseline or FOLDER)


class GateSession:
    """Compares the cases of a session with baselines, or writes these.

    `failures` and `undecided` are the reasons why a case fails, by the node id of its test. `messages` and `errors` are
    lines for the end of the session. `records` are the records by node id; the gate reads them when all cases have run.
    """

    def __init__(self, options: GateOptions, records: dict[str, Record]) -> None:
        """Read the baselines. Raises BaselineError if they are unusable."""
        self.options, self.records = options, records
        self.baselines = BaselineIndex(options.baseline_path if options.is_comparison else None)
        self.messages: list[str] = []
        self.errors: list[str] = []
        self.failures: dict[str, list[str]] = {}
        self.undecided: dict[str, list[str]] = {}
        self.result = SessionComparison(options.rule, {})

    @cached_property
    def cases(self) -> CaseReader:
        """The cases of this run."""
        return CaseReader(self.options.run, self.records, self.options.store)

    def decide(self, failed: Collection[str], *, has_failures: bool) -> None:
        """Compare with the baselines or write these, then check the floors.

        `failed` are the node ids of the cases that failed; `has_failures` is whether any test failed.
        """
        parts: tuple[Callable[[], None], ...] = (partial(self.compare_or_update, failed), self.check_floors)
        for part in parts:
            try:
                part()
            except EyechartError as error:
                self.errors.append(str(error))
        if not has_failures:
            self.refuse_no_comparison()

    def compare_or_update(self, failed: Collection[str]) -> None:
        """Write the baselines, or compare with them."""
        options = self.options
        evidence = dict(self.cases.by_node()) if options.update or (options.power and not options.baseline) else {}
        if options.power and not options.is_comparison:
            self.messages += power_without_baseline([*evidence.values()], options.rule.alpha)
        if options.update:
            self.update_baselines(evidence, failed)
        elif options.baseline:
            drifts = read_drifts({*self.baselines.paths.values()})
            self.result = compare_cases(self.cases.pairs(self.baselines), options.rule, drifts=drifts)
            self.report()

    def update_baselines(self, evidence: dict[str, Evidence], failed: Collection[str]) -> None:
        """Write the baselines of the cases that did not fail."""
        good = {nodeid: self.cases.with_samples(now) for nodeid, now in evidence.items() if nodeid not in failed}
        self.messages += [
            describe_remark(now, "failed, and is not accepted")
            for nodeid, now in evidence.items()
            if nodeid not in good
        ]
        written = write_baselines(self.options.baseline_path, [*good.values()], self.options.rule.alpha)
        self.messages += map(describe_written_baseline, written)

    def report(self) -> None:
        """Report a comparison: each case, then models, drift, slices, benchmarks and the session."""
        result, options = self.result, self.options
        verdicts, pooled = result.verdicts, result.pooled
        remarks: dict[str, list[Evidence]] = {}
        for key, case in result.cases.items():
            self.report_data(key, case, remarks)
        for rule in result.unused_rules():
            nothing = f"--eye-policy: {rule} matches no metric of this session."
            (self.errors if options.strict else self.messages).append(nothing)
        self.messages += describe_remarks(remarks)
        if options.power:
            self.messages += power_lines([*verdicts, *pooled], options.rule.alpha)
        for key, case in result.cases.items():
            self.report_numbers(key, case)
        for verdict in pooled:
            if verdict.regression:
                self.fail_model(verdict)
        for alarm in result.drifts:
            self.add_failure(alarm.key, describe_drift(alarm.benchmark, alarm.model, alarm.drift, alarm.alpha))
        self.messages += describe_nearest_to_loss(verdicts)
        shown = sorted(pooled, key=_pooled_order)[: None if options.verbose else MAX_LISTED]
        self.messages += [f"gate: {describe_pooled(verdict)}" for verdict in shown]
        if options.verbose:
            self.messages += [f"gate: {sentence}" for sentence in describe_floor([*verdicts, *pooled])]
        self.messages += describe_slices(result.slices, result.slice_changes, verbose=options.verbose)
        self.messages += show_failing_numbers(result.of_cases)
        if benchmarks := describe_benchmarks(verdicts):
            self.messages.append(f"gate: {benchmarks}")
        if verdicts:
            others = describe_not_compared(len(result.cases) - len(result.compared))
            sentences = (*map(str, result.drifts), describe_session(result.every), *others)
            self.messages.append(f"gate: {'; '.join(sentences)}")
        line = count_verdicts(result.of_cases, pooled)
        self.messages.append("; ".join([line, *describe_open_end(result.of_cases, strict=options.strict)]))

    def report_data(self, key: Key, case: CaseComparison, remarks: dict[str, list[Evidence]]) -> None:
        """Fail a case that is not comparable with its baseline or has not all of its metrics, and add remarks."""
        now, strict = case.head, self.options.strict
        if not case.has_baseline:
            if strict:
                self.add_failure(key, describe_no_baseline(now))
            else:
                self.messages.append(describe_no_baseline(now))
            return
        path = self.baselines.paths[case_key(now)]
        if case.refused:
            self.add_failure(key, describe_refusal(now, path, case.refused))
        if case.missing:
            self.add_failure(key, describe_missing_metrics(now, path, case.missing))
        fails = case.lacking if strict else ()
        if fails:
            self.add_failure(key, describe_incomplete_baseline(now, path, fails))
        new = [f"{name} is not in the baseline" for name in case.added if name not in fails]
        for remark in filter(None, (case.shared, *case.remarks, *new)):
            remarks.setdefault(remark, []).append(now)

    def report_numbers(self, key: Key, case: CaseComparison) -> None:
        """Fail a case with regressions, one reason for each set of samples, and add remarks on its other metrics."""
        now, verdicts = case.head, self.result.verdicts_of[key]
        named = now.case, now.protocol
        slices = [
            part for part in self.result.gated_slices if (part.comparison.case, part.comparison.protocol) == named
        ]
        worse = [verdict for verdict in (*verdicts, *slices) if verdict.regression]
        if worse:
            keys = self.cases.pair(key[-1], self.baselines).compared_keys()
            self.add_failure(key, describe_losses(now, len(worse), self.baselines.paths[case_key(now)], self.page_link))
            for same in group_by_samples(worse):
                self.add_failure(key, describe_loss(same, case.numbers, keys))
        for verdict in verdicts:
            self.add_remark(verdict, now)
        for verdict in (*verdicts, *slices):
            if verdict.is_open:
                self.undecided.setdefault(key[-1], []).append(describe_undecided(verdict, case.numbers))

    @property
    def page_link(self) -> PageLink:
        """The inputs of a page that compares the session with its baselines."""
        options = self.options
        return PageLink(
            folder=options.folder,
            run=options.run,
            baseline=options.baseline_path,
            data=options.data,
            store=options.store,
            rule=options.rule,
            policy=options.policy,
        )

    def fail_model(self, verdict: Verdict) -> None:
        """Fail the case of a model that lost most samples, because the model lost over all its cases."""
        model, family = verdict.comparison.model, verdict.comparison.family
        losses: dict[Key, float] = {}
        for key, verdicts in self.result.verdicts_of.items():
            for comparison in (of_metric.comparison for of_metric in verdicts):
                if comparison.model == model and comparison.n and comparison.family == family:
                    losses.setdefault(key, comparison.loss * comparison.n)
        most = max(losses, key=lambda key: losses[key])
        self.add_failure(most, describe_pooled_loss(verdict, self.result.cases[most].head))

    def add_remark(self, verdict: Verdict, now: Evidence) -> None:
        """Add a message on an improvement, a tolerated loss, or a metric that cannot be tested."""
        comparison = verdict.comparison
        if verdict.confidence_regression and not verdict.gated:
            change = f"{comparison.name} {format_change(comparison)} ({format_adjusted(verdict)} adjusted)"
            self.messages.append(describe_remark(now, f"confidence regression: {change}"))
        elif verdict.advisory_regression:
            self.messages.append(describe_remark(now, f"advisory: {comparison.name} {format_change(comparison)}"))
        elif verdict.improvement:
            self.messages.append(describe_remark(now, f"better: {comparison.name} {format_change(comparison)}"))
        elif verdict.tolerated:
            self.messages.append(describe_remark(now, describe_tolerated_loss(verdict)))
        elif isnan(comparison.p):
            self.messages.append(
                describe_remark(now, f"{comparison.name} has no evidence to test: no samples and no intervals")
            )

    def check_floors(self) -> None:
        """Fail the cases that miss a floor. A floor without a metric is an error; from the ini file, a message."""
        floors = [parse_floor(text) for text in (*self.options.floors, *self.options.rule.policy.floors)]
        nodes = {(record.case, record.protocol): nodeid for nodeid, record in self.records.items()}
        meant = self.options.floors_are_strict or self.options.strict
        for floor, record, metric in find_missed_floors(floors, self.records.values()):
            if record:
                nodeid = nodes[record.case, record.protocol]
                self.failures.setdefault(nodeid, []).append(describe_missed_floor(floor, record, metric))
            else:
                hint = suggest_names(floor, self.records.values())
                nothing = f"--eye-floor={floor.text} matches no metric of this session{hint}"
                (self.errors if meant else self.messages).append(f"{nothing} Correct its names." if meant else nothing)

    def refuse_no_record(self, skipped: int, *, some_passed: bool) -> None:
        """Report a comparison without any record: an error if a case passed or under `--eye-strict`, else a message."""
        if self.options.is_comparison:
            why = explain_nothing_recorded(skipped)
            (self.errors if some_passed or self.options.strict else self.messages).append(why)

    def refuse_no_comparison(self) -> None:
        """Add an error if no metric was compared; a message if all cases have failed since they have no baseline."""
        if not self.options.is_comparison or self.errors or self.result.verdicts:
            return
        if self.failures:
            cases = self.result.cases.values()
            self.messages += [] if any(case.has_baseline for case in cases) else [self.explain_nothing_compared()]
            return
        pairs = (pair for _, pair in self.cases.pairs(self.baselines))
        if with_baseline := [(pair.before, pair.after) for pair in pairs if pair.before is not None]:
            fails = [
                describe_incomplete_baseline(now, self.baselines.paths[case_key(now)], gone)
                for before, now in with_baseline
                if (gone := lacking_metrics(before, now))
            ]
            self.errors += fails or [explain_no_number([now for _, now in with_baseline])]
        else:
            self.errors.append(self.explain_nothing_compared())

    def explain_nothing_compared(self) -> str:
        """Return why no case has a baseline, with the models of the baseline and the remedy."""
        known, cases = [*self.baselines.heads.values()], [case.head for case in self.result.cases.values()]
        return explain_nothing_compared(cases, known, self.options.baseline)

    def report_missing(self, requested: RequestedCases) -> bool:
        """Report the cases of the baseline that were not collected, under `--eye-strict` as errors.

        Returns:
            Whether such a case makes the session fail.
        """
        lines, others = [], []
        for key, evidence in self.baselines.heads.items():
            why = requested.why_missing(evidence)
            if why and requested.is_left_out(evidence):
                others.append(evidence)
            elif why:
                path, here = self.baselines.paths[key], self.options.folder
                shown = path.relative_to(here) if path.is_relative_to(here) else path
                lines.append(describe_missing_case(evidence, str(shown), why))
        strict = self.options.strict
        (self.errors if strict else self.messages).extend(fold_lines(lines))
        if others:
            self.messages.append(describe_left_out(others))
        return bool(lines) and strict

    def add_failure(self, key: Key, why: str) -> None:
        """Add a reason to the failure of a case; the case fails once for all of its reasons."""
        self.failures.setdefault(key[-1], []).append(why)
