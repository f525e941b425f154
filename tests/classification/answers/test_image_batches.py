"""Closed-world requests: each image once, in an order that nothing but seed and key decides."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.classification.answers.image_batches import (
    _answer_keys,
    _answer_schema,
    closed_world_prompt,
    format_class_list,
    make_batches,
    request_parts,
)

ORDERS, SIZES = ("random", "same_class"), (1, 5, 10)
samples = st.dictionaries(st.text(max_size=4), st.integers(-1, 3), max_size=30)
orders, sizes, seeds = st.sampled_from(ORDERS), st.sampled_from(SIZES), st.integers(0, 99)


def asked(found: dict[str, int], size: int, order: str, seed: int = 42) -> list[tuple[str, ...]]:
    """The requests as keys."""
    keys = [*found]
    return [tuple(keys[row] for row in batch) for batch in make_batches(keys, [*found.values()], size, order, seed)]


@given(samples, sizes, orders, seeds)
def test_every_image_is_shown_once(found: dict[str, int], size: int, order: str, seed: int) -> None:
    shown = asked(found, size, order, seed)
    assert Counter(key for batch in shown for key in batch) == Counter([*found])
    assert all(1 <= len(batch) <= size for batch in shown)


@given(samples, sizes)
def test_random_requests_are_full_but_the_last(found: dict[str, int], size: int) -> None:
    shown = asked(found, size, "random")
    assert all(len(batch) == size for batch in shown[:-1])


@given(samples, sizes)
def test_same_class_requests_hold_one_class_and_are_few(found: dict[str, int], size: int) -> None:
    shown = asked(found, size, "same_class")
    assert all(len({found[key] for key in batch}) == 1 for batch in shown)
    assert all(len(batch) == 1 for batch in shown if found[batch[0]] == -1)
    wanted = sum(-(-count // (size if label >= 0 else 1)) for label, count in Counter(found.values()).items())
    assert len(shown) == wanted


@given(samples, sizes, orders, st.randoms(use_true_random=False))
def test_the_order_of_the_data_does_not_matter(found: dict[str, int], size: int, order: str, dice) -> None:
    mixed = [*found.items()]
    dice.shuffle(mixed)
    assert asked(dict(mixed), size, order) == asked(found, size, order)


@given(samples, orders)
def test_all_sizes_show_the_images_in_one_order(found: dict[str, int], order: str) -> None:
    runs = [[key for batch in asked(found, size, order) for key in batch] for size in SIZES]
    assert runs[0] == runs[1] == runs[2]


@given(samples)
def test_the_labels_do_not_change_the_random_order(found: dict[str, int]) -> None:
    assert asked(found, 5, "random") == asked(dict.fromkeys(found, 0), 5, "random")


def test_another_seed_is_another_order() -> None:
    found = {f"s{sample}": 0 for sample in range(20)}
    assert len({tuple(asked(found, 5, "random", seed)) for seed in range(9)}) == 9


def test_random_requests_mix_classes() -> None:
    found = {f"s{sample:03d}": sample // 10 for sample in range(100)}
    mixed = [len({found[key] for key in batch}) for batch in asked(found, 10, "random")]
    assert min(mixed) >= 4


REFUSED = {
    "1 to 50 images": ([], [], 0, "random"),
    "got 51": ([], [], 51, "random"),
    "1 keys and 2 labels": (["a"], [0, 1], 1, "random"),
    "'order' parameter must be one of random, same_class. Got 'sorted'": ([], [], 1, "sorted"),
}


@pytest.mark.parametrize(("message", "asks"), REFUSED.items())
def test_requests_that_cannot_be_are_refused(message: str, asks) -> None:
    with pytest.raises(ValueError, match=message):
        make_batches(*asks)


@given(st.text(), st.lists(st.integers(0, 99), min_size=1))
def test_a_request_holds_its_text_and_its_images_in_order(text: str, rows: list[int]) -> None:
    assert request_parts(text, rows) == (*rows, text)
    assert request_parts(text, rows, "text-first") == (text, *rows)


def test_a_request_without_images_or_in_no_known_layout_is_refused() -> None:
    for ask in (
        lambda: request_parts("?", []),
        lambda: request_parts("?", [1], "last"),
        lambda: closed_world_prompt("number"),
    ):
        with pytest.raises(ValueError, match=r"needs an image|must be one of"):
            ask()


@given(st.lists(st.text(st.characters(exclude_characters="\n")), min_size=1))
def test_every_class_has_its_line(names: list[str]) -> None:
    assert format_class_list(names).split("\n") == names
    assert [line.partition(" – ") for line in format_class_list(names, "id").split("\n")] == [
        (str(index), " – ", f'"{name}"') for index, name in enumerate(names)
    ]


def test_an_empty_world_is_refused() -> None:
    with pytest.raises(ValueError, match="needs class names"):
        format_class_list([])


@given(st.integers(1, 50), st.none() | st.lists(st.text(), min_size=1))
def test_a_schema_asks_for_one_text_an_image(count: int, choices: list[str] | None) -> None:
    schema = json.loads(json.dumps(_answer_schema(count, choices)))
    assert schema["required"] == [*schema["properties"]] == [*_answer_keys(count)]
    assert schema["additionalProperties"] is False
    assert {json.dumps(each.get("enum")) for each in schema["properties"].values()} == {json.dumps(choices)}
