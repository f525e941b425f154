"""Reasons of abstention against true reasons: Figure 8 of arXiv 2603.27033."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from eyechart.realbirdid.answers.abstention_predictions import ABSTAIN
from eyechart.realbirdid.data.observations import REASONS
from eyechart.realbirdid.tables.abstention_tables import BY_ISSUE, RATE, prompt_levels
from eyechart.realbirdid.tables.bird_pages import find_metrics
from eyechart.reports.tables.selection import Page
from eyechart.results.evidence import RESAMPLES
from eyechart.results.records import UNANSWERABLE
from eyechart.statistics.degenerate_intervals import share_interval
from eyechart.statistics.resampling import cluster_bootstrap_totals, ratios

ALL, UNKNOWN = "all", "not known"
INITIALS = {"image quality": "Q", "angle/occlusion": "A", "vocalization": "V"}
ISSUES = (*REASONS, UNKNOWN, ALL)
MATRIX = ["row", "Level", "issue"]  # what names a row of a matrix
MEANING = (
    "Rows: what is the matter with an image (Q image quality, A angle or occlusion, V vocalization); columns: the "
    "reason that the model gives. Only answers that abstain, to unanswerable images, of all wordings of a level; % of "
    "the row, n answers. Brackets: 95 % intervals, bootstrap over observations, each with all its images and answers."
)
RATES = (
    "AR: the share of all answers to unanswerable images that abstain, in a row those with its issue (n answers), in "
    "the row of all the mean over wordings (n images). Right: of the answers that abstain, those that give the image's "
    "own issue."
)


def _abstentions(page: Page) -> pd.DataFrame:
    """Return the answers that abstain on unanswerable images, level by level.

    Columns: `row`, `Level`, `issue` (what is the matter with the image), `reason` (that the model gives) and
    `observation` (a number).
    """
    names = {"prompt_level": "Level", "reason": "issue", "stated_reason": "reason"}
    samples = page.samples([*names, "observation", "target", "prediction"]).rename(columns=names)
    samples["observation"] = pd.factorize(samples["observation"])[0]
    samples["issue"] = samples["issue"].where(samples["issue"] != "", UNKNOWN)
    abstained = samples[(samples["target"] == ABSTAIN) & (samples["prediction"] == ABSTAIN)]
    levels = prompt_levels(page, [UNANSWERABLE])[["row", "Level"]]
    return levels.merge(abstained[[*MATRIX, "reason", "observation"]].sort_values("reason"))


def _given_reasons(answers: pd.DataFrame) -> list[str]:
    """Return the reasons that any model gives, the three issues first."""
    return [*dict.fromkeys((*REASONS, *answers["reason"]))]


def confusion(page: Page) -> pd.DataFrame:
    """Return the matrix of each model and level: a row per issue and reason.

    `count` is the number of answers, `value` their share of the `n` answers about the issue, with its interval. The
    issue "all" has the sums, without shares.
    """
    answers = _abstentions(page)
    issues = answers[MATRIX].drop_duplicates()
    known = issues[issues["issue"] == UNKNOWN]
    rows = prompt_levels(page, [UNANSWERABLE])[["row", "Level"]].merge(pd.DataFrame({"issue": ISSUES}), how="cross")
    rows = rows[(rows["issue"] != UNKNOWN) | rows.merge(known, how="left", indicator=True)["_merge"].eq("both")]
    matrix = rows.merge(pd.DataFrame({"reason": _given_reasons(answers)}), how="cross")
    both = pd.concat([answers, answers.assign(issue=ALL)])
    counts = both.groupby([*MATRIX, "reason"]).size().rename("count").reset_index()
    matrix = matrix.merge(counts, how="left").fillna({"count": 0}).astype({"count": np.int64})
    n = matrix.groupby(MATRIX)["count"].transform("sum").where(matrix["issue"] != ALL)
    return matrix.assign(n=n, value=matrix["count"] / n).merge(_share_intervals(page, answers), how="left")


def _share_intervals(page: Page, answers: pd.DataFrame) -> pd.DataFrame:
    """Return the interval of each share of a matrix: of the three issues, and of other reasons given at its level.

    Observations are resampled as those of the record are.
    """
    reasons = {level: _given_reasons(part) for level, part in answers.groupby(["row", "Level"])}
    intervals: list[dict[str, Any]] = []
    for key, part in answers.groupby(MATRIX):
        seed, units = page.cases[key[0]].record.seed, part["observation"].nunique()
        for reason in reasons[key[:2]]:
            hits = part["reason"] == reason
            counts = np.column_stack([hits, np.ones(len(hits))]).astype(np.int64)
            drawn = cluster_bootstrap_totals(counts, part["observation"], RESAMPLES, seed)
            low, high = share_interval(ratios(drawn[:, 0], drawn[:, 1]), hits.mean(), units)
            intervals.append(dict(zip(MATRIX, key, strict=True)) | {"reason": reason, "low": low, "high": high})
    frame = pd.DataFrame(intervals, columns=[*MATRIX, "reason", "low", "high"])
    return frame.astype({"row": np.int64, "low": np.float64, "high": np.float64})


def _confusion_cells(page: Page) -> pd.DataFrame:
    """Return the counts and shares of each matrix, how often models abstain, and how often the reason is right."""
    matrix = confusion(page)
    heads = matrix["reason"].map(lambda reason: INITIALS.get(reason, reason))
    rows = matrix[MATRIX].drop_duplicates().assign(prompt=lambda rows: rows["Level"])
    every = rows[rows["issue"] == ALL]
    parts = [
        matrix[[*MATRIX, "count"]].assign(column=heads),
        matrix.drop(columns="count").assign(column=heads + " %")[matrix["issue"] != ALL],
        find_metrics(page, rows[rows["issue"] != ALL].assign(column="AR", metric="p_abstain", subset=rows["issue"])),
        find_metrics(page, every.assign(column="AR", metric=RATE, subset=UNANSWERABLE)),
        find_metrics(page, every.assign(column="Right", metric="correct_reason")),
    ]
    cells = pd.concat(parts, ignore_index=True)
    return cells.assign(Issue=cells["issue"].map(lambda issue: INITIALS.get(issue, issue)))


def _confusion_columns(page: Page) -> Sequence[str]:
    """Return a column per reason for counts, and one for shares."""
    heads = [INITIALS.get(reason, reason) for reason in _given_reasons(_abstentions(page))]
    return (*heads, *(f"{head} %" for head in heads), "AR", "Right")


CONFUSION = replace(
    BY_ISSUE,
    name="realbirdid-confusion",
    alias="realbirdid-F8",
    summary="Which reason models give when they abstain, by what is the matter with the image.",
    title="{page}: confusion of reasons",
    cells=_confusion_cells,
    rows=("Model", "Level", "Issue"),
    columns=_confusion_columns,
    formats={},
    notes=(MEANING, RATES),
)
TABLES = (CONFUSION,)
