"""What tests of several packages look at: packaged pictures with one label, pictures in memory, a model that talks."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from eyechart.classification.answers.class_predictions import ClassPredictions, ScoredLabels, Targets
from eyechart.classification.metrics.class_estimates import mean_per_class_recall, out_of_prompt, strict_top1, top1
from eyechart.data.dataset.dataset import Dataset, LabelSet, Row, build_label_set
from eyechart.data.images import decode_image
from eyechart.data.labels.equivalences import LabelPolicy
from eyechart.data.readers.imagenet_sample import open_sample
from eyechart.gate.comparison.compare_metrics import MetricComparison, compare_metrics
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.models.registry import create_model
from eyechart.models.served.generator import ServedGenerator
from eyechart.models.served.openai import OpenAiGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Answer, Generator, Identity, Request, TextEncoder, Usage
from eyechart.oodbench.data.annotation import Annotation
from eyechart.protocol.base import Predictions
from eyechart.protocol.context import Context, refuse_model
from eyechart.protocol.registry import get_protocol
from eyechart.results.evidence import Evidence
from eyechart.results.headlines import ANSWERED
from eyechart.results.records import LABELLED, Metric
from eyechart.results.sample_table import check_rows


@dataclass(frozen=True)
class Exact:
    """Pictures with their one label."""

    images: list[Image.Image]
    labels: NDArray[np.int64]

    def top(self, logits: NDArray[np.float32], k: int) -> float:
        """Share of pictures whose label is among the k first."""
        first = np.argsort(-logits, axis=1, kind="stable")[:, :k]
        return float((first == self.labels[:, None]).any(axis=1).mean())


@pytest.fixture(scope="session")
def exact() -> Exact:
    dataset = open_sample("sample")
    rows = [index for index, row in enumerate(dataset.index) if row.label >= 0][::2]
    read = dataset.source.read(rows)
    return Exact(
        [decode_image(data, str(row)) for row, data in read], np.array([dataset.index[row].label for row in rows])
    )


@pytest.fixture
def empty_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A hub cache of our own."""
    from huggingface_hub import constants

    folder = tmp_path / "hub"
    folder.mkdir()
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    return folder


@dataclass
class Memory:
    """Pictures of the colours of their numbers; some may be broken. Remembers what was read."""

    broken: frozenset[int]
    read_rows: list[int] = field(default_factory=list)

    def read(self, rows: Sequence[int]) -> Iterator[tuple[int, bytes]]:
        for row in rows:
            self.read_rows.append(row)
            yield row, self.image(row)

    def location(self, row: int) -> str:
        return f"picture {row}"

    def image(self, row: int) -> bytes:
        return f"broken {row}".encode() if row in self.broken else png(row)


