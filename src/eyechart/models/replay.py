"""Answers collected anywhere, scored like any other: `replay[path=answers.csv]`.

A csv has the columns `key` and `answer` (and `answer2`, `answer3`, … for ranked ones); an answer is a class index or a
class name. An .npz has `keys` (n,) and `scores` (n, classes). A key is a sample's key or its file name.
"""

import csv
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import file_digest
from pathlib import Path

import numpy as np

from eyechart.data.dataset import Dataset
from eyechart.errors import ModelError
from eyechart.models.interfaces import Identity
from eyechart.scoring import Predictions
from eyechart.spec import ModelSpec

REMEDY = "Expected a csv with the columns key and answer, or an .npz with keys and scores."


class Replay:
    """A file of answers in the place of a model."""

    batch_size = 1
    loads = 0

    def __init__(self, spec: ModelSpec, **_: object) -> None:
        spec.check(arguments=1, options=("path", "name"))
        given = spec.options.get("path") or "".join(spec.arguments)
        self.spec, self.path = spec, Path(given)
        if not self.path.is_file():
            raise ModelError(f"'{spec}': there is no file {self.path}. {REMEDY}")

    @cached_property
    def identity(self) -> Identity:
        """The file is the model."""
        with self.path.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
        name = self.spec.options.get("name", self.path.stem)
        return Identity(
            backend="replay", name=name, weights_sha256=digest, dtype="", device="", processor={}, libraries={}
        )

    def predictions(self, dataset: Dataset, names: Sequence[str]) -> Predictions:
        """The file's answers in the data set's order; a sample without one is an error."""
        found = self.scored(dataset) if self.path.suffix == ".npz" else self.named(dataset, names)
        scores = np.full((len(dataset), dataset.classes), -np.inf, np.float32)
        errors, unparsed = {}, set()
        for place, row in enumerate(dataset.selected):
            known = dataset.index[row]
            answer = found.get(known.key, found.get(known.file))
            if answer is None:
                errors[place] = f"{self.path} has no answer for {known.key}. Add a line with this key."
            elif np.isneginf(answer).all():
                unparsed.add(place)
            else:
                scores[place] = answer
        if len(errors) == len(dataset):
            raise ModelError(
                f"{self.path} answers no sample of {dataset.benchmark}/{dataset.split}: no key is the same."
            )
        return Predictions(dataset.keys, scores, errors, {"parser": "exact"}, frozenset(unparsed))

    def scored(self, dataset: Dataset) -> Mapping[str, np.ndarray]:
        """Scores by key."""
        with np.load(self.path, allow_pickle=False) as file:
            if not {"keys", "scores"} <= set(file.files):
                raise ModelError(f"{self.path} holds {', '.join(file.files) or 'nothing'}. {REMEDY}")
            keys, scores = file["keys"], file["scores"]
        if scores.shape != (len(keys), dataset.classes):
            wanted = (len(keys), dataset.classes)
            raise ModelError(f"{self.path}: scores have shape {scores.shape}, expected {wanted}: one row a key.")
        return dict(zip(map(str, keys), scores.astype(np.float32), strict=True))

    def named(self, dataset: Dataset, names: Sequence[str]) -> Mapping[str, np.ndarray]:
        """Ranked answers by key, as scores that keep their order."""
        index = {name.strip().casefold(): place for place, name in reversed(list(enumerate(names)))}
        found: dict[str, np.ndarray] = {}
        with self.path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            columns = [name for name in reader.fieldnames or () if name.startswith("answer")]
            if "key" not in (reader.fieldnames or ()) or not columns:
                raise ModelError(f"{self.path} has the columns {reader.fieldnames}. {REMEDY}")
            for row in reader:
                if row["key"] in found:
                    raise ModelError(f"{self.path}, line {reader.line_num}: the key {row['key']} comes a second time.")
                found[row["key"]] = ranked([row[column] for column in columns], index, dataset.classes)
        return found


def ranked(answers: Sequence[str | None], index: Mapping[str, int], classes: int) -> np.ndarray:
    """Scores whose order is that of the answers; an answer that names no class is left out.

    >>> ranked(["1", "cat", "no idea"], {"cat": 0}, 3)
    array([ 1.,  2., -inf], dtype=float32)
    """
    scores = np.full(classes, -np.inf, np.float32)
    for rank, answer in enumerate(answers):
        said = (answer or "").strip().casefold()
        place = int(said) if said.isascii() and said.isdecimal() else index.get(said, -1)
        if 0 <= place < classes and np.isneginf(scores[place]):
            scores[place] = len(answers) - rank
    return scores
