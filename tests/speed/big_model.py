"""Saves the model of big_model.yaml."""

from pathlib import Path

import families

from eyechart.models.runtime.torchvision_repair import repair

TABLE = Path(__file__).with_suffix(".yaml")


def save_big_model(folder: Path) -> Path:
    """Save the model with its processor, which cuts words as `toybox-mllm` does, in a folder, and return it."""
    repair()  # before transformers is imported
    import torch

    torch.manual_seed(0)
    for part in families.build("big_qwen3_vl", TABLE, "toybox-mllm"):
        part.save_pretrained(folder)
    return folder
