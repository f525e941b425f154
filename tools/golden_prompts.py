"""The golden texts of prompts: each packaged prompt as a model meets it, filled by the protocols' own means."""

from collections.abc import Iterable
from pathlib import Path

from eyechart.classification.answers.image_batches import format_class_list
from eyechart.classification.protocols.mcq import draw_mill_options
from eyechart.classification.protocols.multiple_choice import AnswerOptions
from eyechart.protocol.prompts import get_prompt, prompt_names
from eyechart.protocol.registry import get_protocol

FOLDER = Path(__file__).resolve().parents[1] / "tests/golden/prompts"
NAMES = (
    "tench",
    "goldfish",
    "tights for gymnastics, a one-piece leotard, or a sport jersey",
    "{class_list}",
    "missile",
)
TEN = tuple(f"class {number}" for number in range(10))


def render(name: str) -> str:
    """Return the text of a packaged prompt with its slots filled; an unknown slot has its name."""
    prompt = get_prompt(name)
    choices = AnswerOptions((2, 0, 4, 1), (0,)).to_text(NAMES)
    values = {
        "class_list": format_class_list(NAMES, "id" if "_id" in name else "name"),
        "dynamic_choices": draw_mill_options("s0", 3, 10).to_text(TEN) if name == "mill_mcq" else choices,
        "category": NAMES[3],
        "other": NAMES[1],
        "said": 'A "gull": {said}\nof some kind.',
        "reason_list": "image quality, {said}",
    }
    return prompt.fill(**{slot: values.get(slot, slot) for slot in prompt.slots})


def write_prompts(protocol: str = "") -> None:
    """Write the golden texts of a protocol's prompts, or those of all prompts that there are, and no other ones."""
    names: Iterable[str] = get_protocol(protocol).prompts if protocol else prompt_names()
    for path in () if protocol else FOLDER.glob("*.txt"):
        path.unlink()
    for name in names:
        (FOLDER / f"{name}.txt").write_text(render(name), encoding="utf-8")
