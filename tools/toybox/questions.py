"""Questions about training pictures with their answers: the protocols' own wordings, varied.

A `PictureContent` is what is known of a picture. Every kind of question is a function of the content and a random
generator. It returns None if the content cannot answer the question.
"""

import json
import random
import string
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.protocol.prompts import get_prompt
from eyechart.toybox.art.bird_looks import Species
from eyechart.toybox.art.toy_classes import equivalent_classes, names
from eyechart.toybox.formats.bird_files import OCCLUSION, QUALITY, VOICE

LETTERS = string.ascii_uppercase
CAPITALS = 0.06


@dataclass(frozen=True)
class PictureContent:
    """What a picture shows: classes of its things, the largest first; or a bird, and why it cannot be told."""

    labels: tuple[int, ...] = ()
    bird: Species | None = None
    reason: str = ""


@dataclass(frozen=True)
class QAPair:
    """A prompt after the pictures, and its answer."""

    prompt: str
    answer: str


Ask = Callable[[PictureContent, random.Random], QAPair | None]


def _wordings() -> Mapping[str, Any]:
    """Read the wordings; `{ prompt = "…" }` among them is a protocol's own prompt."""
    content = tomllib.loads(Path(__file__).with_name("wordings.toml").read_text(encoding="utf-8"))
    return {
        kind: [_shared(wording["prompt"]) if isinstance(wording, dict) else wording for wording in content[kind]]
        for kind in content
    }


def _shared(name: str) -> str:
    return get_prompt(name).text.replace("{class_list}", "{list}").replace("{dynamic_choices}", "{options}")


WORDINGS = _wordings()
PICTURES = ("image", "image", "picture", "photo")
REFUSALS: Mapping[str, str] = {
    QUALITY: "I cannot tell: image quality",
    OCCLUSION: "I cannot tell: angle/occlusion",
    VOICE: "I cannot tell: vocalization",
}


def reasons() -> tuple[str, ...]:
    """Return the reasons why a bird cannot be told."""
    return tuple(REFUSALS)


def texts() -> tuple[str, ...]:
    """Return every text that a prompt or answer is made of, names left out."""
    wordings = [text for kind in WORDINGS for text in WORDINGS[kind]]
    pairs = [text for pair in (*WORDINGS["contains"], *WORDINGS["oodbench"]) for text in pair]
    return (
        *(text for text in wordings if isinstance(text, str)),
        *pairs,
        *PICTURES,
        *REFUSALS.values(),
        "yes no Yes No none",
    )


def ask_name(view: PictureContent, dice: random.Random) -> QAPair | None:
    """Ask for the main thing."""
    if len(view.labels) == 0:
        return None
    return QAPair(_wording("open" if dice.random() < 0.1 else "name", dice), names()[view.labels[0]])


def ask_from_list(view: PictureContent, dice: random.Random, longest: int = 16, kind: str = "listed") -> QAPair | None:
    """Ask for the main thing among a list of names."""
    if len(view.labels) == 0:
        return None
    right, *others = (_shown(label, dice) for label in choose_options(view, dice.randint(2, longest), dice))
    every = [right, *others]
    dice.shuffle(every)
    between = "\n" if dice.random() < 0.6 else ", "
    prompt = _wording(kind, dice).replace("{list}", between.join(every))
    return QAPair(prompt, right)


def ask_from_long_list(view: PictureContent, dice: random.Random) -> QAPair | None:
    """Ask for the main thing among up to all names."""
    return ask_from_list(view, dice, len(names()), "table_20" if dice.random() < 0.4 else "listed")


def ask_at_length(view: PictureContent, dice: random.Random) -> QAPair | None:
    """Ask for the main thing at length."""
    return QAPair(_wording("table_21", dice), names()[view.labels[0]]) if view.labels else None


def ask_letter_at_length(view: PictureContent, dice: random.Random) -> QAPair | None:
    """Ask for the letter of the main thing among four, at length."""
    return ask_letter(view, dice, 4, "table_22")


def ask_letter(view: PictureContent, dice: random.Random, count: int = 0, kind: str = "") -> QAPair | None:
    """Ask for the letter of the main thing, by default among four, ten or some."""
    if len(view.labels) == 0:
        return None
    count = count or dice.choice((4, 4, 4, 10, 10, dice.randint(2, 10)))
    right, *others = (_shown(label, dice) for label in choose_options(view, count, dice))
    every = [right, *others]
    dice.shuffle(every)
    mark = dice.choice(("{}) {}", "{}) {}", "{}. {}", "({}) {}"))
    lines = "\n".join(mark.format(letter, name) for letter, name in zip(LETTERS, every, strict=False))
    wording = _wording(kind or dice.choice(("mill_mcq", "lettered")), dice)
    return QAPair(wording.replace("{options}", lines), LETTERS[every.index(right)])


def ask_presence(view: PictureContent, dice: random.Random, kind: str = "") -> QAPair | None:
    """Ask whether a thing is there, or is not there."""
    there = bool(view.labels) and dice.random() < 0.5
    label = dice.choice(view.labels) if there else draw_absent_class(view, dice)
    plain, denied = dice.choice(WORDINGS[kind or dice.choice(("oodbench", "contains"))])
    turned = dice.random() < 0.4
    prompt = _worded(denied if turned else plain, dice).replace("{c}", names()[label])
    return QAPair(prompt, _yes(there != turned, prompt))


