"""A pytest-native evaluation suite for vision models.

`evaluate`, `compress`, `load_run` and `compare` are the Python API (`eyechart.api`). The library below it does not
depend on pytest: `data` reads images and labels, `models` loads models, `classification`, `oodbench` and `realbirdid`
have protocols and metrics, `inference` sends requests and stores responses, `records` defines the files of a run.
"""

import csv
from importlib import import_module
from typing import TYPE_CHECKING, Any

from eyechart.version import __version__

# An answer may have a million characters, and csv refuses cells of more than 131,072. The limit is global in a process,
# so it is raised here, before any module that reads csv is imported.
csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))

__all__ = ["Comparison", "Compression", "EvaluationRun", "__version__", "compare", "compress", "evaluate", "load_run"]

if TYPE_CHECKING:
    from eyechart.api import Comparison, Compression, EvaluationRun, compare, compress, evaluate, load_run


def __getattr__(name: str) -> Any:
    """Return a name of the Python API, which imports pandas, when it is used first."""
    if name in __all__:
        return getattr(import_module("eyechart.api"), name)
    raise AttributeError(f"module 'eyechart' has no attribute '{name}'")
