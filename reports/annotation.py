"""The sheet of a second annotation pass: one HTML file with pictures and names that does not tell whose they are."""

import json
import os
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from io import BytesIO
from pathlib import Path

from eyechart.data.dataset import Dataset
from eyechart.data.images import decode
from eyechart.data.splits import available, open_split
from eyechart.errors import ReportError
from eyechart.spec import did_you_mean

from .annotation_files import Item, Key, key_path, write_key
from .annotation_items import Asked, case_of, categories, items, second_of
from .render import one_line
from .runs import Entry, Pool

LARGE = 200_000_000  # bytes; browsers slow down above
SLOT = re.compile(r"{{(\w+)}}")
# What a browser shows as it is; all else becomes PNG, which loses nothing.
SHOWN: Mapping[bytes, str] = {b"\xff\xd8\xff": "jpeg", b"\x89PNG": "png", b"GIF8": "gif", b"BM": "bmp"}


@dataclass(frozen=True)
class Wish:
    """What is asked for on the command line."""

    labels: str
    model: str
    protocol: str | None = None
    second: str | None = None
    second_protocol: str | None = None
    category: str = "S-,M-"
    names: str | None = None
    data: str | None = None
    store: Path = Path(".eyechart/store")
    limit: int | None = None
    part: str = "1/1"
    seed: int = 42

    def chosen(self, rows: list[int]) -> list[int]:
        """The part that is asked for of the first images."""
        found = re.fullmatch(r"0*([1-9]\d*)/0*([1-9]\d*)", self.part)
        if found is None or int(found[1]) > int(found[2]):
            raise ReportError(f"--part is '{self.part}', expected K/N with K from 1 to N, such as 2/5.")
        if self.limit is not None and self.limit < 1:
            raise ReportError(f"--limit is {self.limit}, expected a number of images from 1 up.")
        return rows[: self.limit][int(found[1]) - 1 :: int(found[2])]


def write(pool: Pool, wish: Wish, out: Path) -> str:
    """Write the sheet and, beside it, its key; return what there is to say."""
    asked = asked_for(pool, wish)
    rows = wish.chosen(asked.rows(wish.seed))
    if not rows:
        raise ReportError(nothing(asked, wish))
    dataset = open_data(asked.entry, wish.data, wish.store)
    key = Key(
        source=asked.source(),
        names=wish.names or ("split" if dataset.names else "mill"),
        seed=wish.seed,
        items=tuple(items(asked, rows, dataset, wish.names, wish.seed)),
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    write_key(key, key_path(out))
    write_sheet(out, key, pictures(dataset, rows))
    return summary(key, out)


def summary(key: Key, out: Path) -> str:
    """What was written, and what to do with it."""
    of = ", ".join(f"{category}: {n}" for category, n in sorted(Counter(item.category for item in key.items).items()))
    size = out.stat().st_size
    advice = "" if size < LARGE else " This is much for a browser: make several sheets with --part=1/N, --part=2/N, …"
    return (
        f"{out}: {len(key.items)} pictures ({of}), {size / 1e6:.1f} MB.{advice}\n"
        f"{key_path(out)}: who suggested what. Keep it from the annotators, and beside the run or the answers.\n"
        f"Then: python -m eyechart.reports table F7 RUN… --annotations=answers-{key.sheet}.json"
    )


def asked_for(pool: Pool, wish: Wish) -> Asked:
    """The cases that are meant."""
    pool.chosen(wish.labels)  # refuses a ground truth that no record has
    scored = [entry for group in pool.groups for entry in group.under(wish.labels)]
    entry = case_of(scored, wish.model, wish.protocol, wish.labels)
    second = wish.second and second_of(pool, entry, wish.second, wish.second_protocol, wish.labels)
    return Asked(entry, wish.labels, categories(wish.category), second or None)


def nothing(asked: Asked, wish: Wish) -> str:
    """Why there is no image to look at."""
    said = "; ".join(f"{one.category}: {one.disputed} of {one.images}" for one in asked.counts())
    return (
        f"{asked.entry.record.case} has no image for the sheet (part {wish.part}): those with a valid prediction that "
        f"{wish.labels} disputes are {said}. Choose other categories with --category, or fewer parts."
    )


def open_data(entry: Entry, root: str | None, store: Path) -> Dataset:
    """Open the split that a case answered; one with other images than the run saw is refused."""
    record = entry.record
    name, refs = f"{record.benchmark}/{record.split}", available(root)
    ref = next((ref for ref in refs if str(ref) == name), None)
    if ref is None:
        known = [str(ref) for ref in refs]
        raise ReportError(
            f"There is no split {name}{did_you_mean(name, known)} Splits: {', '.join(known)}; give the root that "
            "the run was given with --data=ROOT."
        )
    dataset = open_split(ref, store / "index").limited(record.limit, record.seed)
    if dataset.fingerprint != record.data.fingerprint:
        raise ReportError(
            f"{name} has the fingerprint {dataset.fingerprint[:12]}, and the run saw images with the fingerprint "
            f"{record.data.fingerprint[:12]}. Give the root that the run was given with --data=ROOT."
        )
    return dataset


def pictures(dataset: Dataset, rows: Sequence[int]) -> Iterator[str]:
    """Each image as a data URI."""
    for row in rows:
        ((_, data),) = dataset.read(row, row + 1)
        yield data_uri(data, dataset.keys[row], upright=dataset.upright)


def data_uri(data: bytes, name: str, *, upright: bool) -> str:
    """An image in its own bytes where every browser shows them, else as PNG."""
    kind = next((kind for magic, kind in SHOWN.items() if data.startswith(magic)), None)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "webp"
    if kind is None:
        file = BytesIO()
        decode(data, name, upright=upright).save(file, "PNG")
        kind, data = "png", file.getvalue()
    return f"data:image/{kind};base64,{b64encode(data).decode()}"


def write_sheet(path: Path, key: Key, images: Iterator[str]) -> None:
    """Write the file picture by picture: all of them at once may be more than the memory holds."""
    head, tail = filled(key)
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


def filled(key: Key) -> tuple[str, str]:
    """The page before and after its pictures. Only style and code with these hashes are obeyed."""
    page, style, code = (
        files(__package__).joinpath(f"annotation.{kind}").read_text("utf-8") for kind in ("html", "css", "js")
    )
    policy = {"default-src": "'none'", "img-src": "data:", "style-src": digest(style), "script-src": digest(code),
              "base-uri": "'none'", "form-action": "'none'"}  # fmt: skip
    parts = {
        "policy": escape("; ".join(f"{name} {value}" for name, value in policy.items())),
        "style": style,
        "code": code,
        "sheet": escape(key.sheet),
        "items": script_json({"sheet": key.sheet, "items": [shown(item) for item in key.items]}),
    }
    head, tail = page.split("{{pictures}}\n")
    return SLOT.sub(lambda slot: parts[slot[1]], head), SLOT.sub(lambda slot: parts[slot[1]], tail)


def shown(item: Item) -> list[str]:
    """What the sheet knows of an image: the names, in their order."""
    return [one_line(candidate.name) for candidate in item.candidates]


def script_json(value: object) -> str:
    """JSON in ASCII that ends no script and opens no comment."""
    return re.sub("[<>&]", lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value))


def digest(text: str) -> str:
    """A content security policy's source for an inline text."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
