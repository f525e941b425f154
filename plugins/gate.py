"""The gate: a session's numbers against a baseline's, on the same samples; a real loss fails its case."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eyechart.baselines import FOLDER, name, read, write
from eyechart.errors import EyechartError
from eyechart.evidence import Evidence, read_evidence
from eyechart.floors import floor, misses
from eyechart.gating import Compared, Verdict, compared, differences, judged, missing, remarks
from eyechart.gating_report import accepted, line_of, loss, no_baseline, power_lines, refused, vanished
from eyechart.records import Record

from .options import share, text
from .recorder import Recorder

REGRESSION = 6
Baselines = Mapping[tuple[str, str], tuple[Evidence, Path]]


class Gate:
    """Writes a baseline where `--eye-update-baseline` says so, else compares with `--eye-baseline`."""

    def __init__(self, config: pytest.Config, recorder: Recorder) -> None:
        self.config, self.recorder = config, recorder
        self.said: list[str] = []
        self.failed: dict[str, list[str]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge the session as a whole, since Holm's correction is about all of its numbers."""
        if not self.recorder.leads or not self.recorder.records:
            return
        try:
            self.judge()
        except EyechartError as error:
            raise pytest.exit.Exception(f"eyechart: {error}", pytest.ExitCode.USAGE_ERROR) from None
        for nodeid, reasons in self.failed.items():
            self.fail(session, nodeid, "\n\n".join(reasons))
        if self.failed and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            only = session.testsfailed == len(self.failed)
            session.exitstatus = REGRESSION if only else pytest.ExitCode.TESTS_FAILED

    def judge(self) -> None:
        """Write, compare, and look at floors."""
        found = dict(self.evidence())
        place = text(self.config, "baseline")
        if text(self.config, "update-baseline"):
            files = write(Path(place or FOLDER), found.values())
            self.said += [accepted(path) for path in files]
        elif place:
            self.compare(found, read(self.config.invocation_params.dir / place))
        self.floors()

    def evidence(self) -> Iterator[tuple[str, Evidence]]:
        """The evidence of every case, by its test."""
        for nodeid, record in self.recorder.records.items():
            if record.evidence:
                yield nodeid, read_evidence(self.recorder.folder / record.evidence.path)

    def compare(self, found: Mapping[str, Evidence], baselines: Baselines) -> None:
        """Hold every case against its baseline; what cannot be held fails with what differs."""
        every: list[Compared] = []
        of_case: dict[str, list[Compared]] = {}
        for nodeid, now in found.items():
            before, path = baselines.get(name(now), (None, Path()))
            if before is None:
                self.lacking(nodeid, now)
            elif different := differences(before, now):
                self.failed.setdefault(nodeid, []).append(refused(now, path, different))
            else:
                of_case[nodeid] = list(compared(before, now))
                every += of_case[nodeid]
                self.said += [line_of(now, remark) for remark in remarks(before, now)]
                if gone := missing(before, now):
                    self.failed.setdefault(nodeid, []).append(vanished(now, path, gone))
        verdicts = judged(every, share(self.config, "alpha"), share(self.config, "max-drop"))
        if text(self.config, "power"):
            self.said += power_lines(verdicts, share(self.config, "alpha"))
        self.tell(verdicts, of_case, found, baselines)

    def lacking(self, nodeid: str, now: Evidence) -> None:
        """A case without a baseline is told, or fails where the session is strict."""
        why = no_baseline(now)
        if text(self.config, "strict"):
            self.failed.setdefault(nodeid, []).append(why)
        else:
            self.said.append(why)

    def tell(
        self,
        verdicts: list[Verdict],
        of_case: Mapping[str, list[Compared]],
        found: Mapping[str, Evidence],
        baselines: Baselines,
    ) -> None:
        """Fail the cases with a loss, and say what became better."""
        nodes = {id(each): nodeid for nodeid, case in of_case.items() for each in case}
        for verdict in verdicts:
            nodeid = nodes[id(verdict.found)]
            now = found[nodeid]
            if verdict.regression:
                files = baselines[name(now)][1], self.recorder.folder
                self.failed.setdefault(nodeid, []).append(loss(verdict, of_case[nodeid], now.keys, *files))
            elif verdict.improvement:
                self.said.append(line_of(now, f"better: {verdict.found.name} {verdict.found.delta:+.4f}"))
        self.said.append(f"gate: {len(verdicts)} numbers compared, {sum(v.regression for v in verdicts)} worse")

    def floors(self) -> None:
        """Fail what is below a floor, and a floor that nothing is held to."""
        floors = [floor(given) for given in text(self.config, "floor") or ()]
        nodes = {id(record): nodeid for nodeid, record in self.recorder.records.items()}
        for each, record, metric in misses(floors, self.recorder.records.values()):
            if record is None or metric is None:
                raise EyechartError(f"--eye-floor={each.text} is about no number of this session. Correct its names.")
            self.failed.setdefault(nodes[id(record)], []).append(below(each.text, record, metric.value, metric.n))

    def fail(self, session: pytest.Session, nodeid: str, why: str) -> None:
        """Report the case once more, as failed."""
        location = (nodeid.partition("::")[0], None, nodeid.rpartition("::")[2])
        report = pytest.TestReport(nodeid, location, {}, "failed", why, "call", duration=0)
        session.testsfailed += 1
        session.config.hook.pytest_runtest_logreport(report=report)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what is not a failure."""
        for line in dict.fromkeys(self.said):
            terminalreporter.write_line(f"eyechart: {line}")


def below(text: str, record: Record, value: float | None, n: int) -> str:
    """Say that a number is on the wrong side of its floor."""
    found = "has no value" if value is None else f"is {value:.4f}"
    return f"{record.case} ({record.protocol}) {found} (n={n}), and --eye-floor={text}."
