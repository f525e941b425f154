"""Pictures with questions that examine a model's skills in a style; the same seed gives the same exam."""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import count as numbers
from itertools import islice

from PIL import Image

from eyechart.models.types import Request
from eyechart.realbirdid.answers.abstention_reasons import CHOICES
from eyechart.toybox.art.bird_looks import species
from eyechart.toybox.art.draw import Draw
from eyechart.toybox.art.scenes import MAX_THINGS, Scene, empty_scene, everyday_scene, render
from eyechart.toybox.art.shapes import styles
from eyechart.toybox.art.styles import HELD_OUT, TRAINING
from eyechart.toybox.art.toy_classes import names
from eyechart.toybox.formats.bird_files import observations, picture
from eyechart.toybox.formats.shards import SCENE, encode_image, singles
from toybox.questions import (
    WORDINGS,
    Ask,
    PictureContent,
    QAPair,
    ask_bird_name_or_reason,
    ask_comparison,
    ask_letter,
    ask_presence,
    draw_absent_class,
)
from toybox.texts import (
    THOUSAND,
    UNREAD,
    ask_abstention,
    ask_text_choice,
    ask_text_name,
    ask_text_reason,
    other_names,
    text_names,
)

SEED = 42
TRAINED = "training styles"
PICTURES = 3


@dataclass(frozen=True)
class Item:
    """A picture, or None, and a question about it, or about a text."""

    image: Image.Image | None
    question: QAPair

    @property
    def request(self) -> Request:
        """What a model is asked."""
        return Request((self.image, self.question.prompt) if self.image else (self.question.prompt,))


@dataclass(frozen=True)
class StyleGroup:
    """Styles that are examined together."""

    name: str
    styles: tuple[str, ...]

    @property
    def split(self) -> str:
        """The split of single things that shows these styles."""
        return "val" if self.name == TRAINED else self.name

    def key(self, *name: object) -> str:
        """A name for chance, this group's own."""
        return "|".join(map(str, ("exam", SEED, self.name, *name)))


Items = Callable[[StyleGroup, int], Iterator[Item]]


@dataclass(frozen=True)
class Skill:
    """What is asked, how often it is right by chance, and the choices if the answer is the likeliest of some."""

    name: str
    chance: float
    items: Items
    choices: tuple[str, ...] = ()


def groups() -> tuple[StyleGroup, ...]:
    """Return the training styles together, and each held-out one, as far as they are there."""
    known = {TRAINED: TRAINING, **{style: (style,) for style in HELD_OUT}}
    there = (StyleGroup(name, tuple(style for style in wanted if style in styles())) for name, wanted in known.items())
    return tuple(group for group in there if group.styles)


def skills() -> tuple[Skill, ...]:
    """Return what is examined."""
    return (*_seen(), *_read_texts())


def _seen() -> tuple[Skill, ...]:
    known = len(names())
    return (
        Skill("4-way letter", 1 / 4, _single(lambda view, dice: ask_letter(view, dice, 4, "table_22"))),
        Skill("10-way letter", 1 / 10, _single(lambda view, dice: ask_letter(view, dice, 10, "mill_mcq"))),
        Skill(f"name from a list of {known}, constrained", 1 / known, _single(_from_list), tuple(names())),
        Skill(f"name from a list of {known}, free", 1 / known, _single(_from_list)),
        Skill(f"name from a list of {THOUSAND:,}, free", 1 / THOUSAND, _single(_from_thousand)),
        Skill("contain / not contain", 1 / 2, _crowded(lambda view, dice: ask_presence(view, dice, "oodbench"))),
        Skill("count of a class, 0-5", 1 / 6, _counts),
        Skill("count of all things, 0-5", 1 / 6, _all_counts),
        Skill("more of one than of another", 1 / 2, _crowded(ask_comparison)),
        Skill("species of a bird that can be told", 1 / 26, _birds(_species, answerable=True)),
        Skill("species, or why it cannot be told", 1 / 29, _birds(ask_bird_name_or_reason, answerable=None)),
        Skill("species, or why it cannot be told, as abstention asks", 1 / 29, _birds(_abstention, answerable=None)),
    )


def _read_texts() -> tuple[Skill, ...]:
    birds = text_names()
    name, choice, why = (
        _texts(partial(ask, tested=UNREAD)) for ask in (ask_text_name, ask_text_choice, ask_text_reason)
    )
    return (
        Skill("name in a text, or that it has none", 1 / len(birds), name, birds),
        Skill("name in a text, from a list", 1 / len(species()), choice, tuple(bird.name for bird in species())),
        Skill("reason in a text, or that it has none", 1 / len(CHOICES), why, CHOICES),
    )


def _from_list(view: PictureContent, dice: random.Random) -> QAPair:
    every = dice.sample(names(), len(names()))
    return QAPair(WORDINGS["table_20"][0].replace("{list}", "\n".join(every)), names()[view.labels[0]])


