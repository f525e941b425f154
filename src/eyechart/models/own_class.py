"""Classes of the user, named as `module:Class[option=value]`: how they are found, and how options reach them."""

import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

from eyechart.errors import EyechartError, ModelError, SpecError
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.opened_files import files_read, is_user_file, watch_code
from eyechart.models.options import ModelOptions, names_of
from eyechart.models.own_class_identity import (
    check_unchanged,
    files_of_code,
    find_owner,
    named_paths,
    note_import,
    own_package,
    source_files,
)
from eyechart.models.runtime.torch_runtime import out_of_memory
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Model

FILE_SUFFIX = ".py"
SUPPLIED = ("device", "offline")  # what every class gets if it has parameters of these names
SIGNATURE = (
    "Write def __init__(self, spec, bits=32): the first argument is the specification of the model, and its options "
    "follow as keyword arguments (docs/extending.md)."
)
SPEC_IN_MESSAGE = re.compile(r"ModelSpec|takes no arguments|positional arguments? but \d+ were given")
BROKEN_TORCHVISION = "operator torchvision::nms does not exist"
SEED = 67280421310721  # torch's own, of a process that sets none


_OPENED: dict[str, set[Path]] = {}  # by the constructor, for each specification: a class may read a file only once


def load_class(target: str) -> Any:
    """Import and return the class at `module:Class`; the module may lie in the working folder.

    Raises:
        ModelError: the module is not there or cannot be imported, or has no such class.
    """
    module, _, name = target.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    known = {*sys.modules}
    try:
        with files_read() as read:
            imported = _import_repaired(module)
    except ModuleNotFoundError as error:
        absent = str(error.name)
        if module != absent and not module.startswith(f"{absent}."):
            raise _missing_import(target, f"The import of {module}", error) from error
        if module.endswith(FILE_SUFFIX):
            raise ModelError(
                f"'{target}' names a file. Expected its module: write {module.removesuffix(FILE_SUFFIX)}:{name}, "
                "without the '.py', and run the command where the file is."
            ) from error
        raise ModelError(
            f"'{target}' needs the module {module}, and there is no {absent} in the working folder {here} or among "
            "the installed packages. Correct the name, or run the command where the file is."
        ) from error
    except (Exception, SystemExit) as error:  # a script that reads arguments of its own ends Python
        raise ModelError(f"'{target}': {_describe_failure(f'The import of {module}', error)}") from error
    model_class = getattr(imported, name, None)
    if not inspect.isclass(model_class):
        classes = [word for word, value in vars(imported).items() if inspect.isclass(value)]
        what = f"no {name}" if model_class is None else f"{name} as an object of the type {type(model_class).__name__}"
        raise ModelError(
            f"'{target}' names the class {name} of the module {module}, but this module has {what}. Correct the name "
            f"of the class{did_you_mean(name, classes)}"
        )
    note_import(imported, read | _imported_since(known, source_files(model_class)))
    check_unchanged(target, model_class)
    return model_class


def _imported_since(known: set[str], sources: set[Path]) -> set[Path]:
    """Return the modules of the user that were imported by a name which their code computes, as by `importlib`.

    A module that a program makes, such as `torch.classes`, may name a file that is not there.
    """
    modules = [module for name, module in [*sys.modules.items()] if name not in known]
    files = [Path(str(getattr(module, "__file__", None) or "")) for module in modules]
    own = [file for file in files if file.suffix == FILE_SUFFIX and file.is_absolute() and is_user_file(str(file))]
    return {file.resolve() for file in own if file.is_file()} - sources


def _import_repaired(module: str) -> ModuleType:
    """Import a module; once more if it imports a torchvision whose binary cannot be loaded, which is then repaired."""
    try:
        return import_module(module)
    except RuntimeError as error:
        if BROKEN_TORCHVISION not in str(error) or not repair():
            raise
        return import_module(module)


