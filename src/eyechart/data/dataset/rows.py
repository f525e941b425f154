"""One line of a data set's index."""

import msgspec


class Row(msgspec.Struct, frozen=True, gc=False):
    """One image of an index: its key, its original file name, the sha256 of its bytes, and its label (-1: none)."""

    key: str
    file: str
    sha256: str
    label: int = -1
