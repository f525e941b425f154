"""Protocols by name: their functions stand in packages above this one and are imported when they are used."""

from collections.abc import Callable, Mapping
from pkgutil import resolve_name

from eyechart.protocol.context import Sitting

SITTINGS: Mapping[str, str] = {
    "mcq": "eyechart.classification.multiple_choice:mcq",
    "closed_world": "eyechart.classification.closed_world:closed_world",
    "closed_world_plus": "eyechart.classification.closed_world:closed_world_plus",
    "open_world": "eyechart.classification.open_world:open_world",
    "multiple_choice": "eyechart.classification.multiple_choice:multiple_choice",
    "posterior": "eyechart.classification.posterior:posterior",
    "existence": "eyechart.oodbench.existence:existence",
    "progression": "eyechart.oodbench.progression:progression",
    "detection": "eyechart.oodbench.detection:detection",
    "distribution": "eyechart.oodbench.distribution:distribution",
    "species": "eyechart.realbirdid.species:species",
    "flat_list": "eyechart.realbirdid.flat_list:flat_list",
    "free_form": "eyechart.realbirdid.free_form:free_form",
    "abstention": "eyechart.realbirdid.abstention:abstention",
}


def predict(protocol: str, sitting: Sitting) -> object:
    """Return the predictions of a model under a protocol."""
    function: Callable[[Sitting], object] = resolve_name(SITTINGS[protocol])
    return function(sitting)
