"""Classes of the user: how options reach them, what identifies them, and what is said about their errors."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.errors import EyechartError, ModelError, SpecError
from eyechart.inference.requests.row_requests import EncodeTexts
from eyechart.inference.store.keys import request_key
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

    def write(options: str = "", parameters: str = "**_", **more: str) -> Any:
        forget()
        usual = {"body": "pass", "imports": "", "attribute": "", "method": "encode_texts"}
        (tmp_path / "own.py").write_text(CLASS.format(parameters=parameters, **usual | more))
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
    imports = "from eyechart.models.options import keywords, words"
    declared = "declared_options = (words('bits', 'bits'), keywords('extra', 'more'))"
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
        return request_key(EncodeTexts(("a",)), model).digest

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


def test_a_class_with_an_abstract_method_is_named(write: Callable[..., Any]) -> None:
    with pytest.raises(ModelError, match="The constructor of M failed: TypeError: Can't instantiate abstract class M"):
        write(method="encode")


def test_an_identity_takes_what_a_program_has_at_hand() -> None:
    """Versions, types, paths, sizes and arrays of libraries are values of JSON in records and keys."""
    torch = pytest.importorskip("torch")
    version = type("TorchVersion", (str,), {})("2.1")
    made = Identity(
        backend="a",
        name=Path("b"),  # type: ignore[arg-type]
        weights_sha256=b"\x01",  # type: ignore[arg-type]
        dtype=torch.float16,
        device=torch.device("cpu"),
        processor={"size": torch.Size([2]), "mean": np.float32(0.5), "of": {"b", "a"}, "at": Path("c"), "f": object()},
        libraries={"torch": version, "n": 3},  # type: ignore[dict-item]
    )
    assert (made.name, made.weights_sha256, made.dtype, made.device) == ("b", "01", "float16", "cpu")
    assert made.processor == {"size": [2], "mean": 0.5, "of": ["a", "b"], "at": "c", "f": "<object object>"}
    assert made.libraries == {"torch": "2.1", "n": "3"}
    assert type(made.libraries["torch"]) is str
