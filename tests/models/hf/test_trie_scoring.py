"""How likely choices are as answers: what one pass over their trie gives is what each choice gives alone."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.data.labels.class_names import load_class_names
from eyechart.models.chat import conversation
from eyechart.models.choices.trie import Trie
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request, Scorer
from tests.models.hf.choices import CHOICES, JSON, NAMES

pytestmark = pytest.mark.deep

SPLIT = {"use_regex": True, "trim_offsets": True}
WHOLE = {"type": "ByteLevel", "add_prefix_space": False} | SPLIT | {"use_regex": False}
CUTS: dict[str, dict[str, Any]] = {
    "words": {"type": "ByteLevel", "add_prefix_space": False} | SPLIT,
    "spaced": {"type": "Metaspace", "replacement": "Ġ", "prepend_scheme": "first", "split": True},  # as Llama's
    "merging": WHOLE,
}
MERGES = [("t", '"'), ('"', "}"), (":", "c")]  # a name with the quote behind it, and an answer with its prompt
THOUSAND = load_class_names("kisel").names
Tiny = Callable[..., Path]


def ours(folder: Path | str, more: str = "") -> HfGenerator:
    return HfGenerator(parse_spec(f"hf[{folder}{more}]"), offline=True)


def cut_otherwise(folder: Path, cut: str, opening: str) -> None:
    """Let a checkpoint cut words in another way, and put something before an answer."""
    path = folder / "tokenizer.json"
    told = json.loads(path.read_text())
    told["pre_tokenizer"], told["post_processor"] = CUTS[cut], None
    if cut == "merging":
        for (one, other), late in zip(MERGES, told["model"]["merges"][-len(MERGES) :], strict=True):
            told["model"]["vocab"][one + other] = told["model"]["vocab"].pop("".join(late))
            late[:] = [one, other]
        told["model"]["merges"] = told["model"]["merges"][-len(MERGES) :] + told["model"]["merges"][: -len(MERGES)]
    path.write_text(json.dumps(told))
    template = folder / "chat_template.jinja"
    before, end = template.read_text().rsplit("<bot>", 1)
    template.write_text(f"{before}<bot>{opening}{end}")


@pytest.fixture(scope="module")
def checkpoint(tiny_chat: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Tiny:
    """A tiny checkpoint of a family that cuts words in some way."""

    @cache
    def made(family: str, cut: str, opening: str = "") -> Path:
        folder = Path(copytree(tiny_chat(family), tmp_path_factory.mktemp(cut) / family))
        cut_otherwise(folder, cut, opening)
        return folder

    return made


@dataclass(frozen=True)
class Alone:
    """Every choice written behind its prompt, and the whole read at once by transformers."""

    folder: Path

    @cached_property
    def loaded(self) -> tuple[Any, Any]:
        from transformers import AutoModelForImageTextToText, AutoProcessor

        model = AutoModelForImageTextToText.from_pretrained(self.folder)
        return model.eval(), AutoProcessor.from_pretrained(self.folder)

    def read(self, request: Request, choice: str) -> Any:
        """A prompt and what stands behind it as tensors."""
        text, image = {"type": "text"}, {"type": "image"}
        parts = [text | {"text": part} if isinstance(part, str) else image for part in request.parts]
        turn = [{"role": "user", "content": parts}]
        before = self.loaded[1].apply_chat_template(turn, add_generation_prompt=True)
        images = {"images": [list(request.images)]} if request.images else {}
        return self.loaded[1](text=[before + choice], **images, return_tensors="pt")

    def score(self, request: Request, choice: str) -> float:
        """A choice's log-probability."""
        import torch

        start = self.read(request, "")["input_ids"].shape[1]
        read = self.read(request, choice + self.loaded[1].tokenizer.eos_token)
        with torch.inference_mode():
            logits = self.loaded[0](**read).logits[0, start - 1 : -1].double()
        return float(logits.log_softmax(-1).gather(1, read["input_ids"][:, start:].T).sum())


alone = cache(Alone)


@pytest.mark.parametrize(("family", "cut"), [("qwen3_vl", "words"), *(("fast_vlm", cut) for cut in CUTS)])
def test_scores_equal_brute_force(checkpoint: Tiny, questions: list[Request], family: str, cut: str) -> None:
    folder, asked = checkpoint(family, cut), questions[:3]
    scores = ours(folder, ",batch_size=2").score(asked, CHOICES)
    found = [{choice: alone(folder).score(question, choice) for choice in {*CHOICES}} for question in asked]
    expected = [[by_choice[choice] for choice in CHOICES] for by_choice in found]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-5)
    assert {len(question.images) for question in asked} == {0, 1, 2}


