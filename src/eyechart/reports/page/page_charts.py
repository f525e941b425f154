"""Charts that the page draws itself: accuracy by protocol, accuracy by coverage, and confused pairs."""

import csv
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from typing import Any

import numpy as np

from eyechart.reports.page.sample_groups import CaseSamples, SampleGroup, as_floats
from eyechart.reports.page.samples import WRONG, LabelOutcomes
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.render import one_line
from eyechart.results.headlines import headlines
from eyechart.results.metric_definitions import define
from eyechart.results.run_files import read_verified
from eyechart.statistics.clusters import clustered_wilson

POINTS = 200
PAIRS = 100
_CURVES = "thresholds"


def accuracy_rows(group: SampleGroup) -> list[dict[str, Any]]:
    """Return the accuracy of every case under every label set, with its interval."""
    rows = []
    for index, case_samples in enumerate(group.cases):
        for name, outcomes in case_samples.samples.label_sets.items():
            if share := _recorded_share(case_samples, name) or clustered_share(case_samples, outcomes):
                rows.append({"position": index, "labels": name} | share)
    return rows


def _recorded_share(case_samples: CaseSamples, name: str) -> dict[str, Any] | None:
    """Return the record's accuracy under a label set, such as the mean over epochs; None if it has none."""
    for metric in headlines(case_samples.case.record.metrics):
        is_of_labels = define(metric.name).is_main and metric.labels == name
        if is_of_labels and metric.value is not None and metric.ci is not None:
            return {"value": metric.value, "ci": metric.ci, "n": metric.n}
    return None


def clustered_share(case_samples: CaseSamples, label_outcomes: LabelOutcomes) -> dict[str, Any] | None:
    """Return the share of right items with Wilson's interval over images or observations; None without items."""
    values = as_floats(label_outcomes)
    n = int((~np.isnan(values)).sum())
    if not n:
        return None
    return {
        "value": float(np.nanmean(values)),
        "ci": tuple(clustered_wilson(values, case_samples.samples.clusters())),
        "n": n,
    }


def confusion_rows(group: SampleGroup) -> list[dict[str, Any]]:
    """Return the most frequent wrong answers of each case, with the right answer."""
    rows = []
    for index, case_samples in enumerate(group.cases):
        for name, outcomes in case_samples.samples.label_sets.items():
            pairs = _wrong_pairs(case_samples, outcomes).most_common(PAIRS)
            pair_rows = [[label, answer, count] for (label, answer), count in pairs]
            rows.append({"position": index, "labels": name, "pairs": pair_rows})
    return [row for row in rows if row["pairs"]]


def _wrong_pairs(case_samples: CaseSamples, outcomes: LabelOutcomes) -> Counter[tuple[str, str]]:
    """Return how often each (right answer, given answer) occurs among the wrong items with one right answer."""
    answers, wrong = case_samples.samples.answers, outcomes.outcomes == WRONG
    pairs: Counter[tuple[str, str]] = Counter()
    if answers:
        codes = zip(outcomes.labels.codes[wrong].tolist(), answers.codes[wrong].tolist(), strict=True)
        for (label, answer), count in Counter(codes).items():
            labels = {*outcomes.labels.values[label]}
            if len(labels) == 1 and answers.values[answer]:
                pairs[labels.pop(), answers.values[answer]] += count
    return pairs


def coverage_curves(runs: Runs) -> list[dict[str, Any]]:
    """Return accuracy by coverage of every case with thresholds, under each label set."""
    rows: list[dict[str, Any]] = []
    for group in runs.groups:
        protocols = group.protocol_names()
        for case in group.cases:
            head = {"split": group.title, "model": one_line(case.model), "protocolName": protocols[id(case)]}
            rows.extend(head | curve for curve in _case_curves(case))
    return rows


def _case_curves(case: CaseRun) -> Iterator[dict[str, Any]]:
    """Yield the curves of one case, thinned to a resolution that can be seen."""
    file = case.record.artifacts.get(_CURVES)
    if file is None:
        return
    lines: dict[str, list[list[float]]] = {}
    text = read_verified(case.folder / file.path, case.folder, file)
    for row in csv.DictReader(StringIO(text, newline="")):
        points = lines.setdefault(row["labels"], [])
        points.append([float(row["coverage"]), float(row["accuracy"]), float(row["ci_low"]), float(row["ci_high"])])
    for labels, points in lines.items():
        indices = np.unique(np.linspace(0, len(points) - 1, POINTS).round().astype(int)).tolist()
        yield {"labels": labels, "points": [points[index] for index in indices]}