def ask_count(view: PictureContent, dice: random.Random) -> QAPair | None:
    """Ask how many things of a class there are."""
    there = bool(view.labels) and dice.random() < 0.85
    label = (
        max((dice.choice(view.labels) for _ in range(2)), key=view.labels.count)
        if there
        else draw_absent_class(view, dice)
    )
    prompt = _wording(dice.choice(("oodbench_count", "count")), dice).replace("{c}", names()[label])
    return QAPair(prompt, str(view.labels.count(label)))


def ask_total_count(view: PictureContent, dice: random.Random) -> QAPair | None:
    """Ask how many things there are."""
    return QAPair(_wording("count_all", dice), str(len(view.labels)))


def ask_comparison(view: PictureContent, dice: random.Random) -> QAPair | None:
    """Ask whether there are more things of one class than of another."""
    if not view.labels:
        return None
    chosen = dice.choice(view.labels)
    rest = [label for label in view.labels if label != chosen]
    other = dice.choice(rest) if rest and dice.random() < 0.8 else draw_absent_class(view, dice)
    first, second = (chosen, other) if dice.random() < 0.5 else (other, chosen)
    prompt = _wording("more", dice).replace("{c}", names()[first]).replace("{d}", names()[second])
    return QAPair(prompt, _yes(view.labels.count(first) > view.labels.count(second), prompt))


def ask_bird_name(view: PictureContent, dice: random.Random) -> QAPair | None:
    """Ask for a bird's species, common name or genus, to be answered in any case."""
    if view.bird is None:
        return None
    answers = {"species": view.bird.name, "common": view.bird.common_name, "genus": view.bird.genus}
    kind = dice.choice(("species", *answers))
    return QAPair(dice.choice(WORDINGS[kind]), answers[kind])


def ask_bird_name_or_reason(view: PictureContent, dice: random.Random) -> QAPair | None:
    """Ask for a bird's species, or for the reason why it cannot be told."""
    if view.bird is None:
        return None
    if dice.random() < 0.6:
        return QAPair(dice.choice(WORDINGS["doubt"]), REFUSALS[view.reason] if view.reason else view.bird.name)
    prompt = dice.choice(WORDINGS["reason"]).replace("{reasons}", ", ".join(REFUSALS))
    return QAPair(prompt, REFUSALS[view.reason] if view.reason else "yes")


def ask_batch(views: Sequence[PictureContent], dice: random.Random) -> QAPair:
    """Ask for the main things of several pictures, or of one among them."""
    mains = [names()[view.labels[0]] for view in views]
    if len(views) > 1 and dice.random() < 0.4:
        chosen = dice.randrange(len(views))
        return QAPair(dice.choice(WORDINGS["ordinal"]).replace("{nth}", WORDINGS["ordinals"][chosen]), mains[chosen])
    every = sorted({*mains, *dice.sample(names(), dice.randint(2, 24 if dice.random() < 0.6 else len(names())))})
    answer = json.dumps({str(number): name for number, name in enumerate(mains, 1)})
    kind = dice.choice(("batched", "table_20_json", "table_21_json"))
    return QAPair(_wording(kind, dice).replace("{list}", "\n".join(every)), answer)


SHORT: tuple[tuple[Ask, int], ...] = (
    (ask_name, 1),
    (ask_from_list, 1),
    (ask_letter, 3),
    (ask_presence, 3),
    (ask_count, 6),
    (ask_total_count, 1),
    (ask_comparison, 2),
)
LONG: tuple[tuple[Ask, int], ...] = ((ask_from_long_list, 3), (ask_at_length, 1), (ask_letter_at_length, 3))
BIRDS: tuple[tuple[Ask, int], ...] = ((ask_bird_name, 1), (ask_bird_name_or_reason, 2))


def draw_questions(
    view: PictureContent, kinds: Sequence[tuple[Ask, int]], count: int, dice: random.Random
) -> list[QAPair]:
    """Ask up to `count` different questions about a picture."""
    questions: dict[str, QAPair] = {}
    for kind in dice.choices([kind for kind, _ in kinds], [weight for _, weight in kinds], k=2 * count):
        question = kind(view, dice)
        if question is not None and len(questions) < count:
            questions.setdefault(question.prompt, question)
    return list(questions.values())


def choose_options(view: PictureContent, count: int, dice: random.Random) -> list[int]:
    """Return the main thing's class, and others that neither are in the picture nor mean the same."""
    main = view.labels[0]
    barred = {other for label in view.labels for other in (label, *equivalent_classes(label))}
    rest = [label for label in range(len(names())) if label not in barred]
    return [main, *dice.sample(rest, min(count - 1, len(rest)))]


def draw_absent_class(view: PictureContent, dice: random.Random) -> int:
    """Return a class that is not in the picture, nor one that means the same."""
    while True:
        label = dice.randrange(len(names()))
        if label not in view.labels and not set(equivalent_classes(label)) & set(view.labels):
            return label


def _shown(label: int, dice: random.Random) -> str:
    name = names()[label]
    return name[0].upper() + name[1:] if dice.random() < CAPITALS else name


def _wording(kind: str, dice: random.Random) -> str:
    return _worded(dice.choice(WORDINGS[kind]), dice)


def fill_wording(kind: str, dice: random.Random, **slots: str) -> str:
    """Return some wording of a kind with its slots filled."""
    wording = _wording(kind, dice)
    for slot, text in slots.items():
        wording = wording.replace(f"{{{slot}}}", text)
    return wording


def _worded(wording: str, dice: random.Random) -> str:
    return wording.replace("{picture}", dice.choice(PICTURES))


def _yes(true: bool, prompt: str) -> str:
    answer = "yes" if true else "no"
    return answer.capitalize() if "Yes or No" in prompt else answer
