"""Birds in memory, some of them beyond telling, and models that know how much each name speaks for each of them."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from eyechart.data.dataset.dataset import Dataset
from eyechart.evaluation.settings import Case, Settings
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.models.choices.trie import ExhaustiveScorer
from eyechart.models.spec import parse_spec
from eyechart.models.types import Encoder, Identity, Request
from eyechart.protocol.context import Context
from eyechart.protocol.registry import get_protocol
from eyechart.realbirdid.data.observations import REASONS, Observations
from eyechart.realbirdid.data.taxonomy import Taxonomy
from eyechart.results.records import Metric, Record

TREE = {  # orders, genera, species; the last order is one species, and nobody saw a Pica
    "Passeriformes": {
        "Corvus": ("Corvus corax", "Corvus corone", "Corvus frugilegus"),
        "Turdus": ("Turdus merula", "Turdus iliacus"),
        "Pica": ("Pica pica",),
    },
    "Suliformes": {"Anhinga": ("Anhinga anhinga", "Anhinga rufa")},
    "Opisthocomiformes": {"Opisthocomus": ("Opisthocomus hoazin",)},
}
COMMON = ("Raven", "Carrion Crow", "Rook", "Blackbird", "Redwing", "Magpie", "Anhinga", "African Darter", "Hoatzin")
ORDERS = tuple(TREE)
GENERA = tuple(genus for order in TREE.values() for genus in order)
SPECIES = tuple(name for order in TREE.values() for names in order.values() for name in names)
BIRDS: tuple[tuple[str, str, str], ...] = (  # a species or a genus, why no more can be told, and the list; ? is nowhere
    ("Corvus corax", "", "012"),
    ("Corvus corax", "", "0345"),
    ("Corvus corone", "", "01"),
    ("Corvus corone", "", "?"),
    ("Corvus frugilegus", "", "01"),  # its list lacks it
    ("Corvus frugilegus", "", ""),  # a place, and nothing lives there
    ("Turdus merula", "", "34"),
    ("Turdus merula", "", "012345678"),
    ("Turdus merula", "", "?34"),  # a list, and no place
    ("Turdus iliacus", "", "4"),
    ("Anhinga anhinga", "", "67"),
    ("Anhinga anhinga", "", "6780"),
    ("Anhinga rufa", "", "?"),
    ("Opisthocomus hoazin", "", "678"),
    ("Corvus", "vocalization", "012"),
    ("Corvus", "vocalization", "12"),
    ("Corvus", "image quality", "?"),
    ("Turdus", "angle/occlusion", "34"),
    ("Turdus", "", "0345"),
    ("Anhinga", "image quality", "68"),
    ("Anhinga", "image quality", "01"),  # its list lacks the genus
    ("Turdus", "vocalization", "?3"),
)


def taxonomy(common: Sequence[str] = COMMON) -> Taxonomy:
    above = [(genus, order) for order, genera in TREE.items() for genus, names in genera.items() for _ in names]
    parents = [GENERA.index(genus) for genus, _ in above], [ORDERS.index(dict(above)[genus]) for genus in GENERA]
    names = SPECIES, GENERA, ORDERS
    return Taxonomy(("species", "genus", "order"), names, tuple(common), tuple(np.array(p, np.int64) for p in parents))


def seen(birds: Sequence[tuple[str, str, str]], tree: Taxonomy) -> Observations:
    """What is known of birds that are written down as above."""
    species = np.array([SPECIES.index(name) if name in SPECIES else -1 for name, *_ in birds], np.int64)
    genus = np.array([GENERA.index(name.split()[0]) for name, *_ in birds], np.int64)
    reason = np.array([REASONS.index(why) if why else -1 for _, why, _ in birds], np.int64)
    lists = [[int(index) for index in told.strip("?")] for *_, told in birds]
    index = np.array([np.nan if "?" in told else 1.0 for *_, told in birds])
    offsets, ids = np.cumsum([0, *map(len, lists)]), tuple(f"o{row}" for row in range(len(birds)))
    candidates = np.array(sorted_each(lists), np.int64)
    return Observations(tree, ids, species, genus, reason, index, index, offsets, candidates)


def sorted_each(lists: Sequence[Sequence[int]]) -> list[int]:
    return [index for found in lists for index in sorted(found)]


@dataclass
class Knowing:
    """Knows how much each of some names speaks for numbered pictures; what it is asked is noted."""

    names: Sequence[str]
    logits: NDArray[np.float32]
    asked: list[Any] = field(default_factory=list)
    batch_size: int = 4
    loads: int = 0

    @property
    def identity(self) -> Identity:
        """Other logits, or another scale, are another model's."""
        told = f"{type(self).__name__} {getattr(self, 'logit_scale', '')}".encode() + self.logits.tobytes()
        facts = {"weights_sha256": sha256(told).hexdigest(), "dtype": "float32", "device": "cpu"}
        return Identity(backend="test", name="knowing", processor={}, libraries={}, **facts)


