"""How often models abstain under equivalent prompts: Table 4 and Figure 7 of arXiv 2603.27033."""

from dataclasses import replace

import pandas as pd

from eyechart.realbirdid.data.observations import REASONS
from eyechart.realbirdid.tables.bird_pages import (
    ABSTENTION,
    COMMANDS,
    NEEDS,
    OBSERVATIONS,
    PAPER,
    find_metrics,
    pages_of,
)
from eyechart.reports.tables.definition import TableDefinition
from eyechart.reports.tables.render import P_VALUE, NumberFormat
from eyechart.reports.tables.selection import Page
from eyechart.results.frames import to_numbers
from eyechart.results.records import ANSWERABLE, UNANSWERABLE

RATE, THOUSANDTHS, STATISTIC = "abstention", NumberFormat(1, 3), NumberFormat(1, 2)
ISSUES = dict(zip(REASONS, ("quality", "angle/occlusion", "vocalization"), strict=True))  # as Table 4 calls them
SETS = (UNANSWERABLE, ANSWERABLE)
SPREAD = {"Mean": RATE, "SD": f"{RATE}_sd", "Q": "cochran_q", "p": "cochran_p"}
P_ABSTAIN_NOTE = (
    "The share of answers that abstain, for whatever reason, of the unanswerable images with an issue, over all "
    "wordings of a level; n: such answers. Brackets: 95 % intervals, bootstrap over observations, each with all its "
    "images and their answers."
)
SPREAD_NOTE = (
    "Mean, SD, Min and Max: of the share of images abstained on, over a level's wordings; the SD is the sample SD. "
    "Brackets: 95 % intervals over observations, each with all its images, of Min and Max Wilson's."
)
COCHRAN_NOTE = (
    "Q: Cochran's, over the images that all wordings have an answer to, divided by the design effect of observations; "
    "p: of its chi-squared with df."
)


_abstention_pages = pages_of(ABSTENTION, OBSERVATIONS)


def prompt_levels(page: Page, subsets: list[str]) -> pd.DataFrame:
    """Return `row`, `subset` and `Level` of each model, subset and prompt level, in the order of the prompt set."""
    numbers = page.metrics[page.metrics["metric"] == RATE]
    means = numbers[~numbers["prompt"].str.contains("/") & numbers["subset"].isin(subsets)]
    means = means.assign(order=means["subset"].map(subsets.index))
    ordered = means.sort_values(["row", "order"], kind="stable").rename(columns={"prompt": "Level"})
    return ordered[["row", "subset", "Level"]].reset_index(drop=True)


def _issue_cells(page: Page) -> pd.DataFrame:
    issues = pd.DataFrame({"subset": ISSUES.keys(), "column": ISSUES.values()})
    levels = prompt_levels(page, [UNANSWERABLE]).drop(columns="subset").merge(issues, how="cross")
    return find_metrics(page, levels.assign(metric="p_abstain", prompt=levels["Level"]))


BY_ISSUE = TableDefinition(
    name="realbirdid-abstention-by-issue",
    alias="realbirdid-T4",
    source=PAPER,
    summary="How often models abstain on unanswerable images, by what is the matter with an image.",
    pages=lambda runs, labels: [
        page for page in _abstention_pages(runs, labels) if len(prompt_levels(page, [UNANSWERABLE]))
    ],
    needs=f"{NEEDS[ABSTENTION]}, about unanswerable images",
    command=f"{COMMANDS[ABSTENTION]} --eye-data=ROOT, with unanswerable birds",
    title="{page}: P(abstain) by ground-truth issue",
    cells=_issue_cells,
    rows=("Model", "Level"),
    columns=tuple(ISSUES.values()),
    formats=dict.fromkeys(ISSUES.values(), THOUSANDTHS),
    notes=(P_ABSTAIN_NOTE,),
)


def rates_by_prompt(page: Page) -> pd.DataFrame:
    """Return the abstention rate of each prompt, in their order: the points of Figure 7."""
    numbers = page.metrics[page.metrics["metric"] == RATE]
    prompts = numbers["prompt"].str.partition("/")
    points = numbers.assign(Level=prompts[0])[prompts[1] == "/"].sort_values(["row", "prompt"], ignore_index=True)
    return points[["row", "subset", "Level", "value", "n", "low", "high"]]


def spread_cells(page: Page) -> pd.DataFrame:
    """Return the mean, SD and range of the rates of equivalent prompts, and Cochran's Q, by model, images and level."""
    levels = prompt_levels(page, [*SETS])
    key = ["row", "subset", "Level"]
    points = rates_by_prompt(page)
    wanted = levels.merge(pd.DataFrame({"column": SPREAD.keys(), "metric": SPREAD.values()}), how="cross")
    numbers = find_metrics(page, wanted.assign(prompt=wanted["Level"]))
    counts = levels.merge(points.groupby(key).size().rename("count").reset_index(), how="left", on=key)
    tested = numbers.loc[(numbers["column"] == "Q") & numbers["value"].notna(), key].merge(counts, on=key)
    values = points.dropna(subset="value").groupby(key)["value"]
    parts = [
        numbers,
        counts.assign(count=counts["count"].fillna(0), column="Wordings"),
        points.loc[values.idxmin()].assign(column="Min"),
        points.loc[values.idxmax()].assign(column="Max"),
        tested.assign(count=tested["count"] - 1, column="df"),
    ]
    cells = pd.concat(parts, ignore_index=True)
    return cells.assign(Images=cells["subset"])


SPREAD_OF_PROMPTS = replace(
    BY_ISSUE,
    name="realbirdid-abstention-spread",
    alias="realbirdid-F7",
    summary="How much the abstention rate varies over equivalent prompts, with Cochran's Q.",
    pages=_abstention_pages,
    needs=NEEDS[ABSTENTION],
    command=COMMANDS[ABSTENTION],
    title="{page}: abstention over equivalent wordings (%)",
    cells=spread_cells,
    rows=("Model", "Level", "Images"),
    columns=("Wordings", "Mean", "SD", "Min", "Max", "Q", "df", "p"),
    formats={"Q": STATISTIC, "p": P_VALUE},
    notes=(SPREAD_NOTE, COCHRAN_NOTE),
)


def _prompt_cells(page: Page) -> pd.DataFrame:
    """Return each prompt with its text, how often the model abstained, and the rate."""
    numbers = {"abstained": "count", "rate": "value", "n": "n", "ci_low": "low", "ci_high": "high"}
    prompts = to_numbers(page.samples(["level", "wording", "text", *numbers], "wordings"), [*numbers])
    prompts = prompts.rename(columns={"level": "Level", "wording": "Wording", "text": "Text", **numbers})
    parts = [
        prompts[["row", "Level", "Wording", "Text", "count"]].assign(column="abstained"),
        prompts.drop(columns="count").assign(column="Abstention"),
    ]
    return pd.concat(parts, ignore_index=True)


PROMPTS = replace(
    SPREAD_OF_PROMPTS,
    name="realbirdid-wordings",
    alias="",
    source="",
    summary="Every prompt of the abstention protocol with its abstention rate on unanswerable images.",
    title="{page}: abstention by wording (%)",
    cells=_prompt_cells,
    rows=("Model", "Level", "Wording", "Text"),
    columns=("abstained", "Abstention"),
    formats={},
    notes=("Of the unanswerable images with an answer. Brackets: 95 % Wilson intervals over observations.",),
)
TABLES = (BY_ISSUE, SPREAD_OF_PROMPTS, PROMPTS)
