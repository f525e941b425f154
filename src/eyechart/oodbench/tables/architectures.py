"""Image encoders and language models of published multimodal models, by the names of their checkpoints."""

import re
from collections.abc import Mapping
from dataclasses import replace

from eyechart.reports.tables.selection import Page

IMAGE_ENCODER, LANGUAGE_MODEL = "Image Encoder", "Language Model"
UNKNOWN = "-"  # as for closed models in the papers
SIGLIP, INTERNVIT = "SigLIP so400M", "InternViT-300M-448px"
# By a part of the name without case and punctuation. Sources: arXiv 2602.18094, Table 1; arXiv 2603.06578, Table 3.
ARCHITECTURES: Mapping[str, tuple[str, str]] = {
    "llavanext8b": ("CLIP-L-14", "Llama-3-8B-Instruct"),
    "deepseekvl7bchat": ("SigLIP-L & SAM-B", "DeepSeek-LLM-7B"),
    "deepseekvl2small": ("SigLIP-SO400M", "DeepSeekMoE LLM"),
    "internvl28b": (INTERNVIT, "InternLM2.5-7b-chat"),
    "internvl258b": (f"{INTERNVIT}-V2.5", "InternLM2.5-7b-chat"),
    "llama3211bvision": ("ViT-H-14", "Llama3.1-8B"),
    "qwen2vl7binstruct": ("CLIP-L-14", "Qwen2-7B"),
    "qwen25vl7binstruct": ("ViT(SwiGLU, RMSNorm)", "Qwen2.5 LLM"),
    "gpt4o": (UNKNOWN, "GPT-4"),
    "paligemma228b": (SIGLIP, "Gemma2 27B"),
    "llavaonevisionqwen272b": (SIGLIP, "Qwen2 72B"),
    "internvl3538b": ("InternViT 6B", "Qwen3 32B"),
    "qwen3vl235ba22b": ("SigLIP 2 so400M", "Qwen3 MoE"),
}
NOTE = (
    f"{IMAGE_ENCODER}, {LANGUAGE_MODEL}: as published (arXiv 2602.18094, Table 1; arXiv 2603.06578, Table 3), by the "
    f"name of the checkpoint; {UNKNOWN}: not published there."
)


def find_architecture(name: str) -> tuple[str, str]:
    """Return the image encoder and the language model of a checkpoint, `UNKNOWN` for one that no table names.

    >>> find_architecture("vllm[Qwen/Qwen2.5-VL-7B-Instruct]")
    ('ViT(SwiGLU, RMSNorm)', 'Qwen2.5 LLM')
    """
    letters = re.sub(r"[^a-z0-9]", "", name.casefold())
    return next((parts for key, parts in ARCHITECTURES.items() if key in letters), (UNKNOWN, UNKNOWN))


def with_architectures(page: Page) -> Page:
    """Return a page whose rows also name the image encoder and the language model."""
    parts = [find_architecture(case.record.model.spec) for case in page.cases]
    columns = {IMAGE_ENCODER: [encoder for encoder, _ in parts], LANGUAGE_MODEL: [model for _, model in parts]}
    return replace(page, names=page.names.assign(**columns))
