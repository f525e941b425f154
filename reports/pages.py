"""Pages: the cases that stand in one table, how they are named, and the notes about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from .frames import metrics_frame, samples_frame
from .runs import CaseRun


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
