"""Means over repeats: multiple choice and repeated closed worlds, Tables 7, 17 and 19 of arXiv 2603.06578."""

from collections.abc import Mapping, Sequence

from eyechart.classification.multiple_choice import CLOSED_WORLD, SETTINGS
from eyechart.classification.options import SHORT

from ..answers import Bools, share
from ..render import Cell, Row, Table
from ..runs import REPEATED, Entry, Group, NothingToShowError, Pool
from .categories import listed
from .chosen import accuracy, oddity
from .columns import Spot, compared_images, counted, coverage_note, mean_over_rounds, spots

MC, CW = "multiple_choice", "closed_world"
VARIED = ("setting", "distractors", "encoder")
STUDENT = (
    "±: 95 % intervals of the mean over the repeats, Student's t, as published: what other repeats of the same images "
    "would give; over other images, see the record. Brackets: 95 % intervals, Wilson, of one run."
)
ROWS = (*SETTINGS, CLOSED_WORLD)
WITHOUT_TEXT = tuple(row for row in ROWS if row not in SETTINGS or SETTINGS[row].hardness != "text")


def t19(pool: Pool, labels: str | None) -> list[Table]:
    """Table 19: multiple choice by where the distractors come from, every model."""
    return [setting_table(group, everything, truth, ROWS) for group, everything, truth in asked(pool, labels, "T19")]


def t7(pool: Pool, labels: str | None) -> list[Table]:
    """Table 7: the same without neighbours in text space, for one model: the best in closed world."""
    return [
        setting_table(of_one(group, everything, truth), everything, truth, WITHOUT_TEXT)
        for group, everything, truth in asked(pool, labels, "T7")
    ]


def asked(pool: Pool, labels: str | None, name: str) -> list[tuple[Group, Group, str]]:
    """The multiple choices of every group under every ground truth, with the group they come from."""
    found = [
        (group.only(entries), group, truth)
        for group, truth in pool.each(labels)
        if (entries := [entry for entry in group.of(MC).entries if truth in entry.labels])
    ]
    if not found:
        raise NothingToShowError(
            f"{name} compares settings of multiple choice; these runs have {listed(pool)}. "
            'Make them with: pytest -k "multiple_choice or closed_world" --eye-set=multiple_choice.setting=all'
        )
    return found


def of_one(group: Group, everything: Group, labels: str) -> Group:
    """The model with the best closed world, or without any the best first setting."""
    best = max(blocks(group, everything, labels).values(), key=lambda block: strength(block, everything, labels))
    said = [f"One model, the best in closed world: T19 has {len({entry.model for entry in group.entries})}."]
    chosen = [entry for entry in group.entries if entry.model == best[0].model]
    return group.only(chosen, *said * (len(chosen) < len(group.entries)))


def blocks(group: Group, everything: Group, labels: str) -> Mapping[str, list[Entry]]:
    """The rows of each model by its name, and by how it was asked where it was asked in several ways, best last."""
    names = group.names(VARIED)
    found: dict[str, list[Entry]] = {}
    for entry in sorted(group.entries, key=place):
        found.setdefault(names[id(entry)], []).append(entry)
    return dict(sorted(found.items(), key=lambda item: strength(item[1], everything, labels)))


def strength(block: Sequence[Entry], everything: Group, labels: str) -> tuple[float, float]:
    """A model's accuracy in closed world, or else in the first of its settings; then that under the reference."""
    shown = closed_world(everything, block[0], labels) or block[0]
    return accuracy(shown, labels), accuracy(shown, everything.reference)


def place(entry: Entry) -> int:
    """Where a setting stands in the published table; one that is not there stands last."""
    return ROWS.index(setting(entry)) if setting(entry) in ROWS else len(ROWS)


def setting(entry: Entry) -> str:
    """The setting as the published table writes it."""
    chosen = entry.choice("setting")
    return SHORT.get(chosen, chosen)


def closed_world(group: Group, like: Entry, labels: str) -> Entry | None:
    """The model's closed world: repeated ones first, read in the same way, asked in the usual way, the best."""

    def order(entry: Entry) -> tuple[bool, bool, list[bool], float, float]:
        same = entry.choice("reading") == like.choice("reading")
        usual = [not odd for odd in oddity(entry, "images")]
        accuracies = accuracy(entry, labels), accuracy(entry, group.reference)
        return entry.headline == REPEATED, same, usual, *accuracies

    return max(
        (e for e in group.of(CW).entries if e.model == like.model and labels in e.labels), key=order, default=None
    )


