"""`page --single`: the page as one file below a limit, to attach to a pull request or a mail."""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from eyechart.files.atomic import write_atomic
from eyechart.messages.plurals import count_of
from eyechart.reports.page.chunks import CALL
from eyechart.reports.page.chunks import FOLDER as DATA
from eyechart.reports.page.thumbnails import FOLDER as IMAGES

MOST_BYTES = 5_000_000
SIDE = 96  # pixels of a thumbnail
INDEX = f"{DATA}/index.js"
POLICY = "script-src 'self'; style-src 'self'; img-src 'self' data:"
CHUNK = re.compile(rf'{CALL}\((".*?"),(".*")\)\n', re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A chunk of data: the path of its file, and its JSON."""

    file: str
    text: str

    @classmethod
    def read(cls, folder: Path, path: Path) -> "Block":
        """Read the file of a chunk, which is one call with JSON as text."""
        call = CHUNK.fullmatch(path.read_text(encoding="ascii"))
        if call is None:
            raise ValueError(f"{path} is no chunk of a page")
        return cls(path.relative_to(folder).as_posix(), json.loads(call[2]))

    @property
    def html(self) -> str:
        """The chunk as a block of data, which no browser runs."""
        text = self.text.replace("<", r"\u003c")  # so that no text ends the block
        return f'<script type="application/json" id="{self.file}">{text}</script>\n'

    @property
    def part(self) -> str:
        """What a reader calls the data that are left out together."""
        folder = self.file.partition("/")[0]
        return "images" if folder == IMAGES else self.file.removeprefix(f"{DATA}/").rpartition("/")[0]


def write_single(folder: Path, path: Path, limit: int = MOST_BYTES) -> list[str]:
    """Write the page of a folder as one HTML file of at most `limit` bytes.

    The summary, tables, charts and lists of samples come first, then the texts of answers, then images, as far as there
    is room.

    Args:
        folder: A page, as `write_page` writes it.
        path: The file to write.
        limit: The most bytes of the file.

    Returns:
        Notes on what is left out; the page has them, too.
    """
    blocks = sorted(
        (Block.read(folder, file) for name in (DATA, IMAGES) for file in sorted((folder / name).rglob("*.js"))),
        key=_priority,
    )
    room = limit - sum((folder / name).stat().st_size for name in ("index.html", "page.css", "page.js")) - 10_000
    kept, left = _take_blocks(blocks, room)
    index = json.loads(kept[0].text)
    notes = _describe_left_out(left, index)
    index["notes"] += notes
    kept[0] = Block(kept[0].file, json.dumps(index))
    write_atomic(path, _build_html(folder, kept).encode())
    return notes


def _priority(block: Block) -> tuple[int, int, str]:
    """Return the index of a block: the index, then data by size, then images; blocks of equal size by name."""
    kind = 0 if block.file == INDEX else 2 if block.file.startswith(f"{IMAGES}/") else 1
    return kind, len(block.text), block.file


def _take_blocks(blocks: Sequence[Block], room: int) -> tuple[list[Block], list[Block]]:
    """Return the blocks that fit, with the index in any case, and those that are left out."""
    kept: list[Block] = []
    left: list[Block] = []
    for block in blocks:
        size = len(block.html.encode())
        if not kept or size <= room:
            kept.append(block)
            room -= size
        else:
            left.append(block)
    return kept, left


def _describe_left_out(left: Iterable[Block], index: dict[str, object]) -> list[str]:
    """Return sentences on what a file leaves out, with the names of the sample groups."""
    groups = index["groups"]
    titles = {group["folder"]: group["title"] for group in groups} if isinstance(groups, list) else {}
    counts: dict[str, int] = {}
    for block in left:
        counts[block.part] = counts.get(block.part, 0) + 1
    named = [
        f"{count_of(count, 'file')} of {titles.get(part, part or 'summaries')}"
        for part, count in sorted(counts.items())
    ]
    figures = ["This file has no published figures; the page in a folder has them."]
    return figures + ([f"This file leaves out, by its size: {', '.join(named)}."] if named else [])


def _build_html(folder: Path, blocks: Iterable[Block]) -> str:
    """Return the HTML with style, program and data; its policy allows this program and this style alone."""
    style, program = ((folder / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    program = program.replace("</script", "<\\/script")
    policy = f"script-src '{_source_hash(program)}'; style-src '{_source_hash(style)}'; img-src data:"
    html = (folder / "index.html").read_text(encoding="utf-8")
    html = html.replace(POLICY, policy)
    html = html.replace('<link rel="stylesheet" href="page.css">', f"<style>{style}</style>")
    html = html.replace('<script src="page.js" defer></script>\n', "")
    data = "".join(block.html for block in blocks)
    return html.replace("</body>", f"{data}<script>{program}</script>\n</body>")


def _source_hash(text: str) -> str:
    """Return the hash of an inline program or style, as a policy names it."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
