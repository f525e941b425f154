"""Runs as Python objects: frames of numbers and answers, tables, figures, the page, and the comparison of two runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pandas as pd
from msgspec.structs import asdict

from eyechart.errors import ReportError, SpecError
from eyechart.files.folders import STORE
from eyechart.gate.policy.tiers import NO_POLICY, read_policy
from eyechart.gate.slices.slice_tests import decide_slices
from eyechart.gate.verdicts.decide import (
    ALPHA,
    DEFAULT_RULE,
    REGRESSION,
    Rule,
    parse_gates,
    parse_margin,
    parse_share,
)
from eyechart.gate.verdicts.verdict_file import MetricVerdict, SessionVerdicts, summarise_metric
from eyechart.gate.verdicts.verdict_messages import describe_session
from eyechart.reports.comparison.leaderboard import SPLITS, leaderboards
from eyechart.reports.comparison.run_comparison import (
    MatchedSides,
    compare_sides,
    gate_status,
    match_models,
    match_runs,
    policy_notes,
    unmatched_notes,
)
from eyechart.reports.comparison.verdict_cells import RunComparison, parse_alpha, refusal_notes
from eyechart.reports.runs import Runs, load
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import RENDERERS, Table
from eyechart.results.frames import metrics_frame, samples_frame
from eyechart.results.records import Record
from eyechart.results.run_folder import report_folder, run_folder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

T = TypeVar("T")
VERDICT_COLUMNS = MetricVerdict.__struct_fields__


@dataclass(frozen=True)
class EvaluationRun:
    """The records of one run, or of several, in which the later ones replace the earlier ones.

    `folders` are the folders of the runs, or their files records.json. `store` is where their answers are stored.
    """

    folders: tuple[Path, ...]
    store: Path = STORE

    @property
    def folder(self) -> Path:
        """The folder of the run, of several the last one."""
        return run_folder(self.folders[-1])

    @cached_property
    def loaded(self) -> Runs:
        """The cases of the runs, grouped by what can be compared."""
        return load(self.folders)

    @property
    def records(self) -> tuple[Record, ...]:
        """The record of each case; `docs/records.md` explains every field."""
        return tuple(case.record for case in self.loaded.cases)

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """One row per number, with the columns of `eyechart.results.frames`: case, metric, labels, value, n, low, high.

        Values are fractions.
        """
        return metrics_frame([*self.loaded.cases]).drop(columns="row")

    @cached_property
    def samples(self) -> pd.DataFrame:
        """One row per answer, with the columns of the case and those of its sample table (`docs/samples.md`)."""
        return samples_frame([*self.loaded.cases]).drop(columns="row")

    def confusion(self, case: str | None = None) -> pd.DataFrame:
        """Return how often each expected answer got each answer.

        Args:
            case: What the name of the case and its protocol have, such as "pets/test" or "zero_shot"; None for a run
                of one case.

        Returns:
            Counts with a row for each expected answer, and a column for each answer in the same order, then for other
            answers, "" for none. Samples without an expected answer, samples that ended in an error, and images with
            several labels do not count.

        Raises:
            SpecError: If several cases have this name, or none.
        """
        names = self.samples["case"].astype(str) + " (" + self.samples["protocol"].astype(str) + ")"
        known = [*dict.fromkeys(names)]
        matching = [name for name in known if case is None or case in name]
        if len(matching) != 1:
            what = f"confusion(case={case!r}) fits {len(matching)} cases"
            raise SpecError(f"{what}. Give a part of one name, of: {', '.join(known)}.")
        samples = self.samples[(names == matching[0]) & (self.samples["error"].fillna("") == "")].fillna(
            {"target": "", "prediction": ""}
        )
        single = samples[(samples["target"] != "") & ~samples["target"].str.contains("; ")]
        counts = pd.crosstab(single["target"], single["prediction"])
        return counts.reindex(columns=[*counts.index, *counts.columns.difference(counts.index)], fill_value=0)

    def plot(self) -> "Figure":
        """Draw the main metric of each case with its 95 % interval, one panel for each split.

        Returns:
            A figure of matplotlib. A notebook shows it after `%matplotlib inline`.

        Raises:
            ReportError: If matplotlib is missing.
        """
        from eyechart.reports.figures.registry import draw_main_metrics

        figure: Figure = draw_main_metrics(self.loaded)
        return figure

    def table(
        self, name: str, labels: str | None = None, *, annotations: Sequence[Path | str] = ()
    ) -> list[pd.DataFrame]:
        """Return a published table, such as `label-categories` or `T4`.

        Args:
            name: Its name, or its number in the paper.
            labels: Only this label set; None for all.
            annotations: The files of annotators' answers, for `reannotated` and `F7`.

        Returns:
            One frame per selection of comparable cases. `frame.attrs` has its title and notes.
        """
        runs = replace(self.loaded, annotations=tuple(map(Path, annotations)))
        return [_table_frame(table) for table in tables(name, runs, labels)]

    def ranks(
        self, metric: str | None = None, labels: str | None = None, *, alpha: float = ALPHA, weights: str = SPLITS
    ) -> list[pd.DataFrame]:
        """Return the ranks that each model may have, as `eyechart leaderboard` prints them.

        Args:
            metric: The metric to rank by; None for the accuracy.
            labels: Only this label set; None for all.
            alpha: The probability that some set of ranks of a frame is wrong.
            weights: What has the same weight over several splits, `splits` or `samples`.

        Returns:
            One frame for each split and protocol, then one over the splits of each protocol, with the columns
            `lowest_rank`, `highest_rank` and `Model`, and the value. `frame.attrs` has its title and notes.
        """
        level = _parse("alpha", parse_alpha, alpha)
        frames = [_table_frame(table) for table in leaderboards(self.loaded, metric, labels, level, weights)]
        for frame in frames:
            ends = frame.pop("Rank").astype(str).str.split("–")
            frame.insert(0, "lowest_rank", ends.str[0].astype(int))
            frame.insert(1, "highest_rank", ends.str[-1].astype(int))
        return frames

    def figure(self, name: str, out: Path | str | None = None, labels: str | None = None) -> Path:
        """Draw a published figure as SVG.

        Args:
            name: Its name, or its number in the paper.
            out: The file to write; None for one in the folder of the run.
            labels: Only this label set; None for all.

        Returns:
            The path of the file.
        """
        from eyechart.reports.figures.registry import draw

        path: Path = draw(name, self.loaded, labels, None if out is None else Path(out), report_folder(self.folder))
        return path

    def page(
        self,
        out: Path | str | None = None,
        *,
        data: str | None = None,
        figures: bool = True,
        annotations: Sequence[Path | str] = (),
    ) -> Path:
        """Write the page, a folder that opens from disk.

        Args:
            out: The folder to write; None for one in the folder of the run.
            data: The folder of the images, as for `--eye-data`; None for the recorded one.
            figures: Whether the published figures are drawn, which takes longest.
            annotations: The files of annotators' answers, whose tables the page shows.

        Returns:
            The path of its `index.html`.
        """
        from eyechart.reports.page.write_page import PageOptions, write_page

        folder = Path(out) if out is not None else report_folder(self.folder) / "page"
        answers = tuple(map(Path, annotations))
        options = PageOptions(self.folders, data=data, store=self.store, figures=figures, annotations=answers)
        write_page(options, folder)
        return folder / "index.html"

    def __repr__(self) -> str:
        cases = ", ".join(f"{record.case} ({record.protocol})" for record in self.records)
        return f"<run of {cases} in {self.folder}>"


def load_run(*folders: Path | str, store: Path | str = STORE) -> EvaluationRun:
    """Return a run by its folder, such as `reports/runs/latest`; of several, later ones replace earlier ones.

    Args:
        folders: Folders of runs, or their files records.json.
        store: The folder of the stored answers.

    Returns:
        The run.

    Raises:
        ReportError: If a folder has no records, or an argument is no path.
    """
    paths = [_run_path(folder, "load_run(A, B)") for folder in folders]
    run = EvaluationRun(tuple(paths), Path(store))
    _ = run.loaded
    return run


def _run_path(folder: object, call: str) -> Path:
    """Return the path of a run; raise ReportError for anything but a path. `call` is a right call."""
    if isinstance(folder, str | Path):
        return Path(folder)
    raise ReportError(
        f"A run is given as the path of its folder, such as reports/runs/latest. Got a value of the type "
        f"{type(folder).__name__}. Several runs are several arguments: {call}."
    )


@dataclass(frozen=True)
class Comparison:
    """The verdict of the gate on every metric that two runs have."""

    sides: MatchedSides
    result: RunComparison
    rule: Rule = DEFAULT_RULE

    @property
    def verdict(self) -> str:
        """The verdict on all cases: "regression", "no regression", "inconclusive", "improvement" or "not tested"."""
        return self.result.session.decision

    @property
    def summary(self) -> SessionVerdicts:
        """The verdicts as `--eye-verdicts` writes them; `docs/verdicts.schema.json` explains every field.

        `exit_status` is that of `eyechart compare --check`.
        """
        return self.result.session.summarise(gate_status(self.sides, self.result))

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        """One row per metric, losses first: before, after, change, its interval, counts, p-values and the verdict.

        Values are fractions. `lost` and `gained` are numbers of samples, where the metric counts samples. `loss_limit`
        is the upper confidence limit of the loss, one-sided at 1 - alpha.
        """
        rows = [summarise_metric(verdict) for _, verdict in self.result.verdicts]
        return pd.DataFrame([{**asdict(row), "regression": row.verdict == REGRESSION} for row in rows])

    @property
    def regressions(self) -> pd.DataFrame:
        """The rows of `verdicts` that are regressions."""
        return self.verdicts[self.verdicts["regression"]] if len(self.verdicts) else self.verdicts

    @cached_property
    def slices(self) -> pd.DataFrame:
        """All slices with the columns of `verdicts`, the most certain changes first.

        A slice is the samples with one value of a variable, such as `class=dog`; `subset` has it. The `verdict` is
        "regression" or "improvement" for a significant change; the false discovery rate of these is at most alpha.
        """
        verdicts = decide_slices(self.result.slice_changes, self.rule, every=True)
        verdicts.sort(key=lambda verdict: (verdict.adjusted, verdict.comparison.p, -verdict.comparison.loss))
        return pd.DataFrame([asdict(summarise_metric(verdict)) for verdict in verdicts], columns=[*VERDICT_COLUMNS])

    @property
    def notes(self) -> list[str]:
        """What was not compared, and why."""
        return [*refusal_notes(self.result), *unmatched_notes(self.sides), *policy_notes(self.sides, self.result)]

    def __repr__(self) -> str:
        summary = describe_session(self.result.every)
        return f"<{self.sides.names[0]} and {self.sides.names[1]}: {self.result}; {summary}>"


def compare(
    before: EvaluationRun | Path | str,
    after: EvaluationRun | Path | str | None = None,
    *,
    models: tuple[str, str] | None = None,
    alpha: float = DEFAULT_RULE.alpha,
    max_drop: float = DEFAULT_RULE.max_drop,
    margin: float | None = DEFAULT_RULE.margin,
    gates: tuple[str, ...] = DEFAULT_RULE.gates,
    policy: Path | str | None = None,
) -> Comparison:
    """Compare two runs, or two models, metric by metric over the same samples, with the tests of the gate.

    Args:
        before: A run, or the file or folder of baselines.
        after: The other run, None to compare two models of `before`.
        models: The names or specifications of a model in `before` and of one in `after`, or of two in `before`.
        alpha: The significance level for the primary metrics of all cases, and for all other metrics.
        max_drop: The largest loss that is tolerated, a fraction.
        margin: The loss that must be excluded for "no regression", a fraction.
        gates: The kinds of metrics whose regression is one of the whole: "accuracy", "score".
        policy: A TOML file with tiers and other limits of some metrics, and floors, as for `--eye-policy`.

    Returns:
        The verdict on every metric that both sides have.

    Raises:
        ReportError: If the runs have no case in common, or not these models.
        SpecError: If neither another run nor two models are given, or for a wrong level, limit, kind or policy.
    """
    if before is None or (after is None and models is None):
        raise SpecError("compare takes two runs, or one and two of its models: models=(SPEC, SPEC).")
    if models is not None and (isinstance(models, str) or len(models) != 2):
        raise SpecError(f"models takes the names of two models, such as models=('a', 'b'). Got {models!r} instead.")
    runs = [side for side in (before, after) if side is not None]
    folders = [side.folder if isinstance(side, EvaluationRun) else _run_path(side, "compare(A, B)") for side in runs]
    sides = match_runs(folders) if models is None else match_models(folders, models)
    rule = Rule(
        _parse("alpha", parse_alpha, alpha),
        _parse("max_drop", parse_share, max_drop),
        None if margin is None else _parse("margin", parse_margin, margin),
        _parse("gates", parse_gates, gates if isinstance(gates, str) else ",".join(gates)),
        NO_POLICY if policy is None else read_policy(Path(policy)),
    )
    return Comparison(sides, compare_sides(sides, rule), rule)


def _parse(name: str, parse: Callable[[str], T], value: object) -> T:
    """Return the value of an argument as the commands parse it. Raises SpecError with the name of a wrong one."""
    try:
        return parse(str(value))
    except SpecError as error:
        raise SpecError(f"{name}: {error}") from error


def _table_frame(table: Table) -> pd.DataFrame:
    """Return a table as its CSV has it: the value, n and interval of a number are columns of their own."""
    frame = pd.read_csv(StringIO(RENDERERS["csv"]([table])))
    frame.attrs.update(title=table.title, notes=[*table.notes])
    return frame
