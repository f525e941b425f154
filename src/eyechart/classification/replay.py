"""Answers that were collected elsewhere: `replay[path=answers.csv]`.

A csv has the columns `key` and `answer` (and `answer2`, `answer3`, … for ranked ones); an answer is a class index or a
class name. An .npz has `keys` (n,) and `scores` (n, classes). A key is a sample's key or its file name; with a column
`split`, one csv has the answers to several splits.

With `of=closed_world` (or `open_world`, `mcq`, `free_form`) an answer is the completion of a language model for the
image under that protocol, and is parsed and scored as if it was generated here. `of=existence` is about pairs of an
image and a category, see `replayed_responses`. `of=species` has probabilities, see `realbirdid.species_replay`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from eyechart.classification.predictions import ClassPredictions, Targets
from eyechart.data.dataset import Dataset
from eyechart.data.sample_keys import ClassMatcher, match_unique_images, read_lines
from eyechart.errors import ModelError
from eyechart.inference.responses import ReplayedResponses, Response
from eyechart.models import options
from eyechart.models.answer_file import OPTIONS, answer_path, file_identity
from eyechart.models.model_option import AnyOption
from eyechart.models.registry import check_replayed_protocol
from eyechart.models.types import Floats, Identity
from eyechart.protocol.base import Protocol
from eyechart.protocol.context import Context
from eyechart.spec import ModelSpec

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
            else Response("", error=self.missing_answer(dataset.index[row].key))
            for row in dataset.selected
        ]

    def predictions(self, dataset: Dataset, names: Sequence[str]) -> ClassPredictions:
        """Return the answers in the data set's order as predictions; a sample without an answer is an error."""
        answers = self.read_scores(dataset) if self.path.suffix == ".npz" else self.read_ranked_answers(dataset, names)
        scores = np.full((len(dataset), dataset.classes), -np.inf, np.float32)
        errors, unparsed = {}, set()
        for place, row in enumerate(dataset.selected):
            answer, key = answers.get(row), dataset.index[row].key
            if answer is None:
                errors[place] = self.missing_answer(key)
            elif np.isnan(answer).any():
                errors[place] = f"{self.path} has NaN among the scores of {key}. Give every class a number."
            elif np.isneginf(answer).all():
                unparsed.add(place)
            else:
                scores[place] = answer
        return ClassPredictions(dataset.keys, scores, errors, {"parser_version": "exact"}, frozenset(unparsed))

    def missing_answer(self, key: str) -> str:
        """Return the error of a sample without an answer."""
        return f"{self.path} has no answer for {key}. Add a line with this key."

    def read_scores(self, dataset: Dataset) -> Mapping[int, Floats]:
        """Return the scores of an .npz by the row of the index."""
        keys, scores = self.read_arrays()
        if scores.shape != (len(keys), dataset.classes):
            wanted = (len(keys), dataset.classes)
            raise ModelError(f"{self.path}: scores have shape {scores.shape}, expected {wanted}: one row a key.")
        where = [f"{self.path}, row {row} of keys" for row in range(len(keys))]
        places = match_unique_images(self.path, dataset, keys, where)
        return {row: scores[place].astype(np.float32) for row, place in places.items()}

    def read_arrays(self) -> tuple[list[str], NDArray[np.floating]]:
        """Return the keys and scores of an .npz. Raises ModelError if it cannot be read."""
        try:
            with np.load(self.path, allow_pickle=False) as file:
                if not {"keys", "scores"} <= set(file.files):
                    raise ModelError(f"{self.path} holds {', '.join(file.files) or 'nothing'}. {REMEDY}")
                return [str(key) for key in file["keys"]], file["scores"]
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise ModelError(f"{self.path} cannot be read ({error}). {REMEDY}") from error

    def read_ranked_answers(self, dataset: Dataset, names: Sequence[str]) -> Mapping[int, Floats]:
        """Return the ranked answers of a csv by the row of the index, as scores in the same order."""
        find = ClassMatcher(names, dataset.classes)
        answers = self.read_answers(dataset).items()
        return {row: rank_scores([find(answer) for answer in ranks], dataset.classes) for row, ranks in answers}

    def read_answers(self, dataset: Dataset) -> Mapping[int, list[str]]:
        """Return the answers of a csv by the row of the index."""
        lines = list(read_lines(self.path, ("key", "answer"), REMEDY, dataset.split))
        keys, where = [line.key for line in lines], [line.where for line in lines]
        places = match_unique_images(self.path, dataset, keys, where)
        return {row: ranked_cells(lines[place].cells) for row, place in places.items()}


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


def rank_scores(places: Sequence[int], classes: int) -> Floats:
    """Return scores in the order of the answers; answers without a class and repeated classes are left out.

    >>> rank_scores([1, 0, -1], 3)
    array([  2.,   3., -inf], dtype=float32)
    """
    scores = np.full(classes, -np.inf, np.float32)
    for rank, place in enumerate(places):
        if place >= 0 and np.isneginf(scores[place]):
            scores[place] = len(places) - rank
    return scores
