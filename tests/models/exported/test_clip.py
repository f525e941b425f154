"""Image and text towers in `.onnx` files: the packaged CLIP, exported here, and what cannot be read."""

from functools import partial
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from PIL import Image

from eyechart.errors import ModelError, SpecError
from eyechart.models.exported.clip import OnnxClip
from eyechart.models.exported.export import export_onnx
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.spec import parse_spec
from tests.models.exported.plain_images import open_file
from tests.onnx_graphs import WEIGHTS, save_both_towers, save_graph

LIKE = "like=open_clip[toybox-clip]"
TEXTS = ("a red ball", "a blue cube on a table", "a red ball")
model = partial(open_file, OnnxClip)


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both towers of the packaged CLIP."""
    folder = tmp_path_factory.mktemp("clip")
    assert export_onnx(parse_spec("open_clip[toybox-clip]"), folder / "onnx") < 5e-5
    assert sorted(path.name for path in (folder / "onnx").iterdir()) == [
        "open_clip_config.json",
        "text_model.onnx",
        "tokenizer.json",
        "tokenizer_config.json",
        "vision_model.onnx",
    ]
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
def test_an_exported_folder_says_all_itself(exported: Path) -> None:
    named, alone = model(exported, LIKE), model(exported / "onnx")
    assert alone.encode_texts(TEXTS).tobytes() == named.encode_texts(TEXTS).tobytes()
    assert alone.logit_scale == named.logit_scale
    assert alone.templates == named.templates == "7"
    image = Image.fromarray(np.random.default_rng(0).integers(0, 256, (90, 120, 3), dtype=np.uint8))
    assert np.array_equal(alone.prepare(image), named.prepare(image))
    assert alone.identity.weights_sha256 == named.identity.weights_sha256
    assert alone.identity.in_key != named.identity.in_key


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


@pytest.mark.parametrize("place", ["model.onnx", "onnx/model.onnx"])
def test_both_towers_may_be_in_one_file_with_a_mask(tmp_path: Path, place: str) -> None:
    (tmp_path / "onnx").mkdir()
    path = save_both_towers(tmp_path / place)
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


def test_another_kind_of_original_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"has like=timm\[\]\. Expected the model of open_clip"):
        model(tmp_path, "like=timm[]")


def test_the_factor_of_cosines_is_in_the_file_or_is_asked_for(hub: Path) -> None:
    with pytest.raises(ModelError, match=r"does not say its factor of cosines, .* Write logit_scale=NUMBER, such as"):
        _ = model(hub).logit_scale
    proto = onnx.load(hub / "onnx" / "model.onnx")
    proto.graph.initializer.append(numpy_helper.from_array(np.log(np.float32(30)), "logit_scale"))
    onnx.save(proto, hub / "onnx" / "model.onnx")
    assert model(hub).logit_scale == pytest.approx(30)


def test_inputs_other_than_tokens_are_listed(tmp_path: Path) -> None:
    for name in ("vision_model", "text_model"):
        save_graph(tmp_path / f"{name}.onnx")
    with pytest.raises(ModelError, match=r"text_model\.onnx has the inputs images .* Expected one of tokens"):
        model(tmp_path, LIKE).encode_texts(TEXTS)
