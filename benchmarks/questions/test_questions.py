"""Questions of one's own: tables of image, question and answer."""

from typing import Any

from eyechart.benchmarks import make_tests
from eyechart.evaluation.evaluate import Evaluate


def _evaluate(evaluate: Evaluate[Any]) -> None:
    evaluate()


globals().update(make_tests(_evaluate, "questions"))
