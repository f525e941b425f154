"""Classes of the user: how options reach them, what identifies them, and what is said about their errors."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.errors import EyechartError, ModelError, SpecError
from eyechart.inference.requests.row_requests import Encode
from eyechart.inference.store.entries import request_key
from eyechart.models.registry import _inherited, capabilities, create_model
from eyechart.models.spec import parse_spec
from eyechart.models.types import Identity

CLASS = """
from eyechart.models.types import TextEncoder
{imports}

class M(TextEncoder):
    {attribute}

    def __init__(self, spec, {parameters}):
        self.given = {{name: value for name, value in locals().items() if name not in ("self", "spec", "__class__")}}
        {body}

    def {method}(self, texts):
        return None
"""


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Write the class `own:M`, and return its model of a specification."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = {*sys.modules}

    def forget() -> None:
        _inherited.cache_clear()
        for name in {*sys.modules} - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
                del sys.modules[name]

    def write(options: str = "", parameters: str = "**_", first: bool = True, **more: str) -> Any:
        forget()
        usual = {"body": "pass", "imports": "", "attribute": "", "method": "encode_texts"}
        source = CLASS.format(parameters=parameters, **usual | more)
        own = source if first else re.sub(r"    def __init__\(self, spec, .*?\n\n", "", source, flags=re.DOTALL)
        (tmp_path / "own.py").write_text(own)
        return create_model(parse_spec(f"own:M[{options}]"), device="cpu", offline=True)

    yield write
    forget()


def test_options_are_keyword_arguments_in_the_type_of_their_parameter(write: Callable[..., Any]) -> None:
    parameters = (
        "*, device, bits=32, share: float = 1, fast=False, size: 'int | None' = None, name='a', head: str = None, _b=1"
    )
    options = "bits=4,share=0.5,fast=true,size=8,name=b,head=5"
    expected = {"device": "cpu", "bits": 4, "share": 0.5, "fast": True, "size": 8, "name": "b", "head": "5", "_b": 1}
    assert write(options, parameters).given == expected
    assert write("bits=4", "bits='32', **_").given == {"bits": "4", "_": {"device": "cpu", "offline": True}}
    assert write("any=4", "**options").given == {"options": {"any": "4", "device": "cpu", "offline": True}}


@pytest.mark.parametrize(
    ("options", "parameters", "sentence"),
    [
        (
            "bit=4",
            "bits=32, **_",
            r"the option 'bit', which no parameter of M takes; did you mean bits\?",
        ),
        ("bits=4", "*, device='cpu'", r"the option 'bits', which no parameter of M takes\. Its options are: none"),
        ("device=cuda", "*, device='cpu'", "the option 'device', which no parameter"),
        ("bits=four", "bits=32", r"has bits=four\. Expected a whole number\."),
        ("fast=1", "fast=True", r"has fast=1\. Expected true or false\."),
        ("share=half", "share=0.5", r"has share=half\. Expected a number\."),
    ],
)
def test_an_option_that_nobody_reads_is_refused(
    write: Callable[..., Any], options: str, parameters: str, sentence: str
) -> None:
    with pytest.raises(SpecError, match=sentence):
        write(options, parameters)


def test_an_option_that_the_class_declares_is_its_own(write: Callable[..., Any]) -> None:
    imports = (
        "from eyechart.models.options import ModelOptions\n\n"
        "class Settings(ModelOptions):\n    bits: str = ''\n    extra: dict[str, object] = {}"
    )
    declared = "declared_options = Settings"
    assert write("bits=4,extra.a=1", imports=imports, attribute=declared)
    with pytest.raises(SpecError, match=r"'bit', .*; did you mean bits\? Its options are: bits, extra\.KEY"):
        write("bit=4", imports=imports, attribute=declared)


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


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            "raise RuntimeError('no checkpoint')",
            r"The import of own failed at \S+own\.py, line 1: RuntimeError: no c",
        ),
        ("\nclass M(:\n", r"The import of own failed at \S+own\.py, line 2: SyntaxError"),
        (
            "import absent_package",
            r"line 1: ModuleNotFoundError.*the package that has the module absent_package",
        ),
        ("class N: pass", r"this module has no M\. Correct the name of the class"),
        ("class Mm: pass", r"has no M\. Correct the name of the class"),
        ("M = 3", r"this module has M as an object of the type int"),
    ],
)
def test_a_module_that_cannot_be_used_is_named_with_file_and_line(
    write: Callable[..., Any], tmp_path: Path, source: str, sentence: str
) -> None:
    write()
    _inherited.cache_clear()
    sys.modules.pop("own")
    (tmp_path / "own.py").write_text(source)
    with pytest.raises(ModelError, match=sentence):
        capabilities(parse_spec("own:M[]"))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (
            "open('there is none')",
            r"'own:M\[\]': The constructor of M failed at \S+own\.py, line 10: File",
        ),
        (
            "import absent_package",
            "line 10: ModuleNotFoundError.*the package that has the module absent_package",
        ),
    ],
)
def test_an_error_of_the_constructor_is_named(write: Callable[..., Any], body: str, sentence: str) -> None:
    with pytest.raises(EyechartError, match=sentence):
        write(body=body)


@pytest.mark.parametrize(
    ("options", "constructor", "sentence"),
    [
        ("", "def __init__(self, bits=32)", "first parameter of the constructor of M is the option 'bits'"),
        ("bits=4", "def __init__(self, bits)", "first parameter of the constructor of M is the option 'bits'"),
        ("", "def __init__(self)", "takes 1 positional argument but 2 were given"),
        ("", "def __init__(self, bits)", "not supported between instances of 'ModelSpec' and 'int'"),
        ("", "def other(self)", "takes no arguments"),
    ],
)
def test_a_constructor_that_does_not_take_the_specification_gets_the_signature(
    write: Callable[..., Any], options: str, constructor: str, sentence: str
) -> None:
    body = "assert bits < 8" if constructor.endswith("bits)") else "pass"
    with pytest.raises(EyechartError, match=rf"{sentence}.* Write def __init__\(self, spec, bits=32\)"):
        write(options, attribute=f"{constructor}:\n        {body}\n\n    def unused(self, **_): pass", first=False)


def test_the_class_in_the_documentation_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from PIL import Image

    page = Path(__file__).parents[2] / "docs" / "extending.md"
    (tmp_path / "my_model.py").write_text(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)[0])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    torch.save(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3072, 2)).state_dict(), "net.pt")
    model = create_model(parse_spec("my_model:MyModel[size=32]"), device="cpu", offline=True)
    assert model.classify([model.prepare(Image.new("RGB", (50, 40)))] * 3).shape == (3, 2)
    del sys.modules["my_model"]


def test_a_file_with_images_a_module_gets_the_module(write: Callable[..., Any]) -> None:
    write()
    with pytest.raises(ModelError, match=r"names a file\. Expected its module: write own:M, without the '\.py'"):
        capabilities(parse_spec("own.py:M[]"))
    with pytest.raises(SpecError, match=r"run the command in the folder src/nets, and write own:M\[…\]\."):
        parse_spec("src/nets/own.py:M[bits=4]")


def test_a_module_may_import_a_torchvision_whose_binary_cannot_be_loaded(
    tmp_path: Path, torch_python: Sequence[str]
) -> None:
    (tmp_path / "net.py").write_text("import torchvision\n\n\nclass Net:\n    pass\n")
    code = "from eyechart.models.own_class import load_class; print(load_class('net:Net').__name__)"
    done = subprocess.run([*torch_python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "Net\n", done.stderr


def test_a_class_with_an_abstract_method_is_named(write: Callable[..., Any]) -> None:
    with pytest.raises(ModelError, match="The constructor of M failed: TypeError: Can't instantiate abstract class M"):
        write(method="encode")


def test_an_identity_takes_what_a_program_has_at_hand() -> None:
    """Versions, types, paths, sizes and arrays of libraries are values of JSON in records and keys."""
    torch = pytest.importorskip("torch")
    version = type("TorchVersion", (str,), {})("2.1")
    made = Identity(
        backend="a",
        name=Path("b"),
        weights_sha256=b"\x01",
        dtype=torch.float16,
        device=torch.device("cpu"),
        processor={"size": torch.Size([2]), "mean": np.float32(0.5), "of": {"b", "a"}, "at": Path("c"), "f": object()},
        libraries={"torch": version, "n": 3},
    )
    assert (made.name, made.weights_sha256, made.dtype, made.device) == ("b", "01", "float16", "cpu")
    assert made.processor == {"size": [2], "mean": 0.5, "of": ["a", "b"], "at": "c", "f": "<object object>"}
    assert made.libraries == {"torch": "2.1", "n": "3"}
    assert type(made.libraries["torch"]) is str
