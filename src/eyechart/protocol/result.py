"""What every case writes down: one record, a csv with every answer, and further files beside it."""

import csv
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import msgspec
import numpy as np

from eyechart.atomic import write_atomic
from eyechart.data.dataset import Dataset
from eyechart.estimates import Estimate
from eyechart.gate.evidence import Evidence, Floats, Ints, packed, proofs
from eyechart.gate.evidence import named as plane_name
from eyechart.gate.headlines import ANSWERED, ASKED
from eyechart.metrics.clusters import clustered_wilson
from eyechart.models.types import Identity, Usage
from eyechart.protocol.settings import Case, Settings
from eyechart.records import Asked, DataRecord, File, Metric, ModelRecord, Outcomes, Record, Reported, Served, encode

Rows = Iterator[list[Any]]


class CaseRecording(ABC):
    """Collects a case's numbers while the test runs; what they are is said by the kinds of cases."""

    def __init__(self, case: Case, settings: Settings, dataset: Dataset, who: Identity, run: Path) -> None:
        self.case, self.settings, self.dataset, self.who, self.run = case, settings, dataset, who, run
        self.loads = 0

    @property
    @abstractmethod
    def errors(self) -> list[str]:
        """Every error, with what it is about."""

    @property
    @abstractmethod
    def asked(self) -> str:
        """How many answers were wanted, with what is counted."""

    @abstractmethod
    def estimates(self) -> Iterator[Estimate]:
        """Every number, with what another run's is compared by."""

    @abstractmethod
    def truths(self) -> Mapping[str, str]:
        """The sha256 of each ground truth."""

    @abstractmethod
    def outcomes(self) -> Outcomes:
        """What became of the answers."""

    @abstractmethod
    def answered(self) -> Floats:
        """Whether each image was answered (n,): 1, 0 where an answer about it is an error, NaN where none was asked."""

    @abstractmethod
    def variant(self) -> dict[str, str]:
        """The choices under which the numbers were made."""

    @abstractmethod
    def answer_rows(self) -> Rows:
        """The csv with every answer."""

    def artifact_rows(self) -> dict[str, Rows]:
        """Further csv files, by what they hold."""
        return {}

    def served(self) -> Served | None:
        """What the answers took, where they are words."""
        return None

    def clusters(self) -> Ints | None:
        """The unit that each sample is of (n,), where several samples of a unit are not independent."""
        return None

    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know."""
        count = len(self.errors)
        said = f"{self.case}: {count} of {self.asked} ended in an error and are left out of every score."
        return (*((said,) if count else ()), *about(self.case, self.dataset.notes))

    def reported(self, metrics: Sequence[Metric]) -> Reported | None:  # noqa: ARG002  # others need them
        """What somebody else published for this case."""
        return None

    def finish(self, seconds: float, environment: Mapping[str, str], command: str) -> Record:
        """Write the case's files and make its record."""
        every = (*self.estimates(), self.answered_share())
        estimates = [estimate for estimate in every if estimate.n or estimate.value is not None]
        metrics = tuple(estimate.metric for estimate in estimates)
        settings, slug = self.settings, self.case.slug
        return Record(
            case=str(self.case),
            benchmark=self.case.benchmark,
            split=self.case.split,
            protocol=self.case.protocol,
            variant=self.variant() | ({"test": self.case.test} if self.case.test else {}),
            model=self.model(),
            data=self.data(),
            limit=settings.limit,
            seed=settings.seed,
            outcomes=self.outcomes(),
            metrics=metrics,
            reported=self.reported(metrics) if settings.limit is None else None,
            served=self.served(),
            predictions=self.write(f"predictions/{slug}.csv", self.answer_rows()),
            artifacts={name: self.write(f"{name}/{slug}.csv", rows) for name, rows in self.artifact_rows().items()},
            evidence=self.keep(f"evidence/{slug}.json", encode(self.evidence(estimates, environment))),
            notes=self.notes(),
            loads=self.loads,
            seconds=seconds,
            environment={**environment, **self.who.libraries},
            command=command,
        )

    def answered_share(self) -> Estimate:
        """The share of the images asked about that did not end in an error, with Wilson's interval."""
        outcomes, groups = self.answered(), self.clusters()
        known = ~np.isnan(outcomes)
        groups = np.arange(len(outcomes)) if groups is None else groups
        n = int(known.sum())
        bounds = clustered_wilson(outcomes, groups) if n else None
        return Estimate(
            name=ANSWERED,
            labels=next(iter(self.truths()), ""),
            category=ASKED,
            value=float(outcomes[known].mean()) if n else None,
            n=n,
            interval=bounds,
            method="wilson" if len(np.unique(groups[known])) == n else "clustered wilson",
            higher_is_better=True,
            correct=outcomes,
        )

    def model(self) -> ModelRecord:
        """Who answered."""
        who = self.who
        return ModelRecord(
            spec=str(self.case.model),
            alias=self.case.model.alias,
            name=who.name,
            backend=who.backend,
            revision=who.revision,
            weights_sha256=who.weights_sha256,
            dtype=who.dtype,
            device=who.device,
        )

    def data(self) -> DataRecord:
        """What was asked about."""
        found = self.dataset
        return DataRecord(
            fingerprint=found.fingerprint,
            n=len(found),
            expected_n=found.expected,
            labels=dict(self.truths()),
            root=absolute_root(self.settings.data),
            class_names=self.write_class_names(),
        )

    def write_class_names(self) -> File | None:
        """Write the split's own class names, once for all cases of the split; None where it has none."""
        if not self.dataset.names:
            return None
        content = encode(self.dataset.names)
        name = re.sub(r"[^A-Za-z0-9_.=-]", "-", f"{self.case.benchmark}-{self.case.split}")[:100]
        return self.keep(f"class_names/{name}-{sha256(content).hexdigest()[:8]}.json", content)

    def evidence(self, estimates: Sequence[Estimate], environment: Mapping[str, str]) -> Evidence:
        """What another run's numbers can be compared by."""
        clusters = self.clusters()
        if clusters is not None and len(np.unique(clusters)) == len(clusters):
            clusters = None
        found, planes = proofs(estimates, clusters)
        return Evidence(
            case=str(self.case),
            protocol=self.case.protocol,
            model=self.case.model.name,
            weights_sha256=self.who.weights_sha256,
            fingerprint=self.dataset.fingerprint,
            truths=dict(self.truths()),
            variant=self.variant(),
            limit=self.settings.limit,
            seed=self.settings.seed,
            samples=len(self.dataset),
            keys=self.dataset.keys,
            environment={**environment, **self.who.libraries},
            proofs=found,
            planes=planes,
            clusters=msgspec.UNSET if clusters is None else plane_name(packed(clusters)),
        )

    def write(self, path: str, rows: Rows) -> File:
        """Write a csv file into the run's folder."""
        return self.keep(path, "".join(map(line, rows)).encode())

    def keep(self, path: str, content: bytes) -> File:
        """Write a file into the run's folder."""
        (self.run / path).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(self.run / path, content)
        return File(path=path, sha256=sha256(content).hexdigest())


