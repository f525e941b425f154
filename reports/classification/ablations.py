"""Ablations of one option, all else equal: Tables 11 to 14 and 18 of arXiv 2603.06578."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..answers import Bools, paired_change
from ..render import Cell, NumberCell, Table
from ..runs import CaseRun, ComparableCases, EmptyTableError, Runs
from .best_variant import accuracy
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
from .pages import INTERVALS, WILSON

NO_TEMPLATES, USUAL_TEMPLATES = "none", "80"  # templates; the published ones are marked by the dagger alone
ORDERS = {"random": "Random", "same_class": "Same-Class"}
RESPONSES = {"id": "ID", "name": "Class name"}


@dataclass(frozen=True)
class Ablation:
    """The definition of a table: the option, the options that depend on it, and the names and order of its values."""

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
    option: str, names: Mapping[str, str]
) -> tuple[Callable[[CaseRun], str], Callable[[CaseRun], Any]]:
    """Return two functions of a case: the published name of an option's value, and its sort key."""
    values = [*names]

    def order(case: CaseRun) -> tuple[int, str]:
        value = case.option(option)
        return values.index(value) if value in values else len(values), value

    return lambda case: names.get(case.option(option), case.option(option)), order


def images_per_request(case: CaseRun) -> int:
    """Return the number of images per request."""
    return int(case.option("images_per_request", "1"))


def embedding_space(case: CaseRun) -> str:
    """Return the text embedding space, with a dagger for templates; text inclusion has none."""
    if case.option("mapping") == "inclusion":
        return "text inclusion"
    mark = {NO_TEMPLATES: "", USUAL_TEMPLATES: "†"}.get(
        templates := case.option("text_templates", NO_TEMPLATES), f"† ({templates})"
    )
    return f"{case.option('text_encoder')}{mark}"


def embedding_space_order(case: CaseRun) -> tuple[bool, str, bool, str]:
    """Return the sort key: text inclusion first, then by encoder, without templates first."""
    templates = case.option("text_templates", NO_TEMPLATES)
    return case.option("mapping") != "inclusion", case.option("text_encoder"), templates != NO_TEMPLATES, templates


CLOSED = "pytest -k closed_world"
BATCHES = Ablation(
    "T11", "closed_world", ("images_per_request",), "Batch", "images per request",
    f"{CLOSED} --eye-set=closed_world.images_per_request=1,5,10",
    lambda case: case.option("images_per_request"), images_per_request,
)  # fmt: skip
ORDERINGS = Ablation(
    "T12", "closed_world", ("image_order",), "In-Batch Ordering", "the order of images",
    f"{CLOSED} --eye-set=closed_world.images_per_request=10 --eye-set=closed_world.image_order=random,same_class",
    *value_name_and_order("image_order", ORDERS),
    categories=("A",), changes="all",
)  # fmt: skip
ANSWERS = Ablation(
    "T14", "closed_world", ("answer", "prompt", "parser_version"), "Response", "answers by class id and by class name",
    f"{CLOSED} --eye-set=closed_world.answer=name,id", *value_name_and_order("answer", RESPONSES), changes="accuracy",
)  # fmt: skip
ENCODERS = Ablation(
    "T18", "open_world", ("text_encoder", "mapping", "text_templates"), "Emb. Space", "text embedding spaces",
    "pytest -k open_world --eye-set=open_world.text_encoder=A,B --eye-set=open_world.text_templates=none,80",
    embedding_space, embedding_space_order, with_out_of_prompt=False,
)  # fmt: skip


