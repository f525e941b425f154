"""A small world of disputed images, a run about photographs, and a browser to look at sheets of both."""

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from shutil import copytree
from typing import Any

import msgspec
import numpy as np
import pytest
from PIL import Image

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.cli import main
from eyechart.data.dataset.dataset import build_label_set
from eyechart.data.labels.class_names import synsets
from eyechart.data.readers.imagenet_sample import open_sample
from eyechart.data.splits.open_split import open_split
from eyechart.data.splits.registry import SplitRef
from eyechart.evaluation.settings import Case
from eyechart.models.spec import parse_spec
from eyechart.oodbench.division.division_files import write_division
from eyechart.oodbench.division.pairs import Detector, DetectorOutput, DivisionSettings, build_division
from eyechart.reports.annotation.answer_files import SheetKey, key_path, read_key
from eyechart.reports.annotation.disputed import SheetOptions, write
from eyechart.reports.runs import load

MODEL, SECOND = "timm[tf_efficientnet_lite0]", "conse[]"
UNREAD = -1  # an answer that names no class
FAILED = -2  # no answer
NOTEBOOK, LAPTOP = 681, 620  # equivalent classes


@dataclass(frozen=True)
class Shot:
    """An image: its original label, its new labels, and what both models say."""

    original: int
    labels: tuple[int, ...]
    model: int
    second: int
    kind: str = "png"


SHOTS: Mapping[str, Shot] = {
    "four suggestions": Shot(1, (2,), 3, 4),
    "model and original agree": Shot(7, (8,), 7, 8, "jpg"),
    "equivalent classes": Shot(30, (31,), LAPTOP, NOTEBOOK, "ppm"),
    "several labels": Shot(16, (17, 18), 19, 17, "gif"),
    "second unread": Shot(26, (27, 28), 29, UNREAD, "webp"),
    "model agrees with the labels": Shot(5, (6,), 6, 6),
    "model agrees with one of them": Shot(20, (21, 22), 22, 23),
    "model unread": Shot(9, (10,), UNREAD, 11),
    "model failed": Shot(12, (13,), FAILED, 12),
    "single_label_original": Shot(14, (14,), 15, 14),
    "no_label": Shot(24, (), 25, 25),
}


def encoded(index: int, kind: str) -> bytes:
    file = BytesIO()
    image = Image.linear_gradient("L").rotate(9 * index).resize((48 + index, 36)).convert("RGB")
    image.save(file, {"jpg": "JPEG", "pgm": "PPM"}.get(kind, kind.upper()))
    return file.getvalue()[: 40 if kind == "pgm" else None]  # one that was cut off


@dataclass(frozen=True)
class World:
    """A run about the shots, and where its images are."""

    shots: Mapping[str, Shot]
    run: Path
    root: Path
    out: Path

    @property
    def keys(self) -> dict[str, str]:
        """The name of each shot by its image's key, in the data set's order."""
        named = {
            f"{synsets()[s.original]}/{index}.{s.kind}": name for index, (name, s) in enumerate(self.shots.items())
        }
        return dict(sorted(named.items()))

    def wish(self, **wanted: Any) -> SheetOptions:
        usual = {"labels": "ReGT", "model": MODEL, "second": SECOND, "data": str(self.root), "store": self.root / "s"}
        return SheetOptions(**usual | wanted)

    def sheet(self, name: str = "sheet", **wanted: Any) -> Path:
        """Write a sheet."""
        path = self.out / f"{name}.html"
        write(load([self.run]), self.wish(**wanted), path)
        return path

    def key(self, sheet: Path) -> SheetKey:
        return read_key(key_path(sheet))

    def named(self, sheet: Path) -> list[str]:
        """The shots on a sheet, in its order."""
        return [self.keys[item.key] for item in self.key(sheet).items]

    def answer(self, sheet: Path, choices: Mapping[str, Any], name: str = "answers.json", **more: Any) -> Path:
        """Answers to a sheet, as it would write them; choices are classes by shot, or whole answers."""
        key, answers = self.key(sheet), {}
        for number, item in enumerate(key.items, 1):
            choice = choices.get(self.keys[item.key])
            labels = [candidate.label for candidate in item.candidates]
            if isinstance(choice, dict):
                answers[str(number)] = choice
            elif choice is not None:
                answers[str(number)] = {"selected": [labels.index(label) + 1 for label in choice], "none": not choice}
        path = self.out / name
        path.write_bytes(msgspec.json.encode({"schema": 1, "sheet": key.sheet, "answers": answers} | more))
        return path


