"""Decide which class each folder of a split is: a synset, a number, or a name."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

from eyechart.data.imagenet.classes import CLASSES, SYNSET, synset_classes
from eyechart.data.labels.foreign_labels import DATA, describe_label_files, is_layout
from eyechart.data.names import fold_name
from eyechart.errors import DataError

ARTICLES = ("a", "an", "the")
TEXT_ORDER = 10  # numbers below it have one order as numbers and as text
CLASSNAMES = "classnames.txt"
LINES = f"class names: {CLASSNAMES}"
IN_ORDER = "class folders in the order of their names"
SYNSETS = "labels: folders of synsets"
IMAGENET_NAMES = "class names: those of ImageNet"


@dataclass(frozen=True)
class _ClassFolders:
    """The class of each folder by name, the names and the number of the classes, and notes on how they were read.

    `provenance` is what labels and names were taken for, in a few words.
    """

    labels: Mapping[str, int]
    names: tuple[str, ...]
    count: int
    notes: tuple[str, ...] = ()
    provenance: str = ""


def read_class_folders(
    folder: Path, folders: Sequence[str], names: Sequence[str], classes: int | None, *, flat: bool
) -> _ClassFolders:
    """Return the classes of the folders of a split, which are sorted by name.

    Folders are synsets of ImageNet, those that the lines `names` of classnames.txt call by name, numbers from 0, or
    from 1 if one is the number of classes, or else classes in the order of their names. `classes` is the published
    number. `flat` if ILSVRC validation files lie beside the folders. Raises DataError for folders that are of no class
    or of a layout, and where two readings are possible.
    """
    unknown = [name for name in folders if name not in synset_classes()]
    if not unknown:
        unread = f"the lines of {CLASSNAMES} are not read: folders of synsets are ImageNet's classes, with its names."
        notes = (unread,) if names and len(names) != CLASSES else ()
        return _ClassFolders(synset_classes(), (), CLASSES, notes, f"{SYNSETS}; {IMAGENET_NAMES}")
    if flat:
        raise DataError(
            f"{folder} has ILSVRC validation files beside the folder {unknown[0]}, which is no synset of ImageNet-1k: "
            "move the folder away, or the files into the folders of their synsets."
        )
    named = {*map(fold_name, folders)} <= {*map(fold_name, names)}
    if all(map(_is_number, folders)) and (classes or names or {*map(int, folders)} == {*range(len(folders))}):
        _check_numbers(folder, folders)
        if not named or classes:
            return _read_numbers(folder, folders, names, classes)
        folders = sorted(folders, key=int)
    if classes or (len(unknown) < len(folders) and not named):
        raise DataError(
            f"{folder} has {len(unknown)} folders that are no ImageNet-1k synsets, the first {unknown[0]}; expected "
            "names such as n01440764: move the synset folders up, or the others away, or, if all are classes of your "
            f"own, write all their names into {CLASSNAMES}."
        )
    if not named and (is_layout(folders) or ([*folders] == [DATA] and describe_label_files([folder]))):
        _refuse_layout(folder, folders)
    return _read_names(folder, folders, names) if names else _own_classes(folders)


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdecimal()


def _refuse_layout(folder: Path, folders: Sequence[str]) -> None:
    beside = describe_label_files([folder, *(folder / name for name in folders), folder.parent])
    raise DataError(
        f"{folder} has the folders {', '.join(folders[:5])}, which belong to a layout and are no classes: expected a "
        f"folder of pictures for each class.{beside or ' Give the folder of one split, sorted into folders by class.'}"
    )


def _check_numbers(folder: Path, folders: Sequence[str]) -> None:
    """Raise DataError for two folders of one number."""
    first = dict[int, str]()
    for name in folders:
        if (other := first.setdefault(int(name), name)) != name:
            raise DataError(f"{folder} has the class folders {other} and {name}, which are one number: rename one.")


def _read_numbers(folder: Path, folders: Sequence[str], names: Sequence[str], classes: int | None) -> _ClassFolders:
    """Return the classes of numbered folders."""
    numbers = {name: int(name) for name in folders}
    there, count = {*numbers.values()}, classes or len(names) or len(folders)
    notes = list[str]()
    if there == {*range(1, count + 1)}:
        numbers = {name: number - 1 for name, number in numbers.items()}
        notes.append(f"class folders are numbered from 1: {min(folders, key=int)} is class 0.")
    elif max(there) >= count:
        last = max(folders, key=int)
        raise DataError(
            f"{folder} has the class folder {last}, label {int(last)}, expected 0 to {count - 1}, one a "
            f"{'line of classnames.txt' if names and not classes else 'class'}: rename the folders, or add the names. "
            "Numbers begin at 0, or at 1 if there is a folder for each class."
        )
    elif names and not classes and 0 not in there:
        raise DataError(
            f"{folder} has the class folders {', '.join(sorted(folders, key=int)[:5])} and {count} lines in "
            f"{CLASSNAMES}. Are they numbered from 0, or from 1? Add an empty folder 0 if they begin at 0, or an empty "
            f"folder {count} if they begin at 1."
        )
    elif not names and not classes and count > TEXT_ORDER:
        notes.append(
            "class folders are numbers, and the class is the number: 2 comes before 10 (torchvision's ImageFolder "
            "sorts them as text, 10 before 2)."
        )
    if not names and not classes and count != CLASSES:
        notes.append(
            f"the classes are called by numbers, 0 to {count - 1}, also in prompts: give names in {CLASSNAMES}."
        )
    own = () if classes else tuple(names) or tuple(map(str, range(count)))
    source = IMAGENET_NAMES if classes else LINES if names else "class names: these numbers"
    first = min(map(int, folders)) - min(numbers.values())
    return _ClassFolders(numbers, own, count, tuple(notes), f"labels: numbers of the folders from {first}; {source}")


def _own_classes(folders: Sequence[str]) -> _ClassFolders:
    """Return classes in the order of the folders' names."""
    notes: tuple[str, ...] = ()
    if all(map(_is_number, folders)) and [*folders] != sorted(folders, key=int):
        shown = ", ".join(folders[:3])
        notes = (f"class folders are numbers with gaps or from 1 and are classes in the order of text: {shown} ….",)
    if all(map(SYNSET.fullmatch, map(str.lower, folders))):
        notes = (
            f"the classes are called by synsets, such as {folders[0]}, also in prompts: name them in {CLASSNAMES}.",
        )
    provenance = f"labels: {IN_ORDER}; class names: those of the folders"
    return _ClassFolders(
        {name: index for index, name in enumerate(folders)}, tuple(folders), len(folders), notes, provenance
    )


