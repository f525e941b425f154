"""Runs about packaged photographs, their page, and a browser that opens it from disk."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import copytree
from typing import Any

import msgspec
import numpy as np
import pytest
from PIL import Image

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.classification.answers.image_answers import TextPredictions
from eyechart.data.dataset.dataset import build_label_set
from eyechart.data.readers.imagenet_sample import open_sample
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.evaluation.settings import Case
from eyechart.models.spec import parse_spec
from eyechart.models.types import Usage
from eyechart.reports.page import page_tables
from eyechart.reports.page.write_page import PageOptions, write_page
from eyechart.results.records import Records, encode, read_run
from tests.reports.page.pet_pages import NAMES, chunk

SURE, OTHER, WORDS = "timm[tf_efficientnet_lite0]", "conse[]", "hf[mllm]"
SIZE = 12
NOTHING = 7  # a class that is right nowhere
FAILED = 11
PET_ANSWERS = [0, 1, 1, 2, 2, 0]
FOLLOW = """hash => new Promise((done) => {
  const before = location.href;
  addEventListener("hashchange", () => setTimeout(done), { once: true });  // after the page has drawn itself anew
  location.hash = hash;
  if (location.href === before) done();
})"""


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
        asked = ("run", name, *sorted(texts.items()), *sorted((who, *indices) for who, indices in wrong.items()))
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
        return [NOTHING if index in wrong else max(label, 0) for index, label in enumerate(self.original)]

    def scored(self, wrong: list[int]) -> ClassPredictions:
        return ClassPredictions(self.keys, self.make_run.scores(self.answers(wrong), {}), {}, {})

    def worded(self, wrong: list[int], texts: Mapping[int, str]) -> ClassPredictions:
        """Answers in words, the wrong ones out of the prompt, the last one an error."""
        answers, indices = np.array(self.answers(wrong)), np.arange(SIZE)
        spoken = TextPredictions(
            completions=tuple(texts.get(index, f"Class {answer}.") for index, answer in enumerate(answers.tolist())),
            classes=answers,
            strict_classes=answers,
            requests=indices,
            positions=np.zeros_like(indices),
            usage=Usage(),
            out_of_prompt=tuple("other" if index in wrong else "" for index in range(SIZE)),
        )
        return ClassPredictions(self.keys, np.zeros((SIZE, 0), np.float32), {FAILED: "it failed"}, {}, texts=spoken)

    def page(self, *runs: Path, **wanted: Any) -> Path:
        """Write the page of some runs and return its index."""
        runs = runs or (self.run(),)
        asked = ("page", *runs, *sorted(wanted.items()))
        if asked not in self.kept:
            folder = Path(self.make_run.root / str(len(self.kept)) / "page")
            usual = {"store": self.make_run.root / "store", "figures": False}
            self.write(PageOptions(runs, **usual | wanted), folder)
            self.kept[asked] = folder / "index.html"
        return self.kept[asked]

    @staticmethod
    def write(wish: PageOptions, folder: Path) -> list[str]:
        """Write a page. One without figures has a single table: all of them take more time than the rest of it."""
        with pytest.MonkeyPatch.context() as patch:
            if not wish.figures:
                patch.setattr(page_tables, "table_builders", lambda: ("label-categories",))
            return write_page(wish, folder)


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
    index = {row: number for number, row in enumerate(dataset.selected)}
    labels = [relabelled(row.label, index.get(number, 1)) for number, row in enumerate(dataset.index)]
    return Studio(session_run, replace(dataset, label_sets=dict(dataset.label_sets) | {"ReGT": truth(dataset, labels)}))


def relabelled(label: int, index: int) -> tuple[int, ...]:
    return (NOTHING,) if index % 3 == 0 else (label,) if label >= 0 else ()


def truth(dataset: Any, labels: list[tuple[int, ...]]) -> Any:
    return build_label_set("ReGT", dataset.index, labels, "correct", "me")


@pytest.fixture
def pet_root(tmp_path: Path) -> Path:
    """A data root with a split of class folders: two images of each class."""
    noise = np.random.default_rng(0).integers(0, 256, (2 * len(NAMES), 8, 8, 3), dtype=np.uint8)
    for index, pixels in enumerate(noise):
        folder = tmp_path / "data" / "pets" / "test" / NAMES[index // 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / f"{index}.png")
    return tmp_path / "data"


@pytest.fixture
def pet_run(make_run: Any, pet_root: Path) -> Callable[..., Path]:
    """Record a run about the pets, with the data root that the command line gave."""

    def pet_run(name: str = "run", root: str | None = None, models: tuple[str, ...] = ("timm[a]", "timm[b]")) -> Path:
        folder = Path(make_run.root / name)
        (ref,) = [split for split in list_splits(pet_root) if str(split) == "pets/test"]
        dataset = open_split(ref)
        scores = np.zeros((len(dataset), len(NAMES)), np.float32)
        scores[range(len(dataset)), PET_ANSWERS] = 1
        predictions = ClassPredictions(dataset.keys, scores, {}, {})
        cases = [Case("pets", "test", parse_spec(model), "supervised") for model in models]
        data_root = str(pet_root) if root is None else root
        records = [make_run.record(case, dataset, predictions, folder, None, data=data_root) for case in cases]
        return Path(make_run.written(folder, tuple(records)))

    return pet_run


@pytest.fixture
def pet_page(tmp_path: Path, studio: Any) -> Callable[..., tuple[Any, Path]]:
    """Write the page of some runs and return its index and its folder."""

    def pet_page(*runs: Path, **wanted: Any) -> tuple[Any, Path]:
        folder = tmp_path / "page"
        studio.write(PageOptions(runs, **{"store": tmp_path / "store", "figures": False} | wanted), folder)
        return chunk(folder, "index"), folder

    return pet_page


@pytest.fixture
def linked_runs(pet_run: Any, tmp_path: Path) -> tuple[Path, Path]:
    """Two runs, each behind a link `latest` of its own folder."""

    def linked(name: str, started: str) -> Path:
        folder = pet_run(f"{name}/20260101-00000{len(name)}-000000")
        records = read_run(folder)
        begun = msgspec.structs.replace(records.run, started=started)
        (folder / "records.json").write_bytes(encode(Records(run=begun, records=records.records)))
        latest = folder.parent / "latest"
        latest.symlink_to(folder.name)
        return latest

    return linked("a", "2026-01-01T00:00:01+00:00"), linked("bb", "2026-01-02T12:30:00+00:00")


@dataclass
class PageDriver:
    """A tab of a browser, with all that the pages in it complained of and asked for.

    All tests here share a tab, since a new one takes longer than a page. Each finds the tab as a new one is.
    """

    page: Any
    home: str = ""
    loads: int = 0
    listed: bool = False  # whether a list of samples was opened last
    folders: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("requestfailed", lambda request: request.failure == "csp" and self.requests.remove(request.url))

    def open(self, page: Path, hash_: str | None, width: int, height: int) -> None:
        """Open a page for a test, at a view; None: the test goes to a view itself."""
        self.listed = False
        self.complaints.clear()
        self.requests.clear()
        self.page.emulate_media(media="screen", color_scheme="light")
        self.page.set_viewport_size({"width": width, "height": height})
        self.home = page.as_uri()
        self.folders.add(self.home.rpartition("/")[0] + "/")
        if hash_ is not None:
            self.go(hash_)

    def close(self) -> None:
        """Forget what the page stored, and check that it complained of nothing and asked for its own files alone."""
        self.page.evaluate("localStorage.clear()")
        assert self.complaints == []
        own = (*self.folders, "data:", "about:")
        assert [url for url in self.requests if not url.startswith(own)] == []

    def go(self, hash_: str) -> None:
        """Open a view, as a link from elsewhere does, and wait for its heading and its data."""
        self.loads += 1  # without another address, the browser would only follow a link within the page
        self.listed = False
        self.page.goto(f"{self.home}?{self.loads}{hash_}")
        self.page.locator(":is(h1, [role=alert])").first.wait_for()
        self.page.get_by_text("Loading…", exact=True).first.wait_for(state="detached")

    def samples(self, query: str = "") -> list[str]:
        """The keys of the samples that pass a filter."""
        hash_ = f"#/samples/imagenet/sample{query}"
        if self.listed:  # a link within the page, which loads nothing again
            self.page.evaluate(FOLLOW, hash_)
        else:
            self.go(hash_)
        self.page.locator(".found").wait_for()
        self.listed = True
        return [str(text) for text in self.page.locator(".cards .key").all_inner_texts()]


@pytest.fixture(scope="package")
def browser(browsing: dict[str, Any]) -> Iterator[Any]:
    """The browser of all tests here: a new one takes longer than a page."""
    with browsing["chromium"]() as found:
        yield found


@pytest.fixture(scope="package")
def new_tab(browser: Any) -> Callable[[], PageDriver]:
    """Return a new tab."""

    def new_tab() -> PageDriver:
        context = browser.new_context()
        context.set_default_timeout(10_000)
        driver = PageDriver(context.new_page())
        driver.listen()
        return driver

    return new_tab


@pytest.fixture(scope="package")
def shared_tab(new_tab: Callable[[], PageDriver]) -> PageDriver:
    """Return the tab of all tests here."""
    return new_tab()


@pytest.fixture
def opened(shared_tab: PageDriver, new_tab: Callable[[], PageDriver]) -> Iterator[Callable[..., PageDriver]]:
    """Open a page; it may not complain, or ask for anything outside of its folder. `alone`: in a tab of its own."""
    drivers: list[PageDriver] = []

    def opened(
        page: Path, hash_: str | None = "", width: int = 1280, height: int = 720, *, alone: bool = False
    ) -> PageDriver:
        driver = new_tab() if alone else shared_tab
        assert driver not in drivers, "this test has opened another page in this tab"
        drivers.append(driver)
        driver.open(page, hash_, width, height)
        return driver

    yield opened
    for driver in drivers:
        driver.close()
        if driver is not shared_tab:
            driver.page.context.close()


@pytest.fixture
def driver(studio: Any, opened: Any) -> Any:
    """The page of a run of three models."""
    return opened(studio.page(), None)
