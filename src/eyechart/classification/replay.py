"""Answers that were collected elsewhere: `replay[path=answers.csv]`.

A csv has the columns `key` and `answer` (and `answer2`, `answer3`, … for ranked ones); an answer is a class index or a
class name. An .npz has `keys` (n,) and `scores` (n, classes). A key is a sample's key or its file name; with a column
`split`, one csv has the answers to several splits.

With `of=closed_world` (or `open_world`, `mcq`, `free_form`) an answer is the completion of a language model for the
image under that protocol, and is parsed and scored as if it was generated here. `of=existence` is about pairs of an
image and a category, see `replayed_responses`. `of=species` has probabilities, see `realbirdid.species_replay`.
"""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import ClassVar, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.best_classes import TOP, BestClasses
from eyechart.classification.predictions import NO_SCORES, ClassPredictions, Targets
from eyechart.data.dataset import Dataset
from eyechart.data.sample_keys import ClassMatcher, match_unique_images, read_lines
from eyechart.errors import ModelError
from eyechart.inference.responses import ReplayedResponses, Response
from eyechart.models import options
from eyechart.models.answer_file import OPTIONS, answer_path, file_identity
from eyechart.models.model_option import AnyOption
from eyechart.models.registry import check_replayed_protocol
from eyechart.models.types import Identity
from eyechart.protocol.base import Protocol
from eyechart.protocol.context import Context
from eyechart.spec import ModelSpec

NO_LINE = -1
REMEDY = "Expected a csv with the columns key and answer, or an .npz with keys and scores."


class Replay(ReplayedResponses):
    """A file of answers that is used as a model."""

    declared_options: ClassVar[tuple[AnyOption, ...]] = OPTIONS

    batch_size = 1
    loads = 0

    def __init__(self, spec: ModelSpec, **_: object) -> None:
        spec.check(arguments=1, options=options.names_of(self.declared_options))
        check_replayed_protocol(spec)
        self.spec, self.path = spec, answer_path(spec)
        if not self.path.is_file():
            raise ModelError(f"'{spec}': there is no file {self.path}. {REMEDY}")

    @cached_property
    def identity(self) -> Identity:
        """The identity of the model, which is the file."""
        return file_identity(self.spec, self.path)

    def responses(self, dataset: Dataset) -> list[Response]:
        """Return the completions in the data set's order; a sample without a line is an error."""
        completions = {row: first for row, (first, *_) in self.read_answers(dataset).items()}
        return [
            Response.from_completion(completions[row])
            if row in completions
            else Response("", error=self.describe_error(dataset.index[row].key))
            for row in dataset.selected
        ]

    def predictions(self, dataset: Dataset, names: Sequence[str]) -> ClassPredictions:
        """Return the answers in the data set's order as predictions; a sample without an answer is an error."""
        read = self.read_scores(dataset) if self.path.suffix == ".npz" else self.read_ranked_answers(dataset, names)
        lines = np.array([read.line_by_row.get(row, NO_LINE) for row in dataset.selected], np.int64)
        best = read.best.select(lines)
        without = np.flatnonzero(np.isnan(best.scores[:, 0])).tolist()
        errors = {place: self.describe_error(dataset.keys[place], missing=lines[place] == NO_LINE) for place in without}
        unparsed = frozenset(np.flatnonzero(best.classes[:, 0] < 0).tolist()) - {*errors}
        variant = {"parser_version": "exact"}
        return ClassPredictions(dataset.keys, NO_SCORES, errors, variant, unparsed, best=best)

    def describe_error(self, key: str, *, missing: bool = True) -> str:
        """Return the error of a sample without an answer, or with NaN."""
        if missing:
            return f"{self.path} has no answer for {key}. Add a line with this key."
        return f"{self.path} has NaN among the scores of {key}. Give every class a number."

    def read_scores(self, dataset: Dataset) -> "FileAnswers":
        """Return the best classes of an .npz."""
        keys, scores = self.read_arrays()
        if scores.shape != (len(keys), dataset.classes):
            wanted = (len(keys), dataset.classes)
            raise ModelError(f"{self.path}: scores have shape {scores.shape}, expected {wanted}: one row a key.")
        where = [f"{self.path}, row {row} of keys" for row in range(len(keys))]
        scores = scores.astype(np.float32, copy=False)
        scores[np.isnan(scores).any(axis=1)] = np.nan
        return FileAnswers(match_unique_images(self.path, dataset, keys, where), BestClasses.of_scores(scores))

    def read_arrays(self) -> tuple[list[str], NDArray[np.floating]]:
        """Return the keys and scores of an .npz. Raises ModelError if it cannot be read."""
        try:
            with np.load(self.path, allow_pickle=False) as file:
                if not {"keys", "scores"} <= set(file.files):
                    raise ModelError(f"{self.path} holds {', '.join(file.files) or 'nothing'}. {REMEDY}")
                return [str(key) for key in file["keys"]], file["scores"]
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise ModelError(f"{self.path} cannot be read ({error}). {REMEDY}") from error

    def read_ranked_answers(self, dataset: Dataset, names: Sequence[str]) -> "FileAnswers":
        """Return the best classes of a csv, whose scores have the order of the ranked answers."""
        find = ClassMatcher(names, dataset.classes)
        keys, where, best = [], [], BestRows()
        for line in read_lines(self.path, ("key", "answer"), REMEDY, dataset.split):
            keys.append(line.key)
            where.append(line.where)
            best.append(rank_scores([find(answer) for answer in ranked_cells(line.cells)]))
        return FileAnswers(match_unique_images(self.path, dataset, keys, where), best.collect())

    def read_answers(self, dataset: Dataset) -> Mapping[int, list[str]]:
        """Return the answers of a csv by the row of the index."""
        lines = list(read_lines(self.path, ("key", "answer"), REMEDY, dataset.split))
        keys, where = [line.key for line in lines], [line.where for line in lines]
        places = match_unique_images(self.path, dataset, keys, where)
        return {row: ranked_cells(lines[place].cells) for row, place in places.items()}


