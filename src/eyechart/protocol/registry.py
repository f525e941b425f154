"""Protocols by name: those of installed packages, eyechart among them, and classes that test functions name.

A package has its protocols in a folder, each in a module that has the protocol's name, and names the folder:

    [project.entry-points."eyechart.protocols"]
    my_package = "my_package.protocols"

The files give the names, so that no module is imported before its protocol is used.
"""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from math import inf
from types import ModuleType

from eyechart.errors import SpecError
from eyechart.files.installed import find_entry_points, list_files
from eyechart.messages.suggestions import did_you_mean
from eyechart.protocol.base import Predictions, Protocol

GROUP = "eyechart.protocols"
_test_protocols: dict[str, type[Protocol[Predictions]]] = {}


@cache
def protocol_modules() -> Mapping[str, str]:
    """Return the module of every registered protocol by its name. Raises SpecError if two packages use one name.

    >>> protocol_modules()["zero_shot"]
    'eyechart.classification.protocols.zero_shot'
    """
    modules: dict[str, str] = {}
    for point in find_entry_points(GROUP):
        for path in list_files(point, ".py"):
            name, module = path.stem, f"{point.value}.{path.stem}"
            if name != "__init__" and modules.setdefault(name, module) != module:
                raise SpecError(
                    f"Two packages have the protocol '{name}': {modules[name]} and {module}. Uninstall one, or rename "
                    "its module and its class's `name`."
                )
    return modules


def list_protocols() -> list[str]:
    """Return the names of all registered protocols: those of a package together, in their order in tables."""

    def position(name: str) -> tuple[str, float]:
        package = ".".join(protocol_modules()[name].split(".")[:2])
        return package, get_protocol(name).order or inf

    return sorted(protocol_modules(), key=position)


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
    return name in _test_protocols or name in protocol_modules()


@cache
def _registered(name: str) -> Protocol[Predictions]:
    modules = protocol_modules()
    if name not in modules:
        raise SpecError(
            f"The protocol '{name}' is not known{did_you_mean(name, [*modules])} Protocols: "
            f"{', '.join(sorted(modules))}. After a new entry point in the pyproject.toml of a package, install the "
            "package again."
        )
    try:
        module = import_module(modules[name])
    except ImportError as error:
        raise SpecError(
            f"The module {modules[name]} of the protocol '{name}' cannot be imported ({error}). Correct it, or "
            "uninstall its package."
        ) from error
    return _protocol_class(module, name)()


def _protocol_class(module: ModuleType, name: str) -> type[Protocol[Predictions]]:
    """Return the class whose `name` its module has, too. Raises SpecError if there is none, or more than one."""
    classes = {each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Protocol)}
    names = {each: each.name for each in classes if hasattr(each, "name")}
    chosen = [each for each, its in names.items() if its == name]
    if len(chosen) != 1:
        listed = ", ".join(sorted(f"'{its}' ({each.__name__})" for each, its in names.items())) or "none"
        raise SpecError(
            f"{module.__file__} has {len(chosen)} classes of protocols whose `name` is '{name}'; its names: {listed}. "
            "Expected one, since each module in the folder of an entry point of eyechart.protocols is a protocol with "
            "the module's name. Rename the module or the class's `name`; code that is no protocol lies elsewhere."
        )
    return chosen[0]


def add_protocol(protocol: type[Protocol[Predictions]]) -> str:
    """Register the class that a test function names, and return its name.

    Raises SpecError if another class has that name.

    >>> add_protocol(type(get_protocol("zero_shot")))
    'zero_shot'
    """
    name, other = protocol.name, _test_protocols.get(protocol.name)
    if name in protocol_modules():
        other = type(_registered(name))
    if other is not None and _location(other) != _location(protocol):
        raise SpecError(f"Two protocols are called '{name}': {_location(other)} and {_location(protocol)}. Rename one.")
    if name not in protocol_modules():
        _test_protocols[name] = protocol
    return name


def _location(protocol: type[Protocol[Predictions]]) -> str:
    return f"{protocol.__module__}.{protocol.__qualname__}"
