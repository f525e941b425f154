"""The names of outputs, as exporters leave them."""

import json
from pathlib import Path

import pytest

from eyechart.errors import ModelError
from eyechart.models.exported.class_names import find_class_names


@pytest.mark.parametrize(
    "metadata",
    [
        {"eyechart.classes": '["cat", "fire truck"]'},
        {"task": "classify", "names": "{0: 'cat', 1: 'fire truck'}"},
        {"model_info labels": "cat fire_truck"},
        {
            "model_info labels": "cat fire_truck",
            "model_info label_info": '{"label_names": ["cat", "fire truck"], "label_groups": [["cat", "fire truck"]]}',
        },
    ],
)
def test_names_in_the_file(metadata: dict[str, str]) -> None:
    assert find_class_names(Path("m.onnx"), metadata, 2) == ("cat", "fire truck")


def test_names_beside_the_file_or_one_folder_above(tmp_path: Path) -> None:
    path = tmp_path / "onnx" / "model.onnx"
    path.parent.mkdir()
    assert find_class_names(path, {}, 2) == ()
    labels = {str(number): f"name {number}" for number in range(11)}
    (tmp_path / "config.json").write_text(json.dumps({"id2label": dict(sorted(labels.items()))}), encoding="utf-8")
    assert find_class_names(path, {}, 11) == tuple(labels.values())
    (path.parent / "config.json").write_text('{"label_names": ["cat", "dog"], "pretrained_cfg": {}}', encoding="utf-8")
    assert find_class_names(path, {}, 2) == ("cat", "dog")
    with pytest.raises(ModelError, match=r"config\.json names 2 classes, but model\.onnx has 3 outputs"):
        find_class_names(path, {}, 3)


def test_placeholders_are_no_names(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}', encoding="utf-8")
    assert find_class_names(tmp_path / "m.onnx", {}, 2) == ()


def test_digits_in_another_order_are_names() -> None:
    assert find_class_names(Path("m.onnx"), {"eyechart.classes": '["1", "0"]'}, 2) == ("1", "0")
    assert find_class_names(Path("m.onnx"), {"eyechart.classes": '["1", "2"]'}, 2) == ()


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (
            '{"id2label": {"1": "cat", "2": "dog"}}',
            "the 2 outputs have the numbers from 0 on, and output 0 has no name",
        ),
        ('{"id2label": {"cat": 0, "dog": 1}}', "invalid literal"),
        ("{", "Expecting property name"),
        ("[]", "'list' object"),
    ],
)
def test_names_in_another_form_are_refused(tmp_path: Path, config: str, sentence: str) -> None:
    (tmp_path / "config.json").write_text(config, encoding="utf-8")
    with pytest.raises(ModelError, match=rf"config\.json has names of classes that cannot be read \(.*{sentence}"):
        find_class_names(tmp_path / "m.onnx", {}, 2)
