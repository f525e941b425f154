"""Tiny models of many families through the protocols, by both engines: the columns of docs/families.md."""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import family_table
import pytest
from families.protocols import PROTOCOLS, protocols_of, run_protocols

pytestmark = pytest.mark.deep

FAMILIES = (
    *("fast_vlm", "gemma3", "gemma4", "idefics3", "internvl", "llama4", "llava_next", "mistral3", "mllama"),
    *("paligemma", "qwen2_5_vl", "qwen3_5", "qwen3_vl"),
)
THROUGH_VLLM = ("blip_2", "fast_vlm", "glm4v", "idefics3", "internvl", "mistral3", "qwen2_5_vl", "qwen3_vl")
ROWS = {row.family: row for row in family_table.read_rows(family_table.PAGE.read_text(encoding="utf-8"))}
Rows = list[dict[str, str]]


@dataclass(frozen=True)
class Runs:
    """One session with all families and both engines."""

    folder: Path
    specs: Mapping[tuple[str, str], str]  # by engine and family
    records: Mapping[tuple[str, str], Mapping[str, Any]]

    def protocols(self, engine: str, family: str) -> tuple[str, ...]:
        """Return the protocols that ran."""
        return protocols_of(self.specs[engine, family], self.records)

    def rows(self, engine: str, family: str, protocol: str) -> Rows:
        """Return the sample table of a case."""
        record = self.records[self.specs[engine, family], protocol]
        with (self.folder / "reports/runs/latest" / record["predictions"]["path"]).open(encoding="utf-8") as file:
            return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def runs(
    tiny_chat: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str]
) -> Runs:
    folder = tmp_path_factory.mktemp("families")
    hf = {("hf", family): f"hf[{tiny_chat(family)}]" for family in {*FAMILIES, *THROUGH_VLLM}}
    vllm = {("vllm", family): f"vllm[{tiny_chat(family)},max_num_seqs=16]" for family in THROUGH_VLLM}
    specs = {**hf, **vllm}
    return Runs(folder, specs, run_protocols([*specs.values()], folder, warm_python))


@pytest.mark.parametrize("family", sorted({*FAMILIES, *THROUGH_VLLM}))
def test_every_protocol_runs_through_transformers(runs: Runs, family: str) -> None:
    assert runs.protocols("hf", family) == PROTOCOLS
    assert ROWS[family].protocols == len(PROTOCOLS)


@pytest.mark.parametrize("family", THROUGH_VLLM)
def test_every_protocol_runs_through_vllm(runs: Runs, family: str) -> None:
    assert runs.protocols("vllm", family) == PROTOCOLS
    row = ROWS[family].vllm
    assert row is not None
    assert (row.same_tokens, row.path) == (True, "one pass")
    assert row.protocols == len(PROTOCOLS)
    assert row.difference < family_table.BOUND


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("family", THROUGH_VLLM)
def test_both_engines_write_the_same_samples(runs: Runs, family: str, protocol: str) -> None:
    hf, vllm = (runs.rows(engine, family, protocol) for engine in ("hf", "vllm"))
    assert [*map(numbers, vllm)] == [pytest.approx(numbers(row), rel=2e-5, abs=1e-4, nan_ok=True) for row in hf]
    assert [*map(words, vllm)] == [*map(words, hf)]
    assert hf


def numbers(row: Mapping[str, str]) -> dict[str, float]:
    return {name: value for name, cell in row.items() if (value := number(cell)) is not None}


def words(row: Mapping[str, str]) -> dict[str, str]:
    return {name: cell for name, cell in row.items() if number(cell) is None}


def number(cell: str) -> float | None:
    """A cell as a number if it is one."""
    try:
        return float(cell)
    except ValueError:
        return None
