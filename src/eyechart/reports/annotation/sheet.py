"""Annotation sheets: one HTML file with pictures, style and script; a content security policy forbids other code."""

import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from io import BytesIO
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.dataset.limits import Limit
from eyechart.data.images import decode_image
from eyechart.data.splits.open_split import open_split
from eyechart.data.splits.registry import SplitRef
from eyechart.errors import ReportError
from eyechart.messages.suggestions import did_you_mean

SLOT = re.compile(r"{{(\w+)}}")
# Formats that browsers show; other formats are converted to PNG, which is lossless.
_BROWSER_FORMATS: Mapping[bytes, str] = {b"\xff\xd8\xff": "jpeg", b"\x89PNG": "png", b"GIF8": "gif", b"BM": "bmp"}
LARGE = 200_000_000  # bytes; browsers slow down above


@dataclass(frozen=True)
class Sheet:
    """The content of a sheet: kind (names its form and script), heading, id, and the data of the script."""

    kind: str
    title: str
    id: str
    data: Mapping[str, object]


def open_checked_split(
    name: str,
    refs: Sequence[SplitRef],
    store: Path,
    *,
    fingerprint: str,
    limit: Limit,
    seed: int,
    source: str = "run",
    offline: bool = False,
) -> Dataset:
    """Open one of some splits; raise ReportError if its images are not those that the run or division used."""
    ref = next((ref for ref in refs if str(ref) == name), None)
    if ref is None:
        names = [str(ref) for ref in refs]
        raise ReportError(
            f"There is no split {name}{did_you_mean(name, names)} Splits: {', '.join(names)}; give the root that "
            f"the {source} was given with --data=ROOT."
        )
    dataset = open_split(ref, store / "index", offline=offline).subsample(limit, seed)
    if dataset.fingerprint != fingerprint:
        raise ReportError(
            f"{name} has the fingerprint {dataset.fingerprint[:12]}, and the {source} saw images with the fingerprint "
            f"{fingerprint[:12]}. Give the root that the {source} was given with --data=ROOT."
        )
    return dataset


def pictures(dataset: Dataset, rows: Sequence[int]) -> Iterator[str]:
    """Yield each image as a data URI."""
    for row in rows:
        ((_, data),) = dataset.read([row])
        yield _data_uri(data, dataset.keys[row], upright=dataset.upright)


def _data_uri(data: bytes, name: str, *, upright: bool) -> str:
    """Return an image as a data URI: its own bytes if browsers can show them, else PNG."""
    kind = next((kind for magic, kind in _BROWSER_FORMATS.items() if data.startswith(magic)), None)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "webp"
    if kind is None:
        file = BytesIO()
        decode_image(data, name, upright=upright).save(file, "PNG")
        kind, data = "png", file.getvalue()
    return f"data:image/{kind};base64,{b64encode(data).decode()}"


def write_sheet(path: Path, sheet: Sheet, images: Iterator[str]) -> None:
    """Write the file one picture at a time, so that memory holds only one."""
    head, tail = _render_sheet(sheet)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            file.write(head)
            file.writelines(
                f'<script type="text/plain" id="picture-{number}">{image}</script>\n'
                for number, image in enumerate(images, 1)
            )
            file.write(tail)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _render_sheet(sheet: Sheet) -> tuple[str, str]:
    """Return the HTML before and after the pictures; the policy allows only the style and code with these hashes."""
    page, style = _read_asset("sheet.html"), _read_asset("sheet.css")
    code = _read_asset("sheet.js") + _read_asset(f"{sheet.kind}.js")
    form, keys = _read_asset(f"{sheet.kind}.html").split("{{keys}}\n")
    policy = {"default-src": "'none'", "img-src": "data:", "style-src": digest(style), "script-src": digest(code),
              "base-uri": "'none'", "form-action": "'none'"}  # fmt: skip
    parts = {
        "policy": escape("; ".join(f"{name} {value}" for name, value in policy.items())),
        "title": escape(sheet.title),
        "style": style,
        "code": code,
        "form": form,
        "keys": keys,
        "sheet": escape(sheet.id),
        "items": _script_json({"sheet": sheet.id, **sheet.data}),
    }
    head, tail = page.split("{{pictures}}\n")
    return SLOT.sub(lambda slot: parts[slot[1]], head), SLOT.sub(lambda slot: parts[slot[1]], tail)


def _read_asset(name: str) -> str:
    """Return the text of a file in this folder."""
    return files(__package__).joinpath(name).read_text("utf-8")


def _script_json(value: object) -> str:
    """Return JSON in ASCII that cannot end a script or start a comment."""
    return re.sub("[<>&]", lambda match: f"\\u{ord(match[0]):04x}", json.dumps(value))


def digest(text: str) -> str:
    """Return the content security policy's source for an inline text."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def size_note(path: Path) -> str:
    """Return the size of a sheet, with advice if it is too large for browsers."""
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB." + ("" if size < LARGE else " This is much for a browser: take fewer pictures.")
