"""Overlap of OODBench's pairs with the models' own OOD sets: Figure 6 of arXiv 2602.18094."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from eyechart.oodbench.division import OOD_H, OOD_S

from ..frames import clustered_share
from ..pages import Page, with_suffixes
from ..runs import CaseRun, Runs
from ..table_definitions import TableDefinition
from .pages import PAPER, existence_cases, existence_page, group_by_pairs, pair_settings
from .pair_frames import OOD_SETS, page_pairs, pairs_sha256, read_pairs

KIND, OWN, ADDITIONAL, COVERED = "Data Type", "Own", "Additional", "Covered"
KINDS = {"OOD": (OOD_S, OOD_H), OOD_S: (OOD_S,), OOD_H: (OOD_H,)}
MEANING = "A pair is in a model's own OOD set if one of its two answers is wrong. Additional: in none of those above."
INTERVALS = "Brackets: 95 % intervals, Wilson over images with all their pairs."


def coverage_pages(runs: Runs, labels: str | None) -> list[Page]:  # noqa: ARG001
    """Return a page per division and settings; the model with most wrong pairs comes first."""
    groups: dict[tuple[int, str], list[CaseRun]] = {}
    for number, rows in enumerate(group_by_pairs((case,) for case in existence_cases(runs))):
        for (case,) in rows:
            groups.setdefault((number, pair_settings(case)), []).append(case)
    return with_suffixes([create_page(cases) for cases in groups.values()])


def create_page(cases: Sequence[CaseRun]) -> Page:
    """Return the page of cases with the same pairs and settings."""
    case = cases[0]
    split = f"{case.record.benchmark}/{case.record.split}"
    context = {"split": split, "pairs": case.compute(pairs_sha256)[:12], "asked": pair_settings(case)}
    ordered = sorted(cases, key=lambda case: -case.compute(count_wrong_pairs))
    return replace(existence_page([(case,) for case in ordered], split), context=context)


def count_wrong_pairs(case: CaseRun) -> int:
    """Return the number of OOD pairs of the main benchmark with a wrong answer."""
    pairs = case.compute(read_pairs)
    pairs = pairs[pairs["main"] & pairs["subset"].isin(OOD_SETS)]
    return int((pairs["fp"] + pairs["fn"] > 0).sum())


def wrong_pairs(page: Page) -> pd.DataFrame:
    """Return the OOD pairs: `set`, `image`, `known`, and a column per row of the page, whether it is answered wrongly.

    A pair is known if every model has a wrong answer or both answers.
    """
    pairs = page_pairs(page)
    pairs = pairs[pairs["set"].isin(OOD_SETS)].astype({"set": str})
    wrong = pairs["fp"] + pairs["fn"] > 0
    index = ["set", pairs.groupby(["row", "set"]).cumcount().rename("number")]
    pairs = pairs.assign(wrong=wrong, known=wrong | pairs["answered"]).set_index(index).set_index("row", append=True)
    wide = pairs["wrong"].unstack()
    known = pairs["known"].unstack().all(axis=1)
    return wide.assign(known=known, image=pairs["image"].xs(0, level="row")).reset_index("set")


def coverage_cells(page: Page) -> pd.DataFrame:
    """Return per set and model the shares of its own wrong pairs, of those that no earlier model has, and of all."""
    pairs = wrong_pairs(page)
    pairs, rows = pairs[pairs["known"]], range(len(page.cases))
    covered = np.logical_or.accumulate(pairs[[*rows]].to_numpy(bool), axis=1)
    added = np.diff(covered.astype(np.int64), axis=1, prepend=0) > 0
    parts = [pd.DataFrame(columns=["row", KIND, "column"])]
    for kind, names in KINDS.items():
        inside = pairs["set"].isin(names).to_numpy()
        for row in rows if inside.any() else ():
            shares = {OWN: pairs[row].to_numpy(bool), ADDITIONAL: added[:, row], COVERED: covered[:, row]}
            for column, hits in shares.items():
                share = clustered_share(hits[inside], pairs["image"].to_numpy()[inside])
                parts.append(pd.DataFrame([{"row": row, KIND: kind, "column": column, **share}]))
    return pd.concat(parts, ignore_index=True).astype({KIND: pd.CategoricalDtype([*KINDS])})


def coverage_notes(page: Page) -> Iterator[str]:
    """Yield the explanation of the table, with the number of pairs that are left out."""
    yield from (MEANING, INTERVALS)
    if unknown := int((~wrong_pairs(page)["known"]).sum()):
        yield f"{unknown:,} pairs are left out: not every model has answered them."


COVERAGE = TableDefinition(
    name="oodbench-coverage",
    alias="oodbench-F6",
    source=f"{PAPER}, Figure 6",
    summary="The share of OODBench's pairs that models answer wrongly, model after model.",
    pages=coverage_pages,
    needs="compares OODBench's pairs with those that models answer wrongly",
    command='pytest -k "oodbench and existence" --eye-model=A --eye-model=B',
    title="{page}: overlap of OODBench's pairs with models' own OOD sets (%)",
    cells=coverage_cells,
    rows=(KIND, "Model"),
    columns=(OWN, ADDITIONAL, COVERED),
    notes=coverage_notes,
    order=(KIND, "row"),
)
TABLES = (COVERAGE,)
