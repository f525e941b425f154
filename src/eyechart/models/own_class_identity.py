"""What identifies a class of the user: a digest of all that its answers depend on.

The answers of such a class depend on its code, its options, the files that its code, options and defaults name or that
its constructor opens, and the weights in its attributes. `find_owner` has a digest of all of them in the key of the
stored answers, so that an edited or trained class answers anew whatever its `identity` says.
"""

import ast
import inspect
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import msgspec

from eyechart.errors import ModelError
from eyechart.models.opened_files import is_installed, is_user_file
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Model
from eyechart.models.weights.digests import file_sha256
from eyechart.models.weights.state_digests import digests_in

MOST_FILES = 1000
MOST_LETTERS = 200  # of a text in the code that may be a path
WEIGHTS = frozenset({
    ".bin", ".ckpt", ".engine", ".gguf", ".h5", ".hdf5", ".joblib", ".keras", ".npy", ".npz", ".onnx", ".pb", ".pickle",
    ".pkl", ".pt", ".pt2", ".pte", ".pth", ".safetensors", ".tar", ".tflite", ".torchscript", ".ubj",
})  # fmt: skip


class _Imported(NamedTuple):
    """A module, and the files that it read when it was imported, with their digests."""

    module: ModuleType
    files: Mapping[Path, str]


class _Seen(NamedTuple):
    """A class as it is in memory: its methods, and the digests of its source files when it was first used."""

    model_class: Any
    methods: Mapping[str, CodeType]
    sources: Sequence[str]


_IMPORTED: dict[str, _Imported] = {}
_SEEN: dict[str, _Seen] = {}


def note_import(module: ModuleType, read: Collection[Path]) -> None:
    """Keep the digests of the files that a module read when it was imported just now."""
    known = _IMPORTED.get(module.__name__)
    if known is None or known.module is not module:
        _IMPORTED[module.__name__] = _Imported(module, {path: file_sha256(path) for path in sorted(read)})


def check_unchanged(target: str, model_class: Any) -> None:
    """Raise ModelError if this process has an older version of a class in memory, or of a file that its module read."""
    methods = {name: value.__code__ for name, value in vars(model_class).items() if isinstance(value, FunctionType)}
    sources, first_use = _source_digests(model_class), _SEEN.get(target)
    if first_use is None or first_use.model_class is not model_class or first_use.methods != methods:
        _SEEN[target] = first_use = _Seen(model_class, methods, sources)
    changed = "its code" if first_use.sources != sources else ""
    for path, digest in _imported_files(model_class).items():
        changed = changed or (f"the file {path}" if not path.is_file() or file_sha256(path) != digest else "")
    if changed:
        raise ModelError(
            f"'{target}': {changed} was changed after this process imported the module, so that the model in memory "
            "is the older one. Start Python again, or restart the kernel of the notebook."
        )


def _imported_files(model_class: Any) -> Mapping[Path, str]:
    """Return the files that the module of a class read when it was imported, with their digests at that time."""
    imported = _IMPORTED.get(model_class.__module__)
    return imported.files if imported and imported.module is sys.modules.get(model_class.__module__) else {}


def find_owner(model: Any, spec: ModelSpec, files: Collection[Path]) -> str:
    """Return a digest of all that the answers of a model of the user depend on.

    These are its code, its options, the files and folders that options, defaults and texts in the code name, those that
    the constructor or the module opened, and the weights in the attributes of the model, its class and its module. Of a
    folder with many files, such as a data set, the first ones are read, and the others are known by their size.

    Args:
        model: The model.
        spec: Its specification.
        files: The files that its code opens or names: `files_of_code`.
    """
    facts = [str(spec), *_source_digests(type(model))]
    for path in named_paths(spec, type(model)):
        for number, file in enumerate(_files_below(path)):
            facts += [str(file), _file_digest(file, number)]
    present = [file for file in sorted(files) if file.is_file()]
    facts += sorted(_file_digest(file, number) for number, file in enumerate(present))
    return sha256("\n".join((*facts, *_state_facts(model))).encode(errors="surrogateescape")).hexdigest()


def files_of_code(model_class: Any, sources: Collection[Path], opened: Collection[Path]) -> set[Path]:
    """Return the files that the constructor or the module of a class opened, or that texts in its source files name."""
    return {*opened, *_texts_that_are_files(sources), *_imported_files(model_class)}


def _file_digest(file: Path, number: int) -> str:
    """Return the sha256 of one of the first files, of another one its size."""
    return file_sha256(file) if number < MOST_FILES else str(file.stat().st_size)


