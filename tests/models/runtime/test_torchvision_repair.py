"""The torchvision repair, each case in a process of its own, in which torch has been imported and nothing else."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep

REPAIR = "from eyechart.models.runtime.torchvision_repair import repair; first = repair(); "


Run = Callable[..., str]


def run(python: Sequence[str], code: str, *paths: Path) -> str:
    """Return what code prints, with folders before all others that modules are imported from."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, paths), *filter(None, sys.path)])}
    done = subprocess.run([*python, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def python(torch_python: Sequence[str]) -> Run:
    """Run code where torch has been imported."""
    return partial(run, torch_python)


@pytest.fixture(scope="module", params=["_C.so", "_C_stable.so"])  # the second since torchvision 0.29
def loadable(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed torchvision, file for file, with a binary that loads (and defines nothing)."""
    home = Path(str(find_spec("torchvision").origin)).parent
    folder = tmp_path_factory.mktemp("site") / "torchvision"
    folder.mkdir()
    for path in home.iterdir():
        if not path.name.startswith("_C"):
            (folder / path.name).symlink_to(path)
    (folder / request.param).symlink_to(next(iter(sorted((home.parent / "torchvision.libs").glob("libz*.so*")))))
    return folder.parent


def test_it_is_needed_exactly_where_the_import_fails(python: Run) -> None:
    broken = python("try:\n  import torchvision\n  print(False)\nexcept RuntimeError:\n  print(True)")
    assert python(REPAIR + "print('torchvision' in first)") == broken


def test_it_leaves_a_binary_that_loads_alone(loadable: Path, python: Run) -> None:
    code = REPAIR + "import torch; print('torchvision' in first, hasattr(torch.ops.torchvision, 'nms'))"
    assert python(code, loadable) == "False False"


def test_it_leaves_an_imported_torchvision_alone(python: Run) -> None:
    again = REPAIR + "import torchvision; repair.cache_clear(); print(repair())"
    assert python(again) == "()"


def test_it_is_idempotent(python: Run) -> None:
    assert python(REPAIR + "print(repair() == first); repair.cache_clear(); print(repair())") == "True\n()"


def test_it_imports_no_model_library(python: Run) -> None:
    heavy = "print({'torchvision', 'timm', 'open_clip', 'transformers'} & set(sys.modules))"
    assert python("import sys; " + REPAIR + heavy) == "set()"


def test_importing_the_module_imports_nothing_heavy() -> None:
    code = "import sys, eyechart.models.runtime.torchvision_repair; print('torch' in sys.modules)"
    assert run([sys.executable], code) == "False"


@pytest.mark.parametrize("package", ["torchaudio", "torchcodec"])
def test_it_hides_an_optional_package_that_fails_to_load(package: str, tmp_path: Path, python: Run) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("import os\nraise OSError('libcudart.so: cannot open')\n")
    code = f"from importlib.util import find_spec; print({package!r} in first, find_spec({package!r}))"
    assert python(REPAIR + code, tmp_path) == "True None"


def test_it_keeps_an_optional_package_that_loads(tmp_path: Path, python: Run) -> None:
    (tmp_path / "torchaudio.py").write_text("sound = True\n")
    assert (
        python(REPAIR + "import torchaudio; print('torchaudio' in first, torchaudio.sound)", tmp_path) == "False True"
    )


def test_datasets_imported_before_does_without_the_hidden_package(tmp_path: Path, python: Run) -> None:
    (tmp_path / "torchcodec").mkdir()
    (tmp_path / "torchcodec" / "__init__.py").write_text("raise RuntimeError('libavutil.so: cannot open')\n")
    table = "print(datasets.Dataset.from_list([{'image': b'1'}]).cast_column('image', datasets.Value('binary'))[0])"
    assert python("import datasets; " + REPAIR + table, tmp_path) == "{'image': b'1'}"
