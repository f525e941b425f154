"""Answers that were collected elsewhere: `replay[path=answers.csv]`.

A csv has the columns `key` and `answer` (and `answer2`, `answer3`, … for ranked ones); an answer is a class index or a
class name. An .npz has `keys` (n,) and `scores` (n, classes). A key is a sample's key or its file name; with a column
`split`, one csv has the answers to several splits.

With `of=closed_world` (or `open_world`, `mcq`, `free_form`) an answer is the completion of a language model for the
image under that protocol, and is parsed and scored as if it was generated here. `of=existence` is about pairs of an
image and a category, see `replayed_responses`. `of=species` has probabilities, see
`realbirdid.protocols.helpers.species_replay`.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.answers.class_predictions import NO_SCORES, ClassPredictions, Targets
from eyechart.classification.answers.image_answers import BestClasses
from eyechart.classification.metrics.class_estimates import (
    CORRECTNESS,
    label_agreement,
    mean_per_class_recall,
    proper_scores,
    top1,
    top5,
)
from eyechart.data.dataset.dataset import Dataset
from eyechart.data.index.sample_keys import (
    NONE,
    class_finder,
    location,
    match_unique_images,
    names_as_numbers,
    read_lines,
)
from eyechart.errors import ModelError
from eyechart.inference.store.responses import ReplayedResponses, Response
from eyechart.models.replay.answer_file import AnswerFile, as_floats
from eyechart.protocol.base import Example, Protocol
from eyechart.protocol.context import Context

Ints = NDArray[np.int64]


class Replay(AnswerFile, ReplayedResponses):
    """A file of answers that is used as a model."""

    expected = "Expected a csv with the columns key and answer, or an .npz with keys and scores."

    def responses(self, dataset: Dataset) -> list[Response]:
        """Return the completions in the data set's order; a sample without a line is an error."""
        completions = list[str]()
        line_of_row = self.read_answers(dataset, lambda answers: completions.append(answers[0]))
        lines = line_of_row[list(dataset.selected)].tolist()
        return [
            Response.from_completion(completions[line])
            if line != NONE
            else Response("", error=self.describe_error(key))
            for key, line in zip(dataset.keys, lines, strict=True)
        ]

    def predictions(self, dataset: Dataset, names: Sequence[str]) -> ClassPredictions:
        """Return the answers in the data set's order as predictions; a sample without an answer is an error."""
        read = self.read_scores(dataset) if self.path.suffix == ".npz" else self.read_ranked_answers(dataset, names)
        lines = read.line_of_row[list(dataset.selected)]
        best = read.best.select(lines)
        without = np.flatnonzero(np.isnan(best.scores[:, 0])).tolist()
        errors = {index: self.describe_error(dataset.keys[index], missing=lines[index] == NONE) for index in without}
        unparsed = frozenset(np.flatnonzero(best.classes[:, 0] < 0).tolist()) - {*errors}
        variant = {"parser_version": "exact"}
        return ClassPredictions(dataset.keys, NO_SCORES, errors, variant, unparsed, best=best)

    def describe_error(self, key: str, *, missing: bool = True) -> str:
        """Return the error of a sample without an answer, or with NaN."""
        if missing:
            return f"{self.path} has no answer for {key}. Add a line with this key."
        return f"{self.path} has NaN among the scores of {key}. Give every class a number."

    def read_scores(self, dataset: Dataset) -> "_FileAnswers":
        """Return the best classes of an .npz."""
        keys, scores = self.read_arrays()
        if scores.shape != (len(keys), dataset.classes):
            wanted = (len(keys), dataset.classes)
            raise ModelError(f"{self.path}: scores have shape {scores.shape}, expected {wanted}: one row a key.")
        line_of_row = match_unique_images(self.path, dataset, keys, lambda row: f"{self.path}, row {row} of keys")
        scores = as_floats(scores)
        scores[np.isnan(scores).any(axis=1)] = np.nan
        return _FileAnswers(line_of_row, BestClasses.of_scores(scores))

    def read_arrays(self) -> tuple[list[str], NDArray[np.floating]]:
        """Return the keys and scores of an .npz. Raises ModelError if it cannot be read."""
        try:
            with np.load(self.path, allow_pickle=False) as file:
                if not {"keys", "scores"} <= set(file.files):
                    raise ModelError(f"{self.path} holds {', '.join(file.files) or 'nothing'}. {self.expected}")
                return [str(key) for key in file["keys"]], file["scores"]
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise ModelError(f"{self.path} cannot be read ({error}). {self.expected}") from error

    def read_ranked_answers(self, dataset: Dataset, names: Sequence[str]) -> "_FileAnswers":
        """Return the best classes of a csv, whose scores have the order of the ranked answers."""
        given, classes = set[str](), array("q")
        if names_as_numbers(names):
            self.read_answers(dataset, given.update)
        find = class_finder(names, dataset.classes, given)

        def use(answers: list[str]) -> None:
            given.update(answers)
            classes.extend(map(find, answers))

        line_of_row = self.read_answers(dataset, use)
        indices = {int(text) if text.isascii() and text.isdecimal() else 0 for text in given - {*names, ""}}
        if len(indices) > 1 and min(indices) > 0 and max(indices) == dataset.classes:
            raise ModelError(
                f"{self.path} has the class indices {min(indices)} to {max(indices)}, expected 0 to "
                f"{max(indices) - 1}: subtract 1 from each, or give names of classes."
            )
        ranked = np.frombuffer(classes, np.int64).reshape(line_of_row.max() + 1, -1)
        return _FileAnswers(line_of_row, BestClasses.of_ranked(ranked))

    def read_answers(self, dataset: Dataset, use: Callable[[list[str]], None]) -> Ints:
        """Call `use` with the ranked answers of each line of a csv; return the line of each row of the index, or -1."""
        keys, numbers, names = list[str](), array("q"), list[str]()
        for line in read_lines(self.path, ("key", "answer"), self.expected, dataset.split):
            names = names or _ranked_names(line.cells)
            keys.append(line.key)
            numbers.append(line.number)
            use([line.cells[name] for name in names])
        return match_unique_images(self.path, dataset, keys, lambda index: location(self.path, numbers[index]))


class _FileAnswers(NamedTuple):
    """The best classes of each line of a file, and the line of each row of the index, -1 for a row without one."""

    line_of_row: Ints
    best: BestClasses


class ReplayedAnswers(Protocol[ClassPredictions]):
    """Answers that were collected elsewhere, as class indices, class names or scores."""

    name = "replay"
    example = Example("imagenet/sample-near/replay[path=tests/golden/migration/inputs/classes.csv]", ("acc1 all",))
    requires = ("answers",)
    benchmarks = ("imagenet", "*")
    metrics = (top1, top5, mean_per_class_recall, label_agreement, proper_scores)
    steps = CORRECTNESS

    def predict(self, context: Context) -> ClassPredictions:
        """Read the file of answers."""
        model = context.model
        if not isinstance(model, Replay):
            raise context.missing_capability("is a file of answers")
        return replace(model.predictions(context.dataset, context.raw_names), targets=Targets.from_context(context))


def _ranked_names(header: Iterable[str]) -> list[str]:
    """Return the columns of answers in order of rank.

    >>> _ranked_names(["answer2", "key", "answer", "answer3"])
    ['answer', 'answer2', 'answer3']
    """
    return ["answer", *(name for name in header if name != "answer" and name.startswith("answer"))]