def t11(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 11: one, five and ten images per request."""
    return [ablation_table(BATCHES, group, label_set) for group, label_set in select_ablations(BATCHES, runs, labels)]


def t12(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 12: requests with mixed classes, and requests of one class each."""
    return [
        ablation_table(ORDERINGS, group, label_set) for group, label_set in select_ablations(ORDERINGS, runs, labels)
    ]


def t14(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 14: class ids and class names as answers."""
    return [ablation_table(ANSWERS, group, label_set) for group, label_set in select_ablations(ANSWERS, runs, labels)]


def t18(runs: Runs, labels: str | None) -> list[Table]:
    """Return Table 18: text encoders that map open-world answers, without and with templates."""
    return [ablation_table(ENCODERS, group, label_set) for group, label_set in select_ablations(ENCODERS, runs, labels)]


def select_ablations(ablation: Ablation, runs: Runs, labels: str | None) -> list[tuple[ComparableCases, str]]:
    """Return the groups with a model that has several values of the option, reduced to these cases."""
    selected = [
        (group.with_protocols(ablation.protocol).select(case for block in blocks for case in block), label_set)
        for group, label_set in runs.iter_labels(labels)
        if (blocks := ablation_blocks(ablation, group, label_set))
    ]
    if not selected:
        raise EmptyTableError(
            f"{ablation.table} compares {ablation.subject} of one model, all else equal; these runs have "
            f"{runs.describe()}. Make them with: {ablation.remedy}"
        )
    return selected


def ablation_blocks(ablation: Ablation, group: ComparableCases, labels: str) -> list[list[CaseRun]]:
    """Return the cases of each model that differ only in the option, ordered by value; models by best accuracy."""
    blocks_by_model: dict[tuple[str, str], list[CaseRun]] = {}
    for case in group.with_protocols(ablation.protocol).scored_under(group.reference, labels):
        blocks_by_model.setdefault((case.model, case.prompt_settings_without(ablation.options)), []).append(case)
    blocks = [sorted(block, key=ablation.sort_key) for block in blocks_by_model.values() if len(block) > 1]
    return sorted(blocks, key=lambda block: max(accuracy(case, group.reference) for case in block))


def ablation_table(ablation: Ablation, group: ComparableCases, labels: str) -> Table:
    """Return the table of one group, one value of the option per row."""
    names = group.model_names(ablation.options)
    rows = [
        {
            "Model": names[id(case)],
            ablation.head: ablation.format_value(case),
            **dict(row_cells(ablation, case, block, group, labels)),
        }
        for block in ablation_blocks(ablation, group, labels)
        for case in block
    ]
    return Table(
        f"{group.title}: {ablation.subject}, accuracy (%), {group.reference} and {labels}",
        tuple(rows[0]),
        tuple(tuple(row.values()) for row in rows),
        (
            *ablation_notes(ablation, group.cases),
            f"{coverage_note((group.reference, labels))} {COVERED_BY_BLOCK}",
            *group.notes(ablation.options),
        ),
        {"split": group.title, "labels": labels},
    )


def row_cells(
    ablation: Ablation, case: CaseRun, block: Sequence[CaseRun], group: ComparableCases, labels: str
) -> Iterator[tuple[str, Cell]]:
    """Yield the cells of one row; those over all images with their change from the block's first row."""
    first, images = block[0], block_images(block, (group.reference, labels))
    for head, key in column_keys(group.reference, labels, ablation.categories).items():
        yield head, accuracy_cell(case, key, images)
        if ablation.changes and key[1] == "A":
            yield f"{head} Δ", accuracy_change(first, case, key, images) if case is not first else None
    if ablation.with_out_of_prompt:
        yield "OOP", as_count(out_of_prompt_rate(case, (labels, "A"), images))
    if ablation.with_out_of_prompt and ablation.changes == "all":
        yield "OOP Δ", out_of_prompt_change(first, case, images) if case is not first else None


def out_of_prompt_change(before: CaseRun, after: CaseRun, images: Bools) -> NumberCell:
    """Return how many more answers are out of the prompt, over the same images."""
    before_values, after_values = (text_columns(case).out_of_prompt for case in check_same_images((before, after)))
    return as_count(paired_change(before_values, after_values, images), signed=True)


def ablation_notes(ablation: Ablation, cases: Sequence[CaseRun]) -> Iterator[str]:
    """Yield the explanation of the table and the options that depend on each value."""
    if len(ablation.options) > 1:
        yield from dict.fromkeys(
            f"{ablation.format_value(case)}: {', '.join(f'{name} {case.option(name)}' for name in ablation.options)}."
            for case in sorted(cases, key=ablation.sort_key)
        )
    if ablation.with_out_of_prompt:
        yield "OOP: number of answers out of the prompt."
    if ablation.changes:
        yield "Δ: change from the first row of the model, over the same images."
    if ablation.protocol == "open_world":
        yield "†: class names and answers in templates, the mean of their embeddings."
    yield INTERVALS if ablation.changes else WILSON
