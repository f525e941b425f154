"""File systems at URLs, which fsspec opens."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from eyechart.errors import EyechartError
from eyechart.messages.install_commands import install_command

LOCAL = ("file", "local", "memory")  # protocols without a connection


def needs_connection(url: str) -> bool:
    """Return whether the file system of a URL is on another machine.

    >>> needs_connection("https://host/data"), needs_connection("file:///data")
    (True, False)
    """
    return url.partition("://")[0] not in LOCAL


def open_url(url: str, error_class: type[EyechartError]) -> tuple[Any, str]:
    """Return the file system of a URL, which fsspec keeps for this process, and the path on it.

    Raises an error of `error_class` without fsspec, and for an unknown or missing protocol.
    """
    try:
        from fsspec.core import url_to_fs
    except ModuleNotFoundError as error:
        raise error_class(f"{url} needs the package fsspec. Install it with: {install_command('remote')}") from error
    try:
        files, root = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise error_class(
            f"{url} cannot be opened ({error}). Expected a URL that fsspec knows, such as s3://…."
        ) from error
    return files, str(root).rstrip("/")


@contextmanager
def explain_errors(error_class: type[EyechartError], what: str, remedy: str) -> Iterator[None]:
    """Raise an error of `error_class` for any error of a file system, whose client may raise errors of any class.

    `what` is the beginning of the sentence, and `remedy` its end.
    """
    try:
        yield
    except error_class:
        raise
    except Exception as error:
        raise error_class(f"{what} ({describe(error)}){remedy}") from error


def describe(error: Exception) -> str:
    """Return the class and the text of an error of a file system."""
    return f"{type(error).__name__}: {error}".rstrip(" .:")
