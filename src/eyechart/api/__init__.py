"""The Python API: `evaluate` or `audit` a model, `load_run` a run, `compare` two runs.

`Data`, `Storage` and `Compute` group arguments of the first two.

The package `eyechart` exports them.
"""

from eyechart.api.arguments import Compute, Data, Storage
from eyechart.api.determinism import Audit, audit
from eyechart.api.evaluation import evaluate
from eyechart.api.runs import Comparison, EvaluationRun, compare, load_run

__all__ = [
    "Audit",
    "Comparison",
    "Compute",
    "Data",
    "EvaluationRun",
    "Storage",
    "audit",
    "compare",
    "evaluate",
    "load_run",
]
