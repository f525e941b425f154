"""A real checkpoint that thinks: `toybox-mllm` with a chat template like Qwen's, taught a few answers in seconds."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import copytree
from typing import Any
from unittest.mock import patch

from PIL import Image

NAMES = ("cat", "dog", "cup", "star", "car", "fish", "bird", "tree", "shoe", "hat")
THOUGHT, ANSWER, DIRECT = "<think>\nA or C?\n</think>\n\n", "B", "C"
SWITCH = (
    "{% if add_generation_prompt and enable_thinking is defined and enable_thinking is false %}"
    "{{ '<think>\n\n</think>\n\n' }}{% endif %}"
)
MOST_STEPS, LEARNED = 150, 0.003  # the loss at which both lessons are answered with certainty


def make_checkpoint(folder: Path) -> Path:
    """Write a checkpoint that thinks unless enable_thinking is false: then it answers at once."""
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from eyechart.samples.files import packaged

    copytree(packaged("toybox-mllm"), folder)
    template = folder / "chat_template.jinja"
    template.write_text(template.read_text() + SWITCH)
    torch.manual_seed(0)  # for the embeddings of the new tokens
    processor = AutoProcessor.from_pretrained(folder)
    model = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32)
    processor.tokenizer.add_tokens(["<think>", "</think>"])  # as in Qwen's: no special tokens
    model.resize_token_embeddings(len(processor.tokenizer), mean_resizing=False)
    thinking = encode(processor, question(), THOUGHT + ANSWER, {})
    direct = encode(processor, question(), DIRECT, {"enable_thinking": False})
    teach(model, processor, (thinking, direct))
    processor.save_pretrained(folder)
    model.config.text_config.max_position_embeddings = 32768  # as long as the contexts of models that think
    model.save_pretrained(folder)
    return folder


def question() -> str:
    """Return a question of multiple choice."""
    from eyechart.protocol.prompts import get_prompt

    options = "\n".join(f"{letter}) {name}" for letter, name in zip("ABCDEFGHIJ", NAMES, strict=True))
    return get_prompt("mill_mcq").fill(dynamic_choices=options)


def teach(model: Any, processor: Any, lessons: Sequence[tuple[str, str]]) -> None:
    """Train on answers to prompts about an image; one thread is faster for so few numbers."""
    import torch

    images = [[Image.new("RGB", (64, 64), (90 * index, 90, 200))] for index in range(len(lessons))]
    how = {"return_tensors": "pt", "padding": True, "padding_side": "right"}
    whole = processor(text=[prompt + answer for prompt, answer in lessons], images=images, **how)
    starts = processor(text=[prompt for prompt, _ in lessons], images=images, **how)["attention_mask"].sum(
        1, keepdim=True
    )
    tokens, index = whole["input_ids"], torch.arange(whole["input_ids"].shape[1])[None]
    taught = (index >= starts) & (index < whole["attention_mask"].sum(1, keepdim=True))
    last = int(taught.any(0).sum()) + 1  # the others' words are not taught
    labels = torch.where(taught, tokens, -100)[:, 1 - last :]
    optimizer, threads = torch.optim.AdamW(model.model.language_model.parameters(), lr=2e-3), torch.get_num_threads()
    with torch.no_grad():
        seen = model.model.get_image_features(pixel_values=whole["pixel_values"], return_dict=True)
    torch.set_num_threads(1)
    with patch.object(model.model, "get_image_features", lambda *_, **__: seen):  # which is not taught, and slow
        for _ in range(MOST_STEPS):
            logits = model(**whole, logits_to_keep=last).logits[:, :-1].flatten(0, 1)
            loss = torch.nn.functional.cross_entropy(logits, labels.flatten())
            if loss.item() < LEARNED:
                break
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    torch.set_num_threads(threads)


def encode(processor: Any, question: str, answer: str, variables: Mapping[str, Any]) -> tuple[str, str]:
    """Return the prompt of a question about an image, and its answer with the end of turn."""
    content = [{"type": "image"}, {"type": "text", "text": question}]
    turn = [{"role": "user", "content": content}]
    prompt = processor.apply_chat_template(turn, tokenize=False, add_generation_prompt=True, **variables)
    return prompt, f"{answer}<end>"
