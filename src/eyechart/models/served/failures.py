"""Which failures are due to the server, and not to the requests that failed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from PIL import Image

from eyechart.models.types import Request

DOUBTFUL = 5  # requests that failed one after another, after which the server is probed
MOST_DOUBTFUL = 40  # the same after some probes that were answered
HELLO = "Answer with the word OK."
SIDE, GREY = 224, 128  # of an ordinary image


@dataclass(frozen=True)
class Probe:
    """A request that a server must answer if it answers any of its kind; `text` names it in messages."""

    text: str
    write: Callable[[], Mapping[str, Any]]


def build_probe(write: Callable[[Request], Mapping[str, Any]], *, has_images: bool) -> Probe:
    """Return a probe; `write` gives it the settings of the requests that it stands for."""
    if not has_images:
        return Probe("a short request", lambda: write(Request((HELLO,))))
    image = Image.new("RGB", (SIDE, SIDE), (GREY, GREY, GREY))
    return Probe(
        f"a short request about a plain image of {SIDE} × {SIDE} pixels", lambda: write(Request((image, HELLO)))
    )


class Failures:
    """Counts the requests to a server that failed one after another."""

    def __init__(self) -> None:
        self.in_a_row = 0  # since the last answer, that to a probe included
        self._tolerated = DOUBTFUL

    @property
    def is_doubtful(self) -> bool:
        """Whether so many failed that the server may answer none."""
        return self.in_a_row >= self._tolerated

    def on_failure(self, *, counts: bool) -> None:
        """Note a failure; one that does not count is known to concern its request alone."""
        self.in_a_row = self.in_a_row + 1 if counts else 0

    def on_answer(self) -> None:
        """Note the answer to a request."""
        self.in_a_row, self._tolerated = 0, DOUBTFUL

    def on_probe_answered(self) -> None:
        """Note the answer to a probe: more failures are tolerated before the next one, so that probes stay few."""
        self.in_a_row, self._tolerated = 0, min(MOST_DOUBTFUL, 2 * self._tolerated)
