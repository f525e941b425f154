"""The command `eyechart` of the built wheel, in a virtual environment of its own and an empty folder."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

from eyechart.cli import command_sections
from eyechart.messages.install_commands import install_command

pytestmark = pytest.mark.deep

ROOT = Path(__file__).parents[2]
Done = subprocess.CompletedProcess[str]
IMAGE = (ROOT / "docker" / "cpu.Dockerfile").read_text(encoding="utf-8")
COPIED = " ".join(re.findall(r"^COPY (.+) \S+$", IMAGE, re.MULTILINE)).split()
TRAINING = re.compile(r"torch\.optim|\.backward\(|\bzero_grad\(|^(?:from|import) toybox", re.MULTILINE)
QUICK = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
EXTRAS = ("anthropic", "figures", "gemini", "hub", "models", "openai")  # in the order in which pip prints them
MODEL = """
import numpy as np
from eyechart.models.types import Classifier, Identity

class Model(Classifier):
    identity = Identity(backend="mine", name="mine", weights_sha256="1", dtype="float32", device="cpu", processor={},
                        libraries={})

    def __init__(self, spec):
        pass

    def prepare(self, image):
        return image.getpixel((0, 0))

    def classify(self, images):
        return np.eye(1000, dtype=np.float32)[: len(images)]
"""
COMMAND_LINES = """
import json, sys
from eyechart.cli import main
for words in json.loads(sys.argv[1]):
    print("\f", *words, flush=True)
    if status := main(words):
        sys.exit(status)
"""


def call(*command: object, folder: Path, code: int = 0) -> Done:
    """Run a command in a folder, to an expected end."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=os.environ | QUICK, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the files that the images copy, tracked or new, built where no earlier build lies."""
    folder = tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file() and name.partition("/")[0] in COPIED:
            (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "source" / name)
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index")
    call(*pip, "-w", folder / "dist", folder / "source", folder=folder)
    (path,) = (folder / "dist").glob("eyechart-*.whl")
    return path


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel, which sees the libraries of this one."""
    home, folder = tmp_path_factory.mktemp("venv"), tmp_path_factory.mktemp("empty")
    venv.create(home, with_pip=False, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    (site / "libraries.pth").write_text("\n".join(libraries), encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "-q", "--no-deps", "--no-index")
    call(*pip, "--no-compile", "--force-reinstall", wheel, folder=folder)  # few of its modules are imported
    where = call(home / "bin" / "python", "-c", "import eyechart; print(eyechart.__file__)", folder=folder).stdout
    assert where.startswith(str(site))
    return home


@pytest.fixture(scope="module")
def eyechart(home: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Done]:
    """Run the installed script in an empty folder."""
    folder = tmp_path_factory.mktemp("empty")

    def eyechart(*arguments: str, code: int = 0) -> Done:
        return call(home / "bin" / "eyechart", *arguments, folder=folder, code=code)

    eyechart.folder = folder
    return eyechart


@pytest.fixture(scope="module")
def printed(home: Path) -> Callable[..., dict[str, str]]:
    """Run several command lines of the installed package in one process; what each printed."""

    def printed(folder: Path, *lines: str) -> dict[str, str]:
        words = json.dumps([line.split() for line in lines])
        done = call(home / "bin" / "python", "-c", COMMAND_LINES, words, folder=folder)
        return dict(part.partition("\n")[::2] for part in done.stdout.removeprefix("\f ").split("\f "))

    return printed


def test_the_wheel_has_every_file_and_no_training_code(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        texts = {name: archive.read(name).decode() for name in names if name.endswith(".py")}
    surfaces = {f"eyechart/{name}": name for name in ("benchmarks", "fixtures", "plugins")}
    folders = {"eyechart": "src/eyechart", **surfaces}
    files = {to: [path for path in (ROOT / folder).rglob("*.*") if path.is_file()] for to, folder in folders.items()}
    assert names == {
        f"{to}/{path.relative_to(ROOT / folders[to])}"
        for to, paths in files.items()
        for path in paths
        if "__pycache__" not in path.parts
    }
    assert [name for name, text in texts.items() if TRAINING.search(text)] == []
    assert len([path for path in ROOT.glob("tools/toybox/*.py") if TRAINING.search(path.read_text())]) > 3


def test_the_command_of_messages_finds_the_installed_package(home: Path, tmp_path: Path) -> None:
    """Without an index and in any folder, as for somebody who installed from a clone."""
    assert [install_command(extra) for extra in EXTRAS] == [f"pip install 'eyechart[{extra}]'" for extra in EXTRAS]
    name = f"eyechart[{','.join(EXTRAS)}]"  # pip reports one requirement of a package, whichever extras it has
    pip = (sys.executable, "-m", "pip", "--python", home / "bin" / "python", "install", "--dry-run", "--no-index")
    done = call(*pip, "--no-deps", name, folder=tmp_path)
    assert f"Requirement already satisfied: {name} in" in done.stdout
    assert "does not provide the extra" not in done.stderr


def test_the_script_is_there_with_every_command(eyechart: Callable[..., Done]) -> None:
    assert eyechart("--version").stdout == "eyechart, version 0.1.0\n"
    said = eyechart("--help").stdout
    assert [name for names in command_sections().values() for name in names if f"\n  {name} " not in said] == []


def test_a_model_is_evaluated_and_reported(
    eyechart: Callable[..., Done], printed: Callable[..., dict[str, str]]
) -> None:
    """The options are those of pytest, the results lie in the folder, and the other commands read them."""
    (eyechart.folder / "mine.py").write_text(MODEL)
    options = ("--eye-model=mine:Model", "--eye-limit=4", "--eye-offline", "-p", "no:cacheprovider")
    assert "1 passed" in eyechart("run", "-k", "imagenet/sample/ and supervised", *options).stdout
    latest = "reports/runs/latest"
    lists = [f"ls {kind}" for kind in ("models", "protocols", "datasets", "tables", "figures", "options", "presets")]
    lines = (f"overview {latest}", f"table category-sizes {latest}", "store verify", *lists)
    overview, table, store, *listed = printed(eyechart.folder, *lines).values()
    assert "supervised" in overview
    assert "4 images" in table
    assert "0 are damaged" in store
    assert len(listed) == len(lists)
    assert all(listed)
