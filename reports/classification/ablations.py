"""One choice changed and all else equal: the published Tables 11 to 14 and 18 of arXiv 2603.06578."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..answers import Bools, paired_change
from ..render import Cell, NumberCell, Table
from ..runs import CaseRun, ComparableCases, EmptyTableError, Runs
from .best_variant import accuracy
from .categories import INTERVALS, WILSON, describe_runs
from .estimators import (
    CATEGORY_COLUMNS,
    COVERED_BY_BLOCK,
    accuracy_cell,
    accuracy_change,
    as_count,
    block_images,
    check_same_images,
    column_keys,
    coverage_note,
    out_of_prompt_rate,
    text_columns,
)

NO_TEMPLATES, USUAL_TEMPLATES = "none", "80"  # templates; the published ones are marked by the dagger alone
ORDERS = {"random": "Random", "same_class": "Same-Class"}
RESPONSES = {"id": "ID", "name": "Class name"}


@dataclass(frozen=True)
class Ablation:
    """What a table compares: a choice with those that follow from it, and how its values are called and sorted."""

    table: str
    protocol: str
    options: tuple[str, ...]
    head: str
    subject: str
    remedy: str
    format_value: Callable[[CaseRun], str]
    sort_key: Callable[[CaseRun], Any]
    categories: tuple[str, ...] = CATEGORY_COLUMNS
    changes: Literal["", "accuracy", "all"] = ""  # which numbers stand with their change from the first row
    with_out_of_prompt: bool = True  # whether answers out of the prompt are counted


def value_name_and_order(
    choice: str, names: Mapping[str, str]
) -> tuple[Callable[[CaseRun], str], Callable[[CaseRun], Any]]:
    """How the values of a choice are called, and their order, as the published table has them."""
    places = [*names]

    def order(entry: CaseRun) -> tuple[int, str]:
        value = entry.option(choice)
        return places.index(value) if value in places else len(places), value

    return lambda entry: names.get(entry.option(choice), entry.option(choice)), order


def images_per_request(entry: CaseRun) -> int:
    """How many images a request showed."""
    return int(entry.option("images", "1"))


def embedding_space(entry: CaseRun) -> str:
    """The text embedding space, with a dagger for templates; text inclusion has none."""
    if entry.option("mapping") == "inclusion":
        return "text inclusion"
    mark = {NO_TEMPLATES: "", USUAL_TEMPLATES: "†"}.get(
        templates := entry.option("text_templates", NO_TEMPLATES), f"† ({templates})"
    )
    return f"{entry.option('encoder')}{mark}"


def embedding_space_order(entry: CaseRun) -> tuple[bool, str, bool, str]:
    """Text inclusion first, then encoder by encoder, without templates and with."""
    templates = entry.option("text_templates", NO_TEMPLATES)
    return entry.option("mapping") != "inclusion", entry.option("encoder"), templates != NO_TEMPLATES, templates


CLOSED = "pytest -k closed_world"
BATCHES = Ablation(
    "T11", "closed_world", ("images",), "Batch", "images a request",
    f"{CLOSED} --eye-set=closed_world.images=1,5,10", lambda e: e.option("images"), images_per_request,
)  # fmt: skip
ORDERINGS = Ablation(
    "T12", "closed_world", ("order",), "In-Batch Ordering", "the order of images",
    f"{CLOSED} --eye-set=closed_world.images=10 --eye-set=closed_world.order=random,same_class",
    *value_name_and_order("order", ORDERS),
    categories=("A",), changes="all",
)  # fmt: skip
ANSWERS = Ablation(
    "T14", "closed_world", ("answer", "prompt", "parser"), "Response", "answers by class id and by class name",
    f"{CLOSED} --eye-set=closed_world.answer=name,id", *value_name_and_order("answer", RESPONSES), changes="accuracy",
)  # fmt: skip
ENCODERS = Ablation(
    "T18", "open_world", ("encoder", "mapping", "text_templates"), "Emb. Space", "text embedding spaces",
    "pytest -k open_world --eye-set=open_world.encoder=A,B --eye-set=open_world.text_templates=none,80",
    embedding_space, embedding_space_order, with_out_of_prompt=False,
)  # fmt: skip


def t11(pool: Runs, labels: str | None) -> list[Table]:
    """Table 11: one, five and ten images a request."""
    return [ablation_table(BATCHES, group, truth) for group, truth in select_ablations(BATCHES, pool, labels)]


def t12(pool: Runs, labels: str | None) -> list[Table]:
    """Table 12: requests that mix classes, and requests of one class each."""
    return [ablation_table(ORDERINGS, group, truth) for group, truth in select_ablations(ORDERINGS, pool, labels)]


def t14(pool: Runs, labels: str | None) -> list[Table]:
    """Table 14: class ids and class names as answers."""
    return [ablation_table(ANSWERS, group, truth) for group, truth in select_ablations(ANSWERS, pool, labels)]


def t18(pool: Runs, labels: str | None) -> list[Table]:
    """Table 18: the text encoders that map an open world's answers, without templates and with."""
    return [ablation_table(ENCODERS, group, truth) for group, truth in select_ablations(ENCODERS, pool, labels)]


