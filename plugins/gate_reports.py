"""A case that passed and that the gate fails is reported once more, in place of what was reported before."""

from copy import copy
from typing import Any

import pytest
from _pytest.junitxml import xml_key

from .exit_codes import KIND, REGRESSION
from .recorder import BY_GATE


def report_failed(session: pytest.Session, was: pytest.TestReport, why: str) -> None:
    """Report a case again, as failed, so that it is counted once: on the screen, in junit's file and for `--lf`."""
    config = session.config
    report = copy(was)
    report.outcome, report.sections = "failed", []
    report.longrepr = f"{was.longreprtext}\n\n{why}" if was.failed else why
    setattr(report, BY_GATE, True)
    setattr(report, KIND, REGRESSION)
    if terminal := config.pluginmanager.get_plugin("terminalreporter"):
        for kept in terminal.stats.values():
            kept[:] = [other for other in kept if other is not was]
    if was.failed:
        session.testsfailed -= 1
    config.hook.pytest_runtest_logreport(report=report)
    if xml := config.stash.get(xml_key, None):
        replace_in_junit(xml, was, report)


def replace_in_junit(xml: Any, was: pytest.TestReport, report: pytest.TestReport) -> None:
    """Leave the later of two cases of one name in junit's file: readers would take both for one that is flaky."""
    now = xml.node_reporters_ordered[-1]
    xml.finalize(report)
    name = junit_name(now)
    xml.node_reporters_ordered[:] = [
        reporter for reporter in xml.node_reporters_ordered if reporter is now or junit_name(reporter) != name
    ]
    xml.stats["failure" if was.failed else "passed"] -= 1


def junit_name(reporter: Any) -> tuple[str | None, str | None]:
    """What junit calls a case."""
    element = reporter.to_xml()
    return element.get("classname"), element.get("name")
