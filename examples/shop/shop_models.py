"""Two toy models that look at the pictures of `make_shop.py` and answer in words; asked to think aloud, they waver."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from make_shop import FRUITS, SLOTS, WALL
from PIL import Image

from eyechart.models.types import Answer, Generator, Request


class Careful(Generator):
    """Sees each fruit by its colour, in any light."""

    def __init__(self, spec: object) -> None:
        self.spec = spec

    def see(self, image: Image.Image) -> list[str]:
        """Return the fruit of each slot, "" for none."""
        light = sum(image.getpixel((2, 2))) / sum(WALL)
        return [self.nearest(image.getpixel(slot), light) for slot in SLOTS]

    def nearest(self, pixel: tuple[int, int, int], light: float) -> str:
        """Return the fruit whose colour is nearest, "" for the wall."""
        colours = {"": WALL, **FRUITS}

        def distance(name: str) -> float:
            return sum(abs(a - b * light) for a, b in zip(pixel, colours[name], strict=True))

        return min(colours, key=distance)

    def say(self, image: Image.Image, text: str) -> str:
        """Return the answer to a prompt."""
        shelf = [fruit for fruit in self.see(image) if fruit]
        options = {name: letter for letter, name in re.findall(r"^([A-D])\) (\w+)$", text, re.MULTILINE)}
        if options:
            if "think" in text and shelf[0] != "apple":
                return f"It could be {options[shelf[0]]} or {options['apple']}"
            return options[shelf[0]] if shelf else "A"
        if found := re.search(r"Is there a (\w+)", text):
            return "Yes" if found[1] in shelf else "No"
        return str(len(shelf))

    def generate(
        self,
        requests: Iterable[Request],
        max_tokens: int,  # noqa: ARG002
        schema: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> Iterator[tuple[int, Answer]]:
        """Answer each request about one picture."""
        for number, request in enumerate(requests):
            text = "".join(part for part in request.parts if isinstance(part, str))
            yield number, Answer(self.say(request.images[0], text), (), True)


class Hasty(Careful):
    """Takes every picture for a bright one, so that it errs in dim light."""

    def see(self, image: Image.Image) -> list[str]:
        """Return the fruit of each slot, without regard to the light."""
        return [self.nearest(image.getpixel(slot), 1.0) for slot in SLOTS]
