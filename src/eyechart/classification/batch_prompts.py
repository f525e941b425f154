"""Closed world: every class name stands in the prompt, and a request shows one image or several.

Source: arXiv 2603.06578, section 2.3 and Tables 11 to 14 and 20. Everything here is text and numbers of rows: who asks
puts the images in their places.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, get_args

from eyechart.protocol.prompts import Prompt, prompt

Answering = Literal["name", "id"]
Order = Literal["random", "same_class"]
Prefix = Literal["paper", "shared"]
MOST_IMAGES = 50  # what the prompts announce


def closed_world_prompt(answer: str = "name", *, structured: bool = False) -> Prompt:
    """Return the prompt for answers by class `name` or `id`; `structured` where the engine itself enforces JSON.

    Raises ValueError for another kind of answer.

    Source: arXiv 2603.06578, Table 20: without instructions on JSON where "the desired output structure is enforced
    directly via the API" (B.1). The wording for ids is our own, since Table 14's is unpublished.

    >>> closed_world_prompt().source, closed_world_prompt("id", structured=True).name
    ('arXiv 2603.06578, Table 20, LLaVA-OV, InternVL3.5 and Qwen3-VL', 'closed_world_id')
    """
    _one_of("answer", answer, get_args(Answering))
    return prompt(f"closed_world{'_id' * (answer == 'id')}{'_json' * (not structured)}")


def class_list(names: Sequence[str], answer: str = "name") -> str:
    """Write the classes in the order of their indices, one a line: the names, or each index with its name.

    Raises ValueError without names and for another kind of answer.

    Source: arXiv 2603.06578, Table 20, and for ids the example in the caption of Table 14.

    >>> print(class_list(["tench", "goldfish"], "id"))
    0 – "tench"
    1 – "goldfish"
    """
    _one_of("answer", answer, get_args(Answering))
    if not names:
        raise ValueError("A closed world needs class names; got none.")
    if answer == "name":
        return "\n".join(names)
    return "\n".join(f'{index} – "{name}"' for index, name in enumerate(names))


def batches(
    keys: Sequence[str], classes: Sequence[int], size: int = 1, order: str = "random", seed: int = 42
) -> list[tuple[int, ...]]:
    """Share the rows out among requests of up to `size` images, each row once.

    `keys` are the n samples' keys and `classes` their n original labels, -1 for none. `random` mixes the classes;
    `same_class` keeps each request within one class, and asks about an image without a class alone. The order depends
    on nothing but seed and keys: neither on the data set's order nor on the size, so that images 1, 5 and 10 of a
    request of ten are the same as those of ten requests of one (Table 13).

    Raises ValueError for a size outside 1..50, an unknown order, or unequal lengths.

    Source: arXiv 2603.06578, Tables 11 to 13; the paper's own order is not published.

    >>> batches(["a", "b", "c", "d", "e"], [0, 1, 0, 1, 0], size=2)
    [(3, 1), (4, 0), (2,)]
    >>> batches(["a", "b", "c", "d", "e"], [0, 1, 0, 0, 1], size=2, order="same_class")
    [(3, 0), (2,), (1, 4)]
    """
    _one_of("order", order, get_args(Order))
    if not 1 <= size <= MOST_IMAGES:
        raise ValueError(f"A request shows 1 to {MOST_IMAGES} images, as its prompt says; got {size}.")
    if len(keys) != len(classes):
        raise ValueError(f"Every sample has a key and a label; got {len(keys)} keys and {len(classes)} labels.")
    drawn = sorted(range(len(keys)), key=lambda row: _rank(seed, keys[row]))
    runs = [drawn] if order == "random" else _by_class(drawn, classes)
    return [tuple(run[start : start + size]) for run in runs for start in range(0, len(run), size)]


def parts(text: str, rows: Sequence[int], prefix: str = "paper") -> tuple[str | int, ...]:
    """Lay a request out: its text, and the rows whose images stand in their places.

    `paper` shows the images and then asks; `shared` begins with the text, the same for all requests, so that an engine
    computes the class list once.

    Raises ValueError without rows or for an unknown layout.

    Source: own definition; the paper does not say where its images stand.

    >>> parts("Which?", [7, 3]), parts("Which?", [7, 3], "shared")
    ((7, 3, 'Which?'), ('Which?', 7, 3))
    """
    _one_of("prefix", prefix, get_args(Prefix))
    if not rows:
        raise ValueError("A request needs an image; got none.")
    return (*rows, text) if prefix == "paper" else (text, *rows)


def answer_keys(count: int) -> tuple[str, ...]:
    """Return the keys of the JSON answer to a request of so many images.

    Source: arXiv 2603.06578, Table 20.

    >>> answer_keys(3)
    ('1', '2', '3')
    """
    return tuple(str(number) for number in range(1, count + 1))


def answer_schema(count: int, choices: Sequence[str] | None = None) -> Mapping[str, Any]:
    """Return the JSON schema of the answer to a request of `count` images: one text a key, perhaps among `choices`.

    Without choices a model may leave the class list, as the paper's could.

    Source: arXiv 2603.06578, B.1: the "output structure is enforced directly via the API".

    >>> answer_schema(1)["properties"], answer_schema(2, ["a", "b"])["required"]
    ({'1': {'type': 'string'}}, ['1', '2'])
    """
    value = {"type": "string"} if choices is None else {"type": "string", "enum": [*choices]}
    keys = answer_keys(count)
    return {
        "type": "object",
        "properties": {key: dict(value) for key in keys},
        "required": [*keys],
        "additionalProperties": False,
    }


def _rank(seed: int, key: str) -> bytes:
    return sha256(f"{seed}|closed_world|{key}".encode()).digest()


def _by_class(drawn: Sequence[int], classes: Sequence[int]) -> list[list[int]]:
    runs: dict[int, list[int]] = {}
    for row in drawn:
        runs.setdefault(int(classes[row]) if classes[row] >= 0 else -1 - row, []).append(row)
    return list(runs.values())


def _one_of(parameter: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"The {parameter!r} parameter must be one of {', '.join(known)}. Got {value!r} instead.")
