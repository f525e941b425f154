"""Files that tests of exported models take: their preprocessing, a graph of ExecuTorch, and a folder of optimum."""

import json
import shutil
from pathlib import Path

import pytest

import eyechart
from tests.models.exported.plain_images import HALF
from tests.onnx_graphs import save_both_towers


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    path = tmp_path / "steps.json"
    path.write_text(json.dumps(HALF), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of ExecuTorch that takes one image at a time."""
    import torch

    from tests.executorch_graphs import Means, save

    return save(tmp_path_factory.mktemp("small") / "m.pte", Means(), torch.zeros(1, 3, 8, 8))


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """A folder as of optimum or transformers.js: the graph in `onnx`, and the settings above it."""
    (tmp_path / "onnx").mkdir()
    save_both_towers(tmp_path / "onnx" / "model.onnx")
    samples = Path(eyechart.__file__).parent / "samples" / "toybox-clip"
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(samples / name, tmp_path / name)
    settings = {
        "config.json": {"model_type": "clip", "text_config": {"max_position_embeddings": 16}},
        "preprocessor_config.json": {
            "image_processor_type": "CLIPImageProcessor",
            "size": {"shortest_edge": 96},
            "crop_size": {"height": 96, "width": 96},
            "do_resize": True,
            "do_center_crop": True,
            "do_normalize": True,
            "do_rescale": True,
            "rescale_factor": 1 / 255,
            "resample": 3,
            "image_mean": [0.5, 0.5, 0.5],
            "image_std": [0.5, 0.5, 0.5],
        },
    }
    for name, content in settings.items():
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    return tmp_path
