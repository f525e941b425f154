"""Read the files of a zip archive, also those that are compressed with zstandard, which Python reads only from 3.14."""

import zlib
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from zipfile import BadZipFile, ZipFile, ZipInfo

from eyechart.errors import DataError
from eyechart.messages.install_commands import install_command

ZSTANDARD = 93  # the number of the method in zip archives
LOCAL_HEADER = 30  # bytes before the name of a file


class Archive:
    """An open zip archive; `names` are its files. `remedy` ends the sentence for one that is damaged."""

    def __init__(self, path: Path, remedy: str) -> None:
        self.path, self.remedy = path, remedy
        try:
            self.zip = ZipFile(path)
        except (OSError, BadZipFile) as error:
            raise self.damaged(error) from error
        self.names = self.zip.namelist()

    def __enter__(self) -> "Archive":
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
                return decompress(self.compressed(info), info.file_size, self.path)
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


def decompress(data: bytes, size: int, path: Path) -> bytes:
    """Return bytes that zstandard compressed; `size` is their number. Raises DataError without pyarrow."""
    if find_spec("pyarrow") is None:
        raise DataError(
            f"{path} is compressed with zstandard, which needs pyarrow: {install_command('interchange')}, or convert "
            "it with `inspect log convert --to json`."
        )
    from pyarrow import Codec

    return bytes(Codec("zstd").decompress(data, decompressed_size=size, asbytes=True)) if size else b""