def _from_thousand(view: PictureContent, dice: random.Random) -> QAPair:
    others = dice.sample(other_names("mill"), THOUSAND - len(names()))
    every = dice.sample([*names(), *others], THOUSAND)
    return QAPair(WORDINGS["table_20"][0].replace("{list}", "\n".join(every)), names()[view.labels[0]])


def _abstention(view: PictureContent, dice: random.Random) -> QAPair | None:
    return ask_abstention(view, dice, ("unanswerable", "refuse"))


def _species(view: PictureContent, _: random.Random) -> QAPair | None:
    return QAPair(WORDINGS["species"][0], view.bird.name) if view.bird else None


def _single(ask: Ask) -> Items:
    """Ask about pictures of one thing."""

    def items(group: StyleGroup, most: int) -> Iterator[Item]:
        dice = random.Random(group.key())
        scenes = list(singles(SEED, group.split, group.styles, PICTURES))
        for scene in dice.sample(scenes, min(most, len(scenes))):
            yield from _item(scene, ask(_view(scene), dice))

    return items


def _crowded(ask: Ask) -> Items:
    """Ask about pictures of one to five things."""

    def items(group: StyleGroup, most: int) -> Iterator[Item]:
        dice = random.Random(group.key())
        for scene in islice(_crowds(group), most):
            yield from _item(scene, ask(_view(scene), dice))

    return items


def _crowds(group: StyleGroup) -> Iterator[Scene]:
    for number in numbers():
        key = group.key(number)
        yield everyday_scene(Draw(key), key, group.styles[number % len(group.styles)], SCENE)


def _counts(group: StyleGroup, most: int) -> Iterator[Item]:
    """Ask for counts of a class, every one from 0 to 5 as often."""
    dice, wanted = random.Random(group.key()), dict.fromkeys(range(MAX_THINGS + 1), most // (MAX_THINGS + 1))
    scenes = _crowds(group)
    while any(wanted.values()):
        scene = next(scenes)
        count, label = _count(_view(scene), dice, wanted)
        if count >= 0:
            wanted[count] -= 1
            prompt = WORDINGS["oodbench_count"][0].replace("{c}", names()[label])
            yield from _item(scene, QAPair(prompt, str(count)))


def _count(view: PictureContent, dice: random.Random, wanted: Mapping[int, int]) -> tuple[int, int]:
    """Choose a count that is still wanted, the highest, and its class; -1 where there is none."""
    counts = [(view.labels.count(label), label) for label in (*view.labels, draw_absent_class(view, dice))]
    return max((pair for pair in counts if wanted[pair[0]]), default=(-1, -1))


def _all_counts(group: StyleGroup, most: int) -> Iterator[Item]:
    """Ask for the number of all things, every one from 0 to 5 as often."""
    per_count, prompt = most // (MAX_THINGS + 1), WORDINGS["count_all"][0]
    for number in range(per_count):
        key = group.key("empty", number)
        yield from _item(empty_scene(Draw(key), key, group.styles[0], SCENE), QAPair(prompt, "0"))
    wanted, scenes = dict.fromkeys(range(1, MAX_THINGS + 1), per_count), _crowds(group)
    while any(wanted.values()):
        scene = next(scenes)
        if wanted[len(scene.things)]:
            wanted[len(scene.things)] -= 1
            yield from _item(scene, QAPair(prompt, str(len(scene.things))))


def _birds(ask: Ask, *, answerable: bool | None) -> Items:
    """Ask about birds that can be told, that cannot, or both."""

    def items(group: StyleGroup, most: int) -> Iterator[Item]:
        dice = random.Random(group.key())
        for observation in observations(SEED, group.key(), group.styles, most):
            question = ask(PictureContent(bird=observation.bird, reason=observation.reason), dice)
            if question and answerable in (None, not observation.reason):
                yield Item(_read(picture(SEED, group.key(), observation, observation.images[0]), "JPEG"), question)

    return items


def _texts(ask: Ask) -> Items:
    """Ask about texts, which have no style and are asked about once."""

    def items(group: StyleGroup, most: int) -> Iterator[Item]:
        dice = random.Random(group.key())
        questions = (ask(PictureContent(), dice) for _ in range(most if group.name == TRAINED else 0))
        yield from (Item(None, question) for question in questions if question)

    return items


def _item(scene: Scene, question: QAPair | None) -> Iterator[Item]:
    if question is not None:
        yield Item(_read(render(scene).image), question)


def _read(image: Image.Image, kind: str = "WEBP") -> Image.Image:
    """Return a picture as it comes from its file."""
    return Image.open(BytesIO(encode_image(image, kind))).convert("RGB")


def _view(scene: Scene) -> PictureContent:
    things = [scene.things[scene.main], *(thing for place, thing in enumerate(scene.things) if place != scene.main)]
    return PictureContent(tuple(thing.label for thing in things))
