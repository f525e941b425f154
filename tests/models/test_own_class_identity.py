"""The answers of a class of the user are known by its code, its options, its files and its weights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import ModelError
from eyechart.inference.requests.row_requests import Encode
from eyechart.inference.store.entries import request_key
from eyechart.models.registry import create_model
from eyechart.models.spec import parse_spec


@pytest.mark.parametrize("change", ["code", "beside", "below", "base", "option", "file", "folder"])
def test_the_answers_of_another_version_of_a_class_are_not_its_own(
    write: Callable[..., Any], tmp_path: Path, change: str
) -> None:
    """The code of the class, what it imports from beside it, its options and their files are in the key."""
    for name in ("beside.py", "parts/__init__.py", "parts/deep.py", "weights.pt", "checkpoint/a.bin", "stranger.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("A = 1\n")
    (tmp_path / "parts" / "base.py").write_text("from . import deep\n\nclass Base:\n    pass\n")
    imports = "from beside import A\nimport parts.base\nimport numpy"

    def key(options: str = "", body: str = "pass") -> str:
        files = f"path={tmp_path / 'weights.pt'},folder={tmp_path / 'checkpoint'}{options}"
        model = write(files, "path, folder, bits=32, **_", body=body, imports=imports)
        return request_key(Encode(("a",)), model).digest

    before = key()
    (tmp_path / "stranger.py").write_text("A = 2\n")
    assert key() == before
    changed = {
        "beside": "beside.py", "below": "parts/deep.py", "base": "parts/base.py", "file": "weights.pt",
        "folder": "checkpoint/a.bin",
    }  # fmt: skip
    if change in changed:
        path = tmp_path / changed[change]
        path.write_text(path.read_text() + "B = 22\n")
    assert key(",bits=4" if change == "option" else "", "self.a = 1" if change == "code" else "pass") != before


@pytest.mark.parametrize("place", ["imports", "body"])
def test_a_module_that_is_imported_by_a_computed_name_is_in_the_key(
    write: Callable[..., Any], tmp_path: Path, place: str
) -> None:
    keys = set()
    for number in (1, 1, 22):
        (tmp_path / "computed.py").write_text(f"A = {number}\n")
        model = write(**{place: "import importlib; importlib.import_module('comp' + 'uted')"})
        keys.add(request_key(Encode(("a",)), model).digest)
    assert len(keys) == 2


def test_a_module_that_a_program_makes_may_name_a_file_that_is_not_there(write: Callable[..., Any]) -> None:
    """As `torch.classes` does, which is made when the class of the user is the first to import torch."""
    made = "import sys, types; sys.modules['made'] = types.ModuleType('made'); sys.modules['made'].__file__ = 'made.py'"
    assert request_key(Encode(("a",)), write(imports=made)) == request_key(Encode(("a",)), write(imports=made))


WEIGHTS: dict[str, dict[str, Any]] = {
    "default": {"parameters": "weights='net.any', **_"},
    "default path": {"parameters": "weights=Path('net.any'), **_"},
    "default folder": {"parameters": "weights='nets', **_"},
    "opened": {"body": "self.a = Path('net' + '.pt').read_text()"},
    "opened by os": {"body": "a = os.open('net' + '.pt', os.O_RDONLY); self.a = os.read(a, 99); os.close(a)"},
    "opened by import": {"imports": "A = Path('net' + '.pt').read_text()"},
    "text": {"attribute": "path = 'net.pt'"},
    "text beside": {"attribute": "path = Path(__file__).parent / 'nets/net.bin'"},
    "text of a folder": {"attribute": "path = 'nets'"},
    "array": {"body": "self.a = {'b': [np.array([*VALUE])]}"},
    "object": {"body": "self.a = Part(); self.a.b = np.array([*VALUE])"},
    "global": {"imports": "A = np.array([*VALUE])"},
    "attribute of the class": {"attribute": "a = np.array([*VALUE])"},
    "tensor": {"body": "import torch; self.a = torch.tensor([*VALUE])"},
    "module": {"body": "import torch; self.a = torch.nn.Linear(1, 1); self.a.bias.data.fill_(VALUE[0])"},
}
HEAD = """import os
from pathlib import Path
import numpy as np
VALUE = os.environ["EYECHART_TEST_VALUE"].encode()

class Part:
    pass

"""


@pytest.mark.parametrize("where", WEIGHTS)
def test_weights_that_are_trained_anew_are_another_model(
    write: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """Wherever the class has them from: the same name, options and code do not make it the same model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nets").mkdir()

    def key(value: str) -> str:
        for name in ("net.pt", "net.any", "nets/net.bin"):
            (tmp_path / name).write_text(value)
        monkeypatch.setenv("EYECHART_TEST_VALUE", value)
        model = write(**{**WEIGHTS[where], "imports": HEAD + WEIGHTS[where].get("imports", "")})
        return request_key(Encode(("a",)), model).digest

    assert key("a") == key("a") != key("b")


def test_what_is_no_weight_is_not_in_the_identity(
    write: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Random weights, which a file replaces later, and a log that the constructor writes."""
    monkeypatch.chdir(tmp_path)
    imports = "import torch\nfrom pathlib import Path"
    body = "self.net = torch.nn.Linear(4, 4); Path('log').write_text('x'); Path('log').read_text()"

    def key() -> str:
        return request_key(Encode(("a",)), write(imports=imports, body=body)).digest

    assert key() == key()


@pytest.mark.parametrize("part", ["code", "import"])
def test_a_class_that_changed_after_its_import_is_refused(
    write: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """The model in memory is then the older one, and its answers would be kept under the name of the newer one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net").write_text("1")
    write(imports="from pathlib import Path\nA = Path('net').read_text()")
    path = tmp_path / ("own.py" if part == "code" else "net")
    path.write_text(path.read_text() + "\n")
    with pytest.raises(ModelError, match=r"was changed after this process imported the module.*Start Python again"):
        create_model(parse_spec("own:M[]"), device="cpu", offline=True)
