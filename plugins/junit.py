"""Properties of a case in the file of `--junitxml`: its main metrics instead of the whole record."""

from collections.abc import Generator, Iterator

import pytest

from eyechart.results.records import Metric, Record, among_text, from_plain

from .recorder import PROPERTY


@pytest.hookimpl(wrapper=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> Generator[None, object, object]:
    """Replace the record by plain properties: on a call report after the recorder, on others before JUnit reads it."""
    if report.when != "call":
        report.user_properties = list(_plain_properties(report))
    result = yield
    report.user_properties = list(_plain_properties(report))
    return result


def _plain_properties(report: pytest.TestReport) -> Iterator[tuple[str, object]]:
    """Yield the properties of a report, with plain ones instead of the record."""
    for name, value in report.user_properties:
        if name == PROPERTY and isinstance(value, dict):
            yield from _record_properties(from_plain(value))
        else:
            yield name, value


def _record_properties(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the properties of a record: the case, its data and model, and each metric that the terminal shows."""
    yield f"{PROPERTY}.case", record.case
    yield f"{PROPERTY}.protocol", record.protocol
    yield f"{PROPERTY}.images", str(record.data.n)
    yield f"{PROPERTY}.errors", str(record.outcomes.error)
    yield f"{PROPERTY}.weights", record.model.weights_sha256
    yield f"{PROPERTY}.data", record.data.fingerprint
    for metric in record.metrics:
        if metric.title:
            yield from _metric_properties(metric)


def _metric_properties(metric: Metric) -> Iterator[tuple[str, str]]:
    """Yield the value, sample count and interval of a metric, under the name that floors use."""
    name = f"{PROPERTY}.{metric.name}[{among_text(metric.labels, metric.subset_text)}]"
    if metric.value is not None:
        yield name, repr(metric.value)
        yield f"{name}.n", str(metric.n)
    if metric.value is not None and metric.ci is not None:
        yield f"{name}.interval", f"{metric.ci[0]!r} {metric.ci[1]!r}"
