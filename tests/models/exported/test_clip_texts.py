"""Texts of an exported tower are read as the files beside it say."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.exported.clip import OnnxClip
from tests.models.exported.plain_images import open_file
from tests.onnx_graphs import save_both_towers

LIKE = "like=open_clip[toybox-clip]"
TEXTS = ("a red ball", "a blue cube on a table", "a red ball")
model = partial(open_file, OnnxClip)


def test_without_an_original_a_tokenizer_is_needed(tmp_path: Path) -> None:
    save_both_towers(tmp_path / "model.onnx")
    (tmp_path / "config.json").write_text('{"model_type": "clip"}', encoding="utf-8")
    with pytest.raises(ModelError, match=r"says how texts are read\. Expected open_clip_config\.json, or tokenizer\.j"):
        model(tmp_path)


@pytest.mark.parametrize("name", ["", "onnx", "onnx/model.onnx"])
def test_texts_are_read_by_the_tokenizer_in_the_folder_or_above(hub: Path, name: str) -> None:
    from transformers import AutoTokenizer

    made = model(hub / name, "logit_scale=50")
    read = AutoTokenizer.from_pretrained(hub)(list(TEXTS))["input_ids"]  # the mask leaves out what is behind them
    np.testing.assert_allclose(made.encode_texts(TEXTS), [[sum(row)] for row in read])
    assert made.encode_images([made.prepare(Image.new("RGB", (96, 96)))]).shape == (1, 4)
    assert (made.logit_scale, made.templates) == (50, "80")
    assert made.identity.in_key != model(hub / name, "logit_scale=51").identity.in_key


@pytest.mark.parametrize(
    ("family", "sentence"),
    [
        ("bert", r"config\.json has the model_type bert\. Expected one of clip, "),
        ("chinese_clip", r"model\.onnx has no input attention_mask, which its model needs"),
    ],
)
def test_how_a_family_reads_texts_is_never_guessed(hub: Path, family: str, sentence: str) -> None:
    (hub / "config.json").write_text(json.dumps({"model_type": family}), encoding="utf-8")
    proto = onnx.load(hub / "onnx" / "model.onnx")
    (mask,) = (port for port in proto.graph.input if port.name == "attention_mask")
    mask.name = "input_ids" if family == "bert" else mask.name
    proto.graph.input.remove(mask)
    proto.graph.node[3].input[1] = "input_ids"
    onnx.save(proto, hub / "onnx" / "model.onnx")
    with pytest.raises(ModelError, match=sentence):
        model(hub).encode_texts(TEXTS)
