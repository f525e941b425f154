"""Names of files, folders and classes: those that systems leave behind, spellings of one name, and their encoding."""

from collections.abc import Iterable, Mapping, Sequence
from unicodedata import normalize

from eyechart.errors import DataError
from eyechart.path_encoding import check_locale, printable

SYSTEM_NAMES = frozenset(
    {
        "__macosx", "icon\r", "network trash folder", "temporary items", "thevolumesettingsfolder",  # macOS
        "thumbs.db", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini", "$recycle.bin", "recycler", "recycled",
        "system volume information",  # Windows
        "@eadir", "@tmp", "@sharebin", "@sharesnap", "@database", "@recycle", "@recently-snapshot", "@snapshot",
        "#recycle", "#snapshot", "~snapshot", "@synoresource", "@synoeastream",  # network storage
        "lost+found", "aquota.user", "aquota.group",  # file systems
        "paxheader",
        "paxheaders",
        "__pycache__", "ipynb_checkpoints", "cvs",  # notebooks and tools
    }
)  # fmt: skip
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))  # signs without width that texts are copied with
SYSTEM_STARTS = (".", "found.0", "~$")  # hidden files and folders, what chkdsk restores, and locks of office programs


def is_system(name: str) -> bool:
    """Return whether a file or folder of this name was left behind by a system, or is hidden; it holds no data.

    >>> is_system("__MACOSX"), is_system("._red.png"), is_system("@eaDir"), is_system("red")
    (True, True, True, False)
    """
    return name.casefold().startswith(SYSTEM_STARTS) or name.casefold() in SYSTEM_NAMES


def check_encoding(path: str, where: str = "") -> None:
    """Raise DataError for the path of a file, or of a member of the archive `where`, that is not UTF-8."""
    check_locale(path)
    try:
        path.encode()
    except UnicodeEncodeError as error:
        shown = printable(path)
        what = f"{printable(where)} has the member {shown}, whose name" if where else f"The name {shown}"
        raise DataError(
            f"{what} is not UTF-8: rename it, for example all names in a folder with "
            "convmv -f latin1 -t utf8 -r --notest FOLDER."
        ) from error


def spaced(name: str) -> str:
    """Return the name of a class as prompts have it: with spaces in place of underscores.

    >>> spaced("dog_face"), spaced("_")
    ('dog face', '_')
    """
    return " ".join(name.replace("_", " ").split()) or name if "_" in name else name


def fold_name(name: str) -> str:
    """Return the form in which names of classes are compared: composed, without case, underscores and invisible signs.

    >>> fold_name("Dog_Face ") == fold_name("dog face")
    True
    """
    return " ".join(normalize("NFC", name.translate(INVISIBLE)).replace("_", " ").casefold().split())


def space_names(names: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """Return the names of classes with spaces in place of underscores, and a note about it, "" without underscores.

    The names stay as they are, which the note says, where two of them would become equal.
    """
    changed = [name for name in names if spaced(name) != name]
    if not changed:
        return tuple(names), ""
    count = f"{len(changed):,} of {len(names):,} class names have underscores, such as '{changed[0]}'"
    new = tuple(map(spaced, names))
    if len({*map(fold_name, new)}) < len({name.casefold() for name in names}):
        return tuple(names), f"{count}; they stay in prompts, since two names would be equal with spaces."
    return new, f"{count}; they are asked for with spaces, as '{spaced(changed[0])}'."


def composed(names: Iterable[str]) -> Mapping[str, str]:
    """Return each name by its composed Unicode form, without forms that several names have.

    macOS writes decomposed names, so that two names may look alike and differ.
    """
    by_form: dict[str, str] = {}
    shared = set[str]()
    for name in names:
        if by_form.setdefault(normalize("NFC", name), name) != name:
            shared.add(normalize("NFC", name))
    return {form: name for form, name in by_form.items() if form not in shared}