def setting_table(group: Group, everything: Group, labels: str, settings: Sequence[str]) -> Table:
    """One group's rows, model by model, each with its closed world last."""
    shown = group.only(entry for entry in group.entries if place(entry) == len(ROWS) or setting(entry) in settings)
    columns = spots(group.reference, labels)
    rows: list[Row] = []
    worlds: list[Entry] = []
    for name, block in blocks(shown, everything, labels).items():
        rows += [(name, setting(entry), *means(entry, columns)) for entry in block]
        if world := closed_world(everything, block[0], labels):
            rows.append((name, f"{CLOSED_WORLD} (CW)", *means(world, columns)))
            worlds.append(world)
    return Table(
        f"{group.title}: multiple choice, accuracy (%) by distractors, {group.reference} and {labels}",
        ("Model", "Distractors", *columns),
        tuple(rows),
        (*explained(shown, worlds, settings), coverage_note((group.reference, labels)), *shown.notes(VARIED)),
        {"split": group.title, "labels": labels},
    )


def means(entry: Entry, columns: Mapping[str, Spot]) -> list[Cell]:
    """One row's numbers: means over the rounds, each over the images that all ground truths of the columns score."""
    masks = covered(entry, columns)
    cells: list[Cell] = []
    for name, category in columns.values():
        if name not in entry.answers.truths:
            cells.append(None)
            continue
        truths = [answers.truths[name] for answers in entry.rounds]
        pairs = zip(truths, masks, strict=True)
        cells.append(mean_over_rounds([share(each.correct, each.mask(category) & images) for each, images in pairs]))
    return cells


def covered(entry: Entry, columns: Mapping[str, Spot]) -> list[Bools]:
    """Return for each round the mask (n,) of the images that all ground truths of the columns score."""
    names = [name for name in dict.fromkeys(name for name, _ in columns.values()) if name in entry.answers.truths]
    return [compared_images([answers], names) for answers in entry.rounds]


def explained(group: Group, worlds: Sequence[Entry], settings: Sequence[str]) -> list[str]:
    """Where distractors come from, which rows are missing, and how the closed world was asked."""
    said = [STUDENT, *dict.fromkeys(f"{setting(entry)}: {source(entry)}." for entry in group.entries if source(entry))]
    said += dict.fromkeys(f"{CLOSED_WORLD} is the closed world, {world.wording}." for world in worlds)
    had = {*map(setting, group.entries), *[CLOSED_WORLD] * bool(worlds)}
    missing = [name for name in settings if name not in had]
    return said + [f"Not in these runs: {'; '.join(missing)}."] * bool(missing)


def source(entry: Entry) -> str:
    """Where hard distractors come from."""
    known = SETTINGS.get(setting(entry))
    made = {"confusion": "distractors", "text": "encoder"}.get(known.hardness if known else "")
    return f"{made} {entry.choice(made)}" if made else ""


def t17(pool: Pool, labels: str | None) -> list[Table]:
    """Table 17: a closed world asked again and again; mean accuracy, and answers out of the prompt on average."""
    found = [
        (group.only(entries), truth)
        for group, truth in pool.each(labels)
        if (entries := [entry for entry in group.entries if entry.headline == REPEATED and truth in entry.labels])
    ]
    if not found:
        raise NothingToShowError(
            f"T17 shows how far repeated evaluations of a closed world differ; these runs have {listed(pool)}. "
            "Make them with: pytest -k closed_world --eye-set=closed_world.evaluations=31"
        )
    return [t17_table(group, truth) for group, truth in found]


def t17_table(group: Group, labels: str) -> Table:
    """One group's models."""
    columns, names = spots(group.reference, labels), group.names(("images",))
    rows = [(names[id(e)], e.choice("images"), *means(e, columns), outputs(e, columns)) for e in group.entries]
    said = "OOP: answers out of the prompt in one evaluation, on average."
    return Table(
        f"{group.title}: repeated evaluations, accuracy (%), {group.reference} and {labels}",
        ("Model", "Batch", *columns, "OOP"),
        tuple(rows),
        (said, STUDENT, coverage_note((group.reference, labels)), *group.notes()),
        {"split": group.title, "labels": labels},
    )


def outputs(entry: Entry, columns: Mapping[str, Spot]) -> Cell:
    """How many answers were out of the prompt, of the images that the other columns cover."""
    pairs = zip(entry.rounds, covered(entry, columns), strict=True)
    found = [share(answers.words.outside, images) for answers, images in pairs if answers.words]
    return counted(mean_over_rounds(found), 2) if found else None