class FileAnswers(NamedTuple):
    """The best classes of each line of a file, and the line of each row of the index."""

    line_by_row: Mapping[int, int]
    best: BestClasses


class BestRows:
    """Collects the best classes of a file line by line, in arrays, since a file may have millions."""

    def __init__(self) -> None:
        self.classes, self.scores = array("q"), array("f")

    def append(self, scores: Mapping[int, float]) -> None:
        """Add a line: the scores of its classes, best first."""
        best = [*islice(scores.items(), TOP)]
        self.classes.extend([*(place for place, _ in best), *[-1] * (TOP - len(best))])
        self.scores.extend([*(score for _, score in best), *[-np.inf] * (TOP - len(best))])

    def collect(self) -> BestClasses:
        """Return the best classes of all lines."""
        classes, scores = np.frombuffer(self.classes, np.int64), np.frombuffer(self.scores, np.float32)
        return BestClasses(classes.reshape(-1, TOP), scores.reshape(-1, TOP))


class ReplayedAnswers(Protocol[ClassPredictions]):
    """Answers that were collected elsewhere, as class indices, class names or scores."""

    name = "replay"
    requires = ("answers",)

    def predict(self, context: Context) -> ClassPredictions:
        """Read the file of answers."""
        model = context.model
        if not isinstance(model, Replay):
            raise context.missing_capability("is a file of answers")
        return replace(model.predictions(context.dataset, context.raw_names), targets=Targets.from_context(context))


def ranked_cells(cells: Mapping[str, str]) -> list[str]:
    """Return the answers of a line in order of rank."""
    return [
        cells["answer"],
        *(answer for name, answer in cells.items() if name != "answer" and name.startswith("answer")),
    ]


def rank_scores(places: Sequence[int]) -> dict[int, float]:
    """Return the scores of classes in the order of the answers, without answers that name no class or an earlier one.

    >>> rank_scores([1, 0, -1, 1])
    {1: 4, 0: 3}
    """
    scores: dict[int, float] = {}
    for rank, place in enumerate(places):
        if place >= 0:
            scores.setdefault(place, len(places) - rank)
    return scores
