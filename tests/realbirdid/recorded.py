"""Runs of RealBirdID made by the real scoring and recording from drawn probabilities and reasons, for its figures."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from eyechart.data.dataset.dataset import Dataset, Row
from eyechart.data.index.file_index import whole_file_source
from eyechart.evaluation.settings import Case
from eyechart.models.spec import parse_spec
from eyechart.models.types import Identity, Usage
from eyechart.realbirdid.answers.abstention_predictions import AbstentionPredictions
from eyechart.realbirdid.answers.abstention_reasons import ANSWERED, CHOICES
from eyechart.realbirdid.answers.prompt_sets import PromptSet
from eyechart.realbirdid.answers.species_predictions import SpeciesPredictions
from eyechart.realbirdid.answers.species_summary import summarise
from eyechart.realbirdid.data.observations import REASONS, Observations
from eyechart.realbirdid.data.taxonomy import Taxonomy
from eyechart.realbirdid.protocols.flat_list import FlatListPredictions, top_names
from eyechart.realbirdid.protocols.species import probability_reader
from eyechart.reports.figures.registry import figure_drawers, matplotlib_defaults
from eyechart.reports.runs import Runs, load
from eyechart.reports.tables.registry import names_by_number
from eyechart.results.records import Record

SIZES = (4, 3, 2, 1)  # species of each genus
GENERA = ("Corvus", "Larus", "Buteo", "Grus")
ENCODER = {"species_names": "scientific", "templates": "bird (01234567)", "scale": "100"}
TALKER = {"species_names": "scientific", "prompt": "species (89abcdef)", "stop": "unique prefix"}
YEARS = {"observed_on": 2012, "created_at": 2013}
LEVELS = {"naive": ("What is it?", "Which bird?", "Name it."), "refuse": ("Refuse if unsure.", "Rather say nothing.")}


@dataclass
class Aviary:
    """Records of some models about birds of ten species; `pool` is what the reports read.

    Every observation has `photographs` images, which models answer alike but for `noise`.
    """

    maker: Any
    evaluate: Callable[..., Any]
    n: int = 60
    lists: bool = True
    photographs: int = 1
    noise: float = 0.0
    records: list[Record] = field(default_factory=list)

    @cached_property
    def seen(self) -> Observations:
        """Every third bird is unanswerable, every fifth without a list."""
        rows, draw = np.arange(self.n // self.photographs), np.random.default_rng(1)
        species = draw.integers(sum(SIZES), size=len(rows))
        genus = np.repeat(np.arange(len(SIZES)), SIZES)
        unknown = rows % 3 == 2
        listed = [sorted({*draw.choice(sum(SIZES), 1 + row % 4), species[row]}) for row in rows]
        lists = [found if self.lists and row % 5 else [] for row, found in enumerate(listed)]
        once = Observations(
            Taxonomy(
                ("species", "genus"),
                (tuple(f"{GENERA[of]} {index}" for index, of in enumerate(genus)), GENERA),
                ("",) * sum(SIZES),
                (genus,),
            ),
            tuple(f"o{row}" for row in rows),
            np.where(unknown, -1, species),
            genus[species],
            np.where(unknown, rows // 3 % len(REASONS), -1),
            np.zeros(len(rows)),
            np.zeros(len(rows)),
            np.cumsum([0, *map(len, lists)]),
            np.array([index for found in lists for index in found], np.int64),
            {name: tuple(f"{year + row % 9}-05-{1 + row % 28:02}" for row in rows) for name, year in YEARS.items()},
        )
        return once.select(np.repeat(rows, self.photographs))

    def logits(self, skill: float, seed: int) -> np.ndarray:
        """Scores of every species and genus, the higher for the true one the more skill there is."""
        draw, size = np.random.default_rng(seed), sum(SIZES) + len(SIZES)
        scores = draw.normal(size=(self.n // self.photographs, size)).repeat(self.photographs, axis=0)
        scores = (scores + self.noise * draw.normal(size=scores.shape)).astype(np.float32)
        rows, known = np.arange(self.n), self.seen.answerable
        scores[rows[known], self.seen.species[known]] += skill
        scores[rows, sum(SIZES) + self.seen.genus] += skill
        return scores

    def species(self, model: str, skill: float = 2.0, seed: int = 0, **chosen: str) -> None:
        """Probabilities of species, over all of them and over the lists."""
        scores = self.logits(skill, seed)[:, : sum(SIZES)]
        readers = {
            "all species": probability_reader(self.reader(scores)),
            "range": probability_reader(self.reader(scores), self.seen),
        }
        ancestors = self.seen.taxonomy.ancestors
        made = {name: summarise(read, self.seen.species, ancestors) for name, read in readers.items()}
        found = SpeciesPredictions(self.dataset, {}, self.variant(model, chosen), self.seen, made, 42)
        self.record("species", model, found)

    def flat_list(self, model: str, skill: float = 2.0, seed: int = 0) -> None:
        """SpeciesPredictions and genera in one list."""
        read = self.reader(self.logits(skill, seed))
        answers = {
            "all species": top_names(read, self.seen.nodes),
            "range": top_names(read, self.seen.nodes, self.seen),
        }
        found = FlatListPredictions(self.dataset, {}, self.variant(model, {}), self.seen, answers, 42)
        self.record("flat_list", model, found)

    def abstention(self, model: str, rate: float = 0.3, seed: int = 0, *, everyone: bool = False) -> None:
        """Reasons in answer to every wording, the third as often as the first two together."""
        asked = PromptSet("own", LEVELS)
        rows = np.arange(self.n) if everyone else np.flatnonzero(~self.seen.answerable)
        draw, size = np.random.default_rng(seed), (asked.count, len(rows) // self.photographs)
        reasons = draw.integers(len(REASONS), size=size).repeat(self.photographs, axis=1)
        declines = (draw.random(size) < rate).repeat(self.photographs, axis=1)
        indices = np.where(declines ^ (draw.random(declines.shape) < self.noise / 10), reasons, CHOICES.index(ANSWERED))
        variant = {
            "prompt_set": "own",
            "abstention_images": "all" if everyone else "unanswerable",
            "extraction": "choice",
        }
        said = ("something",) * indices.size
        found = AbstentionPredictions(
            self.dataset, {}, variant, self.seen, said, indices.astype(np.int64), Usage(), None, indices.size, asked,
            rows, seed=42,
        )  # fmt: skip
        self.record("abstention", model, found)

    def again(self, *models: str) -> None:
        """The first record for other models, too."""
        first = self.records[0]
        for model in models:
            case, who = f"realbirdid/val/{model}", structs.replace(first.model, spec=model)
            self.records.append(structs.replace(first, case=case, model=who))

    @staticmethod
    def reader(scores: np.ndarray) -> Callable[[int, int], np.ndarray]:
        """Scores as they are read."""
        return lambda start, stop: scores[start:stop]

    @staticmethod
    def variant(model: str, chosen: dict[str, str]) -> dict[str, str]:
        """How a model was asked, by its family."""
        return {**(TALKER if model.startswith("hf[") else ENCODER), **chosen}

    @property
    def keys(self) -> tuple[str, ...]:
        """The images."""
        return tuple(f"{row:03}" for row in range(self.n))

    @property
    def folder(self) -> Path:
        """Where the run lies."""
        return self.maker.root / "aviary"

    @property
    def dataset(self) -> Dataset:
        """The images."""
        index = tuple(Row(key, f"{key}.jpg", f"{position:064x}") for position, key in enumerate(self.keys))
        return Dataset("realbirdid", "val", index, whole_file_source(()), sum(SIZES))

    def record(self, protocol: str, model: str, found: Any) -> None:
        """What a benchmark does, then what the plugin does."""
        case = Case("realbirdid", "val", parse_spec(model), protocol, {})
        who = Identity(
            backend=case.model.backend, name=model, weights_sha256="0" * 64, dtype="float32", device="cpu",
            processor={}, libraries={},
        )  # fmt: skip
        result = self.evaluate(case, self.maker.settings(case, None), self.dataset, who, found, self.folder)
        self.records.append(result.write_record(1.0, {}, "pytest -k realbirdid"))

    def pool(self) -> Runs:
        """The run as the reports read it."""
        return load([self.maker.written(self.folder, tuple(self.records))])


@pytest.fixture
def aviary(make_run: Any, evaluate_predictions: Any) -> Aviary:
    """Begin a run about birds."""
    return Aviary(make_run, evaluate_predictions)


@pytest.fixture
def photographed(
    make_run: Any, evaluate_predictions: Any, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Aviary]:
    """Make runs about 30 observations with so many photographs each."""

    def photographed(count: int, noise: float = 0.0, *, cases: bool = True) -> Aviary:
        aviary = Aviary(
            replace(make_run, root=tmp_path_factory.mktemp("birds")),
            evaluate_predictions,
            30 * count,
            photographs=count,
            noise=noise,
        )
        if cases:
            aviary.species("hf[c]", 1.0)
            aviary.flat_list("hf[c]", 1.0)
            aviary.abstention("hf[c]")
        return aviary

    return photographed


@pytest.fixture(scope="session")
def kept() -> dict[str, Runs]:
    """Runs that several tests look at."""
    return {}


@pytest.fixture
def three(
    make_run: Any, evaluate_predictions: Any, kept: dict[str, Runs], tmp_path_factory: pytest.TempPathFactory
) -> Runs:
    """An encoder, a better one and a talker, asked everything; one of them is named like a formula."""
    if "three" not in kept:
        aviary = Aviary(replace(make_run, root=tmp_path_factory.mktemp("three")), evaluate_predictions)
        for index, model in enumerate(("hf_clip[$x$]", "hf_clip[b]", "hf[c]")):
            aviary.species(model, 1.0 + index, index)
            aviary.flat_list(model, 1.0 + index, index)
        aviary.abstention("hf[c]")
        kept["three"] = aviary.pool()
    return kept["three"]


@pytest.fixture
def figure() -> Callable[..., Any]:
    """Make a figure of a pool, as matplotlib has it before it is drawn."""

    def figure(pool: Runs, name: str, labels: str | None = None) -> Any:
        with matplotlib_defaults():
            return figure_drawers()[names_by_number()[f"realbirdid-{name}"]](pool, labels)

    return figure


@pytest.fixture
def alike(aviary: Aviary) -> Callable[[int], Runs]:
    """Birds of one kind, answerable (from the first on: 0, 1) or not (2), that a model or two were asked about."""

    def alike(first: int, *, also: bool = False) -> Runs:
        some = aviary.seen.select(range(first, 60, 3))
        aviary.seen, aviary.n = some, len(some)
        aviary.species("hf_clip[a]")
        if also:
            aviary.flat_list("hf_clip[a]")
            aviary.abstention("hf[c]", everyone=True)
        return aviary.pool()

    return alike