def select_ablations(what: Ablation, pool: Runs, labels: str | None) -> list[tuple[ComparableCases, str]]:
    """The groups with a model that answered under several values of the choice, and those answers alone."""
    found = [
        (group.with_protocols(what.protocol).select(entry for block in blocks for entry in block), truth)
        for group, truth in pool.iter_labels(labels)
        if (blocks := ablation_blocks(what, group, truth))
    ]
    if not found:
        raise EmptyTableError(
            f"{what.table} compares {what.subject} of one model, all else equal; these runs have "
            f"{describe_runs(pool)}. Make them with: {what.remedy}"
        )
    return found


def ablation_blocks(what: Ablation, group: ComparableCases, labels: str) -> list[list[CaseRun]]:
    """The answers that differ in the choice alone, in the order of its values; models by their best accuracy."""
    found: dict[tuple[str, str], list[CaseRun]] = {}
    for entry in group.with_protocols(what.protocol).scored_under(group.reference, labels):
        found.setdefault((entry.model, entry.prompt_settings_without(what.options)), []).append(entry)
    blocks = [sorted(block, key=what.sort_key) for block in found.values() if len(block) > 1]
    return sorted(blocks, key=lambda block: max(accuracy(entry, group.reference) for entry in block))


def ablation_table(what: Ablation, group: ComparableCases, labels: str) -> Table:
    """One group's blocks, a value a row."""
    names = group.model_names(what.options)
    rows = [
        {
            "Model": names[id(entry)],
            what.head: what.format_value(entry),
            **dict(row_cells(what, entry, block, group, labels)),
        }
        for block in ablation_blocks(what, group, labels)
        for entry in block
    ]
    return Table(
        f"{group.title}: {what.subject}, accuracy (%), {group.reference} and {labels}",
        tuple(rows[0]),
        tuple(tuple(row.values()) for row in rows),
        (
            *ablation_notes(what, group.cases),
            f"{coverage_note((group.reference, labels))} {COVERED_BY_BLOCK}",
            *group.notes(what.options),
        ),
        {"split": group.title, "labels": labels},
    )


def row_cells(
    what: Ablation, entry: CaseRun, block: Sequence[CaseRun], group: ComparableCases, labels: str
) -> Iterator[tuple[str, Cell]]:
    """One row's numbers, those over all images with their change from the block's first row."""
    first, images = block[0], block_images(block, (group.reference, labels))
    for head, spot in column_keys(group.reference, labels, what.categories).items():
        yield head, accuracy_cell(entry, spot, images)
        if what.changes and spot[1] == "A":
            yield f"{head} Δ", accuracy_change(first, entry, spot, images) if entry is not first else None
    if what.with_out_of_prompt:
        yield "OOP", as_count(out_of_prompt_rate(entry, (labels, "A"), images))
    if what.with_out_of_prompt and what.changes == "all":
        yield "OOP Δ", out_of_prompt_change(first, entry, images) if entry is not first else None


def out_of_prompt_change(before: CaseRun, after: CaseRun, images: Bools) -> NumberCell:
    """How many more answers are out of the prompt, over the same images."""
    one, other = (text_columns(entry).out_of_prompt for entry in check_same_images((before, after)))
    return as_count(paired_change(one, other, images), signed=True)


def ablation_notes(what: Ablation, entries: Sequence[CaseRun]) -> Iterator[str]:
    """What a reader must know, and what goes with each value."""
    if len(what.options) > 1:
        yield from dict.fromkeys(
            f"{what.format_value(entry)}: {', '.join(f'{name} {entry.option(name)}' for name in what.options)}."
            for entry in sorted(entries, key=what.sort_key)
        )
    if what.with_out_of_prompt:
        yield "OOP: how many answers are out of the prompt."
    if what.changes:
        yield "Δ: change from the first row of the model, over the same images."
    if what.protocol == "open_world":
        yield "†: class names and answers in templates, the mean of their embeddings."
    yield INTERVALS if what.changes else WILSON
