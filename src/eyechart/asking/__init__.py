"""Putting a split to a model under a protocol: what is asked is asked once, the rest is arithmetic on kept answers."""

from collections.abc import Callable, Mapping

from eyechart.asking.abstention import abstention
from eyechart.asking.asker import Asker, Wording, text_key
from eyechart.asking.closed_world import closed_world, closed_world_plus
from eyechart.asking.detection import detection
from eyechart.asking.distribution import distribution
from eyechart.asking.existence import existence
from eyechart.asking.flat_list import flat_list
from eyechart.asking.free_form import free_form
from eyechart.asking.letters import mcq, multiple_choice
from eyechart.asking.likelihood import posterior
from eyechart.asking.open_world import open_world
from eyechart.asking.progression import progression
from eyechart.asking.sitting import Sitting
from eyechart.asking.species import species
from eyechart.repeats import Repeated
from eyechart.scoring import Predictions

__all__ = ["ABOUT_BIRDS", "ABOUT_PAIRS", "IN_WORDS", "Asker", "Sitting", "Wording", "text_key"]

IN_WORDS: Mapping[str, Callable[[Sitting], Predictions | Repeated]] = {
    "mcq": mcq,
    "closed_world": closed_world,
    "closed_world_plus": closed_world_plus,
    "open_world": open_world,
    "multiple_choice": multiple_choice,
    "posterior": posterior,
}
ABOUT_PAIRS: Mapping[str, Callable[[Sitting], object]] = {
    "existence": existence,
    "progression": progression,
    "detection": detection,
    "distribution": distribution,
}
ABOUT_BIRDS: Mapping[str, Callable[[Sitting], object]] = {
    "species": species,
    "flat_list": flat_list,
    "free_form": free_form,
    "abstention": abstention,
}
