"""The gate: compare the metrics of a session with a baseline on the same samples; a significant loss fails a case."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import islice
from math import isnan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from eyechart.errors import EyechartError
from eyechart.files.folders import evidence_folder
from eyechart.gate.baselines.baseline_files import (
    FOLDER,
    BaselineIndex,
    case_key,
    head_of,
    read_drifts,
    write_baselines,
)
from eyechart.gate.baselines.case_reader import CaseReader
from eyechart.gate.baselines.drift import NO_DRIFT, count_changes
from eyechart.gate.comparison.compare_metrics import (
    MetricComparison,
    added_metrics,
    compare_metrics,
    differences,
    lacking_metrics,
    missing_metrics,
    remarks,
)
from eyechart.gate.policy.floors import describe_missed_floor, find_missed_floors, parse_floor, suggest_names
from eyechart.gate.verdicts.decide import (
    CONFIDENCE_REGRESSION,
    TOLERATED,
    VERDICTS,
    Rule,
    Verdict,
    decide_with_models,
    group_by_samples,
)
from eyechart.gate.verdicts.decide import REGRESSION as GATE_REGRESSION
from eyechart.gate.verdicts.page_link import PageLink
from eyechart.gate.verdicts.power import power_lines, power_without_baseline
from eyechart.gate.verdicts.value_texts import format_change
from eyechart.gate.verdicts.verdict_messages import (
    MAX_LISTED,
    benchmark_of,
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
    describe_open_end,
    describe_pooled,
    describe_pooled_loss,
    describe_refusal,
    describe_remark,
    describe_remarks,
    describe_session,
    describe_tolerated_loss,
    describe_undecided,
    describe_written_baseline,
    explain_no_number,
    explain_nothing_compared,
    explain_nothing_recorded,
    format_adjusted,
    show_failing_numbers,
)
from eyechart.results.evidence import Evidence

from .cases import find_case
from .exit_codes import INCONCLUSIVE, REGRESSION
from .gate_reports import report_failed
from .gate_slices import GateSlices
from .options import get_option
from .recorder import Recorder
from .settings import get_settings, read_rule

FINISHED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)


def _pooled_order(verdict: Verdict) -> tuple[bool, int, float]:
    """Return the sort key of a pooled decision: regressions first."""
    is_loss = verdict.decision in (TOLERATED, GATE_REGRESSION, CONFIDENCE_REGRESSION)
    return not is_loss, VERDICTS.index(verdict.decision), verdict.adjusted


class Gate:
    """Writes baselines under `--eye-update-baseline`, otherwise compares with those of `--eye-baseline`."""

    def __init__(self, config: pytest.Config, recorder: Recorder) -> None:
        self.config, self.recorder = config, recorder
        self.baselines = BaselineIndex()
        self.reports: dict[str, pytest.TestReport] = {}
        self.skipped: set[str] = set()
        self.messages: list[str] = []
        self.remarks: dict[str, list[Evidence]] = {}
        self.errors: list[str] = []
        self.failures: dict[str, list[str]] = {}
        self.undecided: dict[str, list[str]] = {}
        self.refused: set[str] = set()
        self.verdicts: list[Verdict] = []
        self.pooled: list[Verdict] = []
        self.heads: dict[str, Evidence] = {}
        self.not_compared: list[str] = []
        self.drifts: list[str] = []
        self.slices = GateSlices()

    @cached_property
    def cases(self) -> CaseReader:
        """The cases of this run."""
        return CaseReader(self.recorder.folder, self.recorder.records)

    @property
    def baseline_path(self) -> Path | None:
        """The folder or file of `--eye-baseline`, None without the option."""
        path = get_option(self.config, "baseline")
        return self.config.invocation_params.dir / path if path else None

    @property
    def baseline_folder(self) -> Path:
        """The folder of the baselines."""
        return self.baseline_path or self.config.invocation_params.dir / FOLDER

    @cached_property
    def rule(self) -> Rule:
        """The significance level, the tolerated loss, the margin and the policy."""
        return read_rule(self.config)

    @property
    def page_link(self) -> PageLink:
        """The inputs of a page that compares the session with its baselines."""
        return PageLink(
            folder=self.config.invocation_params.dir,
            run=self.recorder.folder,
            baseline=self.baseline_folder,
            data=get_settings(self.config).data,
            store=get_settings(self.config).store,
            rule=self.rule,
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Read the baselines, so that an unusable one is refused before any test runs."""
        if self.recorder.is_controller and self.baseline_path and not get_option(self.config, "update-baseline"):
            try:
                self.baselines = BaselineIndex(self.baseline_path)
            except EyechartError as error:
                raise pytest.UsageError(f"--eye-baseline: {error}") from error

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Store the report of each case."""
        if self.recorder.is_controller and report.when == "call":
            self.reports[report.nodeid] = report
        if self.recorder.is_controller and report.skipped and find_case(self.config, report.nodeid):
            self.skipped.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Compare all cases at the end of the session, since the p-values are adjusted for all of its metrics."""
        if not self.recorder.is_controller or session.exitstatus not in FINISHED:
            return
        self.refuse_no_record(session.testsfailed)
        if not self.recorder.records:
            if self.errors:
                session.exitstatus = pytest.ExitCode.USAGE_ERROR
            return
        for part in (self.compare_or_update, self.check_floors):
            try:
                part()
            except EyechartError as error:
                self.errors.append(str(error))
        own = session.testsfailed
        self.refuse_no_comparison(own)
        for nodeid in sorted({*self.failures, *self.undecided}):
            reasons = [*self.failures.get(nodeid, ()), *self.undecided.get(nodeid, ())]
            kind = REGRESSION if nodeid in self.failures else INCONCLUSIVE
            report_failed(session, self.reports[nodeid], "\n\n".join(reasons), kind)
        if self.errors and not self.failures and not own:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def compare_or_update(self) -> None:
        """Write the baselines, or compare with them."""
        update, power = (bool(get_option(self.config, name)) for name in ("update-baseline", "power"))
        evidence = dict(self.cases.by_node()) if update or (power and not self.baseline_path) else {}
        if power and (update or not self.baseline_path):
            self.messages += power_without_baseline([*evidence.values()], self.rule.alpha)
        if update:
            self.update_baselines(evidence)
        elif self.baseline_path:
            self.compare_cases()

    def update_baselines(self, evidence: Mapping[str, Evidence]) -> None:
        """Write the baselines of the cases that did not fail."""
        good = {
            nodeid: self.cases.with_samples(now) for nodeid, now in evidence.items() if not self.reports[nodeid].failed
        }
        self.messages += [
            describe_remark(now, "failed, and is not accepted")
            for nodeid, now in evidence.items()
            if nodeid not in good
        ]
        written = write_baselines(self.baseline_folder, [*good.values()], self.rule.alpha)
        self.messages += map(describe_written_baseline, written)

    def compare_cases(self) -> None:
        """Compare each case with its baseline; a case that cannot be compared fails with the differences.

        The evidence of one case and the baselines of one model are in memory at a time.
        """
        of_case = dict(sorted((nodeid, self.compare_case(nodeid)) for nodeid in self.cases.by_baseline()))
        evidence = {nodeid: self.heads[nodeid] for nodeid in of_case}
        comparisons = [comparison for numbers in of_case.values() for comparison in numbers]
        verdicts, self.pooled = self.verdicts, _ = decide_with_models(comparisons, self.rule)
        self.slices.decide(self.rule)
        every = [*verdicts, *self.pooled, *self.slices.gated]
        self.report_unused_rules([*comparisons, *self.slices.comparisons])
        self.not_compared = [
            f"{now.case} ({now.protocol})" for nodeid, now in evidence.items() if nodeid in self.refused
        ]
        self.messages += describe_remarks(self.remarks)
        if get_option(self.config, "power"):
            self.messages += power_lines([*verdicts, *self.pooled], self.rule.alpha)
        rest = iter(verdicts)
        for nodeid, numbers in of_case.items():
            self.report_case(nodeid, evidence[nodeid], numbers, [*islice(rest, len(numbers))])
        for verdict in self.pooled:
            if verdict.regression:
                self.fail_model(verdict, evidence)
        self.report_drifts(evidence)
        self.messages += describe_nearest_to_loss(verdicts)
        shown = sorted(self.pooled, key=_pooled_order)
        verbose = self.config.get_verbosity() > 0
        self.messages += [f"gate: {describe_pooled(verdict)}" for verdict in (shown if verbose else shown[:MAX_LISTED])]
        if verbose:
            self.messages += [f"gate: {sentence}" for sentence in describe_floor([*verdicts, *self.pooled])]
        self.messages += self.slices.describe(verbose=verbose)
        self.messages += show_failing_numbers([*verdicts, *self.slices.gated])
        if benchmarks := describe_benchmarks(verdicts):
            self.messages.append(f"gate: {benchmarks}")
        if verdicts:
            self.messages.append(f"gate: {'; '.join([*self.drifts, describe_session(every)])}")
        open_end = describe_open_end(verdicts) if get_option(self.config, "strict") else ""
        line = count_verdicts([*verdicts, *self.slices.gated], self.pooled)
        self.messages.append(f"{line}; {open_end}" if open_end else line)
        self.count_confidence_regressions()

    def count_confidence_regressions(self) -> None:
        """Count the cases with a confidence regression in pytest's last line, which is then not green."""
        reporter: Any = self.config.pluginmanager.get_plugin("terminalreporter")
        worse = (verdict.comparison for verdict in (*self.verdicts, *self.pooled) if verdict.confidence_regression)
        if cases := {(comparison.case, comparison.protocol) for comparison in worse}:
            reporter.stats["confidence regression"] = [SimpleNamespace(case=case) for case in sorted(cases)]

    def report_drifts(self, evidence: Mapping[str, Evidence]) -> None:
        """Fail a case of each model whose accepted baselines and this session together have lost on a benchmark."""
        groups: dict[tuple[str, str], list[MetricComparison]] = {}
        for comparison in (verdict.comparison for verdict in self.verdicts if verdict.gated):
            groups.setdefault((benchmark_of(comparison.case), comparison.model), []).append(comparison)
        drifts = read_drifts({*self.baselines.paths.values()})
        for (benchmark, model), comparisons in groups.items():
            drift = drifts.get((benchmark, model), NO_DRIFT).add(*count_changes(comparisons))
            if drift.is_alarm(alpha := self.rule.alpha / len(groups)):
                most = max(comparisons, key=lambda comparison: comparison.loss * comparison.n)
                nodeid = next(nodeid for nodeid, now in evidence.items() if now.case == most.case)
                self.add_failure(nodeid, describe_drift(benchmark, model, drift, alpha))
                self.drifts.append(f"regression of {model} on {benchmark} over accepted versions: {drift}")

    def fail_model(self, verdict: Verdict, evidence: Mapping[str, Evidence]) -> None:
        """Fail the case of a model that lost most samples, because the model lost over all its cases."""
        model = verdict.comparison.model
        comparisons = (of_metric.comparison for of_metric in self.verdicts)
        losses: dict[tuple[str, str], float] = {}
        for comparison in comparisons:
            if comparison.model == model and comparison.n and comparison.family == verdict.comparison.family:
                losses.setdefault((comparison.case, comparison.protocol), comparison.loss * comparison.n)
        most = max(losses, key=lambda case: losses[case])
        nodeid, now = next((nodeid, now) for nodeid, now in evidence.items() if (now.case, now.protocol) == most)
        self.add_failure(nodeid, describe_pooled_loss(verdict, now))

    def report_unused_rules(self, comparisons: Sequence[MetricComparison]) -> None:
        """Report rules of the policy that match no metric: an error under `--eye-strict`, else a message."""
        for rule in self.rule.policy.unused_rules(comparisons):
            nothing = f"--eye-policy: {rule} matches no metric of this session."
            (self.errors if get_option(self.config, "strict") else self.messages).append(nothing)

    @property
    def is_comparison(self) -> bool:
        """Whether the session is compared with baselines."""
        return bool(self.baseline_path) and not get_option(self.config, "update-baseline")

    def refuse_no_record(self, failed: int) -> None:
        """Report a comparison without any record: an error if a case passed or under `--eye-strict`, else a message."""
        if not self.is_comparison or failed or self.recorder.records or not self.recorder.has_cases:
            return
        ran = [report for nodeid, report in self.reports.items() if report.passed and find_case(self.config, nodeid)]
        why = explain_nothing_recorded(len(self.skipped))
        (self.errors if ran or get_option(self.config, "strict") else self.messages).append(why)

    def refuse_no_comparison(self, failed: int) -> None:
        """Add an error if no metric was compared, unless there is a failure already."""
        baselines = self.baselines
        if not self.is_comparison or failed or self.failures or self.errors or self.verdicts:
            return
        if with_baseline := [now for _, now in self.cases.by_node() if case_key(now) in baselines.heads]:
            sides = [(now, *baselines.read(case_key(now))) for now in with_baseline]
            fails = [
                describe_incomplete_baseline(now, path, gone)
                for now, before, path in sides
                if (gone := lacking_metrics(before, now))
            ]
            self.errors += fails or [explain_no_number(with_baseline)]
        else:
            known, cases = [*baselines.heads.values()], [*self.heads.values()]
            self.errors.append(explain_nothing_compared(cases, known, get_option(self.config, "baseline")))

    def compare_case(self, nodeid: str) -> list[MetricComparison]:
        """Return the comparisons of the metrics of a case with those of its baseline."""
        now = self.cases.read(nodeid)
        head = self.heads[nodeid] = head_of(now)
        if case_key(now) not in self.baselines.heads:
            return self.refuse_no_baseline(nodeid, head)
        before, path = self.baselines.read(case_key(now))
        run, (before, now, shared) = now, self.cases.join(before, path.parent, now)
        if different := differences(before, now):
            self.refused.add(nodeid)
            changed = self.cases.changed_samples(nodeid, self.baselines)
            self.add_failure(nodeid, describe_refusal(now, path, [*changed, *different]))
            return []
        if shared:
            run = self.cases.with_samples(run)
            self.remarks.setdefault(shared, []).append(head)
        if gone := missing_metrics(before, now):
            self.add_failure(nodeid, describe_missing_metrics(now, path, gone))
        fails = lacking_metrics(before, now) if get_option(self.config, "strict") else []
        if fails:
            self.add_failure(nodeid, describe_incomplete_baseline(now, path, fails))
        new = (f"{name} is not in the baseline" for name in added_metrics(before, now) if name not in fails)
        for remark in (*remarks(before, now), *new):
            self.remarks.setdefault(remark, []).append(head)
        numbers = list(compare_metrics(before, now))
        self.slices.add_case(nodeid, run, (before, now), numbers, evidence_folder(self.recorder.folder))
        return numbers

    def refuse_no_baseline(self, nodeid: str, now: Evidence) -> list[MetricComparison]:
        """Report a case without a baseline: a failure under `--eye-strict`, else a message. Return no comparisons."""
        self.refused.add(nodeid)
        if get_option(self.config, "strict"):
            self.add_failure(nodeid, describe_no_baseline(now))
        else:
            self.messages.append(describe_no_baseline(now))
        return []

    def report_case(self, nodeid: str, now: Evidence, numbers: list[MetricComparison], verdicts: list[Verdict]) -> None:
        """Fail a case with regressions, one reason for each set of samples, and add remarks on its other metrics."""
        slices = self.slices.gated_of(now)
        worse = [verdict for verdict in (*verdicts, *slices) if verdict.regression]
        if worse:
            path, keys = self.baselines.paths[case_key(now)], self.cases.compared_keys(nodeid, self.baselines)
            self.add_failure(nodeid, describe_losses(now, len(worse), path, self.page_link))
            for same in group_by_samples(worse):
                self.add_failure(nodeid, describe_loss(same, numbers, keys))
        for verdict in verdicts:
            self.add_remark(verdict, now)
        for verdict in (*verdicts, *slices):
            if get_option(self.config, "strict") and verdict.is_open:
                self.undecided.setdefault(nodeid, []).append(describe_undecided(verdict))

    def add_remark(self, verdict: Verdict, now: Evidence) -> None:
        """Add a message on an improvement, a tolerated loss, or a metric that cannot be tested."""
        comparison = verdict.comparison
        if verdict.confidence_regression and not verdict.gated:
            change = f"{comparison.name} {format_change(comparison)} ({format_adjusted(verdict)} adjusted)"
            self.messages.append(describe_remark(now, f"confidence regression: {change}"))
        elif verdict.decision == GATE_REGRESSION and not verdict.gated:
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
        floors = [parse_floor(text) for text in (*(get_option(self.config, "floor") or ()), *self.rule.policy.floors)]
        nodes = {(record.case, record.protocol): nodeid for nodeid, record in self.recorder.records.items()}
        meant = self.config.getoption("eye_floor") or get_option(self.config, "strict")
        for floor, record, metric in find_missed_floors(floors, self.recorder.records.values()):
            if record:
                self.add_failure(nodes[record.case, record.protocol], describe_missed_floor(floor, record, metric))
            else:
                hint = suggest_names(floor, self.recorder.records.values())
                nothing = f"--eye-floor={floor.text} matches no metric of this session{hint}"
                (self.errors if meant else self.messages).append(f"{nothing} Correct its names." if meant else nothing)

    def add_failure(self, nodeid: str, why: str) -> None:
        """Add a reason to the failure of a case; the case fails once for all of its reasons."""
        self.failures.setdefault(nodeid, []).append(why)

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the messages, then the errors."""
        for line in dict.fromkeys(self.messages):
            terminalreporter.write_line(f"eyechart: {line}")
        for line in self.errors:
            terminalreporter.write_line(f"ERROR: {line}", red=True)
