"""Protocols by name: their functions stand in packages above this one and are imported when they are used."""

from collections.abc import Callable, Mapping
from pkgutil import resolve_name

from eyechart.asking.sitting import Sitting

SITTINGS: Mapping[str, str] = {
    "mcq": "eyechart.asking.letters:mcq",
    "closed_world": "eyechart.asking.closed_world:closed_world",
    "closed_world_plus": "eyechart.asking.closed_world:closed_world_plus",
    "open_world": "eyechart.asking.open_world:open_world",
    "multiple_choice": "eyechart.asking.letters:multiple_choice",
    "posterior": "eyechart.asking.likelihood:posterior",
    "existence": "eyechart.pairs.existence:existence",
    "progression": "eyechart.pairs.progression:progression",
    "detection": "eyechart.pairs.detection:detection",
    "distribution": "eyechart.pairs.distribution:distribution",
    "species": "eyechart.birds.species:species",
    "flat_list": "eyechart.birds.flat_list:flat_list",
    "free_form": "eyechart.birds.free_form:free_form",
    "abstention": "eyechart.birds.abstention:abstention",
}


def predict(protocol: str, sitting: Sitting) -> object:
    """Return the predictions of a model under a protocol."""
    function: Callable[[Sitting], object] = resolve_name(SITTINGS[protocol])
    return function(sitting)
