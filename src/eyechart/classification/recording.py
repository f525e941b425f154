"""What a case writes down: its record, and files with every image's answer and every class's recall."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eyechart.classification.calibration import (
    confidence_estimates,
    reliability_rows,
    threshold_rows,
)
from eyechart.classification.published import reported
from eyechart.classification.scoring import (
    TOP,
    Float64s,
    Predictions,
    Repeated,
    Rules,
    Scored,
    accuracy,
    both,
    one_label,
    score,
)
from eyechart.data.dataset import Dataset
from eyechart.data.labels import LabelSet
from eyechart.estimates import Estimate
from eyechart.gate.evidence import Floats
from eyechart.gate.headlines import LABELLED
from eyechart.metrics.intervals import wilson
from eyechart.metrics.recall import per_class_recall
from eyechart.models.types import Identity, Usage
from eyechart.protocol.result import CaseRecording, Rows, about, named, served, truncation_note
from eyechart.protocol.settings import Case, Settings
from eyechart.records import Metric, Outcomes, Reported, Served

SURE = ("supervised", "posterior")  # protocols whose scores are logits or log-probabilities


def distinct(estimates: Iterable[Estimate]) -> list[Estimate]:
    """Return the numbers without those over the images with a label that are over no fewer images than all."""
    every = list(estimates)
    whole = {(each.name, each.labels): each.n for each in every if each.category == "A"}
    return [e for e in every if e.category != LABELLED or e.n < whole.get((e.name, e.labels), 0)]


class Recording(CaseRecording):
    """Collects the numbers of a case of classification while the test runs."""

    def __init__(
        self,
        case: Case,
        settings: Settings,
        dataset: Dataset,
        who: Identity,
        predictions: Predictions | Repeated,
        run: Path,
        rules: Rules,
    ) -> None:
        super().__init__(case, settings, dataset, who, run)
        self.rules = rules
        self.repeated = predictions if isinstance(predictions, Repeated) else None
        self.rounds = predictions.rounds if isinstance(predictions, Repeated) else (predictions,)
        self.scored: list[tuple[Scored, ...]] = []

    @property
    def original(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The original label of each image, -1 where there is none."""
        return np.array([self.dataset.index[row].label for row in self.dataset.selected], np.int64)

    @property
    def first(self) -> Predictions:
        """The predictions, or those of the first round."""
        return self.rounds[0]

    @property
    def errors(self) -> list[str]:
        """Every error of every round, with its picture."""
        told = [(found.keys[row], error) for found in self.rounds for row, error in found.errors.items()]
        return [named(key, error) for key, error in told]

    @property
    def asked(self) -> str:
        """How many answers were wanted, with what is counted."""
        count = sum(len(found.keys) - len(found.unasked) for found in self.rounds)
        return f"{count} {'answers' if self.repeated else 'images'}"

    def accuracy(self, predictions: Predictions | Repeated, labels: LabelSet) -> None:
        """Score the predictions under one ground truth."""
        rounds = predictions.rounds if isinstance(predictions, Repeated) else (predictions,)
        original, classes = self.original, self.dataset.classes
        self.scored.append(
            tuple(score(found, labels, original, self.rules, classes, seed=self.settings.seed) for found in rounds)
        )

    def estimates(self) -> Iterator[Estimate]:
        """Every number, the agreement of label sets last; of several rounds, their means."""
        seed = self.settings.seed
        for rounds in self.scored:
            yield from distinct(self.repeated.averaged(rounds, seed) if self.repeated else rounds[0].estimates)
            if self.case.protocol in SURE:
                yield from confidence_estimates(self.first, rounds[0], seed)
        for labels, correct in self.agreements().items():
            yield accuracy("intersection", labels, correct)

    def agreements(self) -> dict[str, Float64s]:
        """Each image's outcome under the first ground truth and each other one together, of one round."""
        return {} if self.repeated else dict(both(self.scored[0][0], other) for other, *_ in self.scored[1:])

    def truths(self) -> Mapping[str, str]:
        """The sha256 of each ground truth."""
        return {scored.labels.name: scored.labels.sha256 for scored, *_ in self.scored}

    def reported(self, metrics: Sequence[Metric]) -> Reported | None:
        """What somebody else published for this case."""
        return reported(self.case, metrics)

    def outcomes(self) -> Outcomes:
        """What became of the images under the first ground truth, of several rounds the sums."""
        found = (
            [scored.outcomes(said) for scored, said in zip(self.scored[0], self.rounds, strict=True)]
            if self.scored
            else []
        )
        counts = {name: sum(getattr(each, name) for each in found) for name in Outcomes.__struct_fields__}
        return Outcomes(**counts)

    def answered(self) -> Floats:
        """Whether each image was answered, in every round that asked about it."""
        rounds = [np.where(found.among(found.unasked), np.nan, found.answered) for found in self.rounds]
        return np.asarray(np.fmin.reduce(rounds), np.float64)

    def served(self) -> Served | None:
        """What the answers took, where they are words."""
        spoken = [found.spoken for found in self.rounds if found.spoken is not None]
        if not spoken:
            return None
        usage = sum((each.usage for each in spoken), Usage())
        costs = [each.cost for each in spoken if each.cost is not None]
        return served(sum(each.asked for each in spoken), usage, sum(costs) if costs else None)

    def artifact_rows(self) -> dict[str, Rows]:
        """Files beside the answers; the recall of a class is that of one round."""
        rows: dict[str, Rows] = {} if self.repeated else {"recall": self.recall_rows()}
        if self.case.protocol in SURE:
            scored = [first for first, *_ in self.scored]
            rows |= {
                "reliability": reliability_rows(self.first, scored),
                "thresholds": threshold_rows(self.first, scored),
            }
        return rows

    def variant(self) -> dict[str, str]:
        """The choices under which the numbers were made."""
        empty = ", ".join(f"{scored.labels.name}={scored.labels.empty}" for scored, *_ in self.scored)
        own = self.dataset.equivalences and tuple(self.rules.pairs) == self.dataset.equivalences
        equivalences = "own" if own else self.settings.equivalences if self.rules.pairs else "none"
        rules = {"equivalences": equivalences, "categories": self.settings.categories, "empty": empty}
        return {**self.first.variant, **rules}

    def notes(self) -> tuple[str, ...]:
        """What a reader of the numbers must know."""
        cut = sum(len(found.truncated) for found in self.rounds)
        unread = sum(len(found.unparsed) for found in self.rounds) - cut
        silent = f"{self.case} ({self.case.protocol}): {unread} of {self.asked} got an answer that could not be read."
        told = truncation_note(f"{self.case} ({self.case.protocol})", cut, self.asked)
        batches = (f"{self.case} ({self.case.protocol}): {note}" for note in self.first.notes)
        truths = about(self.case, (note for scored, *_ in self.scored for note in scored.labels.notes))
        return (*super().notes(), *((silent,) if unread else ()), *told, *batches, *truths)

    def answer_rows(self) -> Iterator[list[Any]]:
        """Every image: the five best classes with their scores, the error, and what each ground truth says."""
        tops = [f"{what}{rank}" for what in ("top", "score") for rank in range(1, TOP + 1)]
        truths = [
            f"{scored.labels.name}.{what}" for scored, *_ in self.scored for what in ("labels", "category", "correct")
        ]
        words = self.first.spoken.columns() if self.first.spoken else {}
        repeat = ["repeat"] if self.repeated else []
        cut = ["truncated"] if self.first.spoken else []
        yield [*repeat, "key", "label", *tops, "error", *words, *cut, *truths]
        for number, found in enumerate(self.rounds):
            for row in self.round_rows(number, found):
                yield [number, *row] if self.repeated else row

    def round_rows(self, number: int, found: Predictions) -> Iterator[list[Any]]:
        """Every image of one round."""
        words = found.spoken.columns() if found.spoken else {}
        top, original = found.top, self.original
        for row, key in enumerate(found.keys):
            best: list[int] = top[row].tolist()
            classes = [str(place) if place >= 0 else "" for place in best]
            known = best if found.spoken is None else [-1] * TOP  # words have no scores
            values = [f"{found.scores[row, place]:.6g}" if place >= 0 else "" for place in known]
            error = found.errors.get(row, "")
            label = original[row] if original[row] >= 0 else ""
            said = [column[row] for column in words.values()]
            said += [str(int(row in found.truncated))] if words else []
            yield [key, label, *classes, *values, error, *said, *self.truth_cells(row, number)]

    def truth_cells(self, row: int, number: int) -> Iterator[str]:
        """One image under each ground truth: its labels, its finest category, and 1, 0 or nothing."""
        for scored in (rounds[number] for rounds in self.scored):
            yield ";".join(str(label) for label in scored.labels.labels[row].tolist() if label >= 0)
            yield next((name for name in ("N", "S+", "S-", "M+", "M-") if scored.categories[name][row]), "")
            correct = scored.correct[row]
            yield "" if np.isnan(correct) else str(int(correct))

    def recall_rows(self) -> Iterator[list[Any]]:
        """Every class under each ground truth: images with that one label, recall and interval."""
        yield ["labels", "class", "n", "recall", "ci_low", "ci_high"]
        for scored, *_ in self.scored:
            found = per_class_recall(scored.correct, one_label(scored.labels), self.dataset.classes)
            for place in np.flatnonzero(found.counts).tolist():
                value, n = float(found.values[place]), int(found.counts[place])
                low, high = wilson(round(value * n), n)
                yield [scored.labels.name, place, n, f"{value:.6f}", f"{low:.6f}", f"{high:.6f}"]
