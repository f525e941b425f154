"""Tests of `eyechart.oodbench.tables.architectures`."""

import pytest

from eyechart.oodbench.tables.architectures import find_architecture

GOOD, POOR = "yn", "ny"
COCO = {"ID": GOOD * 8 + "nn" * 2, "OOD-S": GOOD * 3 + POOR * 7, "OOD-H": "nn" * 4}


def test_table_1_names_the_parts_of_published_models(existing):
    models = {"vllm[Qwen/Qwen2-VL-7B-Instruct]": "Qwen2-7B", "openai[gpt-4o-2024-08-06]": "GPT-4", "hf[mine]": "-"}
    for model in models:
        existing(model, "coco", COCO)
    for name in ("oodbench-T1", "oodbench-T10"):
        rows = existing.bench.rows(name)
        assert (rows[0]["Image Encoder"], rows[0]["Language Model"]) == ("-", "-")
        found = {row["Model"]: (row["Image Encoder"], row["Language Model"]) for row in rows[1:]}
        assert {model: parts[1] for model, parts in found.items()} == models
        assert found["vllm[Qwen/Qwen2-VL-7B-Instruct]"][0] == "CLIP-L-14"


@pytest.mark.parametrize(
    ("name", "encoder"),
    [
        ("OpenGVLab/InternVL2-8B", "InternViT-300M-448px"),
        ("OpenGVLab/InternVL2_5-8B", "InternViT-300M-448px-V2.5"),
        ("OpenGVLab/InternVL3_5-38B", "InternViT 6B"),
        ("llava-hf/llama3-llava-next-8b-hf", "CLIP-L-14"),
        ("meta-llama/Llama-3.2-11B-Vision-Instruct", "ViT-H-14"),
        ("google/paligemma2-28b-mix-448", "SigLIP so400M"),
        ("llava-hf/llava-onevision-qwen2-72b-ov-chat-hf", "SigLIP so400M"),
        ("Qwen/Qwen2.5-VL-72B-Instruct", "-"),
    ],
)
def test_checkpoints_are_known_by_their_names(name, encoder):
    assert find_architecture(f"hf[{name}]")[0] == encoder
