"""Tiny models of unlike families through the protocols: a column of docs/families.md.

How each family answers and scores: models/hf/test_families. What vLLM answers and scores is compared for families in
test_vllm_families, and for protocols, with the packaged model, in test_vllm_protocols.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import family_table
import pytest
from families.protocols import PROTOCOLS, protocols_of, run_protocols

pytestmark = pytest.mark.deep

FAMILIES = ("blip_2", "gemma4", "mllama", "qwen3_vl")  # no chat template, step by step, cross-attention, one pass
ROWS = {row.family: row for row in family_table.read_rows(family_table.PAGE.read_text(encoding="utf-8"))}


@pytest.fixture(scope="module")
def protocols(
    tiny_chat: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str]
) -> Mapping[str, tuple[str, ...]]:
    """Return the protocols that ran with each family, in one session."""
    specs = {family: f"hf[{tiny_chat(family)}]" for family in FAMILIES}
    records = run_protocols([*specs.values()], tmp_path_factory.mktemp("families"), warm_python)
    return {family: protocols_of(spec, records) for family, spec in specs.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_protocol_runs_through_transformers(protocols: Mapping[str, tuple[str, ...]], family: str) -> None:
    assert protocols[family] == PROTOCOLS
    assert ROWS[family].protocols == len(PROTOCOLS)
