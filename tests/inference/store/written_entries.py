"""A store with entries of two models."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from eyechart.inference.store.arrays import Block, append, seal
from eyechart.inference.store.entries import Key, Store, StoreEntry
from eyechart.models.types import Identity

KINDS = ("image_features", "logits", "class_weights")
ROWS = np.arange(12, dtype=np.float32).reshape(6, 2)


def write_entries(root: Path) -> Mapping[str, StoreEntry]:
    """Write three entries of two models by their kinds, of which the last is partial; and a file that is no entry."""
    store = Store(root)
    found = {}
    for number, kind in enumerate(KINDS):
        model = Identity(
            backend="test", name=f"m{number % 2}", weights_sha256="0", dtype="", device="", processor={}, libraries={}
        )
        entry = found[kind] = store.entry(Key(kind=kind, model=model))
        with entry.lock_for_writing() as writer:
            append(writer, Block((*range(6),), 2), ROWS)
            if kind != KINDS[2]:
                seal(writer, len(ROWS))
    (root / "index").mkdir()
    (root / "index" / "kept").write_text("an index")
    return found
