"""Protocols by name: packaged ones, those of installed packages, and classes that test functions name.

A package registers its own protocol, a class, with an entry point:

    [project.entry-points."eyechart.protocols"]
    my_protocol = "mypackage.module:MyProtocol"

Classes are imported on first use, since the packaged ones are in packages above this one.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from pkgutil import resolve_name

from eyechart.errors import SpecError
from eyechart.messages.suggestions import did_you_mean
from eyechart.protocol.base import Predictions, Protocol

GROUP = "eyechart.protocols"
PACKAGED: Mapping[str, str] = {
    "zero_shot": "eyechart.classification.protocols.zero_shot:ZeroShot",
    "supervised": "eyechart.classification.protocols.supervised:Supervised",
    "knn": "eyechart.classification.protocols.knn:KNearestNeighbours",
    "replay": "eyechart.classification.protocols.replay:ReplayedAnswers",
    "mcq": "eyechart.classification.protocols.multiple_choice:MillMCQ",
    "closed_world": "eyechart.classification.protocols.closed_world:ClosedWorld",
    "closed_world_plus": "eyechart.classification.protocols.closed_world:ClosedWorldPlus",
    "open_world": "eyechart.classification.protocols.open_world:OpenWorld",
    "multiple_choice": "eyechart.classification.protocols.multiple_choice:MultipleChoice",
    "posterior": "eyechart.classification.protocols.posterior:Posterior",
    "existence": "eyechart.oodbench.protocols.existence:Existence",
    "progression": "eyechart.oodbench.protocols.progression:Progression",
    "detection": "eyechart.oodbench.protocols.detection:Detection",
    "distribution": "eyechart.oodbench.protocols.distribution:Distribution",
    "species": "eyechart.realbirdid.protocols.species:Species",
    "flat_list": "eyechart.realbirdid.protocols.flat_list:FlatList",
    "free_form": "eyechart.realbirdid.protocols.free_form:FreeForm",
    "abstention": "eyechart.realbirdid.protocols.abstention:Abstention",
}
_test_protocols: dict[str, type[Protocol[Predictions]]] = {}


@cache
def protocol_targets() -> Mapping[str, str]:
    """Return `module:Class` of every registered protocol by its name. Raises SpecError if two packages use one name.

    >>> protocol_targets()["zero_shot"]
    'eyechart.classification.protocols.zero_shot:ZeroShot'
    """
    names = dict(PACKAGED)
    for point in entry_points(group=GROUP):
        if names.setdefault(point.name, point.value) != point.value:
            raise SpecError(
                f"Two packages register the protocol '{point.name}': {names[point.name]} and {point.value}. "
                "Uninstall one, or rename its entry point."
            )
    return names


def get_protocol(name: str) -> Protocol[Predictions]:
    """Return a protocol by its name. Raises SpecError for a name that is not registered.

    >>> get_protocol("closed_world").requires
    ('generator',)
    """
    if name in _test_protocols:
        return _test_protocols[name]()
    return _registered(name)


@cache
def _registered(name: str) -> Protocol[Predictions]:
    if name not in protocol_targets():
        listed = ", ".join(sorted(protocol_targets()))
        raise SpecError(
            f"The protocol '{name}' is not known{did_you_mean(name, [*protocol_targets()])} Protocols: {listed}."
        )
    protocol: Protocol[Predictions] = resolve_name(protocol_targets()[name])()
    if protocol.name != name:
        raise SpecError(
            f"The entry point '{name}' of eyechart.protocols names {_location(type(protocol))}, whose name is "
            f"'{protocol.name}'. Expected equal names: rename one of them."
        )
    return protocol


def add_protocol(protocol: type[Protocol[Predictions]]) -> str:
    """Register the class that a test function names, and return its name.

    Raises SpecError if another class has that name.

    >>> add_protocol(type(get_protocol("zero_shot")))
    'zero_shot'
    """
    name, other = protocol.name, _test_protocols.get(protocol.name)
    if name in protocol_targets():
        other = type(_registered(name))
    if other is not None and _location(other) != _location(protocol):
        raise SpecError(f"Two protocols are called '{name}': {_location(other)} and {_location(protocol)}. Rename one.")
    if name not in protocol_targets():
        _test_protocols[name] = protocol
    return name


def _location(protocol: type[Protocol[Predictions]]) -> str:
    return f"{protocol.__module__}.{protocol.__qualname__}"
