"""Image and text towers in `.onnx` files: the packaged CLIP, exported here, and what cannot be read."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from eyechart.errors import ModelError, SpecError
from eyechart.models.exported.clip import OnnxClip
from eyechart.models.exported.export import export_onnx
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.spec import parse_spec
from tests.onnx_graphs import WEIGHTS, save_graph

LIKE = "like=open_clip[toybox-clip]"
TEXTS = ("a red ball", "a blue cube on a table", "a red ball")


def model(folder: Path, *parts: str) -> OnnxClip:
    return OnnxClip(parse_spec(f"onnx_clip[{','.join([str(folder), *parts])}]"))


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both towers of the packaged CLIP."""
    folder = tmp_path_factory.mktemp("clip")
    assert export_onnx(parse_spec("open_clip[toybox-clip]"), folder / "onnx") < 5e-5
    assert sorted(path.name for path in folder.rglob("*")) == ["onnx", "text_model.onnx", "vision_model.onnx"]
    return folder


@pytest.mark.deep
def test_exported_towers_give_the_features_of_their_original(exported: Path) -> None:
    original, made = OpenClipEncoder(parse_spec("open_clip[toybox-clip]")), model(exported, LIKE)
    draw = np.random.default_rng(0)
    images = [Image.fromarray(draw.integers(0, 256, (90, 120, 3), dtype=np.uint8)) for _ in range(5)]
    assert all(np.array_equal(made.prepare(image), original.prepare(image)) for image in images)
    np.testing.assert_allclose(
        made.encode_images([made.prepare(image) for image in images]),
        original.encode_images([original.prepare(image) for image in images]),
        atol=1e-4,
    )
    np.testing.assert_allclose(made.encode_texts(TEXTS), original.encode_texts(TEXTS), atol=1e-4)
    assert (made.logit_scale, made.templates) == (original.logit_scale, original.templates)
    assert made.identity.processor["origin"]["sha256"] == original.identity.weights_sha256


@pytest.mark.deep
def test_a_half_precision_file_that_ends_its_process_is_one_sentence(exported: Path, tmp_path: Path) -> None:
    """ONNX Runtime's own converter makes a text tower that ONNX's checker passes, and that ends the process."""
    from onnxruntime.transformers.float16 import convert_float_to_float16

    (tmp_path / "onnx").mkdir()
    for name in ("vision_model", "text_model"):
        proto = onnx.load(exported / "onnx" / f"{name}.onnx")
        half = convert_float_to_float16(proto, keep_io_types=True) if name == "text_model" else proto
        onnx.save(half, tmp_path / "onnx" / f"{name}_fp16.onnx")
    onnx.checker.check_model(tmp_path / "onnx" / "text_model_fp16.onnx", full_check=True)
    made = model(tmp_path, LIKE, "file=fp16")
    assert made.encode_images([made.prepare(Image.new("RGB", (90, 120)))]).shape[0] == 1
    with pytest.raises(ModelError, match=r"text_model_fp16\.onnx crashes ONNX Runtime .* Write optimise=false, or"):
        made.encode_texts(TEXTS)
    careful = model(tmp_path, LIKE, "file=fp16", "optimise=false")
    np.testing.assert_allclose(careful.encode_texts(TEXTS), model(exported, LIKE).encode_texts(TEXTS), atol=0.05)


def test_both_towers_are_in_the_digest(tmp_path: Path) -> None:
    digests = set()
    for changed in ("", "vision_model", "text_model"):
        for name in ("vision_model", "text_model"):
            shape = ("n", 3, 96, 96)
            save_graph(tmp_path / f"{name}.onnx", shape, metadata={"changed": "yes"} if name == changed else {})
        digests.add(model(tmp_path, LIKE).identity.weights_sha256)
    assert len(digests) == 3


def save_whole(path: Path) -> Path:
    """Save both towers in one file, with the inputs and outputs that optimum writes; a text's feature is a sum."""
    proto = onnx.load(save_graph(path, ("n", 3, 96, 96), output="image_embeds"))
    proto.graph.node.extend(
        [
            helper.make_node("Mul", ["input_ids", "attention_mask"], ["masked"]),
            helper.make_node("Cast", ["masked"], ["numbers"], to=TensorProto.FLOAT),
            helper.make_node("ReduceSum", ["numbers", "last"], ["text_embeds"], keepdims=1),
        ]
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.array([1]), "last"))
    for name in ("input_ids", "attention_mask"):
        proto.graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, ("m", "length")))
    proto.graph.output.append(helper.make_tensor_value_info("text_embeds", TensorProto.FLOAT, ("m", 1)))
    onnx.save(proto, path)
    return path


@pytest.mark.parametrize("place", ["model.onnx", "onnx/model.onnx"])
def test_both_towers_may_be_in_one_file_with_a_mask(tmp_path: Path, place: str) -> None:
    (tmp_path / "onnx").mkdir()
    path = save_whole(tmp_path / place)
    made = model(path if place == "model.onnx" else tmp_path, LIKE)
    images = [Image.new("RGB", (96, 96), colour) for colour in ("red", "green", "black")]
    rows = made.encode_images([made.prepare(image) for image in images])
    channels = made.preprocessing.stack([made.prepare(image) for image in images]).mean(axis=(2, 3))
    np.testing.assert_allclose(rows, channels @ WEIGHTS, rtol=1e-4)
    tokens = np.asarray(made._tokenizer(list(TEXTS)))
    np.testing.assert_allclose(made.encode_texts(TEXTS), tokens.sum(axis=1, keepdims=True))
    assert made.weight_files == (path,)
    assert made.identity.weights_sha256


def test_a_tower_that_is_absent_is_named(tmp_path: Path) -> None:
    save_graph(tmp_path / "vision_model.onnx")
    with pytest.raises(ModelError, match=r"has no vision_model_q4\.onnx, in it .* it has vision_model\.onnx"):
        model(tmp_path, "file=q4", LIKE)
    with pytest.raises(ModelError, match=r"has no text_model\.onnx"):
        _ = model(tmp_path, LIKE).text_graph


@pytest.mark.parametrize("like", ["", "like=timm[]"])
def test_the_original_is_needed(tmp_path: Path, like: str) -> None:
    with pytest.raises(SpecError, match="its tokenizer, templates and factor of cosines are in neither file"):
        model(tmp_path, *([like] if like else []))


def test_inputs_other_than_tokens_are_listed(tmp_path: Path) -> None:
    for name in ("vision_model", "text_model"):
        save_graph(tmp_path / f"{name}.onnx")
    with pytest.raises(ModelError, match=r"text_model\.onnx has the inputs images .* Expected one of tokens"):
        model(tmp_path, LIKE).encode_texts(TEXTS)
