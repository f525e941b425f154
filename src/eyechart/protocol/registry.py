"""Protocols by name: those of installed packages, eyechart among them, and classes that test functions name.

A package registers its protocol, a class, with an entry point:

    [project.entry-points."eyechart.protocols"]
    my_protocol = "mypackage.module:MyProtocol"

Classes are imported on first use.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint
from math import inf

from eyechart.errors import SpecError
from eyechart.files.installed import describe_same_name, find_entry_points, load_entry_point
from eyechart.messages.suggestions import did_you_mean
from eyechart.protocol.base import Predictions, Protocol

GROUP = "eyechart.protocols"
_test_protocols: dict[str, type[Protocol[Predictions]]] = {}


@cache
def protocol_targets() -> Mapping[str, str]:
    """Return `module:Class` of every registered protocol by its name. Raises SpecError if two packages use one name.

    >>> protocol_targets()["zero_shot"]
    'eyechart.classification.protocols.zero_shot:ZeroShot'
    """
    names: dict[str, str] = {}
    for point in find_entry_points(GROUP):
        if names.setdefault(point.name, point.value) != point.value:
            raise SpecError(describe_same_name("protocol", point.name, names[point.name], point.value))
    return names


def list_protocols() -> list[str]:
    """Return the names of all registered protocols: those of a package together, in their order in tables."""

    def position(name: str) -> tuple[str, float]:
        package = ".".join(protocol_targets()[name].split(".")[:2])
        return package, get_protocol(name).order or inf

    return sorted(protocol_targets(), key=position)


def get_protocol(name: str) -> Protocol[Predictions]:
    """Return a protocol by its name. Raises SpecError for a name that is not registered.

    >>> get_protocol("closed_world").requires
    ('generator',)
    """
    if name in _test_protocols:
        return _test_protocols[name]()
    return _registered(name)


def is_registered(name: str) -> bool:
    """Return whether a package or a test function has a protocol of this name.

    >>> is_registered("closed_world"), is_registered("lmms-eval")
    (True, False)
    """
    return name in _test_protocols or name in protocol_targets()


@cache
def _registered(name: str) -> Protocol[Predictions]:
    if name not in protocol_targets():
        listed = ", ".join(sorted(protocol_targets()))
        raise SpecError(
            f"The protocol '{name}' is not known{did_you_mean(name, [*protocol_targets()])} Protocols: {listed}. "
            "After a new entry point in the pyproject.toml of a package, install the package again."
        )
    protocol: Protocol[Predictions] = load_entry_point(EntryPoint(name, protocol_targets()[name], GROUP))()
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
