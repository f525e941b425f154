"""Classes of the user, named as `module:Class[option=value]`: how options reach them, and what identifies them.

The answers of such a class depend on its code, its options and the files that they name. `find_owner` has a digest of
all three in the key of the stored answers, so that an edited class answers anew whatever its `identity` says.
"""

import ast
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from sysconfig import get_paths
from typing import Any, get_args, get_type_hints

from eyechart.errors import EyechartError, ModelError, SpecError
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.spec import ModelSpec
from eyechart.models.weights.digests import file_sha256

STANDARD_LIBRARY = Path(get_paths()["stdlib"]).resolve()
MOST_FILES = 1000
SUPPLIED = ("device", "offline")  # what every class gets if it has parameters of these names


def load_class(target: str) -> Any:
    """Import and return the class at `module:Class`; the module may lie in the working folder.

    Raises:
        ModelError: the module is not there or cannot be imported, or has no such class.
    """
    module, _, name = target.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        imported = import_module(module)
    except ModuleNotFoundError as error:
        absent = str(error.name)
        if module != absent and not module.startswith(f"{absent}."):
            raise _missing_import(target, f"The import of {module}", error) from error
        raise ModelError(
            f"'{target}' needs the module {module}, and there is no {absent} in the working folder {here} or among "
            "the installed packages. Correct the name, or run the command where the file is."
        ) from error
    except Exception as error:
        raise ModelError(f"'{target}': {_describe_failure(f'The import of {module}', error)}") from error
    model_class = getattr(imported, name, None)
    if not inspect.isclass(model_class):
        classes = [word for word, value in vars(imported).items() if inspect.isclass(value)]
        what = f"no {name}" if model_class is None else f"{name} as an object of the type {type(model_class).__name__}"
        raise ModelError(
            f"'{target}' names the class {name} of the module {module}, but this module has {what}. Correct the name "
            f"of the class{did_you_mean(name, classes)}"
        )
    return model_class


def _missing_import(subject: str, action: str, error: ModuleNotFoundError) -> ModelError:
    """Return the error for a module that the code of the user imports and that is not there."""
    return ModelError(
        f"'{subject}': {_describe_failure(action, error)} Install the package that has the module {error.name}."
    )


def _describe_failure(action: str, error: Exception) -> str:
    """Return a sentence about an error of the user's code, with the last line of that code."""
    if isinstance(error, SyntaxError):
        location = f" at {error.filename}, line {error.lineno}"
    else:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_user_file(frame.filename)]
        location = f" at {frames[-1].filename}, line {frames[-1].lineno}" if frames else ""
    message = " ".join(str(error).split())
    return f"{action} failed{location}: {type(error).__name__}{f': {message}' if message else ''}".rstrip(".") + "."


def _is_user_file(name: str) -> bool:
    """Return whether a file of a frame is code of the user: no library, and no part of eyechart or of Python."""
    path = Path(name)
    return not (name.startswith("<") or path.is_relative_to(Path(__file__).parents[1]) or _is_installed(path))


def _is_installed(path: Path) -> bool:
    """Return whether a path is below the folder of the installed packages or of the standard library."""
    return not {"site-packages", "dist-packages"}.isdisjoint(path.parts) or path.is_relative_to(STANDARD_LIBRARY)


def make(model_class: Any, spec: ModelSpec, supplied: Mapping[str, Any]) -> Any:
    """Return an object of a class of the user, which gets the options of its specification as keyword arguments.

    An option is converted to the type that the parameter is annotated with, or to that of its default. A class also
    reads its options from `spec.options`; it then lists them in `declared_options`. A parameter such as `**_`, whose
    name begins with an underscore, takes no options.

    Args:
        model_class: The class.
        spec: The specification, which is the first argument.
        supplied: The device and whether the session is offline, for a class that takes them.

    Raises:
        SpecError: No parameter takes an option, or its value has another type.
        ModelError: The class is abstract, or its constructor failed.
    """
    parameters = inspect.signature(model_class).parameters
    rest = next((parameter.name for parameter in parameters.values() if parameter.kind is parameter.VAR_KEYWORD), "")
    named, known, types = named_parameters(model_class), option_names(model_class), _parameter_types(model_class)
    arguments: dict[str, Any] = {}
    for name, text in spec.options.items():
        if name in named and name in known:
            arguments[name] = convert(spec, name, types.get(name, type(parameters[name].default)), text)
        elif rest and not rest.startswith("_") and name not in SUPPLIED:
            arguments[name] = text
        elif known.isdisjoint((name, f"{name.partition('.')[0]}.KEY")):
            raise SpecError(
                f"'{spec}' has the option '{name}', which no parameter of {model_class.__name__} takes"
                f"{did_you_mean(name, [*known])} Its options are: {', '.join(sorted(known)) or 'none'}. A class that "
                "reads the option from spec.options lists it in declared_options."
            )
    context = {name: value for name, value in supplied.items() if name in named or rest}
    action = f"The constructor of {model_class.__name__}"
    try:
        return model_class(spec, **context, **arguments)
    except EyechartError:
        raise
    except ModuleNotFoundError as error:
        raise _missing_import(str(spec), action, error) from error
    except Exception as error:
        raise ModelError(f"'{spec}': {_describe_failure(action, error)}") from error


