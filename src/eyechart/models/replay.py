"""Answers collected anywhere, scored like any other: `replay[path=answers.csv]`.

A csv has the columns `key` and `answer` (and `answer2`, `answer3`, … for ranked ones); an answer is a class index or a
class name. An .npz has `keys` (n,) and `scores` (n, classes). A key is a sample's key or its file name.

With `of=closed_world` (or `open_world`, `mcq`) an answer is what a language model said about the image under that
protocol, and is read and scored as if it had been asked here; so it is with `of=free_form`, about birds.
`of=existence` is about pairs of an image and a category: see `replayed_pairs`. `of=species` has probabilities in the
place of words: see `replayed_species`.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from hashlib import file_digest
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from eyechart.data.class_names import check_unique
from eyechart.data.dataset import Dataset
from eyechart.errors import ModelError
from eyechart.models import replayed_species
from eyechart.models.interfaces import Floats, Identity
from eyechart.models.registry import check_said
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
        with self.readable():
            found = {key: first for key, (first, *_) in self.rows()}
        missing = "{} has no answer for {}. Add a line with this key."
        known = [dataset.index[row] for row in dataset.selected]
        texts = [found.get(row.key, found.get(row.file)) for row in known]
        return [
            Reply("", error=missing.format(self.path, row.key)) if text is None else Reply(text)
            for row, text in zip(known, texts, strict=True)
        ]

    def predictions(self, dataset: Dataset, names: Sequence[str]) -> Predictions:
        """The file's answers in the data set's order; a sample without one is an error."""
        with self.readable():
            found = self.scored(dataset) if self.path.suffix == ".npz" else self.named(dataset, names)
        scores = np.full((len(dataset), dataset.classes), -np.inf, np.float32)
        errors, unparsed = {}, set()
        for place, row in enumerate(dataset.selected):
            known = dataset.index[row]
            answer = found.get(known.key, found.get(known.file))
            if answer is None:
                errors[place] = f"{self.path} has no answer for {known.key}. Add a line with this key."
            elif np.isnan(answer).any():
                errors[place] = f"{self.path} has NaN among the scores of {known.key}. Give every class a number."
            elif np.isneginf(answer).all():
                unparsed.add(place)
            else:
                scores[place] = answer
        if len(errors) == len(dataset) and not any(
            key in found for row in dataset.index for key in (row.key, row.file)
        ):
            raise ModelError(
                f"{self.path} answers no sample of {dataset.benchmark}/{dataset.split}: no key is the same. Its first "
                f"is '{next(iter(found), 'missing')}', the data set's '{dataset.keys[0]}'."
            )
        return Predictions(dataset.keys, scores, errors, {"parser": "exact"}, frozenset(unparsed))

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Turn what a broken file raises into a sentence."""
        try:
            yield
        except (OSError, ValueError, EOFError, BadZipFile, csv.Error) as error:
            raise ModelError(f"{self.path} cannot be read ({error}). {REMEDY}") from error

    def scored(self, dataset: Dataset) -> Mapping[str, Floats]:
        """Scores by key."""
        with np.load(self.path, allow_pickle=False) as file:
            if not {"keys", "scores"} <= set(file.files):
                raise ModelError(f"{self.path} holds {', '.join(file.files) or 'nothing'}. {REMEDY}")
            keys, scores = [str(key) for key in file["keys"]], file["scores"]
        if scores.shape != (len(keys), dataset.classes):
            wanted = (len(keys), dataset.classes)
            raise ModelError(f"{self.path}: scores have shape {scores.shape}, expected {wanted}: one row a key.")
        if twice := [key for key, count in Counter(keys).items() if count > 1]:
            raise ModelError(f"{self.path}: the key {twice[0]} comes a second time. Keep one of its rows.")
        return dict(zip(keys, scores.astype(np.float32), strict=True))

    def named(self, dataset: Dataset, names: Sequence[str]) -> Mapping[str, Floats]:
        """Ranked answers by key, as scores that keep their order."""
        find = Finder(names, dataset.classes)
        return {key: ranked([find(said) for said in answers], dataset.classes) for key, answers in self.rows()}

    def rows(self) -> Iterator[tuple[str, list[str]]]:
        """The csv's keys with their answers."""
        seen: set[str] = set()
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = [name for name in reader.fieldnames or () if name.startswith("answer")]
            if "key" not in (reader.fieldnames or ()) or not columns:
                raise ModelError(f"{self.path} has the columns {reader.fieldnames}. {REMEDY}")
            for row in reader:
                if row["key"] in seen:
                    where = f"{self.path}, line {reader.line_num}"
                    raise ModelError(f"{where}: the key {row['key']} comes a second time. Keep one of its lines.")
                seen.add(row["key"])
                yield row["key"], [row[column] or "" for column in columns]


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