def dataset_of(root: Path, shots: Mapping[str, Shot]) -> Any:
    """Draw the images and open them as a split of ImageNet's classes, under the original and the new labels."""
    for index, shot in enumerate(shots.values()):
        folder = root / "imagenet" / "tiny" / synsets()[shot.original]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{index}.{shot.kind}").write_bytes(encoded(index, shot.kind))
    dataset = open_split(SplitRef("imagenet", "tiny", "folder", str(root / "imagenet" / "tiny")))
    by_place = [*shots.values()]
    ordered = [by_place[int(Path(row.file).stem)] for row in dataset.index]
    new = build_label_set("ReGT", dataset.index, [shot.labels for shot in ordered], "correct", "test")
    return replace(dataset, label_sets={**dataset.label_sets, "ReGT": new}), ordered


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Make a folder once for the same arguments; every test works on a copy."""
    kept: dict[Any, Path] = {}

    def template(make: Callable[..., None], *arguments: Any) -> Path:
        asked = (make, *arguments)
        if asked not in kept:
            folder = tmp_path_factory.mktemp("template")
            make(folder, *arguments)
            kept[asked] = folder
        return kept[asked]

    return template


@pytest.fixture
def make_world(tmp_path: Path, session_run: Any, templates: Callable[..., Path]) -> Callable[..., World]:
    """Make a world of shots."""

    def make(shots: Mapping[str, Shot] = SHOTS, name: str = "world") -> World:
        folder = tmp_path / name
        copytree(templates(record_shots, session_run, tuple(shots.items())), folder)
        return World(shots, folder / "run", folder / "data", folder / "out")

    return make


def record_shots(root: Path, make_run: Any, shots: tuple[tuple[str, Shot], ...]) -> None:
    """Draw shots and record a run of both models about them."""
    dataset, ordered = dataset_of(root / "data", dict(shots))
    folder, records = root / "run", []
    for spec, labels in ((MODEL, [s.model for s in ordered]), (SECOND, [s.second for s in ordered])):
        errors = {row: "it failed" for row, label in enumerate(labels) if label == FAILED}
        unread = frozenset(row for row, label in enumerate(labels) if label == UNREAD)
        scores = make_run.scores([max(label, 0) for label in labels], errors)
        predictions = ClassPredictions(dataset.keys, np.array(scores), errors, {}, unread)
        case = Case("imagenet", "tiny", parse_spec(spec), "supervised")
        records.append(make_run.record(case, dataset, predictions, folder, None))
    make_run.written(folder, tuple(records))
    (root / "out").mkdir()


@pytest.fixture
def world(make_world: Callable[..., World]) -> Iterator[World]:
    """The world above."""
    return make_world()


@pytest.fixture
def shot() -> type[Shot]:
    """What a world is made of."""
    return Shot


@pytest.fixture
def make_division(tmp_path: Path, templates: Callable[..., Path]) -> Callable[..., Path]:
    """Draw pictures with two things of three each, annotated as COCO does, and divide them by two detectors' logits."""

    def make(
        size: int = 12, names: tuple[str, ...] = ("cat", "dog", "hot dog"), limit: int | None = None, **rules: Any
    ) -> Path:
        copytree(templates(divide_drawings, size, names, limit, *sorted(rules.items())), tmp_path, dirs_exist_ok=True)
        return tmp_path / "divisions" / "mine.json"

    return make


