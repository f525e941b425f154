"""Classes of the user: how options reach them, what identifies them, and what is said about their errors."""

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import EyechartError, ModelError, RequestError, SpecError
from eyechart.models.own_class import explained
from eyechart.models.registry import _inherited, capabilities, create_model
from eyechart.models.spec import parse_spec


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
        ("import sys; sys.exit(2)", r"The import of own failed at \S+own\.py, line 1: SystemExit: 2"),
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
        ("raise SystemExit('no GPU')", r"The constructor of M failed at \S+own\.py, line 10: SystemExit: no GPU"),
    ],
)
def test_an_error_of_the_constructor_is_named(write: Callable[..., Any], body: str, sentence: str) -> None:
    with pytest.raises(EyechartError, match=sentence):
        write(body=body)


@pytest.mark.parametrize("error", ["KeyError('logits')", "SystemExit(2)", "AssertionError"])
def test_an_error_while_the_class_answers_is_named(write: Callable[..., Any], error: str) -> None:
    model = write(imports=f"def fail(*_):\n    raise {error}\n")
    name = error.partition("(")[0]
    with (
        pytest.raises(ModelError, match=rf"'own:M\[\]': The class M failed at \S+own\.py, line \d+: {name}"),
        explained(model),
    ):
        sys.modules["own"].fail()


def test_memory_that_runs_out_and_errors_of_eyechart_are_left_as_they_are(write: Callable[..., Any]) -> None:
    for error in (MemoryError(), RuntimeError("CUDA out of memory"), RequestError({0: "too long"})):
        with pytest.raises(type(error)) as raised, explained(write()):
            raise error
        assert raised.value is error


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
