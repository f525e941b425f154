"""Read labels as users give them: whole numbers of any type, and nothing else."""

from typing import Any

from eyechart.errors import DataError


def is_missing(value: Any) -> bool:
    """Return whether a value stands for a missing one: None, NaN, NaT, pandas' NA, or a text without a sign.

    >>> is_missing(None), is_missing(float("nan")), is_missing(" "), is_missing(0)
    (True, True, True, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return not value.strip()
    try:
        return bool(value != value)
    except Exception:  # an array, a tensor or a value that is not compared
        return False


def whole_number(value: Any, where: str) -> int:
    """Return a label as an int: whole numbers of Python, NumPy, pandas and torch, also as floats.

    `where` names the label in errors. Raises DataError for a missing label, a fraction, a list and anything else.
    """
    if is_missing(value):
        raise DataError(f"{where} has no label ({value}): give it one, or leave it out.")
    if isinstance(value, str | bytes):
        raise DataError(f"{where} has the label {value!r}, a text; expected a whole number, as the other labels are.")
    try:
        if getattr(getattr(value, "dtype", None), "kind", "") in ("m", "M"):
            raise TypeError  # a date of NumPy, which is a number of nanoseconds
        plain = value.item() if hasattr(value, "item") and not isinstance(value, int | float) else value
        number = int(plain)
        equal = bool(plain == number)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        raise DataError(
            f"{where} has the label {_short(value)} of the type {type(value).__name__}; expected one whole number, or "
            "the name of a class."
        ) from None
    if not equal:
        raise DataError(f"{where} has the label {_short(value)}, which is no whole number: correct it.")
    return number


def _short(value: object, most: int = 60) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= most else f"{text[:most]}…"
