"""The folder of a run: a line for each record as its case ends, and records.json at the end."""

import platform
import subprocess
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from eyechart.files.atomic import write_atomic
from eyechart.results.records import LINES, RECORDS_FILE, Record, Records, Run, encode
from eyechart.version import __version__


class RunFolder:
    """The files of a run. The folder is created with the first file.

    If the folder of all runs is new, too, it gets a `.gitignore`, so that results do not enter a user's repository.
    """

    def __init__(self, path: Path, started: float | None = None) -> None:
        self.path = path
        self.started = time.time() if started is None else started
        self.is_first = not path.parent.exists()

    def create(self) -> None:
        """Create the folder. Raises OSError."""
        self.path.mkdir(parents=True, exist_ok=True)
        if self.is_first:
            (self.path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
            self.is_first = False

    def append(self, record: Record) -> None:
        """Write a record as a line at once, so that it outlives the process. Raises OSError."""
        self.create()
        with (self.path / LINES).open("ab") as file:
            file.write(msgspec.json.encode(record) + b"\n")

    def finish(self, records: Collection[Record], run: Run) -> None:
        """Write records.json, sorted by case. Raises OSError."""
        self.create()
        ordered = sorted(records, key=lambda record: (record.case, record.protocol))
        write_atomic(self.path / RECORDS_FILE, encode(Records(run=run, records=tuple(ordered))))

    def link_latest(self) -> None:
        """Link `latest` to this run, atomically, since another run may do the same; a folder of this name is kept.

        Nothing happens on a file system without symbolic links.
        """
        latest = self.path.parent / "latest"
        if latest.is_symlink() or not latest.exists():
            draft = self.path.parent / f".latest-{self.path.name}"
            with suppress(OSError):
                draft.symlink_to(self.path.name)
                draft.replace(latest)

    def describe_run(
        self, records: Collection[Record], *, command: str, git_commit: str, exit_status: int = 0, workers: int = 0
    ) -> Run:
        """Return the description of the run in records.json."""
        return Run(
            eyechart=__version__,
            started=datetime.fromtimestamp(self.started, UTC).isoformat(timespec="seconds"),
            seconds=time.time() - self.started,
            exit_status=exit_status,
            workers=workers,
            loads=sum(record.loads for record in records),
            command=command,
            git_commit=git_commit,
        )


def describe_environment() -> Mapping[str, str]:
    """Return the versions of Python, the platform and eyechart, as records have them."""
    return {
        "python": platform.python_version(),
        "platform": " ".join([platform.system(), platform.machine(), *filter(None, platform.libc_ver())]),
        "eyechart": __version__,
    }


def read_git_commit(folder: Path) -> str:
    """Return the commit of a folder's git repository, with -dirty if files are changed; "" outside of one."""
    command = ("git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")
    try:
        done = subprocess.run(command, capture_output=True, timeout=10, check=True)
        return done.stdout.decode("utf-8", "replace").strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def run_folder(run: Path) -> Path:
    """Return the folder of a run, which may be given by its records.json.

    >>> run_folder(Path("runs/1/records.json")) == run_folder(Path("runs/1")) == Path("runs/1")
    True
    """
    return run.parent if run.suffix == ".json" else run


def evidence_folder(run: Path) -> Path:
    """Return the folder of a run that has the evidence of its cases, and the files that they share."""
    return run_folder(run) / "evidence"


def report_folder(run: Path) -> Path:
    """Return the folder that tables, figures and the page of a run are written to by default."""
    return run_folder(run) / "reports"
