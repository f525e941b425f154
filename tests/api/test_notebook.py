"""The notebook in examples/ runs from its first cell to its last."""

import sys
from collections.abc import Sequence
from pathlib import Path

import nbclient
import nbformat
import pytest

pytestmark = pytest.mark.deep
NOTEBOOK = Path(__file__).parents[2] / "examples" / "evaluate.ipynb"


def test_the_notebook_runs_and_shows_what_its_text_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm_python: Sequence[str]
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(sys, "executable", warm_python[0])  # for the kernel
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [
        output["data"]["text/plain"]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if output.output_type == "execute_result"
    ]
    assert "0.98374" in shown[0]
    assert len(shown[1].splitlines()) == 3  # a head, and the two wrong answers
    assert "acc1" in shown[2]
    assert "supervised" in shown[3]
    assert "inconclusive" in shown[4]
    assert "toybox/sample" in shown[5]
    assert all(not cell.get("outputs") for cell in nbformat.read(NOTEBOOK, as_version=4).cells)