@dataclass
class Comparing(Knowing, Encoder):
    """An encoder: a picture's cosine with a name's prompt is its logit over the scale."""

    logit_scale: float = 50.0
    read: list[str] = field(default_factory=list)

    def prepare(self, image: Any) -> int:
        return int(np.asarray(image)[0, 0, 0])

    def encode_images(self, images: Sequence[int]) -> NDArray[np.float32]:
        self.asked.extend(images)
        cosines = self.logits[list(images)] / self.logit_scale
        rest = np.sqrt(1 - (cosines**2).sum(axis=1, keepdims=True))
        return np.concatenate([cosines, rest], axis=1).astype(np.float32) * 3

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Each text is the longest name in it; one with a tilde cannot be read."""
        self.read.extend(texts)
        found = np.zeros((len(texts), len(self.names) + 1), np.float32)
        for row, text in enumerate(texts):
            found[row, self.names.index(max((name for name in self.names if name in text), key=len))] = 2
            found[row] += np.nan if "~" in text else 0
        return found


@dataclass
class Saying(Knowing, ExhaustiveScorer):
    """A language model that would say each name with a likelihood."""

    def generate(self, *_: Any) -> Any:
        raise AssertionError("nobody asks it to talk")

    def score(self, requests: Sequence[Request], choices: Sequence[str], *, until: str = "end") -> NDArray[np.float32]:
        rows = [int(np.asarray(request.images[0])[0, 0, 0]) for request in requests]
        texts = {part for request in requests for part in request.parts if isinstance(part, str)}
        self.asked.extend((row, until, *sorted(texts)) for row in rows)
        return self.logits[np.ix_(rows, [self.names.index(choice) for choice in choices])]


def settings_of(case: Case, store: Path, limit: int | None) -> Settings:
    """The defaults of the command line."""
    texts = {"names": "mill", "templates": None, "equivalences": "12", "categories": "equivalent", "empty": None}
    flags = {"offline": True, "strict": False, "max_errors": 0, "labels": (), "seed": 42, "limit": limit}
    return Settings(models=(case.model,), data=None, out=store.parent, store=store, **texts, **flags)


@dataclass
class BirdWorld:
    """Seats models before the birds, and records what they say."""

    store: Path
    pictures: Callable[..., Dataset]
    evaluate: Callable[..., Any]
    birds: Sequence[tuple[str, str, str]] = BIRDS
    tree: Taxonomy = field(default_factory=taxonomy)
    skill: float = 2.0
    seed: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Species and genera."""
        return SPECIES + GENERA

    @property
    def seen(self) -> Observations:
        return seen(self.birds, self.tree)

    def with_birds(self, *birds: tuple[str, str, str]) -> "BirdWorld":
        return replace(self, birds=birds)

    def logits(self) -> NDArray[np.float32]:
        """Drawn scores of names (n, species + genera), the higher for what is true the more skill there is."""
        found = np.random.default_rng(self.seed).normal(size=(len(self.birds), len(self.names)))
        for row, (name, *_) in enumerate(self.birds):
            found[row, [self.names.index(each) for each in {name, name.split()[0]}]] += self.skill
        return found.astype(np.float32)

    def comparing(self, logits: Any = None, names: Sequence[str] = (), **more: Any) -> Comparing:
        return Comparing(names or self.names, self.logits() if logits is None else np.float32(logits), **more)

    def saying(self, logits: Any = None) -> Saying:
        return Saying(self.names, self.logits() if logits is None else np.float32(logits))

    def dataset(self, **facts: Any) -> Dataset:
        labels = [SPECIES.index(name) if name in SPECIES else -1 for name, *_ in self.birds]
        usual = {"classes": len(SPECIES), "names": SPECIES, "details": self.seen, "upright": False}
        return self.pictures(labels, **usual | facts)

    def sit(self, model: Any, protocol: str = "species", **more: Any) -> Context:
        limit, seed, templates = (
            more.pop(name, usual) for name, usual in (("limit", None), ("seed", 0), ("templates", None))
        )
        facts = {name: more.pop(name) for name in ("broken", "details") if name in more}
        dataset = self.dataset(**facts).subsample(limit, seed)
        runner = Runner(Store(self.store), limit, seed, lambda *_: None)
        chosen = {**get_protocol(protocol).defaults(), **{name: str(value) for name, value in more.items()}}
        return Context(runner, model, dataset, dataset.names, "split", chosen, templates=templates, protocol=protocol)

    def found(self, model: Any, protocol: str = "species", **more: Any) -> Any:
        """What a model says under a protocol."""
        return get_protocol(protocol).predict(self.sit(model, protocol, **more))

    def recording(self, model: Any, protocol: str = "species", **more: Any) -> Any:
        """What is written down of it, once it is scored."""
        context = self.sit(model, protocol, **more)
        found = get_protocol(protocol).predict(context)
        case = Case("realbirdid", "memory", parse_spec("knowing[]"), protocol, context.options)
        settings = settings_of(case, self.store, more.get("limit"))
        return self.evaluate(case, settings, context.dataset, model.identity, found, self.store.parent)

    def record(self, model: Any, protocol: str = "species", **more: Any) -> Record:
        made: Record = self.recording(model, protocol, **more).write_record(1.5, {}, "pytest -k realbirdid")
        return made

    def rows(self, record: Record, what: str = "") -> list[dict[str, str]]:
        """A file of a record, whose bytes are those that the record vouches for."""
        file = record.artifacts[what] if what else record.predictions
        assert file is not None
        content = (self.store.parent / file.path).read_bytes()
        assert sha256(content).hexdigest() == file.sha256
        return list(csv.DictReader(content.decode().splitlines()))


@pytest.fixture(scope="session")
def make_bird_world(
    tmp_path_factory: pytest.TempPathFactory, pictures: Callable[..., Dataset], evaluate_predictions: Any
) -> Any:
    """Make small worlds of birds, each with a store of its own."""
    return lambda **more: BirdWorld(tmp_path_factory.mktemp("birds") / "store", pictures, evaluate_predictions, **more)


@pytest.fixture
def bird_world(make_bird_world: Callable[[], BirdWorld]) -> BirdWorld:
    """A small world of birds; one store for the whole test."""
    return make_bird_world()


@pytest.fixture
def number() -> Callable[..., Metric]:
    """Look up the one metric of a name, a category and a label."""

    def number(record: Record, name: str, category: str, labels: str = "all species") -> Metric:
        (found,) = [
            one for one in record.metrics if (one.name, one.subset_text, one.labels) == (name, category, labels)
        ]
        return found

    return number
