"""A generator of a tiny checkpoint, and the tokens of its answers about a big image."""

from pathlib import Path

from PIL import Image

from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request

BIG = [Request((Image.effect_noise((200, 160), 90).convert("RGB"), "what is this?"))]


def ours(folder: Path, *options: str) -> HfGenerator:
    return HfGenerator(parse_spec(f"hf[{','.join([str(folder), *options])}]"), offline=True)


def tokens(model: HfGenerator, requests: list[Request] = BIG) -> list[tuple[int, ...]]:
    return [answer.tokens for answer in generate_all(model, requests, 8)]
