"""Closed world: what is shown, how answers are told apart by image, and what is out of the prompt."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.classification.answers.image_batches import closed_world_prompt
from eyechart.classification.protocols.closed_world import ClosedWorld
from eyechart.data.labels.class_names import load_class_names
from eyechart.errors import EyechartError, ModelError, SpecError
from eyechart.inference.store.entries import Store
from eyechart.models.types import Answer
from eyechart.protocol.registry import get_protocol
from eyechart.statistics.clusters import clustered_wilson

NAMES = ("cat", "dog", "great white shark")
CAT, DOG, SHARK, NONE = 0, 1, 2, -1
Say = Callable[[tuple[int, ...], str], str]


def by_key(table: Mapping[int, str]) -> Say:
    """Answer as the prompt asks, each picture by its number."""
    return lambda numbers, _: json.dumps({str(index): table[each] for index, each in enumerate(numbers, 1)})


def always(text: str) -> Say:
    return lambda *_: text


def found(predictions: Any) -> list[int]:
    return predictions.top[:, 0].tolist()


@pytest.mark.parametrize(("prompt_order", "first"), [("image-first", "image"), ("text-first", "text")])
def test_the_class_list_stands_behind_the_image_or_before_it(
    sit: Any, talker: Any, prompt_order: str, first: str
) -> None:
    model = talker(always("cat"))
    ClosedWorld().predict(sit(model, [0, 1], prompt_order=prompt_order))
    for request in model.requests:
        kinds = ["text" if isinstance(part, str) else "image" for part in request.parts]
        assert kinds == [first, {"text": "image", "image": "text"}[first]]
    assert "class names:\ncat\ndog\ngreat white shark. Your output" in model.asked[0][1]


@pytest.mark.parametrize(("images", "sizes"), [(1, [1] * 12), (5, [5, 5, 2]), (10, [10, 2]), (12, [12]), (50, [12])])
def test_every_image_has_its_own_answer(sit: Any, talker: Any, images: int, sizes: list[int]) -> None:
    labels = [0, 1, 2] * 4
    model = talker(by_key({row: NAMES[label] for row, label in enumerate(labels)}), turned=True)
    said = ClosedWorld().predict(sit(model, labels, images_per_request=images))
    assert found(said) == labels == said.texts.strict_classes.tolist()
    assert sorted((len(numbers) for numbers, _ in model.asked), reverse=True) == sizes
    assert sorted(number for numbers, _ in model.asked for number in numbers) == [*range(12)]


def test_the_columns_say_where_an_image_was_shown(sit: Any, talker: Any) -> None:
    model = talker(by_key(dict.fromkeys(range(12), "dog")))
    columns = ClosedWorld().predict(sit(model, [0] * 12, images_per_request=5)).texts.columns()
    assert sorted(columns["request"][rows[0]] for rows, _ in model.asked) == ["0", "1", "2"]
    for rows, _ in model.asked:
        assert len({columns["request"][row] for row in rows}) == 1
        assert [columns["position"][row] for row in rows] == ["1", "2", "3", "4", "5"][: len(rows)]
    assert (columns["response"][3], columns["strict_top1"][3], columns["out_of_prompt"][3]) == ("dog", "1", "")


def test_images_of_one_class_are_shown_together(sit: Any, talker: Any) -> None:
    labels = [0, 1, 2, -1] * 3
    model = talker(by_key(dict.fromkeys(range(12), "dog")))
    ClosedWorld().predict(sit(model, labels, images_per_request=2, image_order="same_class"))
    shown = [[labels[number] for number in numbers] for numbers, _ in model.asked]
    assert all(len({*classes}) == 1 for classes in shown)
    assert [classes for classes in shown if classes[0] < 0] == [[-1]] * 3


READ = [  # what was said about two images; classes under the lenient reading and under the strict one
    ('{"1": "cat", "2": "dog"}', [CAT, DOG], [CAT, DOG]),
    ('{"2": "dog", "1": "cat"}', [CAT, DOG], [CAT, DOG]),
    ('```json\n{"1": "cat", "2": "dog"}\n```', [CAT, DOG], [NONE, NONE]),
    ("{'1': 'cat', '2': 'dog',}", [CAT, DOG], [NONE, NONE]),
    ('{"1": "cat", "2": "dog", "3": "cat"}', [CAT, DOG], [NONE, NONE]),
    ('{"1": "A cat.", "2": "dog"}', [CAT, DOG], [NONE, DOG]),
    ('{"1": "cat"}', [CAT, None], [NONE, NONE]),
    ('{"1": "cat", "2": "do', [CAT, None], [NONE, NONE]),
    ('{"1": ["cat", "dog"], "2": "dog"}', [None, DOG], [NONE, NONE]),
    ('{"1": "", "2": "dog"}', [None, DOG], [NONE, DOG]),
    ("cat, dog", [None, None], [NONE, NONE]),
    ("", [None, None], [NONE, NONE]),
]


@pytest.mark.parametrize(("text", "lenient", "strict"), READ)
@pytest.mark.parametrize("reading", ["lenient", "strict", "authors"])
def test_answers_are_told_apart_by_key(
    sit: Any, talker: Any, text: str, lenient: list[int | None], strict: list[int], reading: str
) -> None:
    model = talker(always(text))
    said = ClosedWorld().predict(sit(model, [0, 0], images_per_request=2, parser=reading))
    (shown, _), *_ = model.asked
    wanted = [lenient, strict][reading == "strict"]
    assert [said.texts.strict_classes[row] for row in shown] == strict
    if reading != "authors":
        assert [found(said)[row] for row in shown] == [NONE if index is None else index for index in wanted]
    if reading == "lenient":
        assert {*said.unparsed} == {row for row, index in zip(shown, lenient, strict=True) if index is None}
        assert all(said.texts.completions[row] == text for row in said.unparsed)


ONE = [  # what was said about one image; the class, and the kind if it is out of the prompt
    ('{"1": "cat"}', CAT, ""),
    ("cat", CAT, ""),
    (" Great white shark\n", SHARK, ""),
    ("The answer is dog.", DOG, ""),
    ("<think>a cat? no</think>dog", DOG, ""),
    ('{"answer": "cat"}', CAT, ""),
    ("```json\n{'class': 'Great white shark', 'confidence': 0.9}\n```", SHARK, ""),
    ('{"reasoning": "no cat", "answer": "dog"}', DOG, ""),
    ("cat<|im_end|>", CAT, ""),
    ("\\boxed{\\text{dog}}", DOG, ""),
    ("white shark", NONE, "Partial"),
    ('{"1": "white shark"}', NONE, "Partial"),
    ("I don't know", NONE, "Abstain"),
    ("a hovercraft full of eels", NONE, "Wrong"),
    ("caterpillar", NONE, "Wrong"),
]


@pytest.mark.parametrize(("text", "index", "kind"), ONE)
def test_one_image_needs_no_key(sit: Any, talker: Any, text: str, index: int, kind: str) -> None:
    said = ClosedWorld().predict(sit(talker(always(text)), [0]))
    assert (found(said), said.texts.out_of_prompt, said.unparsed) == ([index], (kind,), frozenset())


@pytest.mark.parametrize(("outside", "noted"), [(0, False), (1, False), (2, True), (10, True)])
def test_a_large_share_of_answers_that_are_no_class_name_is_noted(
    sit: Any, talker: Any, outside: int, noted: bool
) -> None:
    words = {number: "It is either a cat or a dog" if number < outside else "cat" for number in range(10)}
    said = ClosedWorld().predict(sit(talker(by_key(words)), [0] * 10))
    note = f"{outside} of 10 answers are none of the class names and count as wrong, such as '{words[0]}'."
    assert [*said.notes()] == [note] * noted


@pytest.mark.parametrize(
    "text",
    [
        '{"1": ["cat", "dog"]}',
        '{"1": "great wh',
        '{"2": "cat"}',
        '{"1": ""}',
        "{}",
        '{"answer": "cat", "label": "dog"}',
        '{"answer": ["cat", "dog"]}',
        '{"species": {"answer": "cat"}}',
        "I'm sorry, I don't see any image attached. Please upload it.",
        '{"1": "No image was provided"}',
        " \n",
        "<think>a cat? Or a",
    ],
)
def test_a_broken_answer_is_not_read_and_not_out_of_the_prompt(sit: Any, talker: Any, text: str) -> None:
    said = ClosedWorld().predict(sit(talker(always(text)), [0]))
    assert (found(said), said.texts.out_of_prompt, said.unparsed) == ([NONE], ("",), frozenset({0}))
    assert said.texts.completions == (text,)


def test_another_openai_name_than_those_listed_is_of_its_own_kind(sit: Any, talker: Any) -> None:
    names = load_class_names("mill").names
    said = ClosedWorld().predict(
        sit(talker(by_key({0: "tench", 1: "Goldfish"})), [0, 0], names=names, subset=(0, 5, 7))
    )
    assert (found(said), said.texts.out_of_prompt) == ([0, NONE], ("", "IN"))


def test_a_split_lists_its_own_classes_alone(sit: Any, talker: Any) -> None:
    model = talker(by_key({0: "great white shark", 1: "dog", 2: "cat"}))
    said = ClosedWorld().predict(sit(model, [2, 0, 0], subset=(0, 2)))
    assert found(said) == [SHARK, NONE, CAT]
    assert said.texts.out_of_prompt == ("", "Wrong", "")
    assert "class names:\ncat\ngreat white shark. Your output" in model.asked[0][1]


IDS = {0: "2", 1: "0", 2: "3", 3: "-1", 4: "cat", 5: "great white shark", 6: "two", 7: "2 or 3"}


@pytest.mark.parametrize(
    ("reading", "classes"),
    [
        ("lenient", [SHARK, CAT, NONE, NONE, CAT, SHARK, SHARK, NONE]),
        ("strict", [SHARK, CAT, *[NONE] * 6]),
        ("authors", [SHARK, CAT, *[NONE] * 6]),
    ],
)
def test_classes_can_be_named_by_their_ids(sit: Any, talker: Any, reading: str, classes: list[int]) -> None:
    model = talker(by_key(IDS))
    said = ClosedWorld().predict(sit(model, [0] * 8, answer="id", parser=reading))
    assert found(said) == classes
    assert '0 – "cat"\n1 – "dog"\n2 – "great white shark"' in model.asked[0][1]
    assert all(bool(kind) == (index < 0) for kind, index in zip(said.texts.out_of_prompt, classes, strict=True))


def test_ids_are_those_of_the_list(sit: Any, talker: Any) -> None:
    said = ClosedWorld().predict(sit(talker(always('{"1": 1}')), [2], answer="id", subset=(0, 2)))
    assert (found(said), said.unparsed) == ([SHARK], frozenset())


@pytest.mark.parametrize("answer", ["name", "id"])
def test_an_engine_is_given_the_schema(sit: Any, talker: Any, answer: str) -> None:
    model = talker(by_key(dict.fromkeys(range(5), {"name": "dog", "id": "1"}[answer])), structured=True)
    said = ClosedWorld().predict(sit(model, [1] * 5, images_per_request=3, structured_output="enforced", answer=answer))
    assert found(said) == [DOG] * 5
    assert sorted([*schema["properties"]] for _, schema in model.how) == [["1", "2"], ["1", "2", "3"]]
    assert "JSON" not in model.asked[0][1]
    assert said.variant["prompt"].startswith(f"closed_world{'_id' * (answer == 'id')} (")


@pytest.mark.parametrize(
    ("choices", "error", "sentence"),
    [
        (
            {"structured_output": "enforced"},
            ModelError,
            r"closed_world\.structured_output=enforced needs .* and test does not\. Use vllm",
        ),
        ({"images_per_request": 51}, SpecError, r"closed_world\.images_per_request=51: A request shows 1 to 50 images"),
        (
            {"prompt": "open_world"},
            SpecError,
            r"closed_world\.prompt=open_world has the slots: none\. This protocol fills: cl",
        ),
        ({"prompt": "closed_word"}, EyechartError, r"'closed_word' is neither .* did you mean closed_world"),
        (
            {"prompt": "closed_world", "images_per_request": 2},
            SpecError,
            r"does not ask for JSON: the answers to 2 images",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_asked(
    sit: Any, talker: Any, choices: dict[str, Any], error: type[Exception], sentence: str
) -> None:
    model = talker(always("cat"))
    with pytest.raises(error, match=sentence):
        ClosedWorld().predict(sit(model, [0, 1], **choices))
    assert model.how == []


def test_of_two_classes_with_one_name_the_first_has_it(sit: Any, talker: Any) -> None:
    said = ClosedWorld().predict(sit(talker(always("Missile")), [0], names=("cat", "missile", "missile")))
    assert (found(said), said.texts.out_of_prompt) == ([1], ("",))


def test_the_record_says_what_was_chosen(sit: Any, talker: Any) -> None:
    said = ClosedWorld().predict(sit(talker(always("cat")), [0]))
    assert said.variant == get_protocol("closed_world").defaults() | {
        "names": "mine",
        "prompt": f"closed_world_json ({closed_world_prompt().sha256[:8]})",
        "parser_version": "json_answers 3, class_name 3",
    }


def ten(sit: Any, talker: Any) -> tuple[Any, ClassPredictions]:
    """Ten images: 3 right, 1 wrong, 4 out of the prompt (1 without a label), 1 unread, 1 error."""
    texts = ["cat", "cat", "dog", "cat", "white shark", "I don't know", "axolotl", "axolotl", "{", ""]
    model = talker(lambda numbers, _: texts[numbers[0]] or Answer("", (), False, error="withheld"))
    context = sit(model, [0, 0, 1, 1, 2, 2, 0, 0, 0, 0])
    return context, ClosedWorld().predict(context)


def test_every_number_is_that_of_a_count_by_hand(sit: Any, talker: Any) -> None:
    context, said = ten(sit, talker)
    truth = sit.truth([(0,), (0,), (1,), (2,), (2,), (2, 1), (0,), (), (0,), (0,)])
    numbers = {key: (each.value, each.n) for key, each in sit.metrics(context, said, truth).items()}
    assert numbers["acc1", "all"] == (pytest.approx(4 / 9), 9)
    assert numbers["acc1_strict", "all"] == (pytest.approx(1 / 9), 9)  # no JSON, and one image shows no class
    assert numbers["acc1", "no_label"] == (1, 1)
    assert numbers["oop", "all"] == (pytest.approx(4 / 9), 9)
    assert numbers["oop", "no_label"] == (1, 1)
    assert numbers["oop", "single_label_original"] == (pytest.approx(2 / 6), 6)
    assert numbers["oop", "single_label_other"] == (0, 1)
    assert numbers["oop", "multi_label_original"] == (1, 1)
    kinds = {name: numbers[f"oop_{name}", "all"] for name in ("partial", "in", "abstain", "wrong")}
    assert kinds == {"partial": (0.25, 4), "in": (0, 4), "abstain": (0.25, 4), "wrong": (0.5, 4)}
    assert numbers["oop_wrong", "single_label_other"] == (None, 0)
    assert not [name for name, _ in numbers if name in ("acc5", "oop_mapped")]


def test_an_unread_answer_and_an_error_are_outcomes_of_their_own(sit: Any, talker: Any) -> None:
    context, said = ten(sit, talker)
    assert (said.unparsed, [*said.errors], said.texts.out_of_prompt[8:]) == (frozenset({8}), [9], ("", ""))
    scored = sit.scored(context, said, sit.truth([(label,) for label in context.labels]))
    outcomes = scored.count_outcomes(said)
    assert (outcomes.correct, outcomes.wrong, outcomes.unparsed, outcomes.error) == (3, 5, 1, 1)


def test_an_error_is_that_of_every_image_of_its_request(sit: Any, talker: Any) -> None:
    withheld = Answer("", (), False, error="withheld")
    model = talker(lambda numbers, text: withheld if 3 in numbers else by_key(DOGS)(numbers, text))
    said = ClosedWorld().predict(sit(model, [1] * 6, images_per_request=2))
    (lost,) = (numbers for numbers, _ in model.asked if 3 in numbers)
    assert said.errors == dict.fromkeys(sorted(lost), "withheld")
    assert found(said) == [NONE if row in lost else DOG for row in range(6)]


DOGS = dict.fromkeys(range(12), "dog")


def test_an_image_that_cannot_be_shown_is_an_error(sit: Any, talker: Any) -> None:
    said = ClosedWorld().predict(sit(talker(by_key(DOGS)), [1, 1, 1], broken=frozenset({1})))
    assert [*said.errors] == [1]
    assert found(said) == [DOG, NONE, DOG]


def test_evaluations_are_asked_again_each_and_kept_each(sit: Any, talker: Any) -> None:
    said = iter(["cat"] * 4 + ["cat", "cat", "axolotl", "dog"] + ["dog"] * 4)
    model = talker(lambda *_: next(said))
    context = sit(model, [0, 0, 0, 0], epochs=3)
    repeated = ClosedWorld().predict(context)
    assert [found(each) for each in repeated.epochs[::2]] == [[CAT] * 4, [DOG] * 4]
    assert len(model.asked) == 12
    numbers = sit.metrics(context, repeated, sit.truth([(0,)] * 4))
    assert {name for name, _ in numbers} == {"repeated_acc", "repeated_oop"}
    mean = numbers["repeated_acc", "all"]
    assert (mean.value, mean.n, mean.ci_method) == (pytest.approx((1 + 0.5 + 0) / 3), 4, "clustered wilson")
    of_images = clustered_wilson([1, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0], np.repeat(np.arange(4), 3))
    assert mean.ci == pytest.approx(of_images)
    assert mean.epochs_ci == (0, 1)  # 0.5 ± 4.302653 · 0.5 / √3, within the range of a proportion
    assert numbers["repeated_oop", "all"].value == pytest.approx(0.25 / 3)
    ClosedWorld().predict(sit(model, [0, 0, 0, 0]))
    assert len(model.asked) == 12


def test_one_evaluation_is_the_plain_closed_world(sit: Any, talker: Any) -> None:
    assert isinstance(ClosedWorld().predict(sit(talker(by_key(DOGS)), [1], epochs=1)), ClassPredictions)


def test_what_is_not_kept_for_good_is_asked_again(sit: Any, talker: Any) -> None:
    busy = Answer("", (), False, error="429", retry=True)
    first, second = talker(lambda numbers, _: busy if numbers == (1,) else "dog"), talker(always("dog"))
    assert [*ClosedWorld().predict(sit(first, [1, 1, 1])).errors] == [1]
    assert not ClosedWorld().predict(sit(second, [1, 1, 1])).errors
    assert [numbers for numbers, _ in second.asked] == [(1,)]
    assert Store(sit.store).root.is_dir()
