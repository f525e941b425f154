"""Measures of existence by set: Tables 1, 10 to 13 and 18 of arXiv 2602.18094."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import pandas as pd

from eyechart.oodbench.tables.measure_columns import COLUMNS, HEADS, MEANING, RATES, measure_cells
from eyechart.oodbench.tables.pair_frames import INITIAL, INITIAL_SETS, OOD_SETS, page_pairs
from eyechart.oodbench.tables.pair_pages import (
    PAPER,
    SOURCES,
    TIME,
    Pages,
    existence_cases,
    existence_page,
    group_by_pairs,
    pooled_pages,
    set_time,
    source_name,
    source_pages,
    suffix,
    time_note,
)
from eyechart.reports.runs import Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page, number_repeats

SET, NUMBERS = "Data Type", (*COLUMNS, *RATES.values())
CHANCE, EVERY_SET = "Random Chance", "ID/OOD-S/OOD-H"
COMMAND = 'pytest -k "oodbench and existence"'
BOTH = " --eye-set=existence.reasoning=direct,cot --eye-data=ROOT"
APOSTROPHE = (
    "Rows with an apostrophe: the initial benchmark, all flagged pairs before downsampling; it contains the sets of "
    "the main benchmark, for which no separate time is measured."
)

IMAGE_ENCODER, LANGUAGE_MODEL = "Image Encoder", "Language Model"
UNKNOWN = "-"  # as for closed models in the papers
SIGLIP, INTERNVIT = "SigLIP so400M", "InternViT-300M-448px"
# By a part of the name without case and punctuation. Sources: arXiv 2602.18094, Table 1; arXiv 2603.06578, Table 3.
ARCHITECTURES: Mapping[str, tuple[str, str]] = {
    "llavanext8b": ("CLIP-L-14", "Llama-3-8B-Instruct"),
    "deepseekvl7bchat": ("SigLIP-L & SAM-B", "DeepSeek-LLM-7B"),
    "deepseekvl2small": ("SigLIP-SO400M", "DeepSeekMoE LLM"),
    "internvl28b": (INTERNVIT, "InternLM2.5-7b-chat"),
    "internvl258b": (f"{INTERNVIT}-V2.5", "InternLM2.5-7b-chat"),
    "llama3211bvision": ("ViT-H-14", "Llama3.1-8B"),
    "qwen2vl7binstruct": ("CLIP-L-14", "Qwen2-7B"),
    "qwen25vl7binstruct": ("ViT(SwiGLU, RMSNorm)", "Qwen2.5 LLM"),
    "gpt4o": (UNKNOWN, "GPT-4"),
    "paligemma228b": (SIGLIP, "Gemma2 27B"),
    "llavaonevisionqwen272b": (SIGLIP, "Qwen2 72B"),
    "internvl3538b": ("InternViT 6B", "Qwen3 32B"),
    "qwen3vl235ba22b": ("SigLIP 2 so400M", "Qwen3 MoE"),
}
ARCHITECTURE_NOTE = (
    f"{IMAGE_ENCODER}, {LANGUAGE_MODEL}: as published (arXiv 2602.18094, Table 1; arXiv 2603.06578, Table 3), by the "
    f"name of the checkpoint; {UNKNOWN}: not published there."
)


def _find_architecture(name: str) -> tuple[str, str]:
    """Return the image encoder and the language model of a checkpoint, `UNKNOWN` for one that no table names.

    >>> _find_architecture("vllm[Qwen/Qwen2.5-VL-7B-Instruct]")
    ('ViT(SwiGLU, RMSNorm)', 'Qwen2.5 LLM')
    """
    letters = re.sub(r"[^a-z0-9]", "", name.casefold())
    return next((parts for key, parts in ARCHITECTURES.items() if key in letters), (UNKNOWN, UNKNOWN))


def _with_architectures(page: Page) -> Page:
    """Return a page whose rows also name the image encoder and the language model."""
    parts = [_find_architecture(case.record.model.spec) for case in page.cases]
    columns = {IMAGE_ENCODER: [encoder for encoder, _ in parts], LANGUAGE_MODEL: [model for _, model in parts]}
    return replace(page, names=page.names.assign(**columns))


def set_cells(
    page: Page, pairs: pd.DataFrame, columns: Sequence[str], sets: Mapping[int, Sequence[str]] | None = None
) -> pd.DataFrame:
    """Return the measures of each row of a page and each set that has pairs, with `set` and the column Data Type.

    `pairs` are all or some of `page_pairs`. `sets` names the sets of each row, which may be empty.
    """
    groups = {(row, name): part for (row, name), part in pairs.groupby(["row", "set"], observed=True)}
    wanted = [*groups] if sets is None else [(row, name) for row, names in sets.items() for name in names]
    parts = [
        measure_cells(groups.get(key, pairs.iloc[:0]), page.cases[key[0]].record.seed).assign(row=key[0], set=key[1])
        for key in wanted
    ]
    cells = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["row", "set", "column"])
    cells[SET] = cells["set"] + page.names["Suffix"].loc[cells["row"]].to_numpy()
    return cells[cells["column"].isin(columns)]


def chance_cells(columns: Sequence[str], sets: str) -> pd.DataFrame:
    """Return the cells of random answers: half of them are right and half are yes, and nothing correlates."""
    values = {name: 0.5 for name in (*HEADS.values(), "Yes") if name in columns} | {"MCC": 0.0}
    return pd.DataFrame({"row": -1, SET: sets, "column": [*values], "value": [*values.values()]})


def with_chance(page: Page) -> Page:
    """Return a page with a row before all cases, for random answers."""
    unknown = {name: UNKNOWN for name in (IMAGE_ENCODER, LANGUAGE_MODEL) if name in page.names}
    first = pd.DataFrame({**dict.fromkeys(page.names, ""), **unknown}, index=[-1]).assign(Model=CHANCE)
    return replace(page, names=pd.concat([first, page.names]))


def _pages(select: Pages) -> Pages:
    """Return the selection of tables that name the parts of each model and begin with random answers."""
    return lambda runs, labels: [with_chance(_with_architectures(page)) for page in select(runs, labels)]


def _pooled_cells(page: Page) -> pd.DataFrame:
    """Return the measures and rates of each set of the main benchmark, after those of random answers."""
    pairs = page_pairs(page)
    pairs = pairs[~pairs["set"].isin(INITIAL_SETS)]
    return pd.concat([chance_cells(NUMBERS, EVERY_SET), set_cells(page, pairs, NUMBERS)], ignore_index=True)


POOLED = TableDefinition(
    name="oodbench-existence",
    alias="oodbench-T1",
    source=PAPER,
    summary="How well models recognise present and absent categories by set, all data sets pooled.",
    pages=_pages(pooled_pages),
    needs="shows how well models recognise present and absent categories",
    command=COMMAND,
    title="OODBench: existence (%), {page}",
    cells=_pooled_cells,
    rows=("Model", IMAGE_ENCODER, LANGUAGE_MODEL, SET),
    columns=NUMBERS,
    notes=(
        "The answers of {data} are pooled: each data set is weighted by its Num.",
        MEANING,
        ARCHITECTURE_NOTE,
    ),
)


def _source_cells(page: Page) -> pd.DataFrame:
    cells = set_cells(page, page_pairs(page), NUMBERS)
    return pd.concat([chance_cells(NUMBERS, EVERY_SET), cells, time_cells(page, cells)], ignore_index=True)


def time_cells(page: Page, cells: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return the time of each row and set of some cells as cells; `names` are further columns that name a row."""
    rows = cells[["row", "set", SET, *names]].drop_duplicates()
    times = [_set_duration(page, row, name) for row, name in rows[["row", "set"]].itertuples(index=False)]
    return rows.assign(column=TIME, text=times)


