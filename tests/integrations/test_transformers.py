"""Tests of `eyechart.integrations.transformers`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

pytestmark = pytest.mark.deep


def test_the_trainer_of_transformers(
    pets: Path, images: Sequence[tuple[Image.Image, int]], settings: Mapping[str, Any], tmp_path: Path
) -> None:
    import torch
    from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification, ViTImageProcessor

    from eyechart.integrations.transformers import EvaluationCallback

    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    model = ViTForImageClassification(ViTConfig(image_size=8, patch_size=4, num_labels=2, **size))
    processor = ViTImageProcessor(size={"height": 8, "width": 8})
    rows = [
        {"pixel_values": processor(image, return_tensors="pt")["pixel_values"][0], "labels": label}
        for image, label in images
    ]
    arguments = TrainingArguments(
        str(tmp_path / "trainer"), max_steps=25, learning_rate=0.01, per_device_train_batch_size=6, report_to=[],
        save_strategy="no", disable_tqdm=True, use_cpu=True, dataloader_pin_memory=False,
    )  # fmt: skip
    callback = EvaluationCallback(processor, pets, every=10, compare_with="best", **settings)
    trainer = Trainer(model, arguments, train_dataset=rows, callbacks=[callback])
    trainer.train()
    history = callback.evaluations.history
    assert [*history["step"]] == [0, 10, 20, 25]
    assert history["supervised/acc1"].iloc[0] < 1
    assert history["supervised/acc1"].iloc[-1] == 1
    assert history["compared_with"].iloc[1] == 0
    assert [*history["regressions"].iloc[1:]] == [0, 0, 0]
    logged = [row for row in trainer.state.log_history if "eyechart/supervised/acc1" in row]
    assert [row["step"] for row in logged] == [0, 10, 20, 25]
    assert model.training
