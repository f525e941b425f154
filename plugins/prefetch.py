"""Runs the prefetch of `--eye-ray`: the models of the selected cases answer at the same time, before the tests."""

import warnings
from dataclasses import replace
from pathlib import Path

import pytest

from .cases import get_case
from .own_tests import test_name
from .progress import Progress
from .settings import get_settings


class PrefetchOfTests:
    """Answers the selected cases after the collection."""

    def __init__(self, config: pytest.Config, run: Path, progress: Progress) -> None:
        self.config, self.run, self.progress = config, run, progress

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Answer the cases, unless no test will run; a case that stops early asks by itself."""
        settings = get_settings(self.config)
        if session.testsfailed or self.config.option.collectonly or not settings.ray or settings.sequential:
            return
        cases = [replace(case, test=test_name(item)) for item in session.items if (case := get_case(item))]
        from eyechart.evaluation.prefetch import Prefetch

        with self.progress.before_tests(cases) as track, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RuntimeWarning)
            Prefetch(settings, self.run, track).answer(cases)
        for warning in caught:
            if issubclass(warning.category, RuntimeWarning):
                self.config.hook.pytest_warning_recorded.call_historic(
                    kwargs={"warning_message": warning, "nodeid": "", "when": "runtest", "location": None}
                )