def has(row: tuple[int, ...], part: tuple[int, ...]) -> bool:
    return any(row[at : at + len(part)] == part for at in range(len(row)))


@pytest.mark.parametrize("cut", CUTS)
def test_names_are_cut_differently_in_their_surroundings(checkpoint: Tiny, cut: str) -> None:
    name, spaced, quoted = conversation.ChatProcessor(checkpoint("fast_vlm", cut)).tokenize_choices(
        ["cat", " cat", '{"1": "cat"}']
    )
    assert not has(spaced, name[:-1])
    assert has(quoted, name[:-1]) == (cut != "merging")


def test_an_answer_is_read_behind_its_prompt(checkpoint: Tiny) -> None:
    read = conversation.ChatProcessor(checkpoint("fast_vlm", "spaced"))
    (found,) = read.tokenize_choices(["cat"])
    assert found[:-1] != tuple(read._tokenizer("cat", add_special_tokens=False)["input_ids"])
    assert read._tokenizer.convert_ids_to_tokens(found)[:-1] == ["cat"]


def test_no_token_is_half_prompt_and_half_answer(checkpoint: Tiny) -> None:
    read = conversation.ChatProcessor(checkpoint("fast_vlm", "merging", ":"))
    assert read._tokenizer.tokenize(":cat") == [":c", "at"]
    cat, dog = read.tokenize_choices(["cat", "dog"])
    assert read._tokenizer.convert_ids_to_tokens([*cat[:-1], *dog[:-1]]) == ["cat", "dog"]


