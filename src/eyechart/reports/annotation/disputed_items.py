"""Select the images for a second annotation pass: arXiv 2603.06578, section 3.4 and Figure 7.

They are the images of the chosen categories with a valid prediction that the labels score as wrong.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.labels.class_names import check_unique, load_vocabulary
from eyechart.data.labels.equivalences import equivalent_pairs
from eyechart.errors import ReportError
from eyechart.messages.suggestions import did_you_mean
from eyechart.reports.annotation.answer_files import (
    LABELS,
    MODEL,
    ORIGINAL,
    SECOND,
    Candidate,
    CategoryCounts,
    Item,
    SheetSource,
)
from eyechart.reports.runs import CaseRun, Runs
from eyechart.statistics import categories
from eyechart.statistics.array_types import Bools, Ints
from eyechart.statistics.equivalence import expand_labels

FINEST = tuple(category for category in categories.FINEST if category != categories.NO_LABEL)
DISPUTED = (categories.SINGLE_LABEL_OTHER, categories.MULTI_LABEL_OTHER)  # unless others are requested


@dataclass(frozen=True)
class DisputedCase:
    """A case, the labels that dispute it, the categories of images, and optionally a second model's case."""

    case: CaseRun
    labels: str
    categories: tuple[str, ...]
    second: CaseRun | None = None

    @cached_property
    def samples(self) -> pd.DataFrame:
        """Return the answers: `key`, `label`, and of the disputing label set `labels`, `category` and `correct`."""
        heads = {f"{self.labels}.{name}": name for name in ("labels", "category", "correct")}
        return self.case.samples(["key", "label", *heads]).rename(columns=heads)

    @cached_property
    def predictions(self) -> Ints:
        """Return the model's class for each image, -1 without a valid prediction."""
        return first_classes(self.case)

    @property
    def disputed(self) -> Bools:
        """Return the mask of the images with a valid prediction that the labels score as wrong."""
        return np.asarray((self.predictions >= 0) & (self.samples["correct"] == 0), bool)

    def counts(self) -> Iterator[CategoryCounts]:
        """Yield the sizes of the categories."""
        for category in self.categories:
            mask = (self.samples["category"] == category).to_numpy()
            valid, disputed = (int((mask & which).sum()) for which in (self.predictions >= 0, self.disputed))
            yield CategoryCounts(category=category, images=int(mask.sum()), valid=valid, disputed=disputed)

    def source(self) -> SheetSource:
        """Return what the sheet is made from."""
        record, second = self.case.record, self.second.record if self.second else None
        return SheetSource(
            case=record.case,
            protocol=record.protocol,
            predictions=record.predictions.sha256 if record.predictions else "",
            labels=self.labels,
            labels_sha256=record.data.labels.get(self.labels, ""),
            second=second.case if second else None,
            second_predictions=second.predictions.sha256 if second and second.predictions else None,
            counts=tuple(self.counts()),
        )

    def rows(self, seed: int) -> list[int]:
        """Return the disputed images of the categories in random order; the order of keys would reveal classes."""
        selected = self.samples["category"].isin(self.categories).to_numpy() & self.disputed
        rows: list[int] = np.flatnonzero(selected).tolist()
        order = Random(f"{seed}|annotate|{self.case.record.case}|{self.labels}")
        return order.sample(rows, len(rows))

    def suggestions(self, row: int) -> dict[str, set[int]]:
        """Return the suggested classes of an image by source."""
        sample = self.samples.iloc[row]
        by_source = {
            MODEL: {int(self.predictions[row])},
            LABELS: {int(label) for label in sample["labels"].split(";") if label},
            ORIGINAL: {int(sample["label"] or -1)},
            SECOND: {int(self.second_predictions[row])},
        }
        return {source: classes - {-1} for source, classes in by_source.items()}

    @cached_property
    def second_predictions(self) -> Ints:
        """Return the second model's class for each image, -1 without one."""
        return first_classes(self.second) if self.second else np.full(len(self.predictions), -1, np.int64)


def first_classes(case: CaseRun) -> Ints:
    """Return the first class of every answer of a case, -1 for an error or an answer without a class."""
    samples = case.samples(["top1", "error"])
    classes = samples["top1"].where((samples["top1"] != "") & (samples["error"] == ""), "-1")
    return np.asarray(classes, np.int64)


