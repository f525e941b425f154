"""Logits in a store: what is written is read, and what is damaged, missing or too much is no error."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.results.logit_files import LOGITS, MOST, read_logits, write_logits

SOME = np.array([[1.5, -0.0, 3e38], [np.nan, -np.inf, 1e-45]], np.float32)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_logits_are_read_as_they_were_written(tmp_path: Path, kind: Any) -> None:
    logits = np.random.default_rng(0).normal(size=(4, 3)).astype(kind)
    name = write_logits(tmp_path, logits)
    found = read_logits(tmp_path, name)
    assert found is not None
    assert found.dtype == np.float32
    assert np.array_equal(found, logits.astype(np.float32))


def test_no_bit_is_lost(tmp_path: Path) -> None:
    found = read_logits(tmp_path, write_logits(tmp_path, SOME))
    assert found is not None
    assert found.tobytes() == SOME.tobytes()


def test_equal_logits_are_one_file_whatever_their_order_in_memory(tmp_path: Path) -> None:
    names = {write_logits(tmp_path, logits) for logits in (SOME, np.asfortranarray(SOME), SOME.astype(np.float64))}
    assert [path.stem for path in (tmp_path / LOGITS).glob("*.npy")] == [*names]
    assert write_logits(tmp_path, SOME[::-1]) not in names


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3,), (2, 2, 2), (MOST // 2**10 + 1, 2**10)])
def test_what_is_no_table_of_logits_or_too_much_is_not_written(tmp_path: Path, shape: tuple[int, ...]) -> None:
    assert write_logits(tmp_path, np.zeros(shape, np.float32)) == ""
    assert [*tmp_path.iterdir()] == []


def test_a_damaged_file_and_an_unknown_name_are_none(tmp_path: Path) -> None:
    name = write_logits(tmp_path, SOME)
    (path,) = (tmp_path / LOGITS).glob("*.npy")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1  # a bit of a number
    path.write_bytes(content)
    assert read_logits(tmp_path, name) is None
    path.write_bytes(b"")
    assert read_logits(tmp_path, name) is None
    assert read_logits(tmp_path, "0" * 32) is None


def test_logits_have_a_name_where_the_store_cannot_be_written(tmp_path: Path) -> None:
    (store := tmp_path / "store").write_text("no folder", encoding="utf-8")
    assert write_logits(store, SOME) == write_logits(tmp_path, SOME)
    assert store.read_text(encoding="utf-8") == "no folder"
