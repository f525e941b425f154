"""Questions that are read more than seen: lists of up to a thousand names, short texts, and when to name no bird."""

import json
import random
import tomllib
from collections.abc import Sequence
from functools import cache

from eyechart.data.labels.class_names import load_class_names
from eyechart.realbirdid.answers.abstention_reasons import ANSWERED, OTHER, PHRASES
from eyechart.realbirdid.answers.bird_vocabulary import ABSTAIN
from eyechart.realbirdid.answers.prompt_sets import load_prompt_set
from eyechart.realbirdid.data.observations import REASONS
from eyechart.toybox.art.bird_looks import Species, species
from eyechart.toybox.art.toy_classes import names
from toybox.questions import (
    REFUSALS,
    WORDINGS,
    Ask,
    PictureContent,
    QAPair,
    ask_bird_name,
    ask_bird_name_or_reason,
    choose_options,
    fill_wording,
)

IMAGENET = ("mill", "openai", "kisel", "wordnet")
THOUSAND = 1000
LINES_SHARE, JSON_SHARE = 0.75, 0.15
READ, UNREAD = "", "_unread"
NAIVE = "naive"


@cache
def other_names(vocabulary: str) -> tuple[str, ...]:
    """Return ImageNet's names in a packaged vocabulary that are no names of the toy world, each once."""
    known = {name.casefold() for name in names()}
    every = dict.fromkeys(load_class_names(vocabulary).names)
    return tuple(name for name in every if name.casefold() not in known)


@cache
def reason_phrases() -> dict[str, tuple[str, ...]]:
    """Return the packaged words for every reason why a bird cannot be name."""
    content = tomllib.loads(PHRASES.read_text(encoding="utf-8"))
    return {reason: tuple(content[reason]) for reason in REASONS}


def reading_texts() -> tuple[str, ...]:
    """Return the texts of this module that prompts and answers are made of."""
    prompts = [text for texts in load_prompt_set().levels.values() for text in texts]
    phrases = [text for texts in reason_phrases().values() for text in texts]
    return (*prompts, *phrases, OTHER, ANSWERED, ABSTAIN)


def imagenet_texts() -> tuple[str, ...]:
    """Return every name of ImageNet in the packaged vocabularies."""
    return tuple(dict.fromkeys(name for vocabulary in IMAGENET for name in load_class_names(vocabulary).names))


def text_names() -> tuple[str, ...]:
    """Return what a text may name: species, common names and genera, or nothing."""
    every = [(bird.name, bird.common_name, bird.genus) for bird in species()]
    return (*dict.fromkeys(name for names_of_bird in every for name in names_of_bird), ABSTAIN)


def list_names(view: PictureContent, size: int, dice: random.Random) -> list[str]:
    """Return the main thing's name among as many names of the toy world as fit, or fewer, and others of ImageNet."""
    others = list(other_names(dice.choice(IMAGENET)))
    known = dice.randint(min(size, max(2, size - len(others))), min(size, len(names())))
    chosen = [names()[label] for label in choose_options(view, known, dice)]
    every = [*chosen, *dice.sample(others, min(size - len(chosen), len(others)))]
    dice.shuffle(every)
    return every


def ask_from_thousand(view: PictureContent, dice: random.Random) -> QAPair | None:
    """Ask for the main thing among 10 to a thousand names, short lists as often as long ones."""
    if not view.labels:
        return None
    every = list_names(view, round(10 * (THOUSAND / 10) ** dice.random()), dice)
    listed, right = ("\n" if dice.random() < LINES_SHARE else ", ").join(every), names()[view.labels[0]]
    if dice.random() < JSON_SHARE:
        return QAPair(fill_wording("table_20_json", dice, list=listed), json.dumps({"1": right}))
    return QAPair(fill_wording(dice.choice(("table_20", "table_20", "listed")), dice, list=listed), right)


def ask_text_name(_: PictureContent, dice: random.Random, tested: str = READ) -> QAPair:
    """Ask which bird a text names."""
    bird, kind = dice.choice(species()), dice.choice(("bird", "bird", "genus", "nothing", "reason"))
    text, answer = _draw_text(kind, bird, dice, tested)
    return QAPair(fill_wording("extraction", dice, said=text), answer)


def ask_text_choice(_: PictureContent, dice: random.Random, tested: str = READ) -> QAPair:
    """Ask which bird of a list a text names."""
    bird, size = dice.choice(species()), dice.choice((dice.randint(2, len(species())), len(species())))
    listed = {bird.name, *(other.name for other in dice.sample(species(), size - 1))}
    text, _answer = _draw_text("bird", bird, dice, tested)
    return QAPair(fill_wording("choice", dice, said=text, list="\n".join(sorted(listed))), bird.name)


def ask_text_reason(_: PictureContent, dice: random.Random, tested: str = READ) -> QAPair:
    """Ask which reason a text gives, if any."""
    kind = dice.choice(("reason", "reason", "reason", "nothing", "bird"))
    if kind == "reason":
        reason = dice.choice(REASONS)
        text, answer = _draw_reason_text(reason, dice, tested), reason
    else:
        text, _answer = _draw_text(kind, dice.choice(species()), dice, tested)
        answer = OTHER if kind == "nothing" else ANSWERED
    return QAPair(fill_wording("why", dice, said=text, reason_list=", ".join(REASONS)), answer)


def _draw_text(kind: str, bird: Species, dice: random.Random, tested: str) -> tuple[str, str]:
    """Return a text of a kind, and the name that it gives."""
    if kind == "reason":
        return _draw_reason_text(dice.choice(REASONS), dice, tested), ABSTAIN
    name = dice.choice((bird.name, bird.common_name))
    text = dice.choice(WORDINGS[f"said_{kind}{tested}"]).replace("{bird}", name).replace("{genus}", bird.genus)
    return text, {"bird": name, "genus": bird.genus}.get(kind, ABSTAIN)


def _draw_reason_text(reason: str, dice: random.Random, tested: str) -> str:
    phrase = reason if dice.random() < 0.3 else dice.choice(reason_phrases()[reason])
    text: str = dice.choice(WORDINGS[f"said_reason{tested}"])
    return text.replace("{phrase}", phrase)


def ask_abstention(
    view: PictureContent, dice: random.Random, levels: Sequence[str] = (NAIVE, "unanswerable", "refuse")
) -> QAPair | None:
    """Ask for a bird's species in a prompt of the packaged set; where it may be declined, expect the reason."""
    if view.bird is None:
        return None
    level = dice.choice(levels)
    declined = view.reason and level != NAIVE
    return QAPair(dice.choice(load_prompt_set().levels[level]), REFUSALS[view.reason] if declined else view.bird.name)


TEXTS: tuple[tuple[Ask, int], ...] = ((ask_text_name, 2), (ask_text_choice, 1), (ask_text_reason, 3))
MORE_BIRDS: tuple[tuple[Ask, int], ...] = ((ask_abstention, 4), (ask_bird_name, 1), (ask_bird_name_or_reason, 1))


def ask_texts(count: int, dice: random.Random) -> tuple[QAPair, ...]:
    """Ask about texts, without a picture."""
    kinds, weights = zip(*TEXTS, strict=True)
    questions = (kind(PictureContent(), dice) for kind in dice.choices(kinds, weights, k=count))
    return tuple(question for question in questions if question is not None)
