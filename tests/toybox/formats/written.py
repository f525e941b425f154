"""What a writer of a format wrote, and what was rendered for it."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from eyechart.toybox.art.scenes import RenderedScene
from eyechart.toybox.art.shapes import styles

COUNT, SEED = 30, 7


class Made:
    """What was written, and what was rendered for it."""

    def __init__(self, writer: Any, folder: Path, file: str) -> None:
        self.folder = folder
        self.found: list[RenderedScene] = writer.write(folder, SEED, styles(), COUNT)
        self.content = json.loads((folder / file).read_text(encoding="utf-8")) if file else {}

    @property
    def by_image(self) -> dict[int, list[dict[str, Any]]]:
        found = defaultdict(list)
        for one in self.content["annotations"]:
            found[one["image_id"]].append(one)
        return found
