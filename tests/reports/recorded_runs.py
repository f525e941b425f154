"""Runs of answers in words, made by the real scoring and recording, for the tables that compare them."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from io import StringIO
from pathlib import Path
from runpy import run_path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from eyechart.classification.answers.class_predictions import ClassPredictions, EpochPredictions
from eyechart.classification.answers.image_answers import TextPredictions
from eyechart.classification.answers.image_batches import make_batches
from eyechart.classification.answers.out_of_prompt import match_exactly, out_of_prompt_kinds
from eyechart.data.labels.class_names import load_class_names
from eyechart.evaluation.settings import Case
from eyechart.models.spec import parse_spec
from eyechart.models.types import Usage
from eyechart.protocol.registry import get_protocol
from eyechart.reports.figures.registry import draw
from eyechart.reports.runs import Runs, load
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import to_csv
from eyechart.results.records import DataRecord, File, Metric, ModelRecord, OutcomeCounts, Record, UsageRecord
from eyechart.statistics.yes_no import MEASURES

NAMES, OPENAI = load_class_names("kisel").names, load_class_names("openai").names
MODEL = "hf[toybox-mllm]"
Said = Sequence[int | str]  # a class stands for its name
RIGHT = (356, 356, 357, 357, 357, 357, 358, 359, 359, 359, 359, 7, 0, 0, 1, 2, 681, 7)  # under ReGT, N anyhow


@dataclass
class Session:
    """Answers of some models to one data set; `pool` is what the reports read."""

    maker: Any
    name: str = "run"
    labels: tuple[str, ...] = ("ImGT", "ReGT")
    truths: tuple[Any, ...] = ()
    records: list[Record] = field(default_factory=list)
    loaded: tuple[list[Record], Runs] | None = None  # some records, and the run that has them

    def __post_init__(self) -> None:
        kept = {"rows": self.truths} if self.truths else {}
        self.dataset = self.maker.dataset(self.labels, "val", **kept)
        self.folder: Path = self.maker.root / self.name

    def closed_world(self, said: Said, model: str = MODEL, errors: Mapping[int, str] = {}, **chosen: str) -> None:
        """Answers as they are: those out of the prompt are no class."""
        texts, found = self.read(said)
        self.words("closed_world", texts, found, self.kinds(texts, found), model, errors, chosen)

    def closed_world_plus(self, said: Said, mapped: Mapping[str, int], model: str = MODEL, **chosen: str) -> None:
        """The same answers, those out of the prompt as the classes they are mapped to."""
        texts, found = self.read(said)
        indices = np.array([mapped.get(text, index) for text, index in zip(texts, found.tolist(), strict=True)])
        self.words("closed_world_plus", texts, indices, self.kinds(texts, found), model, {}, chosen)

    def open_world(self, found: Sequence[int], model: str = MODEL, **chosen: str) -> None:
        """Free words, of which only the class they were mapped to matters."""
        self.words("open_world", ["something"] * len(found), np.array(found), None, model, {}, chosen)

    def mcq(self, found: Sequence[int], model: str = MODEL) -> None:
        """Letters of Mill's options, as the classes they stand for."""
        self.words("mcq", ["A"] * len(found), np.array(found), None, model, {}, {})

    def classifier(self, found: Sequence[int], model: str = "timm[tf_efficientnet_lite0]") -> None:
        """A classifier beside."""
        said = ClassPredictions(self.dataset.keys, self.maker.scores(list(found), {}), {}, {})
        self.records.append(self.recorded("supervised", model, said))

    def multiple_choice(self, setting: str, repeats: Sequence[Said], model: str = MODEL) -> None:
        """The mean over redrawn options."""
        chosen = {"setting": setting, "epochs": str(len(repeats))}
        self.repeated("multiple_choice", repeats, model, chosen, {"acc1": "mc_acc"})

    def evaluations(self, saids: Sequence[Said], model: str = MODEL, **chosen: str) -> None:
        """The mean over a closed world that was asked again and again."""
        renamed = {"acc1": "repeated_acc", "oop": "repeated_oop"}
        self.repeated("closed_world", saids, model, {"epochs": str(len(saids)), **chosen}, renamed)

    def repeated(self, protocol, saids, model, chosen, renamed) -> None:
        """One case of several rounds."""
        choices = {**get_protocol(protocol).defaults(), **chosen}
        rounds = []
        for texts, found in map(self.read, saids):
            out = self.kinds(texts, found) if "oop" in renamed else None
            rounds.append(self.predictions(protocol, texts, found, out, {}, choices))
        self.records.append(self.recorded(protocol, model, EpochPredictions(tuple(rounds), renamed), choices))

    def read(self, said: Said) -> tuple[list[str], np.ndarray]:
        """Texts, and the classes they name."""
        texts = [NAMES[each] if isinstance(each, int) else each for each in said]
        return texts, match_exactly(texts, NAMES)

    def kinds(self, texts: Sequence[str], found: np.ndarray) -> tuple[str, ...]:
        """What answers out of the prompt are."""
        outside = iter(
            out_of_prompt_kinds([text for text, index in zip(texts, found, strict=True) if index < 0], NAMES, OPENAI)
        )
        return tuple("" if index >= 0 else next(outside) for index in found)

    def words(self, protocol, texts, found, out, model, errors, chosen) -> None:
        """One case of answers in words, as it is recorded."""
        choices = {**get_protocol(protocol).defaults(), **chosen}
        said = self.predictions(protocol, texts, found, out, errors, choices)
        self.records.append(self.recorded(protocol, model, said, choices))

    def predictions(self, protocol, texts, found, out, errors, choices) -> ClassPredictions:
        """Answers in words with all that is known of them."""
        requests, indices = self.shown(choices)
        spoken = TextPredictions(
            completions=tuple(texts), classes=found, strict_classes=found, requests=requests, positions=indices,
            usage=Usage(), out_of_prompt=out, is_mapped=protocol == "closed_world_plus",
        )  # fmt: skip
        variant = {
            **choices,
            "prompt": f"{protocol}_json (0123abcd)",
            "parser_version": "json_answers 2",
            "names": "kisel",
        }
        none = np.zeros((len(texts), 0), np.float32)
        return ClassPredictions(self.dataset.keys, none, errors, variant, texts=spoken)

    def shown(self, choices: Mapping[str, str]) -> tuple[np.ndarray, np.ndarray]:
        """The request and the place at which each image was shown."""
        classes = [row.label for row in self.dataset.index]
        cut = make_batches(
            self.dataset.keys,
            classes,
            int(choices.get("images_per_request", "1")),
            choices.get("image_order", "random"),
        )
        at = {row: (number, index) for number, rows in enumerate(cut) for index, row in enumerate(rows)}
        requests, indices = zip(*(at[row] for row in range(len(classes))), strict=True)
        return np.array(requests), np.array(indices)

    def recorded(
        self, protocol: str, model: str, said: ClassPredictions | EpochPredictions, choices: Mapping[str, str] = {}
    ) -> Record:
        """The record of one case."""
        case = Case("imagenet", "val", parse_spec(model), protocol, choices)
        record: Record = self.maker.record(case, self.dataset, said, self.folder, None)
        return record

    def pool(self) -> Runs:
        """The run as the reports read it, once for the same records: the tables share what they read from its files."""
        if self.loaded is None or self.loaded[0] != self.records:
            self.loaded = [*self.records], load([self.maker.written(self.folder, tuple(self.records))])
        return self.loaded[1]

    def rows(self, table: str, labels: str | None = None, pool: Runs | None = None) -> list[dict[str, str]]:
        """One table as the rows of its csv."""
        return list(csv.DictReader(StringIO(to_csv(tables(table, pool or self.pool(), labels)))))

    def notes(self, table: str) -> str:
        """What stands beneath a table."""
        return "\n".join(note for made in tables(table, self.pool()) for note in made.notes)

    @staticmethod
    def right(changes: Mapping[int, int | str] = {}) -> list[int | str]:
        """Answers that ReGT calls right throughout, but for some changes by image."""
        return [changes.get(index, each) for index, each in enumerate(RIGHT)]


