"""Hashes that identify the samples of a split by their keys and images."""

from collections.abc import Iterable
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

KEY_BITS = 48


def hash_samples(samples: Iterable[tuple[str, str]]) -> NDArray[np.uint64]:
    """Return what identifies each sample, from its key and the sha256 of its image, as uint64 (n,)."""
    bits = (
        int.from_bytes(sha256(key.encode()).digest()[: KEY_BITS // 8], "big") << 16 | int(image[:4] or "0", 16)
        for key, image in samples
    )
    return np.fromiter(bits, np.uint64)
