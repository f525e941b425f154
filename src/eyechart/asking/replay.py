"""Answers collected anywhere, scored like any other: `replay[path=answers.csv]`.

A csv has the columns `key` and `answer` (and `answer2`, `answer3`, … for ranked ones); an answer is a class index or a
class name. An .npz has `keys` (n,) and `scores` (n, classes). A key is a sample's key or its file name; with a column
`split`, one csv has the answers to several splits.

With `of=closed_world` (or `open_world`, `mcq`) an answer is what a language model said about the image under that
protocol, and is read and scored as if it had been asked here; so it is with `of=free_form`, about birds.
`of=existence` is about pairs of an image and a category: see `replayed_pairs`. `of=species` has probabilities in the
place of words: see `replayed_species`.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from eyechart.asking import replayed_species
from eyechart.asking.replayed_keys import images_once, read_lines
from eyechart.data.class_names import check_unique
from eyechart.data.dataset import Dataset
from eyechart.errors import ModelError
from eyechart.models.registry import check_said
from eyechart.models.types import Floats, Identity
from eyechart.replies import Reply
from eyechart.scoring import Predictions
from eyechart.spec import ModelSpec

REMEDY = "Expected a csv with the columns key and answer, or an .npz with keys and scores."


class Replay:
    """A file of answers in the place of a model."""

    batch_size = 1
    loads = 0

    def __init__(self, spec: ModelSpec, **_: object) -> None:
        spec.check(arguments=1, options=("path", "name", "of"))
        check_said(spec)
        given = spec.options.get("path") or "".join(spec.arguments)
        self.spec, self.path = spec, Path(given)
        if not self.path.is_file():
            expected = replayed_species.EXPECTED if self.probable else REMEDY
            raise ModelError(f"'{spec}': there is no file {self.path}. {expected}")

    @cached_property
    def identity(self) -> Identity:
        """The file is the model; where keys lie beside it, they tell what its rows are about."""
        beside = replayed_species.keys_beside(self.path)
        keyed = self.probable and beside.is_file()
        return Identity(
            backend="replay",
            name=self.spec.options.get("name", self.path.stem),
            weights_sha256=_sha256(self.path),
            dtype="",
            device="",
            processor={"keys_sha256": _sha256(beside)} if keyed else {},
            libraries={},
        )

    @property
    def probable(self) -> bool:
        """Whether the file has probabilities of species, and no words."""
        return self.spec.options.get("of") == "species"

    def probabilities(self, dataset: Dataset) -> replayed_species.Probabilities:
        """The file's probabilities of species, one row for each of the data set's images."""
        return replayed_species.probabilities(self.path, dataset)

    def said(self, dataset: Dataset) -> list[Reply]:
        """The file's words in the data set's order; a sample without a line is an error."""
        found = {row: first for row, (first, *_) in self.answers(dataset).items()}
        return [
            Reply(found[row]) if row in found else Reply("", error=self.missing(dataset.index[row].key))
            for row in dataset.selected
        ]

    def predictions(self, dataset: Dataset, names: Sequence[str]) -> Predictions:
        """The file's answers in the data set's order; a sample without one is an error."""
        found = self.scored(dataset) if self.path.suffix == ".npz" else self.named(dataset, names)
        scores = np.full((len(dataset), dataset.classes), -np.inf, np.float32)
        errors, unparsed = {}, set()
        for place, row in enumerate(dataset.selected):
            answer, key = found.get(row), dataset.index[row].key
            if answer is None:
                errors[place] = self.missing(key)
            elif np.isnan(answer).any():
                errors[place] = f"{self.path} has NaN among the scores of {key}. Give every class a number."
            elif np.isneginf(answer).all():
                unparsed.add(place)
            else:
                scores[place] = answer
        return Predictions(dataset.keys, scores, errors, {"parser": "exact"}, frozenset(unparsed))

    def missing(self, key: str) -> str:
        """Say that a sample has no answer."""
        return f"{self.path} has no answer for {key}. Add a line with this key."

    def scored(self, dataset: Dataset) -> Mapping[int, Floats]:
        """Scores by the row of the index."""
        keys, scores = self.arrays()
        if scores.shape != (len(keys), dataset.classes):
            wanted = (len(keys), dataset.classes)
            raise ModelError(f"{self.path}: scores have shape {scores.shape}, expected {wanted}: one row a key.")
        where = [f"{self.path}, row {row} of keys" for row in range(len(keys))]
        places = images_once(self.path, dataset, keys, where)
        return {row: scores[place].astype(np.float32) for row, place in places.items()}

    def arrays(self) -> tuple[list[str], NDArray[np.floating]]:
        """The keys and the scores of an .npz."""
        try:
            with np.load(self.path, allow_pickle=False) as file:
                if not {"keys", "scores"} <= set(file.files):
                    raise ModelError(f"{self.path} holds {', '.join(file.files) or 'nothing'}. {REMEDY}")
                return [str(key) for key in file["keys"]], file["scores"]
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise ModelError(f"{self.path} cannot be read ({error}). {REMEDY}") from error

    def named(self, dataset: Dataset, names: Sequence[str]) -> Mapping[int, Floats]:
        """Ranked answers by the row of the index, as scores that keep their order."""
        find = Finder(names, dataset.classes)
        answers = self.answers(dataset).items()
        return {row: ranked([find(said) for said in ranks], dataset.classes) for row, ranks in answers}

    def answers(self, dataset: Dataset) -> Mapping[int, list[str]]:
        """The csv's answers by the row of the index."""
        lines = list(read_lines(self.path, ("key", "answer"), REMEDY, dataset.split))
        keys, where = [line.key for line in lines], [line.where for line in lines]
        places = images_once(self.path, dataset, keys, where)
        return {row: ranks(lines[place].cells) for row, place in places.items()}


def ranks(cells: Mapping[str, str]) -> list[str]:
    """The answers of a line, the first one first."""
    return [cells["answer"], *(said for name, said in cells.items() if name != "answer" and name.startswith("answer"))]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


class Finder:
    """Tells which class an answer names: by its index, else by its exact name, else none (-1)."""

    def __init__(self, names: Sequence[str], classes: int) -> None:
        self.names, self.classes = names, classes

    def __call__(self, answer: str) -> int:
        """The class of an answer, -1 for what names none."""
        said = answer.strip().casefold()
        if said.isascii() and said.isdecimal() and int(said) < self.classes:
            return int(said)
        return self.index.get(said, -1)

    @cached_property
    def index(self) -> Mapping[str, int]:
        """Classes by name; two equal names are refused, since an answer could mean either."""
        check_unique(self.names)
        return {name.strip().casefold(): place for place, name in enumerate(self.names[: self.classes])}


def ranked(places: Sequence[int], classes: int) -> Floats:
    """Scores whose order is that of the answers; one that names no class, or one again, is left out.

    >>> ranked([1, 0, -1], 3)
    array([  2.,   3., -inf], dtype=float32)
    """
    scores = np.full(classes, -np.inf, np.float32)
    for rank, place in enumerate(places):
        if place >= 0 and np.isneginf(scores[place]):
            scores[place] = len(places) - rank
    return scores
