"""The slices of a session in the gate: what classes, taxa and other groups of images lost and gained."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from eyechart.gate.comparison.compare_metrics import MetricComparison
from eyechart.gate.slices.slice_messages import describe_slices
from eyechart.gate.slices.slice_tests import SliceChanges, compare_case_slices, count_slices, decide_slices
from eyechart.gate.verdicts.decide import Rule, Verdict
from eyechart.results.evidence import Evidence


class GateSlices:
    """Collects the slices of the compared cases, and decides on all of them together."""

    def __init__(self) -> None:
        self.compared: dict[str, list[SliceChanges]] = {}
        self.verdicts: list[Verdict] = []

    def add_case(
        self,
        nodeid: str,
        run: Evidence,
        sides: tuple[Evidence, Evidence],
        numbers: list[MetricComparison],
        folder: Path,
    ) -> None:
        """Compare the slices of a case; `sides` is the baseline and the run on the samples that both have."""
        self.compared[nodeid] = [*compare_case_slices(*sides, run, numbers, folder)]

    @property
    def comparisons(self) -> list[MetricComparison]:
        """The comparisons of slices with a verdict: of all slices if the policy has a rule on slices."""
        return [verdict.comparison for verdict in self.verdicts]

    @property
    def every(self) -> list[SliceChanges]:
        """The slices of all cases."""
        return [part for slices in self.compared.values() for part in slices]

    @property
    def count(self) -> int:
        """The number of slices that were compared."""
        return count_slices(self.every)

    def decide(self, rule: Rule) -> None:
        """Decide on the slices of all cases."""
        self.verdicts = decide_slices(self.every, rule)

    @property
    def gated(self) -> list[Verdict]:
        """The verdicts on slices that can fail a case, by a rule of the policy."""
        return [verdict for verdict in self.verdicts if verdict.gated]

    def gated_of(self, now: Evidence) -> Sequence[Verdict]:
        """Return the verdicts on the slices of a case that can fail it."""
        of_case = (now.case, now.protocol)
        return [part for part in self.gated if (part.comparison.case, part.comparison.protocol) == of_case]

    def describe(self, *, verbose: bool) -> Iterator[str]:
        """Yield the lines of the terminal."""
        return describe_slices(self.verdicts, self.every, verbose=verbose)
