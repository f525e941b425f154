"""What the page draws by itself: protocols side by side, accuracy by coverage, and the pairs that are confused."""

import csv
from collections import Counter
from collections.abc import Iterator
from io import StringIO
from typing import Any

import numpy as np

from eyechart.gate.headlines import headlines
from eyechart.metrics.clusters import clustered_wilson

from ..answers import read_verified
from ..render import one_line
from ..runs import CaseRun, Runs
from .sample_groups import CaseSamples, SampleGroup, as_floats
from .samples import WRONG, LabelOutcomes
from .summary import ACCURACIES

POINTS = 200
PAIRS = 100
CURVES = "thresholds"


def accuracy_rows(album: SampleGroup) -> list[dict[str, Any]]:
    """The share of right answers of every case under every ground truth, with its interval."""
    rows = []
    for place, exhibit in enumerate(album.cases):
        for name, held in exhibit.samples.truths.items():
            if found := recorded_share(exhibit, name) or clustered_share(exhibit, held):
                rows.append({"exhibit": place, "labels": name} | found)
    return rows


def recorded_share(exhibit: CaseSamples, name: str) -> dict[str, Any] | None:
    """Return the record's own accuracy under a ground truth, such as the mean over repeats; None where it has none."""
    for metric in headlines(exhibit.case.record.metrics):
        if metric.name in ACCURACIES and metric.labels == name and metric.value is not None and metric.ci is not None:
            return {"value": metric.value, "ci": metric.ci, "n": metric.n}
    return None


def clustered_share(exhibit: CaseSamples, held: LabelOutcomes) -> dict[str, Any] | None:
    """Return the share of right items with Wilson's interval over images or observations; None without any."""
    found = as_floats(held)
    n = int((~np.isnan(found)).sum())
    if not n:
        return None
    return {"value": float(np.nanmean(found)), "ci": tuple(clustered_wilson(found, exhibit.samples.clusters())), "n": n}


def confusion_rows(album: SampleGroup) -> list[dict[str, Any]]:
    """The wrong answers of each case that are most frequent, by what would have been right."""
    rows = []
    for place, exhibit in enumerate(album.cases):
        for name, held in exhibit.samples.truths.items():
            pairs = Counter(wrong_pairs(exhibit, held)).most_common(PAIRS)
            found = [[label, answer, count] for (label, answer), count in pairs]
            rows.append({"exhibit": place, "labels": name, "pairs": found})
    return [row for row in rows if row["pairs"]]


def wrong_pairs(exhibit: CaseSamples, held: LabelOutcomes) -> Iterator[tuple[str, str]]:
    """What was right and what was answered, for items with one right answer."""
    answers = exhibit.samples.answers
    for place in np.flatnonzero(held.outcomes == WRONG).tolist():
        if len({*held.labels[place]}) == 1 and answers[place]:
            yield held.labels[place][0], answers[place]


def coverage_curves(pool: Runs) -> list[dict[str, Any]]:
    """Accuracy by coverage of every case that kept thresholds, under each ground truth."""
    rows: list[dict[str, Any]] = []
    for group in pool.groups:
        tasks = group.task_names()
        for entry in group.cases:
            who = {"split": group.title, "model": one_line(entry.model), "task": tasks[id(entry)]}
            rows.extend(who | curve for curve in case_curves(entry))
    return rows


def case_curves(entry: CaseRun) -> Iterator[dict[str, Any]]:
    """The curves of one case, thinned to what can be seen."""
    file = entry.record.artifacts.get(CURVES)
    if file is None:
        return
    lines: dict[str, list[list[float]]] = {}
    text = read_verified(entry.folder / file.path, entry.folder, file)
    for row in csv.DictReader(StringIO(text, newline="")):
        points = lines.setdefault(row["labels"], [])
        points.append([float(row["coverage"]), float(row["accuracy"]), float(row["ci_low"]), float(row["ci_high"])])
    for labels, points in lines.items():
        kept = np.unique(np.linspace(0, len(points) - 1, POINTS).round().astype(int)).tolist()
        yield {"labels": labels, "points": [points[place] for place in kept]}
