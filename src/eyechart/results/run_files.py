"""Files of a run: read one, and refuse it if it was changed since the run."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from eyechart.errors import ReportError
from eyechart.files.text_files import HEAD, describe_content
from eyechart.results.records import File


def read_verified(path: Path, folder: Path, file: File) -> str:
    """Return the text of a run's file, if it is inside the run's folder and its sha256 is the record's."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ReportError(f"The run {folder} names the file {path}, which lies outside of it. Use the run's own files.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ReportError(f"{path} cannot be read ({error.strerror}). Run the case again.") from error
    for text in _line_ends(content):
        if sha256(text).hexdigest() == file.sha256:
            return text.decode()
    if why := describe_content(content[:HEAD]):
        raise ReportError(f"{path} {why}. Or run the case again.")
    raise ReportError(
        f"{path} has changed since the run: its sha256 is {sha256(content).hexdigest()[:12]}…, expected "
        f"{file.sha256[:12]}…. Restore the file, or run the case again."
    )


def _line_ends(content: bytes) -> Iterator[bytes]:
    """Yield a text as it is, and with the ends of lines that git may have converted it from."""
    yield content
    plain = content.replace(b"\r\n", b"\n")
    yield plain
    yield plain.replace(b"\n", b"\r\n")
