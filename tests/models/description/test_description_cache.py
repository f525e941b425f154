"""A model whose description is kept is made only when an answer is missing; whatever changes it makes it anew."""

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.errors import ModelError
from eyechart.models.description import description_cache
from eyechart.models.description.description_cache import DescriptionCache, _find_facts, _model_files
from eyechart.models.description.identity import describe
from eyechart.models.pool import ModelPool
from eyechart.models.registry import create_model
from eyechart.models.spec import ModelSpec, packaged_folder, parse_spec
from eyechart.models.types import Encoder, Model, Neighbours, Probe

OLD = 1_600_000_000
PACKAGED = (
    "conse[]", "timm[]", "timm[tf_efficientnet_lite0,batch_size=3]", "sentence[minilm]", "knn[timm[],k=3]", "knn[]",
    "linear_probe[timm[],C=2]",
    "open_clip[toybox-clip]", "hf[toybox-mllm,dtype=float32]",
)  # fmt: skip
Open = Callable[[str], Model]


@pytest.fixture
def open_session(tmp_path: Path) -> Open:
    """Get a model as a session does that begins now."""

    def get_model(text: str) -> Model:
        return ModelPool(offline=True, cache=DescriptionCache(tmp_path / "made"))[parse_spec(text)]

    return get_model


