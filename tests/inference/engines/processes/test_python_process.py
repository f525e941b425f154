"""Processes of Python that serve this one: modules, arguments, variables, open files, and what they print."""

import json
import os
from pathlib import Path

import pytest

from eyechart.inference.engines.processes.python_process import start_python

SERVED = """
import json
import os
import sys

def main(descriptor, *arguments):
    print("what a library prints")
    told = {
        "arguments": arguments,
        "variables": [os.environ.get(name) for name in ("GIVEN", "KEPT")],
        "main": getattr(sys.modules["__main__"], "__file__", None),
    }
    with os.fdopen(descriptor, "w") as file:
        json.dump(told, file)
"""


def test_a_process_calls_a_module_that_this_one_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "served_module.py").write_text(SERVED, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("KEPT", "as here")
    reading, writing = os.pipe()
    with os.fdopen(reading) as file:
        process = start_python("served_module", [writing, "é", [1, None]], {"GIVEN": "gpu 0"}, [writing])
        os.close(writing)
        told = json.load(file)
    assert process.wait(60) == 0
    assert told == {"arguments": ["é", [1, None]], "variables": ["gpu 0", "as here"], "main": None}
    assert capfd.readouterr() == ("", "what a library prints\n")
