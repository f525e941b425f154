"""Pages: the cases that stand in one table, how they are named, and the notes about them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pandas as pd

from eyechart.data.dataset.dataset import original_name
from eyechart.models.spec import split_outside_brackets
from eyechart.protocol.registry import get_protocol
from eyechart.reports.runs import CaseRun, ComparableCases, Runs, model_name
from eyechart.results.frames import metrics_frame, samples_frame

# Options that follow from the data set or from others, or that only add pairs: they distinguish no titles.
NOT_IN_TITLES = ("source", "division", "names", "prompt", "division_scope", "hard_samples")


@dataclass(frozen=True, kw_only=True)
class Page:
    """The cases of one table in the order of their rows.

    `title` names the data, such as `imagenet/val`; `suffix` distinguishes pages with the same title. `names` has a row
    per case with the columns that name it, such as Model and Protocol; rows with negative numbers name what is no case.
    `labels` is the label set of the page and `reference` the one that it is compared with. `notes` are about data and
    settings. `context` distinguishes the pages of a table in csv.
    """

    cases: tuple[CaseRun, ...]
    title: str
    names: pd.DataFrame
    labels: str = ""
    reference: str = ""
    notes: tuple[str, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)
    suffix: str = ""

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """The numbers of the cases, one row each; see `results.frames.metrics_frame`."""
        return metrics_frame(self.cases)

    def samples(self, columns: Sequence[str] = (), file: str = "") -> pd.DataFrame:
        """Return the answers of the cases, one row each; see `results.frames.samples_frame`."""
        return samples_frame(self.cases, columns, file)

    def fill(self, text: str) -> str:
        """Return a text with the fields {page}, {labels}, {reference}, {both} and those of the context filled in.

        {both} names the reference and the labels after a comma; it is "" for data with no labels but their own.
        """
        two = f"{self.reference} and {self.labels}"
        both = self.labels if self.labels == self.reference else two
        fields = {**self.context, "page": self.title, "labels": self.labels, "reference": self.reference}
        fields["both"] = "" if both == original_name("") else f", {both}"
        for name, value in fields.items():
            text = text.replace(f"{{{name}}}", value)
        return text


def create_page(group: ComparableCases, labels: str, compared: Collection[str] = (), *, with_task: bool = True) -> Page:
    """Return the page of some comparable cases; `compared` are the options that its rows show.

    A case is named by its model and protocol, or by the model alone: if there are several protocols, they are added.
    """
    protocols, models = group.protocol_names(compared), group.model_names(compared)
    names = {"Model": [case.model if with_task else models[id(case)] for case in group.cases]}
    if with_task:
        names["Protocol"] = [protocols[id(case)] for case in group.cases]
    context = {"split": group.title} | ({"labels": labels} if labels else {})
    return Page(
        cases=group.cases, title=group.title, names=pd.DataFrame(names), labels=labels, reference=group.reference,
        notes=group.notes(compared), context=context,
    )  # fmt: skip


def protocol_pages(
    *protocols: str, with_task: bool = True, epochs: bool = False
) -> Callable[[Runs, str | None], list[Page]]:
    """Return the selection of a table of some protocols: a page for each group of comparable cases and label set.

    Cases that asked about each image in several epochs are selected only with `epochs`: their answers about an image
    are not independent, so that cells need an interval over images (`frames.clustered_share`, with the column `key`).
    """

    def select(runs: Runs, labels: str | None) -> list[Page]:
        selected = [(group.with_protocols(*protocols), name) for group, name in runs.iter_labels(labels)]
        fitting = [
            (group.select(case for case in group.cases if epochs or case.epochs == "1"), name)
            for group, name in selected
        ]
        return [create_page(group, name, with_task=with_task) for group, name in fitting if group.cases]

    return select


def with_suffixes(pages: Sequence[Page], shown: Collection[str] = ()) -> list[Page]:
    """Return pages with suffixes, so that no two have the same title and suffix; see `disambiguate_titles`."""
    whole = disambiguate_titles([page.title for page in pages], [page.cases for page in pages], shown)
    return [replace(page, suffix=title[len(page.title) :]) for page, title in zip(pages, whole, strict=True)]


def disambiguate_titles(
    titles: Sequence[str], cases: Sequence[Sequence[CaseRun]], marked: Collection[str] = ()
) -> list[str]:
    """Return different titles: equal titles get the options in which their cases differ, or else a number.

    Options in `marked` are already shown in the rows and are not added.
    """
    whole = []
    for title, case in zip(titles, cases, strict=True):
        same = [of for other, of in zip(titles, cases, strict=True) if other == title]
        whole.append(", ".join((title, *_differing_options(case, same, marked))))
    return number_repeats(whole)


def number_repeats(titles: Sequence[str]) -> list[str]:
    """Return titles; a repeated one has its number, such as `COCO (2)`."""
    counts = [titles[: index + 1].count(title) for index, title in enumerate(titles)]
    return [title if number == 1 else f"{title} ({number})" for title, number in zip(titles, counts, strict=True)]


def _differing_options(
    cases: Sequence[CaseRun], every: Sequence[Sequence[CaseRun]], marked: Collection[str]
) -> list[str]:
    """Return the options that differ between tables with their values in one of them, such as `threshold 0.01`."""
    return [
        f"{name.replace('_', ' ')} {value}"
        for name, value in _title_options(cases).items()
        if name not in marked and any(_title_options(other).get(name, "—") != value for other in every)
    ]


def _title_options(entries: Sequence[CaseRun]) -> Mapping[str, str]:
    """Return the values of the options that can distinguish titles."""
    protocols = dict.fromkeys(entry.record.protocol for entry in entries)
    known = dict.fromkeys(option.name for name in protocols for option in get_protocol(name).options)
    names = [name for name in known if name not in NOT_IN_TITLES]
    return {name: " or ".join(sorted({_option_text(name, entry) for entry in entries})) for name in names}


def _option_text(name: str, entry: CaseRun) -> str:
    """Return the value of an option as a title shows it."""
    value = entry.option(name, "—")
    return " & ".join(map(model_name, split_outside_brackets(value, "+"))) if name == "detectors" else value
