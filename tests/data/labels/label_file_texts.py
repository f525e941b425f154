"""What tests of data/labels share."""

import json

from eyechart.data.dataset.dataset import Row
from eyechart.data.labels.label_files import (
    ImageNames,
)
from eyechart.data.labels.label_formats import validation_file

ONE, TWO, THREE = (validation_file(number) for number in (1, 2, 3))
SHANKAR = {
    "initial_annots": {
        ONE: {"correct": ["n01443537", "n01440764"], "wrong": ["n01484850"]},
        TWO: {"unclear": ["n01440764"], "correct": ["n01443537"]},
        THREE: {"wrong": ["n01440764"]},
        "0af3f1b55de791c4144e2fb6d7dfe96dfc22d3fc.jpeg": {"correct": ["n01440764"]},
    },
    "problematic_images": {ONE: True},
    "imagenet_m": [TWO],
}
EXPERT = {
    ONE: {"old_label": 356, "new_label": 357, "detailed_labels": "", "label_type": "basic"},
    TWO: {"old_label": 356, "new_label": [356], "detailed_labels": "a vole too", "label_type": "multilabel"},
    THREE: {"old_label": 358, "new_label": None, "detailed_labels": "vole", "label_type": "custom"},
    validation_file(4): {"old_label": 358, "new_label": None, "label_type": "uncertain", "selected_classes": {}},
}


def jsonl(*rows: tuple[str, list[object]]) -> str:
    return "".join(
        json.dumps(
            {"image_name": name, "original_class": [1], "reannotated_labels": labels, "file_path": f"val/{name}"}
        )
        + "\n"
        for name, labels in rows
    )


def rows(*names: tuple[str, str]) -> ImageNames:
    return ImageNames([Row(key, file, "", 0) for key, file in names])
