"""Files of a run: read one, and refuse it if it was changed since the run."""

from hashlib import sha256
from pathlib import Path

from eyechart.errors import ReportError
from eyechart.results.records import File


def read_verified(path: Path, folder: Path, file: File) -> str:
    """Return the text of a run's file, if it is inside the run's folder and its sha256 is the record's."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ReportError(f"The run {folder} names the file {path}, which lies outside of it. Use the run's own files.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ReportError(f"{path} cannot be read ({error.strerror}). Run the case again.") from error
    if (digest := sha256(content).hexdigest()) != file.sha256:
        raise ReportError(
            f"{path} has changed since the run: its sha256 is {digest[:12]}…, expected {file.sha256[:12]}…. "
            "Restore the file, or run the case again."
        )
    return content.decode()
