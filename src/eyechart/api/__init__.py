"""The Python API: `evaluate` or `audit` a model, `load_run` a run, `compare` two runs.

The package `eyechart` exports them.
"""

from eyechart.api.determinism import Audit, audit
from eyechart.api.evaluation import evaluate
from eyechart.api.run_settings import RunSettings
from eyechart.api.run_tables import Comparison, EvaluationRun, compare, load_run

__all__ = ["Audit", "Comparison", "EvaluationRun", "RunSettings", "audit", "compare", "evaluate", "load_run"]
