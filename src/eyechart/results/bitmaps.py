"""Base 85 of the arrays in evidence, computed with NumPy: the functions of `base64` loop over words in Python."""

from base64 import b85encode

import numpy as np

BASE, LENGTH = 85, 5  # so many characters are four bytes
INVALID = 255
POWERS = BASE ** np.arange(LENGTH - 1, -1, -1, dtype=np.uint64)
CHARACTERS = np.array([b85encode(bytes([0, 0, 0, value]))[-1] for value in range(BASE)], np.uint8)
VALUES = np.full(128, INVALID, np.uint8)
VALUES[CHARACTERS] = np.arange(BASE)


def encode_base85(data: bytes) -> str:
    """Return what `base64.b85encode` returns, as text.

    >>> encode_base85(b"example")
    'Wq4t2aBO7'
    """
    padding = -len(data) % 4
    words = np.frombuffer(data + bytes(padding), ">u4").astype(np.uint32)
    digits = np.empty((len(words), LENGTH), np.uint8)
    for index in range(LENGTH - 1, -1, -1):
        words, digits[:, index] = np.divmod(words, np.uint32(BASE))
    text = CHARACTERS[digits].tobytes().decode("ascii")
    return text[: len(text) - padding]


def decode_base85(text: str) -> bytes:
    """Return what `base64.b85decode` returns. Raises ValueError where it does.

    >>> decode_base85("Wq4t2aBO7")
    b'example'
    """
    values = VALUES[np.frombuffer(text.encode("ascii"), np.uint8)]
    if values.max(initial=0) == INVALID:
        raise ValueError("a character is not one of base 85")
    padding = -len(values) % LENGTH
    digits = np.full(len(values) + padding, BASE - 1, np.uint8)
    digits[: len(values)] = values
    words = digits.reshape(-1, LENGTH) @ POWERS
    if words.max(initial=0) >= 2**32:
        raise ValueError("five characters are more than four bytes")
    return words.astype(">u4").tobytes()[: len(words) * 4 - padding]
