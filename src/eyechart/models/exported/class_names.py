"""The names of a graph's outputs, where its exporter left them in the file or beside it."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eyechart.errors import ModelError
from eyechart.files.text_files import read_text

CLASSES_KEY = "eyechart.classes"
_PLACEHOLDER = re.compile(r"(?:LABEL_|class_?)?(\d+)")  # what exporters write where they know no name
_NONE: Sequence[str] = ()
_UNREADABLE = (ValueError, SyntaxError, TypeError, AttributeError)  # of settings in another form


def find_class_names(path: Path, metadata: Mapping[str, str], outputs: int) -> tuple[str, ...]:
    """Return the name of each output, () where none are known.

    Args:
        path: The file of the graph.
        metadata: What the graph says about itself.
        outputs: The number of its outputs.

    Raises:
        ModelError: There are names for another number of outputs, or in another form.
    """
    beside = [folder / "config.json" for folder in (path.parent, path.parent.parent)]
    source, names = f"The metadata of {path}", _NONE
    try:
        names = _in_metadata(metadata)
        for source in () if names else (str(file) for file in beside if file.is_file()):
            if names := _in_config(Path(source)):
                break
    except _UNREADABLE as error:
        raise ModelError(
            f"{source} has names of classes that cannot be read ({error}). Correct or remove them."
        ) from error
    if not names or _are_placeholders(names):
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
    read = json.loads(read_text(path, ModelError))
    if isinstance(labels := read.get("id2label"), Mapping):
        return _in_order(labels)
    return [str(name) for name in read.get("label_names") or ()]


def _in_order(labels: Any) -> Sequence[str]:
    """Return the names of a list, or of a mapping from numbers or texts of numbers, in the order of the numbers.

    Raises ValueError for other numbers than those of the outputs.
    """
    if not isinstance(labels, Mapping):
        return [*map(str, labels)]
    named = {int(number): str(name) for number, name in labels.items()}
    if absent := sorted({*range(len(named))} - {*named}):
        raise ValueError(f"the {len(named)} outputs have the numbers from 0 on, and output {absent[0]} has no name")
    return [named[number] for number in range(len(named))]


def _are_placeholders(names: Sequence[str]) -> bool:
    """Return whether names are numbers alone, in their order from 0 or 1; digits in another order are classes."""
    numbers = [int(found[1]) for name in names if (found := _PLACEHOLDER.fullmatch(name))]
    return numbers in ([*range(len(names))], [*range(1, len(names) + 1)])