def _files_below(path: Path) -> list[Path]:
    """Return a file, or the files of a folder."""
    return sorted(file for file in (path, *path.rglob("*")) if file.is_file())


def named_paths(spec: ModelSpec, model_class: Any) -> list[Path]:
    """Return the paths that the options of a model name, and the defaults of the other parameters of its constructor.

    A default that is the working folder or a folder around it is none of its files.
    """
    parameters = [*inspect.signature(model_class).parameters.values()][1:]
    defaults = [parameter.default for parameter in parameters if parameter.name not in spec.options]
    paths = [Path(text or "no file").expanduser() for text in (*spec.arguments, *spec.options.values())]
    named = [Path(value).expanduser() for value in defaults if value and isinstance(value, str | Path)]
    return [*paths, *(path for path in named if path.exists() and not Path.cwd().is_relative_to(path.resolve()))]


def _texts_that_are_files(sources: Collection[Path]) -> set[Path]:
    """Return the files and folders of weights that texts in source files name.

    A path is relative to the working folder, or to the folder of the source file.
    """
    files = set[Path]()
    for source in sources:
        try:
            tree = ast.parse(source.read_bytes())
        except (SyntaxError, ValueError):
            continue
        texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        for text in texts:
            if isinstance(text, str) and len(text) < MOST_LETTERS and text.strip("./ ") and not {*"\n\0"} & {*text}:
                paths = (Path(text), Path(text.lstrip("~/")), source.parent / text.lstrip("/"))
                files |= {file.resolve() for path in paths for file in _model_files(path)}
    return files


def _model_files(path: Path) -> list[Path]:
    """Return a file of weights, or the files of a folder that holds weights; else nothing."""
    try:
        if path.suffix.lower() in WEIGHTS and path.is_file():
            return [path]
        if path.is_dir() and any(file.suffix.lower() in WEIGHTS for file in path.iterdir() if file.is_file()):
            return _files_below(path)
    except OSError:  # a folder that this user may not read
        return []
    return []


def _state_facts(model: Any) -> Iterator[str]:
    """Yield the digests of the weights in a model's attributes, its class and its module, and of models in it."""
    attributes = dict(vars(model)) if hasattr(model, "__dict__") else {}
    yield from digests_in(attributes, _is_user_object)
    for name, value in attributes.items():
        if isinstance(value, Model):
            yield f"{name} {msgspec.json.encode(value.identity.in_key, order='sorted').decode()} {value.owner}"
    module = vars(sys.modules[type(model).__module__])
    for scope in (vars(type(model)), module):
        plain = {name: value for name, value in scope.items() if not isinstance(value, dict | list | tuple)}
        yield from digests_in(plain, lambda _: False)


def _is_user_object(value: Any) -> bool:
    """Return whether the class of an object is the user's, so that its attributes may hold weights."""
    file = getattr(sys.modules.get(type(value).__module__), "__file__", None)
    return bool(file) and is_user_file(str(file))


def own_package(model_class: Any) -> Path | None:
    """Return the folder of the installed package of a class, None for a class that is not installed."""
    file = getattr(sys.modules.get(model_class.__module__), "__file__", None)
    if not file or not is_installed(Path(file)):
        return None
    depth = model_class.__module__.count(".") + (Path(file).name == "__init__.py")
    return Path(file).parents[max(depth - 1, 0)] if depth else None


def _source_digests(model_class: Any) -> list[str]:
    """Return the digests of the source files of a class."""
    return [sha256(path.read_bytes()).hexdigest() for path in sorted(source_files(model_class))]


def source_files(model_class: Any) -> set[Path]:
    """Return the modules of a class and of its base classes, with what these import from beside them.

    Of installed packages, that of the class itself alone is read: the versions of libraries belong into the identity.
    """
    sources: set[Path] = set()
    own = model_class.__module__.partition(".")[0]
    for base in model_class.__mro__:
        file = getattr(sys.modules.get(base.__module__), "__file__", None)
        top = base.__module__.partition(".")[0]
        if file and top != "eyechart" and (top == own or not is_installed(Path(file))):
            path = Path(file).resolve()
            depth = len(base.__module__.split(".")) - (path.name != "__init__.py")
            _collect_sources(path, path.parents[depth], own, sources)
    return sources


def _collect_sources(file: Path, root: Path, own: str, sources: set[Path]) -> None:
    """Add a file and all that it imports below a root to some sources; among installed packages, its own package."""
    if file in sources or file.suffix != ".py" or not file.is_file():
        return
    sources.add(file)
    for name in _imported_names(file, root):
        if is_installed(root) and name.partition(".")[0] != own:
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
