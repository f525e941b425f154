"""Putting a split to a model under a protocol: what is asked is asked once, the rest is arithmetic on kept answers."""

from collections.abc import Callable, Mapping

from eyechart.asking.asker import Asker, Wording, text_key
from eyechart.asking.closed_world import closed_world, closed_world_plus
from eyechart.asking.letters import mcq
from eyechart.asking.open_world import open_world
from eyechart.asking.sitting import Sitting
from eyechart.scoring import Predictions

__all__ = ["IN_WORDS", "Asker", "Sitting", "Wording", "text_key"]

IN_WORDS: Mapping[str, Callable[[Sitting], Predictions]] = {
    "mcq": mcq,
    "closed_world": closed_world,
    "closed_world_plus": closed_world_plus,
    "open_world": open_world,
}
