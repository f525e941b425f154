"""Checks of arguments; every metric refuses a wrong argument with the same sentence."""

import numpy as np
from numpy.typing import ArrayLike, NDArray


def require(holds: bool, function: str, parameter: str, wanted: str, got: object) -> None:
    """Raise ValueError with a sentence about an argument unless a condition holds.

    >>> require(False, "top_k", "k", "at least 1", 0)
    Traceback (most recent call last):
    ValueError: The 'k' parameter of top_k must be at least 1. Got 0 instead.
    """
    if not holds:
        raise ValueError(f"The {parameter!r} parameter of {function} must be {wanted}. Got {_describe(got)} instead.")


def check_integers(
    function: str, parameter: str, values: ArrayLike, *, ndim: int, below: int | None = None, least: int = -1
) -> NDArray[np.int64]:
    """Return the values as int64; all must be at least `least` and less than `below`.

    >>> check_integers("top_k", "labels", [[3, -1]], ndim=2, below=10)
    array([[ 3, -1]])
    """
    array = np.asarray(values)
    fits = array.ndim == ndim and (array.dtype.kind in "iu" or array.size == 0)
    require(fits, function, parameter, f"an integer array of {ndim} dimension{'s' * (ndim > 1)}", array)
    beyond = array < least
    outside = array[beyond if below is None else beyond | (array >= below)]
    wanted = f"at least {least}" if below is None else f"at least {least} and less than {below}"
    require(outside.size == 0, function, parameter, wanted, outside.flat[0] if outside.size else None)
    return array.astype(np.int64)


def check_booleans(function: str, parameter: str, values: ArrayLike, length: int) -> NDArray[np.bool_]:
    """Return the values as a boolean vector of a given length.

    >>> check_booleans("outcomes", "annotated", [True, False], length=2)
    array([ True, False])
    """
    array = np.asarray(values)
    fits = array.shape == (length,) and (array.dtype.kind == "b" or length == 0)
    require(fits, function, parameter, f"a boolean array of shape ({length},)", array)
    return array.astype(np.bool_)


def check_fractions(function: str, parameter: str, values: ArrayLike, *, ndim: int) -> NDArray[np.float64]:
    """Return the values as float64; each must be in [0, 1] or NaN.

    >>> check_fractions("wilson", "p", [0, 0.5], ndim=1)
    array([0. , 0.5])
    """
    array = np.asarray(values, dtype=np.float64)
    require(array.ndim == ndim, function, parameter, f"an array of {ndim} dimension{'s' * (ndim > 1)}", array)
    outside = array[(array < 0) | (array > 1)]
    require(outside.size == 0, function, parameter, "in [0, 1] or NaN", outside.flat[0] if outside.size else None)
    return array


def check_outcomes(function: str, parameter: str, values: ArrayLike, *, ndim: int) -> NDArray[np.float64]:
    """Return the values as float64; each must be 0, 1 or NaN.

    >>> check_outcomes("accuracy", "outcome", [1, 0, float("nan")], ndim=1)
    array([ 1.,  0., nan])
    """
    array = check_fractions(function, parameter, values, ndim=ndim)
    odd = array[(array > 0) & (array < 1)]
    require(odd.size == 0, function, parameter, "0, 1 or NaN", odd.flat[0] if odd.size else None)
    return array


def check_whole_number(function: str, parameter: str, value: float, *, least: int = 0, most: int | None = None) -> int:
    """Return the value as an int; it must be a whole number in its range.

    >>> check_whole_number("top_k", "k", 5.0, least=1)
    5
    """
    in_range = value >= least and (most is None or value <= most)
    wanted = f"a whole number of at least {least}" + ("" if most is None else f" and at most {most}")
    require(bool(in_range and value == int(value)), function, parameter, wanted, value)
    return int(value)


def check_length(function: str, parameter: str, array: NDArray[np.generic], length: int) -> None:
    """Raise ValueError unless an array has one row per image.

    >>> check_length("outcomes", "labels", np.zeros(2), length=2)
    """
    require(len(array) == length, function, parameter, f"of length {length}, one row an image", array)


def _describe(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return repr(value.item() if isinstance(value, np.generic) else value)