def _missing_import(subject: str, action: str, error: ModuleNotFoundError) -> ModelError:
    """Return the error for a module that the code of the user imports and that is not there."""
    return ModelError(
        f"'{subject}': {_describe_failure(action, error)} Install the package that has the module {error.name}."
    )


def _describe_failure(action: str, error: BaseException) -> str:
    """Return a sentence about an error of the user's code, with the last line of that code."""
    if isinstance(error, SyntaxError):
        location = f" at {error.filename}, line {error.lineno}"
    else:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_user_file(frame.filename)]
        location = f" at {frames[-1].filename}, line {frames[-1].lineno}" if frames else ""
    message = " ".join(str(error).split())
    return f"{action} failed{location}: {type(error).__name__}{f': {message}' if message else ''}".rstrip(".") + "."


@contextmanager
def explained(model: Model) -> Iterator[None]:
    """Turn an error of a class of the user, while it answers, into a sentence with its last line.

    Memory that runs out, and errors of eyechart's own models, are left to the caller.
    """
    try:
        yield
    except EyechartError:
        raise
    except (Exception, SystemExit) as error:
        if model.made_from is None or ":" not in model.made_from.backend or out_of_memory(error):
            raise
        raise ModelError(
            f"'{model.made_from}': {_describe_failure(f'The class {type(model).__name__}', error)}"
        ) from error


def make(model_class: Any, spec: ModelSpec, supplied: Mapping[str, Any]) -> Any:
    """Return a model of a class of the user, with a digest of all that its answers depend on as its `owner`.

    The class gets the options of its specification as keyword arguments.

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
    _check_first_parameter(model_class, spec)
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
    sources, known = source_files(model_class), {*sys.modules}
    try:
        with files_read(own_package(model_class)) as read, _fixed_random_numbers():
            model = model_class(spec, **context, **arguments)
    except EyechartError:
        raise
    except ModuleNotFoundError as error:
        raise _missing_import(str(spec), action, error) from error
    except (Exception, SystemExit) as error:
        wrong = isinstance(error, TypeError | AttributeError) and SPEC_IN_MESSAGE.search(str(error))
        remedy = f" {SIGNATURE}" if wrong else ""
        raise ModelError(f"'{spec}': {_describe_failure(action, error)}{remedy}") from error
    files = _OPENED.setdefault(str(spec), set())
    files |= read | _imported_since(known, sources)
    model.made_from = spec
    own_files = files_of_code(model_class, sources, files)
    model.owner = find_owner(model, spec, own_files)
    model.late_files = watch_code(str(spec), sources, {*own_files, *named_paths(spec, model_class)})
    return model


def _check_first_parameter(model_class: Any, spec: ModelSpec) -> None:
    """Raise SpecError for a constructor whose first parameter is an option: it would get the specification.

    Such a parameter has a default, or the name of a given option.
    """
    first = next(iter(inspect.signature(model_class).parameters.values()), None)
    if first is None or first.name in ("spec", "_") or first.kind in (first.VAR_POSITIONAL, first.VAR_KEYWORD):
        return
    if first.name in spec.options or first.default not in (first.empty, None):
        raise SpecError(
            f"'{spec}': the first parameter of the constructor of {model_class.__name__} is the option '{first.name}', "
            f"and would get the specification. {SIGNATURE}"
        )


@contextmanager
def _fixed_random_numbers() -> Iterator[None]:
    """Draw the random numbers of torch as a new process does, so that random weights have one digest, and then go on.

    A constructor often makes a network with random weights and reads its weights later.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    state = torch.get_rng_state()
    torch.default_generator.manual_seed(SEED)
    try:
        yield
    finally:
        torch.set_rng_state(state)


def option_names(model_class: Any) -> set[str]:
    """Return the options that a class of the user takes: its parameters, and those that it declares."""
    declared = {*names_of(getattr(model_class, "declared_options", ModelOptions))}
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
