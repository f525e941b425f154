"""Runs about packaged photographs, their page, and a browser that opens it from disk."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from eyechart.classification.predictions import ClassPredictions, TextPredictions
from eyechart.data.imagenet_sample import open_sample
from eyechart.data.labels import build_label_set
from eyechart.models.types import Usage
from eyechart.protocol.settings import Case
from eyechart.reports.page.write import PageOptions, write_page
from eyechart.spec import parse_spec

SURE, OTHER, WORDS = "timm[tf_efficientnet_lite0]", "conse[]", "hf[mllm]"
SIZE = 12
NOTHING = 7  # a class that is right nowhere
FAILED = 11


@dataclass(frozen=True)
class Studio:
    """Makes runs about a few photographs, whose original labels are `original`.

    A run or a page is made once for the same arguments. A test that changes files changes a copy (`copied`).
    """

    make_run: Any
    dataset: Any
    kept: dict[Any, Path] = field(default_factory=dict)

    @property
    def original(self) -> list[int]:
        """The original labels, in the order of the data set."""
        return [self.dataset.index[row].label for row in self.dataset.selected]

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.dataset.keys)

    def run(self, name: str = "run", texts: Mapping[int, str] = {}, **wrong: list[int]) -> Path:
        """A run of three models; `wrong` names the places where each says nonsense, `texts` what the last one says."""
        asked = ("run", name, *sorted(texts.items()), *sorted((who, *places) for who, places in wrong.items()))
        if asked in self.kept:
            return self.kept[asked]
        folder = self.make_run.root / str(len(self.kept)) / name
        predictions = {
            SURE: ("supervised", self.scored(wrong.get("sure", [1]))),
            OTHER: ("zero_shot", self.scored(wrong.get("other", [0, 1, 2]))),
            WORDS: ("closed_world", self.worded(wrong.get("words", [0, 2]), texts)),
        }
        records = (self.record(spec, *what, folder) for spec, what in predictions.items())
        self.kept[asked] = Path(self.make_run.written(folder, tuple(records)))
        return self.kept[asked]

    def record(self, spec: str, protocol: str, predictions: ClassPredictions, folder: Path) -> Any:
        case = Case("imagenet", "sample", parse_spec(spec), protocol)
        return self.make_run.record(case, self.dataset, predictions, folder, SIZE)

    def answers(self, wrong: list[int]) -> list[int]:
        return [NOTHING if place in wrong else max(label, 0) for place, label in enumerate(self.original)]

    def scored(self, wrong: list[int]) -> ClassPredictions:
        return ClassPredictions(self.keys, self.make_run.scores(self.answers(wrong), {}), {}, {})

    def worded(self, wrong: list[int], texts: Mapping[int, str]) -> ClassPredictions:
        """Answers in words, the wrong ones out of the prompt, the last one an error."""
        answers, places = np.array(self.answers(wrong)), np.arange(SIZE)
        spoken = TextPredictions(
            completions=tuple(texts.get(place, f"Class {answer}.") for place, answer in enumerate(answers.tolist())),
            classes=answers,
            strict_classes=answers,
            requests=places,
            positions=np.zeros_like(places),
            usage=Usage(),
            out_of_prompt=tuple("other" if place in wrong else "" for place in range(SIZE)),
        )
        return ClassPredictions(self.keys, np.zeros((SIZE, 0), np.float32), {FAILED: "it failed"}, {}, texts=spoken)

    def page(self, *runs: Path, **wanted: Any) -> Path:
        """Write the page of some runs and return its index."""
        runs = runs or (self.run(),)
        asked = ("page", *runs, *sorted(wanted.items()))
        if asked not in self.kept:
            folder = Path(self.make_run.root / str(len(self.kept)) / "page")
            usual = {"store": self.make_run.root / "store", "figures": False}
            write_page(PageOptions(runs, **usual | wanted), folder)
            self.kept[asked] = folder / "index.html"
        return self.kept[asked]


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    """Copy the folder of a run, or of a page by its index, for a test that changes it."""

    def copied(path: Path) -> Path:
        folder = path if path.is_dir() else path.parent
        there = copytree(folder, tmp_path / "copy" / folder.name, symlinks=True)
        return there if path.is_dir() else there / path.name

    return copied


@pytest.fixture(scope="session")
def studio(session_run: Any) -> Studio:
    """Photographs: the second ground truth denies the original label of every third, and that of the last."""
    dataset = open_sample("sample").subsample(SIZE, 42)
    place = {row: number for number, row in enumerate(dataset.selected)}
    labels = [relabelled(row.label, place.get(number, 1)) for number, row in enumerate(dataset.index)]
    return Studio(session_run, replace(dataset, label_sets=dict(dataset.label_sets) | {"ReGT": truth(dataset, labels)}))


def relabelled(label: int, place: int) -> tuple[int, ...]:
    return (NOTHING,) if place % 3 == 0 else (label,) if label >= 0 else ()


def truth(dataset: Any, labels: list[tuple[int, ...]]) -> Any:
    return build_label_set("ReGT", dataset.index, labels, "correct", "me")


@dataclass
class PageDriver:
    """A page, with all that it complained of and asked for."""

    page: Any
    home: str
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: request.failure == "csp" and self.requests.remove(request.url))

    def go(self, hash_: str) -> None:
        """Open a view, as a link from elsewhere does, and wait for its heading and its data."""
        self.page.goto("about:blank")
        self.page.goto(self.home + hash_)
        self.page.locator(":is(h1, [role=alert])").first.wait_for()
        self.page.get_by_text("Loading…", exact=True).first.wait_for(state="detached")

    def samples(self, query: str = "") -> list[str]:
        """The keys of the samples that pass a filter."""
        self.go(f"#/samples/imagenet/sample{query}")
        self.page.locator(".found").wait_for()
        return [str(text) for text in self.page.locator(".cards .key").all_inner_texts()]


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., PageDriver]]:
    """Open pages; none may complain, or ask for anything outside of its folder."""
    drivers: list[PageDriver] = []

    def opened(page: Path, hash_: str = "", **how: Any) -> PageDriver:
        context = browser.new_context(**how)
        context.set_default_timeout(10_000)
        driver = PageDriver(context.new_page(), page.as_uri())
        driver.listen()
        drivers.append(driver)
        driver.go(hash_)
        return driver

    yield opened
    for driver in drivers:
        driver.page.context.close()
        assert driver.complaints == []
        own = (driver.home.rpartition("/")[0] + "/", "data:", "about:")
        assert [url for url in driver.requests if not url.startswith(own)] == []