def _read_names(folder: Path, folders: Sequence[str], names: Sequence[str]) -> _ClassFolders:
    """Return the classes of folders that the lines of classnames.txt name, by name if they have the same names."""
    forms = {fold_name(name): line for line, name in enumerate(names)}
    own = [forms.get(fold_name(name)) for name in folders]
    lines = [line for line in own if line is not None]
    if twice := [name for line, name in enumerate(names) if line < forms[fold_name(name)] in lines]:
        raise DataError(
            f"{folder}: {CLASSNAMES} has '{twice[0]}' on two lines, {names.index(twice[0]) + 1} and "
            f"{forms[fold_name(twice[0])] + 1}: write each name once."
        )
    if len(lines) == len(folders) == len({*lines}) and len(forms) == len(names):
        return _match_names(folders, names, lines)
    if len(names) != len(folders):
        raise DataError(
            f"{folder} has {len(folders)} class folders and {len(names)} lines in classnames.txt: give one line for "
            "every folder, in the order of their names, and an empty folder for a class without pictures."
        )
    for index, line in enumerate(_nearest_lines(folders, names, own)):
        if line not in (None, index):
            raise DataError(
                f"{folder} has the class folder {folders[index]}, which is number {index + 1} of the folders in order "
                f"and called '{names[index]}' by that line of {CLASSNAMES}, but line {(line or 0) + 1} has its own "
                "name: give the lines in the order of the folders' names, or the folders' own names on all lines."
            )
    return _ClassFolders(
        {name: index for index, name in enumerate(folders)},
        tuple(names),
        len(folders),
        _describe_order(folders, names),
        f"labels: {IN_ORDER}; {LINES}, in the same order",
    )


def _nearest_lines(folders: Sequence[str], names: Sequence[str], own: Sequence[int | None]) -> Sequence[int | None]:
    """Return the line of each folder's own name, also if it is spelled in another way, such as with a number before."""
    lines_by_words: dict[tuple[str, ...], list[int]] = {}
    for line, name in enumerate(names):
        lines_by_words.setdefault(_words(name), []).append(line)
    words = [*map(_words, folders)]
    near = [lines_by_words.get(key, []) if key and words.count(key) == 1 else [] for key in words]
    return [
        line if line is not None else lines[0] if len(lines) == 1 else None
        for line, lines in zip(own, near, strict=True)
    ]


def _words(name: str) -> tuple[str, ...]:
    """Return the words of a name without articles, numbers, punctuation and the s of a plural.

    >>> _words("002.GuineaPigs"), _words("a guinea-pig")
    (('guinea', 'pig'), ('guinea', 'pig'))
    """
    spaced_name = re.sub(r"([a-z])([A-Z])", r"\1 \2", normalize("NFC", name)).casefold()
    return tuple(word.removesuffix("s") for word in re.findall(r"[^\W\d_]+", spaced_name) if word not in ARTICLES)


def _match_names(folders: Sequence[str], names: Sequence[str], lines: Sequence[int]) -> _ClassFolders:
    """Return the classes of folders; one line names each of them."""
    if len(names) > len(folders):
        note = (
            f"{len(names) - len(folders):,} of the {len(names):,} classes in {CLASSNAMES} have no folder; each "
            "folder is the class of its name, and classes have the order of the lines."
        )
        provenance = f"labels: folders by their names in {CLASSNAMES}; {LINES}"
        return _ClassFolders(dict(zip(folders, lines, strict=True)), tuple(names), len(names), (note,), provenance)
    notes: tuple[str, ...] = ()
    if [*lines] != sorted(lines):
        note = (
            f"{CLASSNAMES} has the folders' names in another order: each line names the folder of its name, and "
            "classes have the order of the folders."
        )
        notes = (note,)
    return _ClassFolders(
        {name: index for index, name in enumerate(folders)},
        tuple(names[line] for line in lines),
        len(folders),
        notes,
        f"labels: {IN_ORDER}; {LINES} with the folders' names",
    )


def _describe_order(folders: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return a note on the order of the folders, where file managers show another one."""
    orders = (sorted(folders, key=str.casefold), sorted(folders, key=_natural), sorted(folders, key=_letters))
    if all([*folders] == order for order in orders):
        return ()
    pairs = ", ".join(f"{folder} is '{name}'" for folder, name in zip(folders[:3], names[:3], strict=True))
    return (f"the lines of {CLASSNAMES} name the folders in the order of their characters: {pairs} ….",)


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a name with its numbers as numbers, as file managers sort it."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"([0-9]+)", name.casefold())]


def _letters(name: str) -> str:
    """Return the letters and digits of a name, which locales sort by."""
    return "".join(filter(str.isalnum, name.casefold()))
