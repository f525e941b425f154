"""The Python API: `evaluate` a model, `compress` it, `load_run` a run, `compare` two runs.

The package `eyechart` exports them.
"""

from eyechart.api.compression import Compression, compress
from eyechart.api.evaluation import evaluate
from eyechart.api.run_settings import RunSettings
from eyechart.api.run_tables import Comparison, EvaluationRun, compare, load_run

__all__ = ["Comparison", "Compression", "EvaluationRun", "RunSettings", "compare", "compress", "evaluate", "load_run"]
