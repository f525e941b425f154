"""Models that tests of several modules take: a class of a user, and a checkpoint whose prompts open its thinking."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from eyechart.models.registry import _inherited, create_model
from eyechart.models.spec import parse_spec

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


OPENED = "{% if add_generation_prompt %}{{ '<think>\n' }}{% endif %}"


@pytest.fixture
def opened(thinking_chat: Path, tmp_path: Path) -> Path:
    """The checkpoint with a chat template that opens the thinking in every prompt."""
    folder = Path(copytree(thinking_chat, tmp_path / "opened"))
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text().partition("{% if add_generation_prompt and enable")[0] + OPENED)
    return folder