@pytest.fixture
def keep(tmp_path: Path) -> Callable[[str], Model]:
    """Make a model and keep its description."""

    def make(text: str) -> Model:
        cache = DescriptionCache(tmp_path / "made")
        model = ModelPool(offline=True, cache=cache)[parse_spec(text)]
        cache.keep(model)
        return model

    return make


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The models that were made."""
    specs: list[str] = []

    def counted(spec: ModelSpec, **options: Any) -> Any:
        specs.append(str(spec))
        return create_model(spec, **options)

    monkeypatch.setattr("eyechart.models.pool.create_model", counted)
    return specs


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """A copy of a packaged model, whose files are not new."""
    folder = packaged_folder(parse_spec("hf[toybox-mllm]"))
    assert folder
    shutil.copytree(folder, copy := tmp_path / "copy")
    for path in copy.rglob("*"):
        os.utime(path, (OLD, OLD))
    return copy


@pytest.mark.parametrize("text", PACKAGED)
def test_a_description_says_what_the_model_says(open_session: Open, keep: Open, made: list[str], text: str) -> None:
    model = keep(text)
    assert made == [text]
    again = open_session(text)
    assert made == [text]
    assert describe(again) == describe(model)
    assert again.identity == model.identity
    assert (again.loads, again.remote_loads) == (0, 0)
    again.close()


def test_it_answers_as_the_model_does(open_session: Open, keep: Open, made: list[str]) -> None:
    model, again = keep("conse[]"), open_session("conse[]")
    assert isinstance(model, Encoder)
    assert isinstance(again, Encoder)
    image = Image.fromarray(np.arange(48 * 48 * 3, dtype=np.uint8).reshape(48, 48, 3))
    features = [encoder.encode_images([encoder.prepare(image)]) for encoder in (model, again)]
    assert np.array_equal(*features)
    assert made == ["conse[]", "conse[]"]
    assert again.loads == model.loads == 1
    assert again.logit_scale == model.logit_scale


def test_threads_make_one_model(open_session: Open, keep: Open, made: list[str]) -> None:
    keep("timm[]")
    again, image = open_session("timm[]"), Image.new("RGB", (32, 32))
    with ThreadPoolExecutor(8) as threads:
        shapes = {pixels.shape for pixels in threads.map(again.prepare, [image] * 32)}
    assert len(shapes) == 1
    assert made == ["timm[]", "timm[]"]


def test_the_settings_of_a_linear_probe_come_back_with_its_encoder(open_session: Open, keep: Open) -> None:
    keep("linear_probe[timm[],C=2,support=imagenet/sample]")
    again = open_session("linear_probe[timm[],C=2,support=imagenet/sample]")
    assert isinstance(again, Probe)
    assert (again.c, again.validation, again.support_split) == (2.0, 0.2, ("imagenet", "sample"))
    assert again.encoder.identity.backend == "timm"


def test_the_encoder_of_neighbours_answers(open_session: Open, keep: Open, made: list[str]) -> None:
    keep("knn[timm[],k=3]")
    again = open_session("knn[timm[],k=3]")
    assert isinstance(again, Neighbours)
    image = Image.new("RGB", (32, 32))
    assert again.encoder.encode_images([again.encoder.prepare(image)]).shape[0] == 1
    assert made[1:] == ["timm[]"]
    assert again.loads == 1
    again.close()


@pytest.mark.parametrize("change", ["a file", "a new file", "a package", "the source", "the device", "nothing"])
def test_what_a_model_depends_on(
    open_session: Open,
    keep: Open,
    made: list[str],
    checkpoint: Path,
    change: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = f"hf[{checkpoint}]"
    model = keep(text)
    if change == "a file":
        config = checkpoint / "config.json"
        config.write_text(config.read_text() + "\n")
    elif change == "a new file":
        (checkpoint / "extra.json").write_text("{}")
    elif change == "a package":
        versions = description_cache._package_versions() | {"pillow": "0"}
        monkeypatch.setattr(description_cache, "_package_versions", lambda: versions)
    elif change == "the source":
        monkeypatch.setattr(description_cache, "_source_digest", lambda: "other")
    elif change == "the device":
        monkeypatch.setattr("eyechart.models.pool.assign_device", lambda _: "cuda:0")
    again = open_session(text)
    assert len(made) == (1 if change == "nothing" else 2)
    assert (again.identity.in_key == model.identity.in_key) == ("file" not in change)


def test_files_that_changed_just_now_are_not_trusted(
    open_session: Open, keep: Open, made: list[str], checkpoint: Path
) -> None:
    (checkpoint / "config.json").touch()
    keep(f"hf[{checkpoint}]")
    open_session(f"hf[{checkpoint}]")
    assert len(made) == 2


def test_a_damaged_description_is_written_again(
    open_session: Open, keep: Open, made: list[str], tmp_path: Path
) -> None:
    keep("timm[]")
    (path,) = (tmp_path / "made").iterdir()
    content = path.read_bytes()
    path.write_bytes(content[:20])
    keep("timm[]")
    assert path.read_bytes() == content
    open_session("timm[]")
    assert made == ["timm[]", "timm[]"]


def test_another_model_than_the_described_one_does_not_answer(open_session: Open, keep: Open, tmp_path: Path) -> None:
    keep("timm[]")
    (path,) = (tmp_path / "made").iterdir()
    path.write_text(path.read_text().replace('"weights_sha256": "', '"weights_sha256": "0'))
    again = open_session("timm[]")
    with pytest.raises(ModelError, match=r"is not the model that its description .* Delete this folder"):
        again.prepare(Image.new("RGB", (8, 8)))


@pytest.mark.parametrize(
    "text",
    [
        "timm[resnet50]",
        "hf[owner/name]",
        "conse[classifier=timm[resnet50]]",
        "knn[timm[resnet50]]",
        "open_clip[ViT-B-32,pretrained=openai]",
        "replay[answers.csv]",
        "mymodule:MyModel[]",
    ],
)
def test_models_whose_files_another_package_finds_are_made_each_time(text: str) -> None:
    assert [*_model_files(parse_spec(text))] == []
    assert _find_facts(parse_spec(text), "cpu", True) is None


def test_an_encoder_of_a_part_that_another_package_finds_is_not_overlooked(tmp_path: Path) -> None:
    for text in (f"conse[text=sentence[{tmp_path}]]", "conse[text=sentence[owner/name]]"):
        assert [*_model_files(parse_spec(text))] == []


def test_an_adapter_of_the_hub_is_not_overlooked(checkpoint: Path, tmp_path: Path) -> None:
    assert _find_facts(parse_spec(f"hf[{checkpoint},adapter={tmp_path}]"), "cpu", True)
    for folder in (str(checkpoint), "toybox-mllm"):
        assert _find_facts(parse_spec(f"hf[{folder},adapter=owner/name]"), "cpu", True) is None


def test_a_model_with_code_of_its_own_is_made_each_time(checkpoint: Path) -> None:
    assert _find_facts(parse_spec(f"hf[{checkpoint}]"), "cpu", True)
    assert _find_facts(parse_spec(f"hf[{checkpoint},trust_remote_code=true]"), "cpu", True) is None


def test_files_that_options_name_count(checkpoint: Path, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    adapter.mkdir()
    (adapter / "adapter_config.json").write_text("{}")
    spec = parse_spec(f"hf[{checkpoint},adapter={adapter}]")
    assert adapter / "adapter_config.json" in [*_model_files(spec)]