@pytest.fixture
def latex_problems(tmp_path: Path) -> Callable[..., list[str]]:
    """Set LaTeX tables and return what pdflatex says is wrong, or does not fit the page."""
    set_tables = run_path(str(Path(__file__).parents[1] / "typesetting.py"))["problems"]
    return lambda texts: list(set_tables(texts, tmp_path))


@pytest.fixture
def session(make_run: Any) -> Callable[..., Session]:
    """Begin a session of answers in words."""
    return lambda **how: Session(make_run, **how)


@pytest.fixture(scope="module")
def module_session(module_run: Any) -> Callable[..., Session]:
    """Begin a session of answers in words that the tests of a module share."""
    return lambda **how: Session(module_run, **how)


@dataclass
class Bench:
    """Records of OODBench with their files, as its protocols leave them; `pool` is what the reports read."""

    maker: Any
    records: list[Record] = field(default_factory=list)
    loaded: tuple[list[Record], Runs] | None = None  # some records, and the run that has them

    def case(
        self, protocol: str, model: str = "hf[a]", source: str = "coco", *, rows: Any = (), metrics: Any = (),
        files: Mapping[str, Any] = {}, sets: Mapping[str, Any] = {}, division: str = "d", **variant: str,
    ) -> None:  # fmt: skip
        """One case: the rows of its csv files as mappings, metrics as (name, set, value, n, interval, method)."""
        number = len(self.records)
        labels = {"OODBench": division * 64} if protocol not in {"detection", "distribution"} else {}
        self.records.append(
            Record(
                case=f"oodbench/{source}/{model}", benchmark="oodbench", split=source, protocol=protocol,
                variant={"source": source, **variant},
                model=ModelRecord(spec=model, backend="hf", revision="", weights_sha256="", dtype="", device="cpu"),
                data=DataRecord(fingerprint="f" * 64, n=9, expected_n=None, labels=labels),
                limit=None, seed=42, outcomes=OutcomeCounts(),
                metrics=tuple(self.metric(*metric) for metric in metrics),
                usage=UsageRecord(requests=0, prompt_tokens=0, cached_tokens=0, answer_tokens=0, sets=sets),
                predictions=self.file(f"{number}.csv", rows) if rows else None,
                artifacts={name: self.file(f"{number}-{name}.csv", found) for name, found in files.items()},
            )
        )  # fmt: skip

    def metric(self, name, subset, value, n=10, ci=None, method="bootstrap") -> Metric:
        """One number."""
        better = True if name in MEASURES else None
        return Metric(name=name, labels="OODBench", subset=subset, value=value, n=n, n_clusters=n, ci=ci,
                      ci_method=method, higher_is_better=better)  # fmt: skip

    def file(self, name: str, rows: Any) -> File:
        """Write rows as csv."""
        text = StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        self.folder.mkdir(exist_ok=True)
        (self.folder / name).write_text(text.getvalue(), encoding="utf-8")
        return File(path=name, sha256=sha256(text.getvalue().encode()).hexdigest())

    @property
    def folder(self) -> Path:
        """Where the run lies."""
        return self.maker.root / "bench"

    def pool(self) -> Runs:
        """The run as the reports read it, once for the same records: the tables share what they read from its files."""
        if self.loaded is None or self.loaded[0] != self.records:
            self.loaded = [*self.records], load([self.maker.written(self.folder, tuple(self.records))])
        return self.loaded[1]

    def tables(self, name: str, labels: str | None = None) -> list[Any]:
        """The tables of a name."""
        return tables(name, self.pool(), labels)

    def rows(self, name: str) -> list[dict[str, str]]:
        """The same as the rows of their csv."""
        return list(csv.DictReader(StringIO(to_csv(self.tables(name)))))