@cache
def png(colour: int) -> bytes:
    file = BytesIO()
    Image.new("RGB", (2, 2), (colour, 0, 0)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture(scope="session")
def pictures() -> Callable[..., Dataset]:
    """Make a split of pictures in memory, given their labels."""

    def make(labels: Sequence[int], broken: frozenset[int] = frozenset(), classes: int = 3, **facts: Any) -> Dataset:
        source = Memory(broken)
        digests = [sha256(source.image(index)).hexdigest() for index in range(len(labels))]
        rows = (Row(f"s{index:02d}", f"{index:02d}.png", digests[index], label) for index, label in enumerate(labels))
        return Dataset("imagenet", facts.pop("split", "memory"), tuple(rows), source, classes, **facts)

    return make


NAMES = ("cat", "dog", "crème brûlée, burnt")


@pytest.fixture
def annotated(pictures: Callable[..., Dataset]) -> Callable[..., Dataset]:
    """Make a split of pictures in memory, given how often each category is in each, -1 where nobody looked."""

    def make(counts: Sequence[Sequence[int]], names: Sequence[str] = NAMES, **facts: Any) -> Dataset:
        found = np.array(counts, np.int32).reshape(-1, len(names))
        ids = tuple(f"id {index}" for index in range(len(found))), tuple(f"c{index}" for index in range(len(names)))
        known = found >= 0
        notation = Annotation(np.maximum(found, 0), known, known, *ids, facts.pop("excluded", ()))
        facts = {"names": tuple(names), "classes": len(names), "details": notation} | facts
        return pictures([-1] * len(found), **facts)

    return make


TALKER = Identity(
    backend="test", name="talker", weights_sha256="0", dtype="float32", device="cpu", processor={}, libraries={}
)


@dataclass
class Talker(Generator):
    """Says what a function of the numbers of its pictures and its text gives; notes what it was asked.

    It takes `window` requests at a time, gives their answers with the last one first if `turned`, and breaks off with a
    ConnectionResetError after `stop` answers.
    """

    say: Callable[[tuple[int, ...], str], str | Answer]
    window: int = 4
    turned: bool = False
    stop: int = -1
    structured: bool = False
    batch_size: int = 4
    loads: int = 0
    asked: list[tuple[tuple[int, ...], str]] = field(default_factory=list)
    how: list[tuple[int, Mapping[str, Any] | None]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    identity: Identity = TALKER

    def generate(
        self, requests: Iterable[Request], max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Iterator[tuple[int, Answer]]:
        self.how.append((max_tokens, schema))
        indices = enumerate(requests)
        while some := [*islice(indices, self.window)]:
            for index, request in reversed(some) if self.turned else some:
                if self.stop == 0:
                    raise ConnectionResetError("stopped")
                self.stop -= 1
                yield index, self.answer(request)

    def answer(self, request: Request) -> Answer:
        numbers = tuple(int(np.asarray(image)[0, 0, 0]) for image in request.images)
        text = "".join(part for part in request.parts if isinstance(part, str))
        self.asked.append((numbers, text))
        self.requests.append(request)
        said = self.say(numbers, text)
        return Answer(said, (1, 2), True, usage=Usage(10, 4, 2)) if isinstance(said, str) else said


@dataclass
class Letters(TextEncoder):
    """Reads a text as how often each letter is in it; notes what it read. A tilde makes it fail."""

    read: list[str] = field(default_factory=list)
    batch_size: int = 4
    loads: int = 0
    identity: Identity = TALKER

    def encode_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.read.extend(texts)
        counts = [[text.lower().count(chr(97 + index)) for index in range(26)] for text in texts]
        failed = [[np.nan if "~" in text else 0] for text in texts]
        return np.array(counts, np.float32) + np.array(failed, np.float32)


WORDS = (top1, strict_top1, mean_per_class_recall, out_of_prompt)


@dataclass(frozen=True)
class Seats:
    """Seats models before pictures with labels, under a protocol's choices; one store for the whole test."""

    store: Path
    pictures: Callable[..., Dataset]

    def __call__(
        self,
        model: Any,
        labels: Sequence[int],
        protocol: str = "closed_world",
        names: Sequence[str] = ("cat", "dog", "great white shark"),
        get_model: Callable[[str], Any] = refuse_model,
        truths: Sequence[LabelSet] = (),
        **more: Any,
    ) -> Context:
        facts = {name: more.pop(name) for name in ("broken", "subset", "split") if name in more}
        dataset = self.pictures(labels, classes=len(names), **facts)
        runner = Runner(Store(self.store), None, more.pop("seed", 0), lambda *_: None)
        chosen = {**get_protocol(protocol).defaults(), **{name: str(value) for name, value in more.items()}}
        fixed = {"duplicate_names": True, "protocol": protocol}
        return Context(runner, model, dataset, tuple(names), "mine", chosen, truths, get_model, **fixed)

    def truth(self, given: Sequence[Sequence[int] | None], empty: Any = "correct", name: str = "ReGT") -> LabelSet:
        """A ground truth of the pictures."""
        rows = [Row(str(index), str(index), "") for index in range(len(given))]
        return build_label_set(name, rows, given, empty, "test")

    def original(self, given: Sequence[Sequence[int] | None]) -> LabelSet:
        """The ground truth that the pictures come with."""
        return replace(self.truth(given, "exclude", "ImGT"), original=True)

    def metrics(self, context: Context, found: Any, truth: LabelSet, *metrics: Any) -> dict[tuple[str, str], Metric]:
        """Every number of a ground truth, by name and category."""
        original = np.array(context.labels, np.int64)
        compared = replace(found, targets=Targets((truth,), original, LabelPolicy(), context.dataset.classes))
        estimates = [each for metric in metrics or WORDS for each in metric(compared)]
        return {(each.name, each.metric.subset_text): each.metric for each in estimates}

    def scored(self, context: Context, found: ClassPredictions, truth: LabelSet) -> ScoredLabels:
        """One round under a ground truth."""
        targets = Targets((truth,), np.array(context.labels, np.int64), LabelPolicy(), context.dataset.classes)
        return ScoredLabels.score(found, truth, targets)


@pytest.fixture
def sit(tmp_path: Path, pictures: Callable[..., Dataset]) -> Seats:
    """Seat models before pictures."""
    return Seats(tmp_path / "store", pictures)


@pytest.fixture
def letters() -> Letters:
    """A text encoder."""
    return Letters()


@pytest.fixture
def talker() -> type[Talker]:
    """The class of models that talk."""
    return Talker


@pytest.fixture
def asking(faulty_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., OpenAiGenerator]]:
    """Make models that ask the faulty server, and hang up afterwards."""
    made = []
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")

    def model(**options: object) -> OpenAiGenerator:
        usual = {"base_url": faulty_server.url, "served": "toy-2026-01-01", "backoff": 0.01, "retries": 3, "timeout": 5}
        told = ",".join(f"{name}={value}" for name, value in (usual | options).items() if value is not None)
        made.append(OpenAiGenerator(parse_spec(f"openai[toy,{told}]"), offline=True))
        return made[-1]

    yield model
    for one in made:
        one.close()


@pytest.fixture
def asking_by(faulty_server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ServedGenerator]]:
    """Make models of any provider that ask the faulty server, and hang up afterwards."""
    made: list[ServedGenerator] = []

    def model(backend: str, **options: object) -> ServedGenerator:
        url = faulty_server.url if backend == "openai" else faulty_server.address
        usual = {"base_url": url, "served": "toy-2026-01-01", "backoff": 0.01, "retries": 3, "timeout": 5}
        told = ",".join(f"{name}={value}" for name, value in (usual | options).items() if value is not None)
        made.append(create_model(parse_spec(f"{backend}[toy,{told}]"), offline=True))
        monkeypatch.setenv(made[-1].options.key_env, "sk-very-secret-0123456789")
        return made[-1]

    yield model
    for each in made:
        each.close()


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """Small batches gain nothing from more threads, and lose much where other tests run beside."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def judged_numbers() -> Callable[..., list[MetricComparison]]:
    """Hold a case's evidence against another's, or its own: every number that is judged must be, sample by sample."""

    def judged_numbers(before: Evidence, after: Evidence) -> list[MetricComparison]:
        found = list(compare_metrics(before, after))
        proofs = [proof for proof in after.metrics if proof.direction and proof.value is not None]
        labelled = {(proof.name, proof.labels, "all", "", "") for proof in proofs if proof.subset_text == LABELLED}
        whole = {proof.key for proof in before.metrics if proof.name == ANSWERED and proof.value == 1}
        sure = {proof.key for proof in proofs if proof.value == 1} & whole  # no error on either side: nothing to judge
        wanted = {proof for proof in proofs if proof.key not in labelled | sure}
        assert {each.metric for each in found} == wanted
        assert not [each.name for each in found if each.method == "unpaired"]
        return found

    return judged_numbers


@pytest.fixture
def unchanged(judged_numbers: Callable[..., list[MetricComparison]]) -> Callable[[Evidence], set[str]]:
    """Hold a case's evidence against itself, which is no change at all, and say which numbers it has."""

    def unchanged(evidence: Evidence) -> set[str]:
        found = judged_numbers(evidence, evidence)
        assert {(each.delta, each.p, each.lost, each.gained) for each in found} == {(0.0, 1.0, (), 0)}
        return {each.metric.name for each in found}

    return unchanged


@pytest.fixture
def sample_table() -> Callable[..., list[dict[str, str]]]:
    """Return the rows of a sample table; its shared columns mean what they mean everywhere, and all are described."""

    def rows_of(protocol: str, predictions: Predictions) -> list[dict[str, str]]:
        head, *rows = check_rows(protocol, predictions.samples())
        table = [dict(zip(head, map(str, row), strict=True)) for row in rows]
        outcomes, counts = predictions.count_outcomes(), Counter(row["correct"] for row in table)
        if protocol != "progression":  # whose answers about logic count by themselves in the outcomes
            assert counts["1"] == outcomes.correct
            assert counts["0"] == outcomes.wrong + outcomes.unparsed + outcomes.truncated
        assert {row["key"] for row in table if row.get("side") != "reference"} <= {*predictions.keys}
        assert not [row for row in table if row["error"] and row["correct"]]
        assert not [row for row in table if row["correct"] == "1" and not row["prediction"]]
        assert [name for name in head if not is_described(name)] == []
        return table

    return rows_of


def is_described(column: str) -> bool:
    """Whether the page of sample tables names a column, by itself or as one of a label set or level."""
    named = {*re.findall(r"`([^`\n]+)`", (Path(__file__).parents[1] / "docs/samples.md").read_text(encoding="utf-8"))}
    labels, *_, part = column.split(".") * 2
    forms = {column, re.sub("[234]$", "1", column), f"NAME.{part}", f".{part}"}
    level = column.count(".") == 1 and part not in ("correct", "labels", "category")
    return bool((forms | ({f"{labels}.LEVEL"} if level else set())) & named)
