"""A split as a data set of Croissant, version 1.0: a description in JSON-LD, and its index as csv."""

import csv
import json
from collections.abc import Iterator, Sequence
from hashlib import sha256
from io import StringIO
from typing import Any

from eyechart.data.dataset.dataset import Dataset

_CONFORMS_TO = "http://mlcommons.org/croissant/1.0"
INDEX = "index.csv"
COLUMNS = {
    "key": ("sc:Text", "Key of the image."),
    "file": ("sc:Text", "Original name of the image's file."),
    "sha256": ("sc:Text", "sha256 of the image's bytes."),
    "label": ("sc:Integer", "Index of the original class, -1 without one."),
    "class": ("sc:Text", "Name of the original class, empty without one."),
}
_TERMS = ("column", "extract", "field", "fileObject", "key", "recordSet", "source")  # those that are used here
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "dct": "http://purl.org/dc/terms/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{term: f"cr:{term}" for term in _TERMS},
}


def export_croissant(dataset: Dataset, licence: str, url: str) -> Iterator[tuple[str, bytes]]:
    """Yield the index of a split as csv, and its description.

    `licence` and `url` belong to the data, "" if they are not known. Images are named, and not copied.
    """
    folder = f"{dataset.benchmark}-{dataset.split}"
    index = _index_csv(dataset)
    yield f"{folder}/{INDEX}", index
    description = json.dumps(_describe_dataset(dataset, index, licence, url), indent=2, ensure_ascii=False)
    yield f"{folder}/croissant.json", description.encode()


def _index_csv(dataset: Dataset) -> bytes:
    """Return the selected rows of a split as csv."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in dataset.columns.take(dataset.selected):
        name = dataset.names[row.label] if 0 <= row.label < len(dataset.names) else ""
        writer.writerow((row.key, row.file, row.sha256, row.label, name))
    return text.getvalue().encode()


def _describe_dataset(dataset: Dataset, index: bytes, licence: str, url: str) -> dict[str, Any]:
    """Return the description of a split, which conforms to Croissant 1.0."""
    name = f"{dataset.benchmark}/{dataset.split}"
    known = {"license": licence, "url": url}
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": _CONFORMS_TO,
        "name": name.replace("/", "-"),
        "description": f"{len(dataset)} images of {name}, fingerprint {dataset.fingerprint}.",
        **{field: text for field, text in known.items() if text},
        "version": "1.0.0",
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": INDEX,
                "name": INDEX,
                "description": "A row for each image.",
                "contentUrl": INDEX,
                "encodingFormat": "text/csv",
                "sha256": sha256(index).hexdigest(),
            }
        ],
        "recordSet": [_describe_records("images", _describe_fields(), "A record for each image.")],
    }


def _describe_records(name: str, fields: Sequence[dict[str, Any]], text: str) -> dict[str, Any]:
    """Return a set of records with the image's key as key."""
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": text,
        "key": {"@id": f"{name}/key"},
        "field": list(fields),
    }


def _describe_fields() -> list[dict[str, Any]]:
    """Return the columns of the index as fields."""
    return [
        {
            "@type": "cr:Field",
            "@id": f"images/{column}",
            "name": column,
            "description": text,
            "dataType": kind,
            "source": {"fileObject": {"@id": INDEX}, "extract": {"column": column}},
        }
        for column, (kind, text) in COLUMNS.items()
    ]
