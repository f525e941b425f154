"""OODBench: image–category pairs in and out of distribution; one test function per protocol."""

from typing import Any

from eyechart.benchmarks import make_tests
from eyechart.evaluation.evaluate import Evaluate


def _evaluate(evaluate: Evaluate[Any]) -> None:
    evaluate()


globals().update(make_tests(_evaluate, "oodbench"))
