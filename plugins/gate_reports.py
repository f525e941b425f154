"""Reports of cases that the gate fails; they replace the first report of the case."""

from copy import copy
from typing import Any

import pytest
from _pytest.junitxml import xml_key

from .exit_codes import KIND
from .recorder import BY_GATE


def report_failed(session: pytest.Session, was: pytest.TestReport, why: str, kind: int) -> None:
    """Replace the report of a case with a failed one of a kind, in the terminal, the JUnit file and `--lf`'s cache."""
    config = session.config
    report = copy(was)
    report.outcome, report.sections = "failed", []
    report.longrepr = f"{was.longreprtext}\n\n{why}" if was.failed else why
    setattr(report, BY_GATE, True)
    setattr(report, KIND, kind)
    if terminal := config.pluginmanager.get_plugin("terminalreporter"):
        for kept in terminal.stats.values():
            kept[:] = [other for other in kept if other is not was]
    if was.failed:
        session.testsfailed -= 1
    config.hook.pytest_runtest_logreport(report=report)
    if xml := config.stash.get(xml_key, None):
        _replace_in_junit(xml, was, report)


def _replace_in_junit(xml: Any, was: pytest.TestReport, report: pytest.TestReport) -> None:
    """Keep only the later of two entries of a case in the JUnit file: readers regard two entries as a flaky test."""
    now = xml.node_reporters_ordered[-1]
    xml.finalize(report)
    name = _junit_name(now)
    xml.node_reporters_ordered[:] = [
        reporter for reporter in xml.node_reporters_ordered if reporter is now or _junit_name(reporter) != name
    ]
    xml.stats["failure" if was.failed else "passed"] -= 1


def _junit_name(reporter: Any) -> tuple[str | None, str | None]:
    """Return the class name and the name of a case in the JUnit file."""
    element = reporter.to_xml()
    return element.get("classname"), element.get("name")