def create_items(
    disputed: DisputedCase, rows: Sequence[int], dataset: Dataset, names: str | None, seed: int
) -> list[Item]:
    """Return the selected images with their candidates, each class once, in random order per image."""
    class_names, equivalents = (
        read_names(dataset, names),
        EquivalentClasses(disputed.case.record.variant.get("equivalences", "none"), dataset),
    )
    samples = disputed.samples.iloc[[*rows]]
    candidates = (
        tuple(create_candidates(disputed.suggestions(row), class_names, equivalents, f"{seed}|{key}"))
        for row, key in zip(rows, samples["key"], strict=True)
    )
    return [
        Item(key=key, category=category, candidates=offer)
        for key, category, offer in zip(samples["key"], samples["category"], candidates, strict=True)
    ]


@dataclass(frozen=True)
class EquivalentClasses:
    """Returns the classes that count as equal to a class, by the rule of the run."""

    rule: str
    dataset: Dataset

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """Return the pairs of equivalent classes."""
        name = self.rule.removeprefix("strict:")
        rows = self.dataset.equivalences if name == "own" else equivalent_pairs(name, self.dataset.classes)
        return np.array(rows, np.int64).reshape(-1, 2)

    def __call__(self, label: int) -> set[int]:
        """Return the class and its equivalents."""
        strict = self.rule.startswith("strict:")
        return {*expand_labels([[label]], self.pairs, self.dataset.classes, strict=strict)[0].tolist()} - {-1}


def create_candidates(
    suggested: Mapping[str, set[int]], names: Sequence[str], equivalent_classes: EquivalentClasses, seed: str
) -> Iterator[Candidate]:
    """Yield every class once, with all sources that suggested it or an equivalent; the order depends on the image."""
    classes = sorted(set[int]().union(*suggested.values()))
    Random(f"annotate|{seed}").shuffle(classes)
    for label in classes:
        equivalents = equivalent_classes(label)
        by = tuple(source for source, suggestions in suggested.items() if equivalents & suggestions)
        yield Candidate(label=label, name=names[label], by=by)


def read_names(dataset: Dataset, names: str | None) -> tuple[str, ...]:
    """Return the class names to show: the requested ones, else the split's own, else Mill's; names must be unique."""
    if names is None and dataset.names:
        check_unique(dataset.names)
        return dataset.names
    return load_vocabulary(names or "mill", dataset.classes).names


def parse_categories(text: str) -> tuple[str, ...]:
    """Return the categories of an option such as `single_label_other,multi_label_other`."""
    result = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not result or not {*result} <= {*FINEST}:
        raise ReportError(
            f"--category is '{text}', expected one or several of {', '.join(FINEST)}, such as {','.join(DISPUTED)}."
        )
    return result


def find_case(
    scored: Sequence[CaseRun], model: str, protocol: str | None, labels: str, option: str = "model"
) -> CaseRun:
    """Return the case of a model or case id, and of a protocol if there are several; raise ReportError otherwise."""
    with_model = [case for case in scored if model in (case.record.model.title, case.record.case, case.model)]
    matches = [case for case in with_model if protocol in (None, case.record.protocol)]
    if len(matches) == 1:
        return matches[0]
    if not with_model:
        models = list(dict.fromkeys(case.record.model.title for case in scored))
        raise ReportError(
            f"--{option}: there are no answers of '{model}' under the ground truth '{labels}'"
            f"{did_you_mean(model, models)} There are answers of: {', '.join(models) or 'no model'}."
        )
    names = ", ".join(f"{case.record.case} ({case.record.protocol})" for case in matches or with_model)
    problem = f"{len(matches)} cases" if matches else f"no case under the protocol '{protocol}'"
    protocol_option = "--protocol" if option == "model" else f"--{option}-protocol"
    raise ReportError(
        f"--{option}={model} names {problem}: {names}. Give one of these cases as --{option}, or "
        f"{protocol_option}=NAME, or a run that holds only one of them."
    )


def find_second_case(runs: Runs, case: CaseRun, model: str, protocol: str | None, labels: str) -> CaseRun:
    """Return the second model's case about the same images."""
    group = next(group for group in runs.groups if case in group.cases)
    second = find_case(
        [other for other in group.scored_under(labels) if other != case], model, protocol, labels, "second"
    )
    if not second.samples(["key"]).equals(case.samples(["key"])):
        raise ReportError(f"{second.folder}: the answers to {second.record.case} are not about the same images.")
    return second