def _set_duration(page: Page, row: int, name: str) -> str | None:
    """Return the time of a set; for the initial benchmark only its whole sets are timed."""
    case = page.cases[row]
    if case.option("division_scope") == "initial" and name in OOD_SETS:
        return None
    return set_time(case, name.removesuffix(INITIAL))


def _initial_note(page: Page) -> Iterator[str]:
    if any(case.option("division_scope") == "initial" for case in page.cases):
        yield APOSTROPHE


def _source_table(number: int, source: str) -> TableDefinition:
    """Return the table of a data set: main and initial benchmark and the time."""
    return replace(
        POOLED,
        name=f"oodbench-existence-{source.casefold()}",
        alias=f"oodbench-T{number}",
        summary=f"How well models recognise present and absent categories of {source} by set, and the time.",
        pages=_pages(source_pages(source)),
        needs=f"shows the existence measures on {source}",
        command=f"{COMMAND}{BOTH}, where ROOT holds {source}",
        title=f"{{page}}: {source}, existence (%)",
        cells=_source_cells,
        columns=(*NUMBERS, TIME),
        notes=(_initial_note, time_note, MEANING, ARCHITECTURE_NOTE),
    )


def _scale_pages(runs: Runs, _: str | None) -> list[Page]:
    """Return one page of all data sets with several models on the same pairs, without chain of thought."""
    groups = group_by_pairs((case,) for case in existence_cases(runs) if not suffix(case))
    several = [rows for rows in groups if len({case.model for (case,) in rows}) > 1]
    several.sort(key=lambda rows: rows[0][0].record.split)
    pages = [existence_page(rows, source_name(rows[0][0])) for rows in several]
    heads = number_repeats([page.title for page in pages])
    if not pages:
        return []
    names = [page.names.assign(Data=head) for page, head in zip(pages, heads, strict=True)]
    cases = tuple(case for page in pages for case in page.cases)
    page = Page(
        cases=cases, title="", names=pd.concat(names, ignore_index=True).assign(Pooled=range(len(cases))),
        notes=tuple(dict.fromkeys(note for page in pages for note in page.notes)),
    )  # fmt: skip
    return [with_chance(page)]


def _scale_cells(page: Page) -> pd.DataFrame:
    columns, pairs = (*COLUMNS,), page_pairs(page)
    cells = set_cells(page, pairs[pairs["set"].isin((*OOD_SETS, *INITIAL_SETS))], columns)
    return pd.concat([chance_cells(columns, "-"), cells], ignore_index=True)


SCALES = replace(
    POOLED,
    name="oodbench-scales",
    alias="oodbench-T18",
    summary="How well several models recognise categories out of distribution, data set by data set.",
    pages=_scale_pages,
    needs="compares models of several scales on the same pairs without chain of thought",
    command=f"{COMMAND} --eye-model=A --eye-model=B",
    title="OODBench: models of several scales, existence (%)",
    cells=_scale_cells,
    rows=("Data", "Model", SET),
    columns=COLUMNS,
    notes=(MEANING,),
    sections="Data",
)
TABLES = (POOLED, *(_source_table(number, source) for number, source in enumerate(SOURCES.values(), 10)), SCALES)
