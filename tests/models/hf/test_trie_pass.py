"""How likely choices are up to the token that tells each from all others: brute force, sums, and a thousand names."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from eyechart.models.chat import conversation
from eyechart.models.choices.trie import Trie
from eyechart.models.hf import batches
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request

CHOICES = ["cat", "caterpillar", "cat food", "a cat that sees", "dog", "cat", "x", "hot dog", "", '{"1": "cat"}']
FAMILIES = ("fast_vlm", "qwen3_vl")
SPECIES = 1200
Tiny = Callable[[str], Path]
Floats = NDArray[np.float64]


@cache
def ours(folder: Path | str) -> HfGenerator:
    return HfGenerator(parse_spec(f"hf[{folder}]"), offline=True)


def binomials(number: int) -> list[str]:
    """Made-up species, genera of one to many."""
    syllables = [one + other for one in "bcdfglmnprstv" for other in ("a", "e", "io", "u")]
    rng = np.random.default_rng(5)
    genera = ["".join(rng.choice(syllables, 3)).title() + "us" for _ in range(number // 4)]
    names = dict.fromkeys(f"{genus} {''.join(rng.choice(syllables, 3))}a" for genus in rng.choice(genera, 2 * number))
    return list(names)[:number]


def alone(model: HfGenerator, request: Request, row: tuple[int, ...]) -> Floats:
    """The log-probabilities of tokens behind a prompt, the whole read at once."""
    import torch

    prompt, told = model._chat.prepare_inputs(request), torch.tensor([row])
    more = {"input_ids": told, "attention_mask": torch.ones_like(told), "mm_token_type_ids": torch.zeros_like(told)}
    read = {key: torch.cat([prompt[key], value], 1) for key, value in more.items() if key in prompt}
    whole = batches.collate([{**prompt, **read}], 0, next(model._module.parameters()))
    with torch.inference_mode():
        logits = model._module(**whole).logits[0, -len(row) - 1 : -1].double()
    found: Floats = logits.log_softmax(-1).gather(1, told.T)[:, 0].numpy()
    return found


def unique(row: tuple[int, ...], rows: list[tuple[int, ...]]) -> int:
    """How many tokens tell a row from all that are different."""
    return next(size for size in range(1, len(row) + 1) if all(o == row or o[:size] != row[:size] for o in rows))


@pytest.mark.deep
def test_scores_are_sums_over_the_shortest_beginnings(tiny_chat: Tiny, questions: list[Request]) -> None:
    model = ours(tiny_chat("qwen3_vl"))
    rows = model._chat.tokenize_choices(CHOICES)
    expected = [[alone(model, asked, row)[: unique(row, rows)].sum() for row in rows] for asked in questions[:5]]
    scores = model.score(questions[:5], CHOICES, until="unique")
    np.testing.assert_allclose(scores, expected, rtol=0, atol=2e-5)
    assert {len(asked.images) for asked in questions[:5]} == {0, 1, 2}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_choice_is_no_less_likely_than_its_whole(tiny_chat: Tiny, questions: list[Request], family: str) -> None:
    model, different = ours(tiny_chat(family)), list(dict.fromkeys(CHOICES))
    cut, whole = (model.score(questions, different, until=until) for until in ("unique", "end"))
    assert np.all(cut >= whole - 1e-5)
    assert np.all(np.exp(cut.astype(np.float64)).sum(axis=1) <= 1 + 1e-5)
    kept = [different.index(name) for name in ("cat", "")]
    np.testing.assert_allclose(cut[:, kept[0]], whole[:, kept[0]], rtol=0, atol=1e-5)


def test_equal_choices_are_equally_likely_and_one_alone_is_its_first_token(
    tiny_chat: Tiny, questions: list[Request]
) -> None:
    model = ours(tiny_chat("qwen3_vl"))
    one, two, again = model.score(questions[:1], ["cat", "dog", "cat"], until="unique")[0]
    assert one == again != two
    (token, *_) = model._chat.tokenize_choices(["caterpillar"])[0]
    np.testing.assert_allclose(
        model.score(questions[:1], ["caterpillar"], until="unique"), [alone(model, questions[0], (token,))], atol=1e-5
    )


def test_one_choice_set_is_asked_both_ways_in_turn(tiny_chat: Tiny, questions: list[Request]) -> None:
    model = ours(tiny_chat("fast_vlm"))
    first, other, again = (model.score(questions[:1], CHOICES, until=how) for how in ("unique", "end", "unique"))
    np.testing.assert_array_equal(first, again)
    assert np.any(first != other)


@pytest.mark.parametrize(("some", "choices"), [(0, CHOICES), (2, [])])
def test_nothing_to_score(tiny_chat: Tiny, questions: list[Request], some: int, choices: list[str]) -> None:
    found = ours(tiny_chat("fast_vlm")).score(questions[:some], choices, until="unique")
    assert found.shape == (some, len(choices))


@pytest.mark.deep
def test_a_thousand_species_have_a_probability_each(questions: list[Request]) -> None:
    model, names = ours("toybox-mllm"), binomials(SPECIES)
    asked = [question for question in questions if question.images][:1]
    scores = model.score(asked, names, until="unique").astype(np.float64)
    shares = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    assert (scores.shape, len(set(names))) == ((1, SPECIES), SPECIES)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)
    rows = model._chat.tokenize_choices(names)
    for index in (0, 17, SPECIES - 1):
        expected = alone(model, asked[0], rows[index])[: unique(rows[index], rows)].sum()
        np.testing.assert_allclose(scores[0, index], expected, atol=1e-4)


def test_a_prompt_costs_only_the_nodes_that_tell_names_apart(questions: list[Request]) -> None:
    model, names, read = ours("toybox-mllm"), binomials(500), list[int]()
    model.score(questions[2:3], names[:40], until="unique")  # the first nodes that a model reads are read in two ways

    def count(_: object, __: object, named: dict[str, Any]) -> None:
        read.append(named["inputs_embeds"].shape[:2].numel())

    hook = model._module.get_decoder().register_forward_pre_hook(count, with_kwargs=True)
    model.score(questions[2:3], names, until="unique")
    hook.remove()
    rows = model._chat.tokenize_choices(names)
    inner = {row[:size] for row in rows for size in range(1, unique(row, rows))}
    assert sum(read) == batches.prompt_length(model._chat.prepare_inputs(questions[2])) + len(inner)
    assert len(inner) < len(Trie.from_choices(rows).nodes) / 2


def test_what_is_kept_of_choices_knows_where_they_end(tiny_chat: Tiny) -> None:
    read = conversation.ChatProcessor(tiny_chat("fast_vlm"))
    whole, cut = read.build_trie(CHOICES), read.build_trie(CHOICES, "unique")
    assert read.build_trie(CHOICES, "unique") is cut
    assert len(cut.nodes) < len(whole.nodes)