def divide_drawings(
    folder: Path, size: int, names: tuple[str, ...], limit: int | None, *rules: tuple[str, Any]
) -> None:
    """Draw pictures below a folder and write their division."""
    root, annotations = folder / "data", folder / "data" / "mine" / "annotations" / "instances_val2017.json"
    (root / "mine" / "val2017").mkdir(parents=True)
    annotations.parent.mkdir()
    images = [{"id": n + 1, "file_name": f"{n:03d}.png", "width": 48 + n, "height": 36} for n in range(size)]
    for number, image in enumerate(images):
        (root / "mine" / "val2017" / str(image["file_name"])).write_bytes(encoded(number, "png"))
    boxes = [
        {"id": 2 * n + k, "image_id": n + 1, "category_id": (n + k) % 3 + 1, "bbox": [1, 1, 9, 9], "area": 81}
        | {"iscrowd": 0, "segmentation": []}
        for n in range(size)
        for k in (0, 1)
    ]
    named = [{"id": n, "name": name, "supercategory": "thing"} for n, name in enumerate(names, 1)]
    annotations.write_bytes(msgspec.json.encode({"images": images, "annotations": boxes, "categories": named}))
    ref = SplitRef("oodbench", "mine", "coco", str(root / "mine"), part="val", reader="oodbench")
    dataset = open_split(ref).subsample(limit, 42)
    random = np.random.default_rng(0)
    detectors = [Detector(f"clip[{name}]", "1 (01234567)", "ab") for name in ("a", "b<b>")]
    outputs = [
        DetectorOutput(detector, random.normal(size=(len(dataset), 3)).astype(np.float32) * 4, {})
        for detector in detectors
    ]
    parameters = {"seed": "42", "threshold": "0.3"} | ({"limit": str(limit)} if limit else {})
    divided = build_division(dataset, outputs, DivisionSettings(threshold=0.3, parameters=parameters, **dict(rules)))
    write_division(folder / "divisions" / "mine.json", divided, dataset)


