"""The packaged toybox-mllm: it loads by its name, is small and plain, and sees."""

from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import pairwise
from operator import eq
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyechart import samples
from eyechart.data.labels.class_names import load_class_names
from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request
from eyechart.parsers import json_answers
from eyechart.toybox.art.toy_classes import names
from toybox.exam import TRAINED, StyleGroup, groups, skills
from toybox.questions import WORDINGS
from toybox.score_mllm import count_correct, mean, table

pytestmark = pytest.mark.deep

SPEC = parse_spec("hf[toybox-mllm]")
FOLDER = Path(samples.__path__[0]) / "toybox-mllm"
FEW = 20
NAMED, THOUSAND = "name from a list of 123, constrained", "name from a list of 1,000, free"
FEWER = {THOUSAND: 3}  # whose prompts are long
LEAST = {
    "4-way letter": 0.75,
    "10-way letter": 0.6,
    NAMED: 0.5,
    "contain / not contain": 0.75,
    "count of a class, 0-5": 0.4,
    "species, or why it cannot be told, as abstention asks": 0.5,
}
READ = {
    "name in a text, or that it has none": 0.6,
    "name in a text, from a list": 0.75,
    "reason in a text, or that it has none": 0.6,
}
Share = Callable[[str, str], tuple[int, int]]
GREY = Image.new("RGB", (120, 90), "grey")


@pytest.fixture(scope="module")
def model() -> HfGenerator:
    return HfGenerator(SPEC, offline=True)


@pytest.fixture(scope="module")
def share(model: HfGenerator) -> Share:
    """How many answers of a skill are right in a group of styles, and how many there are."""
    known, every = {group.name: group for group in groups()}, {skill.name: skill for skill in skills()}

    @cache
    def count(skill: str, group: str) -> tuple[int, int]:
        items = list(every[skill].items(known[group], FEWER.get(skill, FEW)))
        return count_correct(model, every[skill], items), len(items)

    return count


@pytest.mark.parametrize("skill", LEAST)
def test_it_sees_in_a_style_that_it_has_not_learnt(share: Share, skill: str) -> None:
    right, n = share(skill, "fluent-3d")
    assert right / n > LEAST[skill]


@pytest.mark.parametrize("skill", READ)
def test_it_reads_short_texts(share: Share, skill: str) -> None:
    right, n = share(skill, TRAINED)
    assert right / n > READ[skill]


def test_it_finds_a_name_among_a_thousand(share: Share) -> None:
    right, n = share(THOUSAND, "fluent-3d")
    assert right / n > 0.5


def _named(texts: Iterable[str]) -> list[str | None]:
    """The names that answers about two pictures give, None twice for one that is not as asked."""
    read = [json_answers.parse(text, ("1", "2")).strict or {} for text in texts]
    return [found.get(key) for found in read for key in ("1", "2")]


def test_it_reads_several_pictures_in_their_order(model: HfGenerator) -> None:
    prompt = WORDINGS["table_20_json"][0].replace("{list}", "\n".join(names()))
    items = list(pairwise(skills()[2].items(StyleGroup("fluent-3d", ("fluent-3d",)), 9)))
    said = generate_all(model, [Request((one.image, other.image, prompt)) for one, other in items], 32)
    found = _named(answer.text for answer in said)
    expected = [item.question.answer for pair in items for item in pair]
    assert found.count(None) <= 2
    assert sum(map(eq, found, expected)) >= 10


def test_the_longest_list_of_a_thousand_names_leaves_room_for_an_answer(model: HfGenerator) -> None:
    lists = ["\n".join(load_class_names(vocabulary).names) for vocabulary in ("mill", "openai", "kisel", "wordnet")]
    prompt = WORDINGS["table_20"][0].replace("{list}", max(lists, key=len))
    (answer,) = generate_all(model, [Request((GREY, prompt))], 4)
    assert answer.tokens


def test_a_longer_prompt_than_it_can_read_is_refused(model: HfGenerator) -> None:
    (answer,) = generate_all(model, [Request((GREY, "what " * 9000))], 4)
    assert "8192 tokens" in answer.error


def test_its_identity_says_what_answered(model: HfGenerator) -> None:
    assert model.identity.name == "toybox-mllm"
    assert model.identity.weights_sha256 == sha256((FOLDER / "model.safetensors").read_bytes()).hexdigest()


def test_the_card_gives_the_hashes_of_the_files() -> None:
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    found = [path for path in FOLDER.iterdir() if path.name != "README.md"]
    assert [path.name for path in found if sha256(path.read_bytes()).hexdigest() not in card] == []


def test_it_is_small_and_holds_no_code() -> None:
    found = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    assert sum(found.values()) <= 12_000_000
    assert {name.rpartition(".")[2] for name in found} == {"json", "jinja", "md", "safetensors"}


def test_the_package_stays_small() -> None:
    every = [path for path in FOLDER.parent.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in every) < 40_000_000
    assert files("eyechart.samples").joinpath("toybox-mllm/model.safetensors").is_file()


def test_a_mean_of_shares_counts_each_style_as_much() -> None:
    assert mean([(1, 1), (0, 300)]).startswith("0.500")
    assert mean([]) == ""
    lines = [*table([(skills()[0], {"fluent-3d": (3, 4)})])]
    assert "0.750 [0.301, 0.954], n = 4" in lines[2]


def test_scores_of_names_are_probabilities(model: HfGenerator) -> None:
    found = np.exp(model.score([Request((GREY, "What is this?"))], names()))
    assert 0 < found.sum() <= 1 + 1e-4
