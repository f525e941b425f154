"""The Python API: `evaluate` a model, `load_run` a run, `compare` two runs. The package `eyechart` exports them."""

from eyechart.api.evaluation import evaluate
from eyechart.api.runs import Comparison, EvaluationRun, compare, load_run

__all__ = ["Comparison", "EvaluationRun", "compare", "evaluate", "load_run"]
