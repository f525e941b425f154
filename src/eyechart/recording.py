"""What a case writes down: its record, and files with every image's answer and every class's recall."""

import csv
from collections.abc import Iterator, Mapping
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.data.dataset import Dataset
from eyechart.data.labels import LabelSet
from eyechart.metrics.intervals import wilson
from eyechart.metrics.recall import per_class_recall
from eyechart.models.interfaces import Identity
from eyechart.published import reported
from eyechart.records import DataRecord, File, Metric, ModelRecord, Outcomes, Record
from eyechart.scoring import TOP, Predictions, Rules, Scored, both, one_label, score
from eyechart.settings import Case, Settings
from eyechart.store import stamp


class Recording:
    """Collects a case's numbers while the test runs."""

    def __init__(
        self,
        case: Case,
        settings: Settings,
        dataset: Dataset,
        who: Identity,
        rules: Rules,
        predictions: Predictions,
        run: Path,
    ) -> None:
        self.case, self.settings, self.dataset, self.who, self.rules = case, settings, dataset, who, rules
        self.predictions, self.run = predictions, run
        self.scored: list[Scored] = []
        self.loads = 0

    @property
    def original(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The original label of each image, -1 where there is none."""
        return np.array([self.dataset.index[row].label for row in self.dataset.selected], np.int64)

    def accuracy(self, predictions: Predictions, labels: LabelSet) -> None:
        """Score the predictions under one ground truth."""
        self.scored.append(score(predictions, labels, self.original, self.rules, self.dataset.classes))

    def metrics(self) -> Iterator[Metric]:
        """Every number, the agreement of label sets last."""
        for scored in self.scored:
            yield from scored.metrics
        for other in self.scored[1:]:
            yield both(self.scored[0], other)

    def finish(self, seconds: float, environment: Mapping[str, str], command: str) -> Record:
        """Write the case's files and make its record."""
        metrics, settings = tuple(self.metrics()), self.settings
        truths = {scored.labels.name: scored.labels.sha256 for scored in self.scored}
        data = DataRecord(
            fingerprint=self.dataset.fingerprint, n=len(self.dataset), expected_n=self.dataset.expected, labels=truths
        )
        return Record(
            case=str(self.case),
            benchmark=self.case.benchmark,
            split=self.case.split,
            protocol=self.case.protocol,
            variant=self.variant(),
            model=self.model(),
            data=data,
            limit=settings.limit,
            seed=settings.seed,
            outcomes=self.scored[0].outcomes(self.predictions) if self.scored else Outcomes(),
            metrics=metrics,
            reported=reported(self.case, metrics) if settings.limit is None else None,
            predictions=self.write(f"predictions/{self.case.slug}.csv", self.answer_rows()),
            artifacts={"recall": self.write(f"recall/{self.case.slug}.csv", self.recall_rows())},
            notes=self.notes(),
            loads=self.loads,
            seconds=seconds,
            environment={**environment, **self.who.libraries},
            command=command,
        )

    def model(self) -> ModelRecord:
        """Who answered."""
        who = self.who
        return ModelRecord(
            spec=str(self.case.model),
            backend=who.backend,
            revision=who.revision,
            weights_sha256=who.weights_sha256,
            dtype=who.dtype,
            device=who.device,
        )

    def variant(self) -> dict[str, str]:
        """The choices under which the numbers were made."""
        empty = ", ".join(f"{scored.labels.name}={scored.labels.empty}" for scored in self.scored)
        own = self.dataset.equivalences and tuple(self.rules.pairs) == self.dataset.equivalences
        equivalences = "own" if own else self.settings.equivalences
        rules = {"equivalences": equivalences, "categories": self.settings.categories, "empty": empty}
        return {**self.predictions.variant, **rules}

    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know."""
        errors = len(self.predictions.errors)
        said = f"{self.case}: {errors} of {len(self.dataset)} images ended in an error and are left out of every score."
        return (said,) if errors else ()

    def write(self, path: str, rows: Iterator[list[Any]]) -> File:
        """Write a csv file into the run's folder."""
        text = StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        content = text.getvalue().encode()
        (self.run / path).parent.mkdir(parents=True, exist_ok=True)
        stamp(self.run / path, content)
        return File(path=path, sha256=sha256(content).hexdigest())

    def answer_rows(self) -> Iterator[list[Any]]:
        """Every image: the five best classes with their scores, the error, and what each ground truth says."""
        tops = [f"{what}{rank}" for what in ("top", "score") for rank in range(1, TOP + 1)]
        truths = [
            f"{scored.labels.name}.{what}" for scored in self.scored for what in ("labels", "category", "correct")
        ]
        words = self.predictions.spoken.columns() if self.predictions.spoken else {}
        yield ["key", "label", *tops, "error", *words, *truths]
        top, original = self.predictions.top, self.original
        for row, key in enumerate(self.predictions.keys):
            best: list[int] = top[row].tolist()
            classes = [str(place) if place >= 0 else "" for place in best]
            values = [f"{self.predictions.scores[row, place]:.6g}" if place >= 0 else "" for place in best]
            error = self.predictions.errors.get(row, "")
            label = original[row] if original[row] >= 0 else ""
            said = [column[row] for column in words.values()]
            yield [key, label, *classes, *values, error, *said, *self.truth_cells(row)]

    def truth_cells(self, row: int) -> Iterator[str]:
        """One image under each ground truth: its labels, its finest category, and 1, 0 or nothing."""
        for scored in self.scored:
            yield ";".join(str(label) for label in scored.labels.labels[row].tolist() if label >= 0)
            yield next((name for name in ("N", "S+", "S-", "M+", "M-") if scored.categories[name][row]), "")
            correct = scored.correct[row]
            yield "" if np.isnan(correct) else str(int(correct))

    def recall_rows(self) -> Iterator[list[Any]]:
        """Every class under each ground truth: images with that one label, recall and interval."""
        yield ["labels", "class", "n", "recall", "ci_low", "ci_high"]
        for scored in self.scored:
            found = per_class_recall(scored.correct, one_label(scored.labels), self.dataset.classes)
            for place in np.flatnonzero(found.counts).tolist():
                value, n = float(found.values[place]), int(found.counts[place])
                low, high = wilson(round(value * n), n)
                yield [scored.labels.name, place, n, f"{value:.6f}", f"{low:.6f}", f"{high:.6f}"]
