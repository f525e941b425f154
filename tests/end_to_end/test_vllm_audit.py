"""`eyechart.audit` of two engines: vLLM answers as transformers does, and the libraries that differ are named."""

from pathlib import Path

import pytest

import eyechart

pytestmark = pytest.mark.deep


def test_two_engines_answer_alike(tmp_path: Path) -> None:
    result = eyechart.audit(
        "hf[toybox-mllm]", "toybox/sample-cutouts", protocol="closed_world", limit=8, repeats=0,
        against=["vllm[toybox-mllm]"], store=tmp_path / "store", offline=True, progress=False,
    )  # fmt: skip
    (row,) = result.flips.to_dict("records")
    assert (row["setting"], row["n"], row["changed"]) == ("vllm[toybox-mllm]", 8, 0)
    assert "vllm" in " ".join(result.variations[0].remarks)  # the versions of the engine's libraries
