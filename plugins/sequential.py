"""`--eye-sequential`: gives each case the test that decides how many of its images are asked."""

from functools import cached_property

import pytest

from eyechart.evaluation.settings import Case
from eyechart.gate.baselines.baseline_files import read_baselines
from eyechart.gate.sequential.stop_early import SequentialTest, can_be_sequential, level_of_case
from eyechart.gate.verdicts.decide import Rule
from eyechart.results.shared_samples import with_samples

from .cases import get_case
from .gate_options import read_rule
from .options import get_option


class SequentialCases:
    """Finds the test of a case in every worker; a case without a usable baseline asks all images."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.cases = 0

    @cached_property
    def rule(self) -> Rule:
        """The levels and margins."""
        return read_rule(self.config)

    @cached_property
    def baselines(self) -> dict[tuple[str, str], SequentialTest]:
        """The tests of all cases whose baseline allows one, by case and protocol."""
        folder = self.config.invocation_params.dir / get_option(self.config, "baseline")
        tests = {}
        for key, (evidence, path) in read_baselines(folder).items():
            if can_be_sequential(evidence):
                baseline = with_samples(evidence, path.parent)
                level = level_of_case(self.rule.alpha, self.cases)
                tests[key] = SequentialTest(baseline, level, self.rule.alpha, self.rule.margin)
        return tests

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count the cases that were selected, which share the significance level."""
        self.cases = sum(get_case(item) is not None for item in session.items)

    def find_test(self, case: Case) -> SequentialTest | None:
        """Return the test of a case, None without a usable baseline."""
        return self.baselines.get((str(case), case.protocol))
