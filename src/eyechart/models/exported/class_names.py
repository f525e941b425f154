"""The names of a graph's outputs, where its exporter left them in the file or beside it."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.errors import ModelError

CLASSES_KEY = "eyechart.classes"
_PLACEHOLDER = re.compile(r"LABEL_\d+|class_?\d+|\d+")  # what exporters write where they know no name


def find_class_names(path: Path, metadata: Mapping[str, str], outputs: int) -> tuple[str, ...]:
    """Return the name of each output, () where none are known.

    Args:
        path: The file of the graph.
        metadata: What the graph says about itself.
        outputs: The number of its outputs.

    Raises:
        ModelError: There are names for another number of outputs.
    """
    source, names = f"The metadata of {path}", _in_metadata(metadata)
    for folder in () if names else (path.parent, path.parent.parent):
        if not names and (folder / "config.json").is_file():
            source, names = str(folder / "config.json"), _in_config(folder / "config.json")
    if not names or all(_PLACEHOLDER.fullmatch(name) for name in names):
        return ()
    if len(names) != outputs:
        raise ModelError(
            f"{source} names {len(names)} classes, but {path.name} has {outputs} outputs. Correct or remove the names."
        )
    return tuple(names)


def _in_metadata(metadata: Mapping[str, str]) -> Sequence[str]:
    """Return the names that eyechart, Ultralytics or OpenVINO's Model API wrote."""
    if text := metadata.get(CLASSES_KEY):
        return [str(name) for name in json.loads(text)]
    if metadata.get("task") == "classify" and "names" in metadata:
        return _in_order(ast.literal_eval(metadata["names"]))
    if text := metadata.get("model_info label_info"):  # of OTX, which writes labels with _ besides
        return [str(name) for name in json.loads(text).get("label_names") or ()]
    return [label.replace("_", " ") for label in metadata.get("model_info labels", "").split()]


def _in_config(path: Path) -> Sequence[str]:
    """Return the names in a config.json of transformers, or of timm."""
    read = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(labels := read.get("id2label"), Mapping):
        return _in_order(labels)
    return [str(name) for name in read.get("label_names") or ()]


def _in_order(labels: Any) -> Sequence[str]:
    """Return the names of a mapping from numbers, or texts of numbers, in the order of the numbers."""
    named = {int(number): str(name) for number, name in labels.items()} if isinstance(labels, Mapping) else {}
    return [named[number] for number in range(len(named))] if {*named} == {*range(len(named))} else []
