"""The last line of the terminal summary names the methods of the intervals that the table shows, and no other."""

import pytest

from eyechart.plugins.summary import METHODS, _interval_methods
from eyechart.results.records import Metric


def shown(method: str, name: str = "acc1", ci: tuple[float, float] | None = (0.1, 0.9)) -> Metric:
    """A number with an interval of some method."""
    return Metric(name, "original", "all", title="original", value=0.5, n=4, n_clusters=4, ci=ci, ci_method=method)


@pytest.mark.parametrize("method", [*METHODS, "order statistics"])
def test_the_method_of_a_shown_number_is_named_and_no_other(method: str) -> None:
    assert _interval_methods([shown(method), shown("none", ci=None)]) == METHODS.get(method, method)


def test_several_methods_are_named_once_each() -> None:
    metrics = [shown("wilson"), shown("bootstrap", "acc5"), shown("wilson")]
    assert _interval_methods(metrics) == f"{METHODS['wilson']}, {METHODS['bootstrap']}"


def test_without_an_interval_no_method_is_named() -> None:
    assert _interval_methods([shown("wilson", ci=None)]) == ""