@dataclass
class SheetDriver:
    """A page, with all that it complained of and asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def start(self, url: str) -> None:
        """Open a sheet once the browser has forgotten what it stored for an earlier test, which takes it a moment."""
        for _ in range(50):
            self.complaints.clear()
            self.requests.clear()
            self.page.goto(url)
            if self.page.evaluate("localStorage.length") == 0:
                return
            self.page.evaluate("localStorage.clear()")
            self.page.wait_for_timeout(100)
        pytest.fail("the browser does not forget what it stored")

    def close_others(self) -> None:
        """Close all pages but the last."""
        for page in self.page.context.pages:
            if page is not self.page:
                page.close()

    def text(self, name: str) -> str:
        return str(self.page.locator(f"#{name}").inner_text())

    def checked(self) -> list[str]:
        """The names that are chosen on the page."""
        names = self.page.locator("form li:has(:checked) span").all_inner_texts()
        return [str(name) for name in names]

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def reopen(self) -> None:
        """Open the page again and close the one before, as soon as the browser has stored what that one wrote.

        A browser stores in the background: a reload can show what was stored before, and a browser context whose only
        page is closed can lose what that page wrote last.
        """
        before, written = self.page, self.page.evaluate("() => ({ ...localStorage })")
        for _ in range(50):
            self.page = before.context.new_page()
            self.listen()
            self.page.goto(before.url)
            stored = self.page.evaluate("() => ({ ...localStorage })")
            if stored == written:
                before.close()
                return
            self.page.close()
            before.wait_for_timeout(200)
        pytest.fail(f"the browser stored {stored}, and the page wrote {written}")

    def download(self, folder: Path) -> Path:
        with self.page.expect_download() as found:
            self.page.get_by_role("button", name="Download answers").click()
        path = folder / found.value.suggested_filename
        found.value.save_as(path)
        return path


@pytest.fixture(scope="package")
def browser(browsing: dict[str, Any]) -> Iterator[Any]:
    """The Chromium of all tests here: a new one takes longer than a sheet."""
    with browsing["chromium"]() as found:
        yield found


@pytest.fixture(scope="package")
def new_browser(browser: Any) -> Callable[[], SheetDriver]:
    """Start a browser that knows nothing yet."""

    def new_browser() -> SheetDriver:
        driver = SheetDriver(browser.new_context(accept_downloads=True).new_page())
        driver.listen()
        return driver

    return new_browser


@pytest.fixture(scope="package")
def shared_browser(new_browser: Callable[[], SheetDriver]) -> SheetDriver:
    """Return the browser that all tests here use one after the other: a new one takes longer than a sheet."""
    return new_browser()


@pytest.fixture
def opened(shared_browser: SheetDriver, new_browser: Callable[[], SheetDriver]) -> Iterator[Callable[..., SheetDriver]]:
    """Open sheets, each in a browser that knows nothing yet; no page may complain or ask for anything but itself."""
    drivers: list[tuple[SheetDriver, str]] = []

    def opened(sheet: Path, width: int = 1280, height: int = 720, color_scheme: str = "light") -> SheetDriver:
        driver = new_browser() if drivers else shared_browser
        drivers.append((driver, sheet.as_uri()))
        driver.page.set_viewport_size({"width": width, "height": height})
        driver.page.emulate_media(color_scheme=color_scheme)
        driver.start(sheet.as_uri())
        return driver

    yield opened
    for driver, url in drivers:
        driver.close_others()
        assert driver.complaints == []
        assert {url_ for url_ in driver.requests if not url_.startswith(("data:", "blob:"))} == {url}
        if driver is not shared_browser:
            driver.page.context.close()


@pytest.fixture(scope="session")
def photographs(tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str], answers: Path) -> Path:
    """A run of the packaged photographs with both default models, under labels that dispute what they see."""
    folder = tmp_path_factory.mktemp("photographs")
    (folder / "store").symlink_to(answers)
    lines = ["file,labels", *(f"{row.file},{wrong(row.label)}" for row in open_sample("sample").index)]
    (folder / "regt.csv").write_text("\n".join(lines), encoding="utf-8")
    options = [
        f"--eye-labels=ReGT={folder / 'regt.csv'}",
        f"--eye-out={folder / 'runs'}",
        "--eye-offline",
        "--eye-limit=20",
    ]
    command = ["pytest", "--pyargs", "eyechart.benchmarks", "-k", "imagenet/sample/", "-p", "no:cacheprovider"]
    run = [*warm_python, "-m", *command, *options, f"--eye-store={folder / 'store'}"]
    done = subprocess.run(run, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def wrong(label: int) -> str:
    """Labels by their number: of every five classes, two have another label, one has two others, two have none."""
    others: dict[int, tuple[int, ...]] = {0: (label + 3,), 1: (label + 3,), 2: (label + 3, label + 4)}
    return ";".join(str(label_ % 1000) for label_ in others.get(label % 5, ()) if label >= 0)


@pytest.fixture
def sheet(photographs: Path, tmp_path: Path, templates: Callable[..., Path]) -> Path:
    """A sheet of six photographs."""
    copytree(templates(write_sheet, photographs), tmp_path, dirs_exist_ok=True)
    return tmp_path / "sheet.html"


def write_sheet(folder: Path, photographs: Path) -> None:
    """Write a sheet of six photographs into a folder."""
    options = [f"--model={MODEL}", f"--second={SECOND}", f"--store={photographs / 'store'}", "--limit=6"]
    run = str(photographs / "runs" / "latest")
    assert main(["annotate", run, "--labels=ReGT", *options, f"--out={folder / 'sheet.html'}"]) == 0
