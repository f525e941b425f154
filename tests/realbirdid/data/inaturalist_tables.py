"""What tests of realbirdid/data share."""

import csv
from collections.abc import Mapping
from pathlib import Path

from eyechart.realbirdid.data.inaturalist import ImportResult as Result
from eyechart.realbirdid.data.observations import Observations

BASE = {
    "id": "1",
    "quality_grade": "research",
    "license": "CC-BY",
    "url": "https://www.inaturalist.org/observations/1",
    "image_url": "https://inaturalist-open-data.s3.amazonaws.com/photos/101/medium.jpg",
    "latitude": "41.5",
    "longitude": "-71.25",
    "scientific_name": "Corvus brachyrhynchos",
    "common_name": "American Crow",
    "taxon_id": "8021",
    "taxon_order_name": "Passeriformes",
    "taxon_family_name": "Corvidae",
    "taxon_genus_name": "Corvus",
    "taxon_species_name": "Corvus brachyrhynchos",
}

Rows = Mapping[str, str]


def row(number: int, **changed: str) -> Rows:
    """An observation of a crow, with its own numbers of observation and photo."""
    photo = f"https://static.inaturalist.org/photos/{100 + number}/medium.jpg?15"
    own = {"id": str(number), "url": f"https://www.inaturalist.org/observations/{number}", "image_url": photo}
    return BASE | own | changed


def table(tmp_path: Path, name: str = "birds") -> list[dict[str, str]]:
    with (tmp_path / f"out/birds/{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def seen(found: Result) -> Observations:
    assert found.dataset.details is not None
    return found.dataset.details
