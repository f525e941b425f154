"""Small shops: pictures of one colour each, and tables of questions about them in every form."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import eyechart

Cells = Mapping[str, Any]


def png(grey: int) -> bytes:
    """A picture whose pixels are a number."""
    file = BytesIO()
    Image.new("RGB", (8, 8), (grey, grey, grey)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def shop(tmp_path: Path) -> Callable[..., Path]:
    """Write a table of questions, and pictures 1.png to 4.png beside it, and return the folder of the split."""

    def write(rows: Sequence[Cells], suffix: str = "csv", folder: Path = tmp_path / "data/myshop/shelf") -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(1, 5):
            (folder / f"{number}.png").write_bytes(png(number))
        names = [*dict.fromkeys(name for row in rows for name in row)]
        path = folder / f"questions.{suffix}"
        if suffix == "parquet":
            import pandas as pd

            pd.DataFrame([*rows]).to_parquet(path)
        elif suffix == "jsonl":
            path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        else:
            with path.open("w", encoding="utf-8", newline="") as file:
                writer = csv.DictWriter(file, names, delimiter="\t" if suffix == "tsv" else ",", restval="")
                writer.writeheader()
                writer.writerows(rows)
        return folder

    return write


@pytest.fixture
def ask(tmp_path: Path) -> Callable[..., Any]:
    """Evaluate a model on questions with a store of its own."""
    return partial(
        eyechart.evaluate,
        protocol="questions",
        out=tmp_path / "runs",
        store=tmp_path / "store",
        progress=False,
        offline=True,
    )
