"""OODBench's Basic-to-Advanced Progression: is it there, how many are there, are there more (arXiv 2602.18094)."""

from collections.abc import Sequence
from itertools import combinations
from random import Random

from eyechart.oodbench.flags import drawn
from eyechart.protocol.prompts import Prompt, prompt


def progression_prompts() -> tuple[Prompt, Prompt, Prompt]:
    """The three questions: about the first category, about the second, and about both.

    Source: arXiv 2602.18094, section 4 and figures 19 to 22, word by word.

    >>> existence, counting, logic = progression_prompts()
    >>> counting.fill(category="egg"), logic.fill(category="cup", other="egg").partition("?")[0]
    ('How many egg are there in the picture?', 'Is the number of cup in the image greater than the number of egg')
    """
    return prompt("existence"), prompt("progression_counting"), prompt("progression_logic")


def couples(names: Sequence[tuple[str, str]], most: int, seed: int, what: str) -> list[tuple[int, int]]:
    """Couples of different categories of one image, none twice, at most so many.

    Which one is asked about first is drawn for each couple. The paper says that every image is "paired with two
    different category labels (without duplication)"; how many couples of an image there may be, it leaves open, and all
    are taken here, as far as `most` goes.

    Args: `names` (image, category) of pairs, each once; `most` couples; `what` tells draws of one seed apart.
    Returns: (first, second), places in `names`, in the order of the names; not changed by any order.
    Raises: ValueError for a negative number.
    Source: arXiv 2602.18094, section 5.5.

    >>> couples([("a", "cup"), ("a", "egg"), ("b", "cup")], 10, 42, "ID") in ([(0, 1)], [(1, 0)])
    True
    """
    ordered = sorted(range(len(names)), key=lambda place: names[place])
    images: dict[str, list[int]] = {}
    for place in ordered:
        images.setdefault(names[place][0], []).append(place)
    every = [couple for places in images.values() for couple in combinations(places, 2)]
    keys = [f"{names[one][0]}|{names[one][1]}|{names[other][1]}" for one, other in every]
    chosen = drawn(keys, most, seed, f"{what}|couples")
    return [turned(*every[place], f"{seed}|{what}|{keys[place]}") for place in chosen]


def turned(one: int, other: int, what: str) -> tuple[int, int]:
    """A couple in one of its two orders.

    Source: own definition.

    >>> sorted(turned(1, 2, "anything"))
    [1, 2]
    """
    return (one, other) if Random(what).random() < 0.5 else (other, one)