def option_names(model_class: Any) -> set[str]:
    """Return the options that a class of the user takes: its parameters, and those that it declares."""
    declared = {option.name for option in getattr(model_class, "declared_options", ())}
    return named_parameters(model_class) - {*SUPPLIED} | declared


def named_parameters(model_class: Any) -> set[str]:
    """Return the names of a constructor's parameters after the specification that take a keyword argument."""
    others = [*inspect.signature(model_class).parameters.values()][1:]
    return {
        parameter.name
        for parameter in others
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }


def _parameter_types(model_class: Any) -> Mapping[str, type]:
    """Return the types of the annotated parameters of a constructor, as far as an option can be converted to them."""
    try:
        hints = get_type_hints(model_class.__init__)
    except Exception:  # an annotation that cannot be evaluated says nothing
        return {}
    possible = {name: [kind for kind in (hint, *get_args(hint)) if kind in CONVERTERS] for name, hint in hints.items()}
    return {name: str if str in kinds else kinds[0] for name, kinds in possible.items() if kinds}


def convert(spec: ModelSpec, name: str, kind: type, text: str) -> Any:
    """Return the value of an option in the type of its parameter. Raises SpecError for another value."""
    convert_text, expected = CONVERTERS.get(kind, (str, "text"))
    try:
        return convert_text(text)
    except ValueError:
        raise SpecError(f"'{spec}' has {name}={text}. Expected {expected}.") from None


def _read_flag(text: str) -> bool:
    """Return whether a text is true. Raises ValueError for anything but true and false."""
    if text.lower() not in ("true", "false"):
        raise ValueError(text)
    return text.lower() == "true"


CONVERTERS: Mapping[type, tuple[Callable[[str], Any], str]] = {
    bool: (_read_flag, "true or false"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    str: (str, "text"),
    Path: (Path, "a path"),
}


def find_owner(model_class: Any, spec: ModelSpec) -> str:
    """Return a digest of the code of a class, its options and the files that they name.

    Of a folder with many files, such as a data set, the first ones are read, and the others are known by their size.
    """
    facts = [str(spec), *_source_digests(model_class)]
    for text in (*spec.arguments, *spec.options.values()):
        path = Path(text or "no file").expanduser()
        for number, file in enumerate(sorted(index for index in (path, *path.rglob("*")) if index.is_file())):
            facts += [str(file), file_sha256(file) if number < MOST_FILES else str(file.stat().st_size)]
    return sha256("\n".join(facts).encode(errors="surrogateescape")).hexdigest()


def _source_digests(model_class: Any) -> list[str]:
    """Return the digests of the modules of a class and of its base classes, with what these import from beside them.

    Of installed packages, that of the class itself alone is read: the versions of libraries belong into the identity.
    """
    sources: set[Path] = set()
    own = model_class.__module__.partition(".")[0]
    for base in model_class.__mro__:
        file = getattr(sys.modules.get(base.__module__), "__file__", None)
        top = base.__module__.partition(".")[0]
        if file and top != "eyechart" and (top == own or not _is_installed(Path(file))):
            path = Path(file).resolve()
            depth = len(base.__module__.split(".")) - (path.name != "__init__.py")
            _collect_sources(path, path.parents[depth], own, sources)
    return [sha256(path.read_bytes()).hexdigest() for path in sorted(sources)]


def _collect_sources(file: Path, root: Path, own: str, sources: set[Path]) -> None:
    """Add a file and all that it imports below a root to some sources; among installed packages, its own package."""
    if file in sources or file.suffix != ".py" or not file.is_file():
        return
    sources.add(file)
    for name in _imported_names(file, root):
        if _is_installed(root) and name.partition(".")[0] != own:
            continue
        location = root.joinpath(*name.split("."))
        for path in (location.with_suffix(".py"), location / "__init__.py"):
            _collect_sources(path.resolve(), root, own, sources)


def _imported_names(file: Path, root: Path) -> Iterator[str]:
    """Yield the absolute names that a file imports: of modules, or of what is in them."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError):
        return
    package = file.parent.relative_to(root).parts
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = [*above, *filter(None, [node.module])]
            yield from (".".join([*base, alias.name]) for alias in node.names)
            if base:
                yield ".".join(base)
