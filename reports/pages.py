"""Pages: the cases that stand in one table, how they are named, and the notes about them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from .frames import metrics_frame, samples_frame
from .runs import CaseRun, ComparableCases, Runs


@dataclass(frozen=True, kw_only=True)
class Page:
    """The cases of one table in the order of their rows.

    `title` names the data, such as `imagenet/val`. `names` has a row per case with the columns that name it, such as
    Model and Task. `labels` is the label set of the page and `reference` the one that it is compared with. `notes` are
    about data and settings. `context` distinguishes the pages of a table in csv.
    """

    cases: tuple[CaseRun, ...]
    title: str
    names: pd.DataFrame
    labels: str = ""
    reference: str = ""
    notes: tuple[str, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """The numbers of the cases, one row each; see `frames`."""
        return metrics_frame(self.cases)

    def samples(self, columns: Sequence[str] = (), file: str = "") -> pd.DataFrame:
        """Return the answers of the cases, one row each; see `frames.samples_frame`."""
        return samples_frame(self.cases, columns, file)

    def fill(self, text: str) -> str:
        """Return a text with the fields {page}, {labels} and {reference} filled in."""
        for name, value in (("page", self.title), ("labels", self.labels), ("reference", self.reference)):
            text = text.replace(f"{{{name}}}", value)
        return text


def create_page(group: ComparableCases, labels: str, compared: Collection[str] = (), *, with_task: bool = True) -> Page:
    """Return the page of some comparable cases; `compared` are the options that its rows show.

    A case is named by its model and task, or by the model alone: the task is then added to it if there are several.
    """
    tasks, models = group.task_names(compared), group.model_names(compared)
    names = {"Model": [case.model if with_task else models[id(case)] for case in group.cases]}
    if with_task:
        names["Task"] = [tasks[id(case)] for case in group.cases]
    context = {"split": group.title} | ({"labels": labels} if labels else {})
    return Page(
        cases=group.cases, title=group.title, names=pd.DataFrame(names), labels=labels, reference=group.reference,
        notes=group.notes(compared), context=context,
    )  # fmt: skip


def protocol_pages(*protocols: str, with_task: bool = True) -> Callable[[Runs, str | None], list[Page]]:
    """Return the selection of a table of some protocols: a page for each group of comparable cases and label set."""

    def select(runs: Runs, labels: str | None) -> list[Page]:
        selected = [(group.with_protocols(*protocols), name) for group, name in runs.iter_labels(labels)]
        return [create_page(group, name, with_task=with_task) for group, name in selected if group.cases]

    return select
