"""Overlap of OODBench's pairs with the models' own OOD sets: Figure 6 of arXiv 2602.18094."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from eyechart.messages.plurals import count_of
from eyechart.oodbench.division.pairs import OOD_H, OOD_S
from eyechart.oodbench.tables.pair_frames import OOD_SETS, pairs_sha256, read_pairs
from eyechart.oodbench.tables.pair_pages import PAPER, existence_cases, existence_page, group_by_pairs, pair_settings
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.selection import Page, with_suffixes
from eyechart.results.frames import clustered_share

KIND, OWN, ADDITIONAL, COVERED = "Data Type", "Own", "Additional", "Covered"
SETS_SHOWN = {"OOD": (OOD_S, OOD_H), OOD_S: (OOD_S,), OOD_H: (OOD_H,)}
MEANING = "A pair is in a model's own OOD set if one of its two answers is wrong. Additional: in none of those above."
INTERVALS = "Brackets: 95 % intervals, Wilson over images with all their pairs."


def _coverage_pages(runs: Runs, _: str | None) -> list[Page]:
    """Return a page per division and settings; the model with most wrong pairs comes first."""
    groups: dict[tuple[int, str], list[CaseRun]] = {}
    for number, rows in enumerate(group_by_pairs((case,) for case in existence_cases(runs))):
        for (case,) in rows:
            groups.setdefault((number, pair_settings(case)), []).append(case)
    return with_suffixes([_create_page(cases) for cases in groups.values()])


def _create_page(cases: Sequence[CaseRun]) -> Page:
    """Return the page of cases with the same pairs and settings."""
    case = cases[0]
    split = f"{case.record.benchmark}/{case.record.split}"
    context = {"split": split, "pairs": case.compute(pairs_sha256)[:12], "asked": pair_settings(case)}
    ordered = sorted(cases, key=lambda case: -case.compute(_judge_ood_pairs)["wrong"].sum())
    return replace(existence_page([(case,) for case in ordered], split), context=context)


def _judge_ood_pairs(case: CaseRun) -> pd.DataFrame:
    """Return the OOD pairs of the main benchmark: `subset`, `image`, `wrong`: one of the answers, and `known`.

    A pair without a wrong answer is known if both questions have an answer. The order of pairs is the same for all
    models.
    """
    pairs = case.compute(read_pairs)
    pairs = pairs[pairs["main"] & pairs["subset"].isin(OOD_SETS)]
    wrong = pairs["fp"] + pairs["fn"] > 0
    return pairs[["subset", "image"]].assign(wrong=wrong, known=wrong | pairs["answered"])


def _coverage_cells(page: Page) -> pd.DataFrame:
    """Return per set and model the shares of its own wrong pairs, of those that no earlier model has, and of all."""
    judged = [case.compute(_judge_ood_pairs) for case in page.cases]
    pairs, wrong = judged[0], np.stack([part["wrong"] for part in judged])
    covered = np.logical_or.accumulate(wrong, axis=0)
    added = np.diff(covered.astype(np.int64), axis=0, prepend=0) > 0
    known = np.all([part["known"] for part in judged], axis=0)
    cells = [
        {"row": row, KIND: kind, "column": column, **clustered_share(hits[row, inside], pairs["image"][inside])}
        for kind, names in SETS_SHOWN.items()
        if (inside := known & pairs["subset"].isin(names)).any()
        for row in range(len(page.cases))
        for column, hits in ((OWN, wrong), (ADDITIONAL, added), (COVERED, covered))
    ]
    frame = pd.DataFrame(cells, columns=["row", KIND, "column", "value", "n", "low", "high"])
    return frame.astype({KIND: pd.CategoricalDtype([*SETS_SHOWN])})


def _unknown_pairs_note(page: Page) -> Iterator[str]:
    known = np.all([case.compute(_judge_ood_pairs)["known"] for case in page.cases], axis=0)
    if unknown := int((~known).sum()):
        yield count_of(
            unknown,
            "pair is left out: not every model has answered it.",
            "pairs are left out: not every model has answered them.",
        )


COVERAGE = TableDefinition(
    name="oodbench-coverage",
    alias="oodbench-F6",
    source=PAPER,
    summary="The share of OODBench's pairs that models answer wrongly, model after model.",
    pages=_coverage_pages,
    needs="compares OODBench's pairs with those that models answer wrongly",
    command='pytest -k "oodbench and existence" --eye-model=A --eye-model=B',
    title="{page}: overlap of OODBench's pairs with models' own OOD sets (%)",
    cells=_coverage_cells,
    rows=(KIND, "Model"),
    columns=(OWN, ADDITIONAL, COVERED),
    notes=(MEANING, INTERVALS, _unknown_pairs_note),
    order=(KIND, "row"),
)
TABLES = (COVERAGE,)