class Varied(Protocol):
    """What a case found, whatever else it holds: the choices under which it was found."""

    @property
    def variant(self) -> Mapping[str, str]:
        """Every choice."""


T = TypeVar("T", bound=Varied)


class FoundRecording(CaseRecording, Generic[T]):
    """What cases have in common that found something once, of which the test takes numbers."""

    def __init__(self, case: Case, settings: Settings, dataset: Dataset, who: Identity, found: T, run: Path) -> None:
        super().__init__(case, settings, dataset, who, run)
        self.found = found
        self.scored: list[Estimate] = []

    def estimates(self) -> Iterator[Estimate]:
        """What the test scored."""
        yield from self.scored

    def variant(self) -> dict[str, str]:
        """Every choice."""
        return dict(self.found.variant)


def about(case: Case, notes: Iterable[object]) -> tuple[str, ...]:
    """Notes on a case's data, with the split that they are about."""
    return tuple(f"{case.benchmark}/{case.split}: {note}" for note in notes)


def served(requests: int, usage: Usage, cost: float | None, sets: Mapping[str, Asked] | None = None) -> Served:
    """What answers in words took, as the record has it."""
    return Served(
        requests=requests,
        prompt_tokens=usage.prompt,
        cached_tokens=usage.cached,
        answer_tokens=usage.answer,
        cost=cost,
        sets=sets or {},
    )


def absolute_root(root: str | None) -> str:
    """The data root as it can be given again from any folder; "" where there is none."""
    if not root or root.startswith("hub:"):
        return root or ""
    return str(Path(root).absolute())


def answered_images(images: Ints, failed: Iterable[int], count: int) -> Floats:
    """Whether each of `count` images was answered, of questions about `images` (q,) and the places that failed.

    >>> answered_images(np.array([0, 0, 2]), [1], 4)
    array([ 0., nan,  1., nan])
    """
    outcomes = np.full(count, np.nan)
    outcomes[images] = 1
    outcomes[images[[*failed]]] = 0
    return outcomes


def named(key: str, error: str) -> str:
    """An error with its image, if it does not tell itself."""
    return error if key in error else f"{key}: {error}"


def line(row: list[Any]) -> str:
    """A line of a csv file; with a plain line end, the writer would leave a carriage return in a cell unquoted."""
    text = StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(row)
    return text.getvalue().removesuffix("\r\n") + "\n"


def truncation_note(case: str, count: int, asked: str) -> tuple[str, ...]:
    """Return the note that replies ended at the token limit before they answered; none where no reply did."""
    said = f"{case}: {count} of {asked} ended at the token limit before they answered (truncated); they count as wrong."
    return (said,) if count else ()
