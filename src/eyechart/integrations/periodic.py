"""Evaluation every k steps of a training loop, each compared with the first or the best one before."""

from collections.abc import Mapping
from typing import Any, Literal

import pandas as pd

from eyechart.api import Comparison, EvaluationRun, compare, evaluate
from eyechart.errors import SpecError

Reference = Literal["first", "best"]
NAME = "model"  # of the model in cases: the same at every step, so that runs can be compared


class PeriodicEvaluation:
    """Evaluates a model at the steps that are multiples of `every`, and compares each run with an earlier one.

    `runs` and `comparisons` hold the run of each step and its comparison with an earlier run, `references` the step of
    that run.

    Args:
        data: As for `eyechart.evaluate`.
        every: The number of steps between two evaluations.
        compare_with: "first", the run of the first step that was evaluated, or "best", the one with the highest primary
            metric (the first number of a run) before.
        settings: Other arguments of `eyechart.evaluate`.
    """

    def __init__(self, data: Any, *, every: int, compare_with: Reference = "first", **settings: Any) -> None:
        if every < 1:
            raise SpecError(f"every is {every}. Expected a number of steps from 1 up.")
        if compare_with not in ("first", "best"):
            raise SpecError(f"compare_with is '{compare_with}'. Expected first or best.")
        self.data, self.every, self.compare_with = data, every, compare_with
        self.settings: dict[str, Any] = {"name": NAME, "progress": False, **settings}
        self.runs: dict[int, EvaluationRun] = {}
        self.comparisons: dict[int, Comparison] = {}
        self.references: dict[int, int] = {}

    def is_due(self, step: int) -> bool:
        """Return whether the model is evaluated at a step, at which it was not evaluated before.

        Args:
            step: The number of steps that are done.
        """
        return step % self.every == 0 and step not in self.runs

    def __call__(self, model: Any, step: int) -> Mapping[str, float]:
        """Evaluate a model.

        Args:
            model: As for `eyechart.evaluate`.
            step: The number of steps that are done.

        Returns:
            Its main metrics and the number of regressions by name, for a logger.
        """
        run = evaluate(model, self.data, **self.settings)
        logged = {f"eyechart/{name}": value for name, value in _main_metrics(run).items()}
        if self.runs:
            self.references[step] = self.reference
            self.comparisons[step] = compare(self.runs[self.reference], run)
            logged["eyechart/regressions"] = float(len(self.comparisons[step].regressions))
        self.runs[step] = run
        return logged

    @property
    def reference(self) -> int:
        """The step that the next run is compared with."""
        if self.compare_with == "first":
            return min(self.runs)
        return max(self.runs, key=lambda step: next(iter(_main_metrics(self.runs[step]).values())))

    @property
    def history(self) -> pd.DataFrame:
        """One row per step: the main metrics, the step that it is compared with, regressions, and the run's folder."""
        rows = []
        for step, run in self.runs.items():
            comparison = self.comparisons.get(step)
            rows.append(
                {
                    "step": step,
                    **_main_metrics(run),
                    "compared_with": self.references.get(step),
                    "regressions": None if comparison is None else len(comparison.regressions),
                    "folder": str(run.folder),
                }
            )
        return pd.DataFrame(rows)


def _main_metrics(run: EvaluationRun) -> dict[str, float]:
    """Return the first metric of each protocol by the name `PROTOCOL/METRIC`."""
    first = run.metrics.groupby("protocol", sort=False).first()
    return {f"{protocol}/{row['metric']}": float(row["value"]) for protocol, row in first.iterrows()}
