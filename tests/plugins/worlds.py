"""A small real world: a user's package with two models, a folder of pictures, and pytest run from an empty folder."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from runpy import run_path
from typing import Any, ClassVar

import numpy as np
import pytest
from PIL import Image

WARM = run_path(str(Path(__file__).parents[1] / "warm.py"))
start_cluster = run_path(str(Path(__file__).with_name("ray_cluster.py")))["start_cluster"]
SITE = Path(__file__).parent / "site"
SYNSETS = ("n01440764", "n01443537", "n02123045")
CLASSES = dict(zip(SYNSETS, (0, 1, 281), strict=True))
HELD, UPDATE, WRONG = "--eye-baseline=kept", "--eye-update-baseline", 7
NOT_KEPT = ("PYTEST", "HF_", "COLUMNS", "PYTHONDONTWRITEBYTECODE", "CI", "BUILD_NUMBER")  # pytest says more under CI
SURROUNDINGS = {name: value for name, value in os.environ.items() if not name.startswith(NOT_KEPT)} | {
    "PYTHONPATH": str(SITE),
    "CUDA_VISIBLE_DEVICES": "",
    "PYTEST_ADDOPTS": WARM["UNNEEDED"],
}
TIMING = ("seconds", "loads", "command")


WATCHER = """
import json
from pathlib import Path

def walk(value):
    yield type(value).__name__
    for inner in value.items() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ():
        yield from walk(inner)

def pytest_runtest_logreport(report):
    if report.when == "call":
        with Path("types.jsonl").open("a") as file:
            print(json.dumps(sorted({*walk(dict(report.user_properties)["eyechart"])})), file=file)

def pytest_runtest_teardown(item):
    (found,) = Path("reports/runs").glob("*/records.jsonl")
    with Path("lengths").open("a") as file:
        print(len(found.read_text().splitlines()), file=file)
