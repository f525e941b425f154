"""The format of logs of inspect_ai, version 2: `.eval` archives and `.json` files.

Structures have the fields that are imported; others are skipped when a log is read. So a log with messages or events
that only another version of inspect_ai knows is read, which `inspect_ai.log.read_eval_log` refuses.
"""

import zlib
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import msgspec

from eyechart.errors import DataError
from eyechart.interchange.json_files import parse_json, read_file
from eyechart.messages.install_commands import install_command

VERSION = 2
REMEDY = "Expected a log of inspect_ai with its samples, an .eval or .json file, as `inspect eval` writes it."
Value = Any  # a number, a text, or numbers and texts by name
ZSTANDARD = 93  # the number of the method in zip archives
LOCAL_HEADER = 30  # bytes before the name of a file


class Score(msgspec.Struct, kw_only=True):
    """The value that a scorer gives a sample, and the answer that it read from the response."""

    value: Value = None
    answer: str | None = None
    sample_id: str | int | None = None


class _Reply(msgspec.Struct, kw_only=True):
    """A message of the model: a text, or a list of parts."""

    content: str | list[dict[str, Any]] = ""


class _Choice(msgspec.Struct, kw_only=True):
    """One of the responses that the model gave at once."""

    message: _Reply = msgspec.field(default_factory=_Reply)


class _Output(msgspec.Struct, kw_only=True):
    """The responses of the model; versions of inspect_ai until the middle of 2025 wrote no `completion`."""

    completion: str = ""
    choices: list[_Choice] = []

    @property
    def text(self) -> str:
        """The response that is scored: the completion, else the text of the first choice, joined as inspect_ai does."""
        if self.completion or not self.choices:
            return self.completion
        content = self.choices[0].message.content
        if isinstance(content, str):
            return content
        return "\n".join(str(part.get("text", "")) for part in content if part.get("type") == "text")


class _Message(msgspec.Struct, kw_only=True):
    """What went wrong."""

    message: str = ""


class Sample(msgspec.Struct, kw_only=True):
    """A sample in one epoch."""

    id: str | int
    epoch: int = 1
    input: Any
    target: Any = ""
    choices: Any = None
    output: _Output = msgspec.field(default_factory=_Output)
    scores: dict[str, Score] | None = None
    metadata: dict[str, Any] = {}
    error: _Message | None = None
    model_usage: dict[str, dict[str, Any]] = {}
    total_time: float | None = None
    working_time: float | None = None
    turn_count: int | None = None
    limit: Any = None
    uuid: str | None = None


class _PrintedMetric(msgspec.Struct, kw_only=True):
    """A number of the results."""

    value: float | None = None


class PrintedScore(msgspec.Struct, kw_only=True):
    """The metrics of one value of a scorer after one reducer of epochs."""

    name: str
    scorer: str
    reducer: str | None = None
    metrics: dict[str, _PrintedMetric] = {}


class _Reduction(msgspec.Struct, kw_only=True):
    """The value of a scorer for each sample after one reducer of epochs."""

    scorer: str
    reducer: str | None = None
    samples: list[Score]


class Results(msgspec.Struct, kw_only=True):
    """The results of an evaluation."""

    scores: list[PrintedScore] = []


class _DatasetInfo(msgspec.Struct, kw_only=True):
    """The data set."""

    name: str | None = None
    samples: int | None = None


class Config(msgspec.Struct, kw_only=True):
    """The options of the evaluation."""

    limit: Any = None
    sample_id: Any = None
    epochs: int | None = None


class Evaluation(msgspec.Struct, kw_only=True):
    """What was evaluated."""

    name: str = msgspec.field(name="task")
    task_version: str | int = 0
    task_args: dict[str, Any] = {}
    solver: str | None = None
    solver_args: dict[str, Any] | None = None
    dataset: _DatasetInfo
    model: str
    model_args: dict[str, Any] = {}
    model_generate_config: dict[str, Any] = {}
    config: Config = msgspec.field(default_factory=Config)
    packages: dict[str, str] = {}


class Stats(msgspec.Struct, kw_only=True):
    """When the evaluation ran."""

    started_at: str = ""
    completed_at: str = ""


class Log(msgspec.Struct, kw_only=True):
    """A whole log; in an archive, samples and reductions are files of their own."""

    version: int = VERSION
    status: str = ""
    eval: Evaluation
    results: Results | None = None
    stats: Stats = msgspec.field(default_factory=Stats)
    error: _Message | None = None
    samples: list[Sample] | None = None
    reductions: list[_Reduction] | None = None


def read_log(path: Path) -> Log:
    """Return a log from an archive or a JSON file."""
    parse = partial(parse_json, source=str(path), remedy=REMEDY)
    if path.suffix != ".eval":
        return parse(read_file(path, REMEDY), Log)
    with _Archive(path, REMEDY) as archive:
        if "header.json" not in archive.names:
            raise DataError(
                f"{path} has no header.json, which inspect_ai writes at the end of an evaluation. Run it to its end "
                "with `inspect eval-retry`."
            )
        log = parse(archive.read("header.json"), Log)
        files = [name for name in archive.names if name.startswith("samples/") and name.endswith(".json")]
        log.samples = [parse_json(archive.read(name), Sample, f"{path}, {name}", REMEDY) for name in files]
        if "reductions.json" in archive.names:
            log.reductions = parse(archive.read("reductions.json"), list[_Reduction])
    return log


class _Archive:
    """An open zip archive; `names` are its files. `remedy` ends the sentence for one that is damaged.

    It reads files that are compressed with zstandard, too, which Python does only from 3.14.
    """

    def __init__(self, path: Path, remedy: str) -> None:
        self.path, self.remedy = path, remedy
        try:
            self.zip = ZipFile(path)
        except (OSError, BadZipFile) as error:
            raise self.damaged(error) from error
        self.names = self.zip.namelist()

    def __enter__(self) -> "_Archive":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.zip.close()

    def damaged(self, error: object) -> DataError:
        """Return the error for an archive that cannot be read."""
        return DataError(f"{self.path} cannot be read ({error}). {self.remedy}")

    def read(self, name: str) -> bytes:
        """Return the content of a file. Raises DataError if it is damaged, or if the package for it is missing."""
        info = self.zip.getinfo(name)
        try:
            if info.compress_type == ZSTANDARD:
                return _decompress(self.compressed(info), info.file_size, self.path)
            return self.zip.read(info)
        except (OSError, EOFError, BadZipFile, RuntimeError, ValueError, zlib.error) as error:
            raise self.damaged(error) from error

    def compressed(self, info: ZipInfo) -> bytes:
        """Return the bytes of a file as the archive has them."""
        with self.path.open("rb") as file:
            file.seek(info.header_offset)
            header = file.read(LOCAL_HEADER)
            lengths = (int.from_bytes(header[start : start + 2], "little") for start in (26, 28))
            file.seek(sum(lengths), 1)
            return file.read(info.compress_size)


def _decompress(data: bytes, size: int, path: Path) -> bytes:
    """Return bytes that zstandard compressed; `size` is their number. Raises DataError without pyarrow."""
    if find_spec("pyarrow") is None:
        raise DataError(
            f"{path} is compressed with zstandard, which needs pyarrow: {install_command('interchange')}, or convert "
            "it with `inspect log convert --to json`."
        )
    from pyarrow import Codec

    return bytes(Codec("zstd").decompress(data, decompressed_size=size, asbytes=True)) if size else b""
