"""Published values of other authors, as data."""

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from eyechart.models.spec import ModelSpec
from eyechart.results.records import WHOLE, Metric, Reported


@cache
def published_top1() -> Mapping[tuple[str, str, str], tuple[float, str]]:
    """Return the published top-1 accuracy and its source by (split, model, pretrained tag)."""
    with (Path(__file__).with_name("published.csv")).open(encoding="utf-8", newline="") as file:
        return {
            (row["split"], row["model"], row["pretrained"]): (float(row["top1"]), row["source"])
            for row in csv.DictReader(file)
        }


def published_result(split: str, model: ModelSpec, metrics: Sequence[Metric]) -> Reported | None:
    """Return the published value for this model and split with our difference from it; None if there is none."""
    if model.backend != "open_clip" or not model.arguments:
        return None
    tag = model.options.get("pretrained", "")
    published = next(
        (row for name in spellings(model.arguments[0], tag) if (row := published_top1().get((split, name, tag)))), None
    )
    if published is None:
        return None
    value, source = published
    ours = next((metric.value for metric in metrics if metric.name == "acc1" and metric.subset_text == WHOLE), None)
    return Reported(value=value, source=source, delta=None if ours is None else ours - value)


def spellings(name: str, tag: str) -> tuple[str, ...]:
    """Return the names of a model: OpenAI's weights always use quick GELU, with or without it in the name.

    >>> spellings("ViT-B-32", "openai")
    ('ViT-B-32', 'ViT-B-32-quickgelu')
    """
    plain = name.removesuffix("-quickgelu")
    return (plain, f"{plain}-quickgelu") if tag == "openai" else (name,)
