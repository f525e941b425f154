"""Names of files, folders and classes: those that systems leave behind, spellings of one name, and their encoding."""

import re
from collections.abc import Iterable, Mapping, Sequence
from unicodedata import normalize

from eyechart.errors import DataError
from eyechart.files.path_encoding import check_locale, printable

NUMBERED = re.compile(r"([0-9]{1,6})([\s,;:.)]+)[^\s-]")  # a line such as `0 cat`, `0: cat`, `1. cat` or `0,cat`
NUMBER_LAST = re.compile(r".*\S\s*[\t,;:=]\s*([0-9]{1,6})")  # a line such as `cat,0` or `cat: 0`
QUOTED = re.compile(r"""(["']).+\1,?""")  # a line such as `"cat"` or `'cat',`, as lists in a program have them
BRACKETS = ("[", "]", "(", ")", "{", "}", "],", "),")  # alone on a line of such a list
SYSTEM_NAMES = frozenset(
    {
        "icon\r", "network trash folder", "temporary items", "thevolumesettingsfolder", "thefindbycontentfolder",
        "desktop db", "desktop df",  # macOS
        "thumbs.db", "ehthumbs.db", "ehthumbs_vista.db", "desktop.ini", "$recycle.bin", "recycler", "recycled",
        "system volume information", "msocache", "config.msi", "lost.dir", "wpsystem",  # Windows, Android
        "$windows.~bt", "$windows.~ws", "$winreagent", "$sysreset", "$getcurrent", "$extend", "$av_asw",
        "@eadir", "@tmp", "@sharebin", "@sharesnap", "@database", "@recycle", "@recently-snapshot", "@snapshot",
        "#recycle", "#snapshot", "~snapshot", "@__thumb", "trashbox", "network recycle bin", "@appstore", "@homes",
        "@activebackup", "@quarantine", "@maillog", "@transcode", "_gsdata_",  # network storage
        "lost+found", "aquota.user", "aquota.group",  # file systems
        "paxheader",
        "__pycache__", "ipynb_checkpoints", "cvs", "_temporary", "_spark_metadata", "_vti_cnf", "_vti_pvt",
        "node_modules", "site-packages", "mlruns", "wandb", "lightning_logs",  # notebooks and tools
    }
)  # fmt: skip
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u2060\ufeff"))  # signs without width that texts are copied with
SYSTEM_STARTS = (
    *(".", "found.0", "~$"),  # hidden files and folders, what chkdsk restores, and locks of office programs
    *("__macosx", "thumbs.db:", "@syno", "paxheaders", "gnusparsefile."),  # with a number or a stream after them
)


def is_system(name: str) -> bool:
    """Return whether a file or folder of this name was left behind by a system, or is hidden; it holds no data.

    >>> is_system("__MACOSX"), is_system("._red.png"), is_system("@eaDir"), is_system("red")
    (True, True, True, False)
    """
    name = name.casefold()
    return name.startswith(SYSTEM_STARTS) or name in SYSTEM_NAMES


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
    """Return the name of a class as prompts have it: with spaces instead of underscores.

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
    """Return the names of classes with spaces instead of underscores, and a note about it, "" without underscores.

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


def check_name_lines(path: object, lines: Sequence[str]) -> None:
    """Raise DataError for lines of class names that are numbered, in quotes or items of a list: no part of a name.

    `1 finger`, `2 fingers` … are names: a space alone, and numbers in the order of the lines.
    """
    lines = [line for line in lines if line not in BRACKETS]
    matches = [*map(NUMBERED.match, lines)]
    numbers = [int(match[1]) for match in matches if match]
    numbered = sorted(numbers) in ([*range(len(lines))], [*range(1, len(lines) + 1)])
    names = numbered and numbers == sorted(numbers) and all(match and match[2] == " " for match in matches)
    last = [int(match[1]) for match in map(NUMBER_LAST.fullmatch, lines) if match]
    forms = {
        "numbered": (numbered and not names) or sorted(last) in ([*range(len(lines))], [*range(1, len(lines) + 1)]),
        "in quotes": all(map(QUOTED.fullmatch, lines)),
        "items of a list": all(line.startswith(("- ", "* ")) for line in lines),
    }
    if len(lines) > 1 and (form := next((form for form, found in forms.items() if found), "")):
        raise DataError(
            f"{path} begins with {lines[0]!r}, and all its lines are {form}. Write "
            "one class name on every line, in the order of the numbers of the classes, and nothing else."
        )