"""
LEFT_OUT = (".gitignore", "index", "weights", "models", "results", "logits")  # of the files of a store: all but answers


@dataclass
class World:
    """A folder to run in, with its own store, runs and log; the pictures are shared."""

    folder: Path
    data: Path
    environment: dict[str, str] = field(default_factory=dict)
    models: tuple[str, ...] = ("tiny[]", "tinyclass[]")
    site: Path = SITE
    said: pytest.LineMatcher | None = None
    python: tuple[str, ...] = (sys.executable,)
    warm: tuple[str, ...] = ()  # stands for `python` in runs that are waited for
    patience: ClassVar[float] = 300  # seconds: no run takes them, even where many share a machine; one that hangs does

    @property
    def usual(self) -> list[str]:
        """The installed benchmarks, the small splits alone."""
        models = [f"--eye-model={model}" for model in self.models]
        return ["--pyargs", "eyechart.benchmarks", "-k", "imagenet/tiny", f"--eye-data={self.data}", *models]

    @property
    def surroundings(self) -> dict[str, str]:
        """The environment of a run."""
        temporary = str(self.data.parent)  # or every run clears up after other sessions
        own = {"HOME": str(self.folder), "PYTEST_DEBUG_TEMPROOT": temporary}
        return SURROUNDINGS | own | self.environment

    @property
    def fast(self) -> tuple[str, ...]:
        """The warm interpreter, where there is one and what it read at its start is what a run would read."""
        alike = WARM["read_at_start"](self.surroundings) == WARM["read_at_start"](SURROUNDINGS)
        return self.warm if self.warm and alike else self.python

    def start(self, *arguments: str, python: Sequence[str] = (), **options: Any) -> "subprocess.Popen[str]":
        """Begin a run of pytest."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
        command = [*(python or self.python), "-m", "pytest", *arguments]
        return subprocess.Popen(command, cwd=self.folder, env=self.surroundings, text=True, **pipes)

    @classmethod
    def ended(cls, process: "subprocess.Popen[str]") -> tuple[str, str]:
        """Wait for a run's end; what it said, and what it complained of. A run that hangs says where."""
        try:
            return process.communicate(timeout=cls.patience)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # pytest's faulthandler writes what each thread does
            said, complained = process.communicate(timeout=cls.patience)
            raise AssertionError(f"a run hung:\n{said}\n{complained}") from None

    @classmethod
    def until(cls, true: Callable[[], object]) -> None:
        """Wait for something that another process does."""
        end = time.monotonic() + cls.patience
        while not true():
            assert time.monotonic() < end, "it never came"
            time.sleep(0.02)

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run the usual cases to the end."""
        return self.call(*self.usual, *arguments)

    def installed(self, keep: str, *arguments: str, code: int = 0) -> str:
        """Run the installed benchmarks, some cases of them, to an expected end; what they say."""
        result = self.call("--pyargs", "eyechart.benchmarks", "-k", keep, "--eye-offline", *arguments)
        assert result.ret == code, result.stdout.str() + result.stderr.str()
        return result.stdout.str()

    def call(self, *arguments: str) -> pytest.RunResult:
        """Run pytest to the end."""
        begun = time.monotonic()
        with self.start(*arguments, python=self.fast) as process:
            said, complained = self.ended(process)
        return pytest.RunResult(
            process.returncode, said.splitlines(), complained.splitlines(), time.monotonic() - begun
        )

    def passes(self, *arguments: str) -> pytest.RunResult:
        """Run to the end, which must be good."""
        result = self.run(*arguments)
        assert result.ret == 0, result.stdout.str() + result.stderr.str()
        return result

    def order(self, model: str, batch: int, do: str) -> None:
        """Have a model do something at a batch, once."""
        (self.folder / f"orders-{model}.json").write_text(json.dumps({"batch": batch, "do": do}))

    def plugin(self, code: str) -> str:
        """Write a plugin of the user's own; the option that loads it."""
        (self.folder / "extra.py").write_text(code)
        return "-pextra"

    def lines(self, what: str) -> list[list[str]]:
        """The words of the log's lines that begin with `what`."""
        log = self.folder / "asked.log"
        rows = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        return [row[1:] for row in rows if row[0] == what]

    @property
    def asked(self) -> int:
        """How many pictures were shown to models so far."""
        return sum(int(count) for _, count in self.lines("ask"))

    @property
    def loads(self) -> list[str]:
        """The models whose weights were read, once each time."""
        return sorted(name for (name,) in self.lines("load"))

    @property
    def latest(self) -> Path:
        """The folder of the last run."""
        return self.folder / "reports" / "runs" / "latest"

    @property
    def files(self) -> dict[str, bytes]:
        """Every csv of the last run."""
        return {str(path.relative_to(self.latest)): path.read_bytes() for path in self.latest.rglob("*.csv")}

    @property
    def session(self) -> dict[str, Any]:
        """The content of records.json."""
        found: dict[str, Any] = json.loads((self.latest / "records.json").read_text())
        return found

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records, but for what a clock or a command line says."""
        plain = self.session["records"]
        return [{name: value for name, value in record.items() if name not in TIMING} for record in plain]

    @property
    def store(self) -> dict[str, bytes]:
        """Every kept file by its place, but for locks, indexes, digests of weights and `.gitignore`."""
        root = self.folder / ".eyechart" / "store"
        paths = [path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file() and path.name != "lock"]
        return {str(path): (root / path).read_bytes() for path in paths if path.parts[0] not in LEFT_OUT}


def paint(folder: Path, count: int, seed: int) -> None:
    """Pictures in synset folders, JPEG and PNG in turn."""
    colours = np.random.default_rng(seed)
    for index in range(count):
        home = folder / SYNSETS[index % len(SYNSETS)]
        home.mkdir(parents=True, exist_ok=True)
        pixels = colours.integers(0, 256, (2, 2, 3), np.uint8).repeat(8, axis=0).repeat(8, axis=1)
        Image.fromarray(pixels).save(home / f"{folder.name}-{index:02d}.{('jpg', 'png')[index % 2]}")


@pytest.fixture(scope="session")
def picture_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with two splits: imagenet/tiny of 18 pictures and imagenet/tiny2 of 6."""
    root = tmp_path_factory.mktemp("data")
    paint(root / "imagenet" / "tiny", 18, seed=1)
    paint(root / "imagenet" / "tiny2", 6, seed=2)
    return root


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with imagenet/tiny of 420 pictures."""
    root = tmp_path_factory.mktemp("large")
    paint(root / "imagenet" / "tiny", 420, seed=3)
    return root


@pytest.fixture(scope="session")
def new_world(
    tmp_path_factory: pytest.TempPathFactory, picture_root: Path, warm_python: tuple[str, ...]
) -> Callable[[], World]:
    """Make a folder to run in that several tests look at."""
    return lambda: World(tmp_path_factory.mktemp("world"), picture_root, warm=warm_python)


@pytest.fixture
def world(tmp_path: Path, picture_root: Path, warm_python: tuple[str, ...]) -> World:
    """An empty folder to run in."""
    folder = tmp_path / "here"
    folder.mkdir()
    return World(folder, picture_root, warm=warm_python)


@pytest.fixture
def cold(world: World) -> World:
    """An empty folder to run in, with a new interpreter for each run, for tests of what is imported."""
    world.warm = ()
    return world


@pytest.fixture
def own_root(world: World) -> Callable[..., Path]:
    """Paint pictures below a root, by their names, and write other files empty."""

    def filled(*names: str) -> Path:
        for shade, name in enumerate(names):
            path = world.folder / "data" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".png":
                Image.new("RGB", (8, 8), (shade * 9, 0, 0)).save(path)
            else:
                path.write_text("")
        return world.folder / "data"

    return filled


@pytest.fixture(scope="session")
def cluster(warm_python: tuple[str, ...]) -> Iterator[Any]:
    """A Ray cluster of a head and a node; who removes the node adds another one."""
    with start_cluster({"num_cpus": 2}, {"num_cpus": 2}, warm=warm_python[0]) as cluster:
        yield cluster


@pytest.fixture
def on_cluster(world: World, cluster: Any, warm_ray: tuple[str, ...]) -> str:
    """The option for the cluster; Ray has been imported before a run."""
    world.warm = warm_ray
    return f"--eye-ray={cluster.address}"


@pytest.fixture(scope="session")
def serial(tmp_path_factory: pytest.TempPathFactory, picture_root: Path) -> World:
    """A world after one serial run of both models in an interpreter of its own: what every other way must give."""
    world = World(tmp_path_factory.mktemp("serial"), picture_root)
    world.said = world.passes(world.plugin(WATCHER), "--junitxml=junit.xml").stdout
    return world


@dataclass
class Gated:
    """A world whose model is a file of answers: as good or as bad as a test wants it."""

    world: World

    def answer(self, wrong: int = 0, of: str = "tiny", file: str = "a.csv") -> None:
        """Have a model know every picture, but for the first ones of a split, or of every split if `of` is ""."""
        pictures = sorted((self.world.data / "imagenet").rglob("*.[jp][pn]g"), key=lambda path: path.name)
        splits = [of] if of else sorted({path.parent.parent.name for path in pictures})
        missed = [
            path for split in splits for path in [each for each in pictures if each.parent.parent.name == split][:wrong]
        ]
        rows = [
            f"{path.name},{WRONG if path in missed else CLASSES[path.parent.name]},{path.parent.parent.name}"
            for path in pictures
        ]
        (self.world.folder / file).write_text("\n".join(["key,answer,split", *rows, ""]))

    def ran(self, *arguments: str, code: int = 0) -> str:
        """Run, expect an exit code, return what was said."""
        result = self.world.call(*self.world.usual, *arguments)
        self.world.said = result.stdout
        said = result.stdout.str()
        assert result.ret == code, said + result.stderr.str()
        return str(said)

    def kept(self, *more: str) -> dict[str, bytes]:
        """Write the baseline of a model that knows everything; the files and what is in them."""
        self.answer()
        self.ran(HELD, UPDATE, *more)
        return self.bytes

    @property
    def bytes(self) -> dict[str, bytes]:
        """The files of the baseline and what is in them."""
        return {str(path.relative_to(self.world.folder)): path.read_bytes() for path in self.files}

    def damage(self, picture: str) -> None:
        """Leave a picture without an answer, which is an error."""
        file = self.world.folder / "a.csv"
        file.write_text(re.sub(rf"{picture}\S+\n", "", file.read_text()))

    @property
    def files(self) -> list[Path]:
        """The files of the baseline."""
        return sorted((self.world.folder / "kept").rglob("*.json"))


@pytest.fixture
def gated(world: World) -> Gated:
    """One model of known answers."""
    world.models = ("replay[path=a.csv]",)
    return Gated(world)


@pytest.fixture(scope="session")
def new_gated(new_world: Callable[[], World]) -> Callable[[], Gated]:
    """Make a model of known answers that several tests look at."""

    def new_gated() -> Gated:
        world = new_world()
        world.models = ("replay[path=a.csv]",)
        return Gated(world)

    return new_gated


@pytest.fixture(scope="module")
def first(new_gated: Callable[[], Gated]) -> Gated:
    """After a baseline was written of a model that knows everything."""
    gated = new_gated()
    gated.kept()
    return gated


@pytest.fixture
def held(gated: Gated, first: Gated) -> Gated:
    """A model that still knows everything, and its baseline."""
    shutil.copytree(first.world.folder / "kept", gated.world.folder / "kept")
    gated.answer()
    return gated
