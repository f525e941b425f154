"""Fixtures that tests of realbirdid/data share."""

import csv
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from PIL import Image

from eyechart.realbirdid.data.inaturalist import ImportResult as Result
from eyechart.realbirdid.data.inaturalist import (
    import_birds,
)
from eyechart.realbirdid.data.observation_table import parse_observations, read_birds
from eyechart.realbirdid.data.observations import Observations
from tests.realbirdid.data.bird_lines import HEADER, TAXONOMY
from tests.realbirdid.data.inaturalist_tables import Rows

Make = Callable[..., Result]
Read = Callable[..., Observations]


def csv_text(rows: list[Rows], columns: tuple[str, ...] = ()) -> str:
    file = StringIO()
    writer = csv.DictWriter(file, columns or tuple(dict.fromkeys(key for row in rows for key in row)))
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Import rows with a picture each, unless named."""

    def made(*rows: Rows, pictures: tuple[str, ...] = (), reasons: str = "", taxonomy: str = "", **options) -> Result:
        (tmp_path / "export.csv").write_text(csv_text([*rows]), encoding="utf-8")
        for name in pictures or tuple(f"{one['id']}.jpg" for one in rows):
            (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), (len(name), 0, 0)).save(tmp_path / "in" / name)
        for name, text in {"reasons": reasons, "taxonomy": taxonomy}.items():
            if text:
                (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
                options[name] = tmp_path / f"{name}.csv"
        return import_birds(tmp_path / "export.csv", tmp_path / "in", tmp_path / "out/birds", **options)

    return made


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read lines of birds.csv beside a taxonomy, and ranges if there are any."""

    def written(*lines: str, ranges: str = "", taxonomy: str = TAXONOMY, header: str = HEADER) -> Observations:
        (tmp_path / "birds.csv").write_text("\n".join([header, *lines]), encoding="utf-8")
        (tmp_path / "taxonomy.csv").write_text(taxonomy, encoding="utf-8")
        if ranges:
            (tmp_path / "ranges.csv").write_text(ranges, encoding="utf-8")
        return parse_observations(tmp_path, read_birds(tmp_path))

    return written