@pytest.fixture
def drawing(tmp_path: Path) -> Callable[..., list[str | None]]:
    """Draw a figure of a pool and give its texts."""

    def drawing(pool: Runs, name: str, out: str = "figure.svg") -> list[str | None]:
        path = draw(name, pool, None, tmp_path / out, tmp_path)
        return [text.text for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]

    return drawing


@pytest.fixture
def bench(make_run: Any) -> Bench:
    """Begin a run of OODBench."""
    return Bench(make_run)


@pytest.fixture(scope="module")
def module_bench(module_run: Any) -> Bench:
    """Begin a run of OODBench that the tests of a module share."""
    return Bench(module_run)


WORD = {"y": "yes", "n": "no", "?": "", "!": ""}


@dataclass(frozen=True)
class Existing:
    """Adds cases of existence to a run: a pair is two letters, its answers yes, no, unread (?) or none at all (!)."""

    bench: Bench

    def __call__(
        self, model: str, source: str, said: Mapping[str, str], sets: Mapping[str, Any] = {}, **chosen: str
    ) -> None:
        pairs = [
            (name, index, text[index : index + 2]) for name, text in said.items() for index in range(0, len(text), 2)
        ]
        rows = [row for number, pair in enumerate(pairs) for row in self.rows(number, *pair)]
        usual = {"division_scope": "main", "reasoning": "direct", "detectors": "x[]+y[]", "threshold": "0.05"}
        self.bench.case("existence", model, source, rows=rows, sets=sets, **{**usual, **chosen})

    def rows(self, number: int, name: str, index: int, said: str) -> Iterator[dict[str, Any]]:
        """Both questions of a pair; a set with an apostrophe is of the initial benchmark alone."""
        main, of = not name.endswith("'"), name.removesuffix("'")
        for question, expected, letter in zip(("positive", "negative"), ("yes", "no"), said, strict=True):
            word, error = WORD[letter], letter == "!"
            yield {
                "key": f"{name}{index}", "target": expected, "prediction": word,
                "correct": "" if error else int(word == expected), "subset": of, "error": "timeout" if error else "",
                "pair": number, "category": index % 3, "category_name": "cat", "main": int(main), "present": 1,
                "question": question, "response": word,
            }  # fmt: skip