def test_small_passes_leave_the_scores_as_they_are(
    tiny_chat: Tiny, questions: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, questions = ours(tiny_chat("qwen3_vl")), questions[:3]
    whole, (first, most) = model.score(questions, CHOICES), model.best(questions, CHOICES)
    monkeypatch.setattr("eyechart.models.hf.trie_pass.NODES", 3)
    monkeypatch.setattr("eyechart.models.hf.generator.MAX_LOGITS", (1, 1))
    np.testing.assert_allclose(model.score(questions, CHOICES), whole, rtol=0, atol=1e-5)
    found, values = model.best(questions, CHOICES)
    assert found.tolist() == first.tolist() == whole.argmax(axis=1).tolist()
    np.testing.assert_allclose(values, most, rtol=0, atol=1e-5)


def test_other_choices_have_a_trie_of_their_own(tiny_chat: Tiny, questions: list[Request]) -> None:
    model = ours(tiny_chat("fast_vlm"))
    first, _, again = (model.score(questions[:1], choices) for choices in (NAMES, JSON, NAMES))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(model.score(questions[:1], NAMES[::-1]), first[:, ::-1], rtol=0, atol=1e-5)


def test_scores_differ_from_request_to_request(tiny_chat: Tiny, questions: list[Request]) -> None:
    scores = ours(tiny_chat("fast_vlm")).score(questions, ["cat", "dog", "what"])
    assert np.all(scores < 0)
    assert len(np.unique(scores.argmax(1))) > 1


@pytest.mark.parametrize(("some", "choices"), [(0, CHOICES), (2, [])])
def test_nothing_to_score(tiny_chat: Tiny, questions: list[Request], some: int, choices: list[str]) -> None:
    assert ours(tiny_chat("fast_vlm")).score(questions[:some], choices).shape == (some, len(choices))


def test_the_best_for_nobody_and_of_nothing(tiny_chat: Tiny, questions: list[Request]) -> None:
    model = ours(tiny_chat("fast_vlm"))
    assert [(found.shape, found.dtype) for found in model.best([], ["a"])] == [((0,), np.int64), ((0,), np.float32)]
    with pytest.raises(ValueError, match="got none"):
        model.best(questions[:1], [])


@pytest.mark.parametrize("family", ["qwen3_vl", "lfm2_vl"])  # one pass, and step by step
def test_the_best_is_the_first_of_the_likeliest(tiny_chat: Tiny, questions: list[Request], family: str) -> None:
    model = ours(tiny_chat(family), ",batch_size=3")
    words = st.sampled_from(["cat", "a", " cat", "er", '"', "}", "s", "what "])
    some = st.lists(st.lists(words, max_size=3).map("".join), min_size=1, max_size=12)

    @settings(max_examples=8)
    @given(some, st.integers(0, 8))
    def holds(choices: list[str], start: int) -> None:
        scores = model.score(questions[start : start + 4], choices)
        found, values = model.best(questions[start : start + 4], choices)
        assert found.tolist() == scores.argmax(axis=1).tolist()
        np.testing.assert_allclose(values, scores.max(axis=1), rtol=0, atol=1e-5)

    holds()


@dataclass
class Watched:
    """A model, what it read in each pass and what it made: tokens, and the largest of logits and masks."""

    model: HfGenerator
    tokens: list[int] = field(default_factory=list)
    largest: int = 0

    def read(self, module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        rows, length = named["inputs_embeds"].shape[:2]
        self.tokens.append(rows * length)
        mask = named["attention_mask"]
        self.largest = max(self.largest, 0 if mask is None else mask.numel())

    def made(self, module: Any, given: tuple[Any, ...], logits: Any) -> None:
        self.largest = max(self.largest, logits.numel())

    def prompt(self, request: Request) -> int:
        return int(self.model._chat.prepare_inputs(request)["input_ids"].shape[1])


@pytest.fixture
def watched() -> Iterator[Callable[..., Watched]]:
    """Watch a model for one test."""
    hooks = []

    def watch(folder: Path | str) -> Watched:
        found = Watched(ours(folder))
        found.model.score(
            [Request(("what?",))], ["a b c", "d"]
        )  # a new model tries both ways of scoring on a few tokens
        module = found.model._module
        hooks.append(module.get_decoder().register_forward_pre_hook(found.read, with_kwargs=True))
        hooks.append(module.get_output_embeddings().register_forward_hook(found.made))
        return found

    yield watch
    for hook in hooks:
        hook.remove()


@pytest.mark.parametrize(("family", "form"), [("qwen3_vl", "{}"), ("qwen3_5", '{{"1": "{}"}}')])
def test_an_image_costs_its_prompt_and_the_inner_nodes_of_the_trie(
    tiny_chat: Tiny, watched: Callable[..., Watched], questions: list[Request], family: str, form: str
) -> None:
    seen = watched(tiny_chat(family))
    choices = [form.format(name) for name in THOUSAND[:300]]
    seen.model.score(questions[2:3], choices)
    inner = len(Trie.from_choices(seen.model._chat.tokenize_choices(choices)).nodes) - 1
    assert questions[2].images
    assert sum(seen.tokens) == seen.prompt(questions[2]) + inner


def test_memory_is_bounded_and_no_node_read_twice_for_it(
    watched: Callable[..., Watched], questions: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 2**20
    monkeypatch.setattr("eyechart.models.hf.generator.MAX_LOGITS", (most, most))
    seen = watched("toybox-mllm")
    seen.model.score(questions[2:3], THOUSAND)
    assert 0 < seen.largest <= most
    assert (
        sum(seen.tokens)
        == seen.prompt(questions[2]) + len(Trie.from_choices(seen.model._chat.tokenize_choices(THOUSAND)).nodes) - 1
    )
    seen.model.best(questions[2:3], THOUSAND)
    assert seen.largest <= most


def test_the_states_of_a_pass_are_bounded(
    tiny_chat: Tiny, watched: Callable[..., Watched], questions: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = watched(tiny_chat("qwen3_5"))
    most = 2**18
    rows = most // seen.model._module.config.get_text_config().vocab_size
    monkeypatch.setattr("eyechart.models.hf.generator.MAX_LOGITS", (most, most))
    choices = THOUSAND[:100]
    scores = seen.model.score(questions[2:3], choices)
    assert 1 < max(seen.tokens[1:]) <= rows
    assert sum(seen.tokens) == seen.prompt(questions[2]) + len(seen.model._chat.build_trie(choices).nodes) - 1
    seen.tokens.clear()
    assert seen.model.best(questions[2:3], choices)[0].tolist() == scores.argmax(axis=1).tolist()
    assert 1 < max(seen.tokens[1:]) <= rows


def test_the_best_of_a_thousand_is_found_sooner(watched: Callable[..., Watched], questions: list[Request]) -> None:
    seen, choices, asked = watched("toybox-mllm"), THOUSAND, [one for one in questions if one.images][:2]
    scores, whole = seen.model.score(asked, choices), sum(seen.tokens)
    found, values = seen.model.best(asked, choices)
    assert found.tolist() == scores.argmax(axis=1).tolist()
    np.testing.assert_allclose(values, scores.max(axis=1), rtol=0, atol=1e-4)
    assert sum(seen.tokens) - whole < whole / 2


def test_it_is_a_scorer(tiny_chat: Tiny) -> None:
    assert isinstance(ours(tiny_chat("fast_vlm")), Scorer)
