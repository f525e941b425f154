"""Names of files in a program whose locale has no UTF-8, such as LC_ALL=C: records could not have them."""

import os
import sys
from pathlib import Path

from eyechart.errors import DataError


def _is_utf8(encoding: str) -> bool:
    """Return whether an encoding is UTF-8.

    >>> _is_utf8("utf-8"), _is_utf8("UTF8"), _is_utf8("ascii")
    (True, True, False)
    """
    return encoding.lower().replace("-", "").replace("_", "") == "utf8"


def printable(name: str) -> str:
    """Return a name of a file with each byte that is not UTF-8 as an escape, so that it can be printed."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def check_locale(*names: str | Path) -> None:
    """Raise DataError for names of files beyond ASCII, unless Python reads names of files as UTF-8."""
    encoding = sys.getfilesystemencoding()
    if _is_utf8(encoding):
        return
    for name in map(str, names):
        if not name.isascii():
            raise DataError(
                f"Python reads names of files as {encoding} here, since the locale is not UTF-8, so that it cannot "
                f"work with {printable(name)}. Set PYTHONUTF8=1 or LC_ALL=C.UTF-8, and run the same command again."
            )