@pytest.fixture
def existing(bench: Bench) -> Existing:
    """Begin a run of OODBench's existence protocol."""
    return Existing(bench)


@pytest.fixture(scope="module")
def module_existing(module_run: Any) -> Existing:
    """Begin a run of OODBench's existence protocol that the tests of a module share."""
    return Existing(Bench(module_run))


PUT = {"species_names": "scientific", "prompt": "own", "templates": "bird (01234567)", "scale": "100"}
WORDED = {"prompt_set": "own", "abstention_images": "unanswerable", "extraction": "choice"}


@dataclass
class Flock(Bench):
    """Records of RealBirdID with their files, as its protocols leave them."""

    def case(
        self, protocol: str = "species", model: str = "a", *, rows: Any = (), metrics: Any = (),
        files: Mapping[str, Any] = {}, split: str = "val", notes: tuple[str, ...] = (), **variant: str,
    ) -> None:  # fmt: skip
        """One case: the rows of its csv files as mappings, metrics as the arguments of `number_of`."""
        number = len(self.records)
        chosen = WORDED if protocol == "abstention" else PUT
        self.records.append(
            Record(
                case=f"realbirdid/{split}/{model}", benchmark="realbirdid", split=split, protocol=protocol,
                variant={name: value for name, value in {**chosen, **variant}.items() if value},
                model=ModelRecord(spec=model, backend="x", revision="", weights_sha256="", dtype="", device="cpu"),
                data=DataRecord(fingerprint="f" * 64, n=40, expected_n=None, labels={"observations": "b" * 64}),
                limit=None, seed=42, outcomes=OutcomeCounts(), metrics=tuple(number_of(*metric) for metric in metrics),
                predictions=self.file(f"{number}.csv", rows) if rows else None, notes=notes,
                artifacts={name: self.file(f"{number}-{name}.csv", found) for name, found in files.items()},
            )
        )  # fmt: skip

    def mllm(self, protocol: str = "species", model: str = "b", **how: Any) -> None:
        """The same of a model that answers in words."""
        self.case(protocol, model, **{"prompt": "species (01)", "templates": "", "stop": "unique prefix", **how})


def number_of(name: str, labels: str, text: str, value: float | None, n: int = 40, ci: Any = None) -> Metric:
    """One number of RealBirdID, of a subset such as answerable.species, unanswerable/naive/01 or vocalization/naive."""
    subset, _, prompt = text.rpartition("/") if name in ("p_abstain", "correct_reason") else text.partition("/")
    subset, _, level = subset.partition(".")
    return Metric(name=name, labels=labels, subset=subset, level=level, prompt=prompt, value=value, n=n,
                  n_clusters=n, ci=ci, ci_method="bootstrap")  # fmt: skip


@pytest.fixture
def flock(make_run: Any) -> Flock:
    """Begin a run of RealBirdID."""
    return Flock(make_run)
