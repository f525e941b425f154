"""A run's folder as runs of trackers: one for each model, with the metrics of its cases, grouped by session."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from msgspec import to_builtins

from eyechart.errors import EyechartError
from eyechart.gate.verdicts.verdict_file import SessionVerdicts
from eyechart.messages.plurals import count_of
from eyechart.messages.secret_values import hide_secrets
from eyechart.results.records import LINES, RECORDS_FILE, Metric, Record, Records, among_text, read_run
from eyechart.tracking.targets import Target
from eyechart.tracking.tracker import Tracker, TrackerRun, Value

COLUMNS = (
    *("case", "protocol", "metric", "labels", "subset", "before", "after", "change", "low", "high"),
    *("n", "lost", "gained", "p_adjusted", "tier", "verdict"),
)  # of the table of verdicts
LENGTH = 300


@dataclass(frozen=True)
class TrackingResult:
    """What a tracker did with a run, in a sentence."""

    text: str
    failed: bool = False


def track_run(
    folder: Path, targets: Sequence[Target], *, offline: bool = False, verdicts: SessionVerdicts | None = None
) -> list[TrackingResult]:
    """Log a run's folder to each tracker, and return a result for each; an error of a tracker is a result.

    With `verdicts` of the gate, each model has a table of those on its metrics. Raises ReportError if the folder has
    no run that can be read.
    """
    session = read_run(folder)
    return [_track_with(target, session, folder, offline, verdicts) for target in targets]


def _track_with(
    target: Target, session: Records, folder: Path, offline: bool, verdicts: SessionVerdicts | None
) -> TrackingResult:
    """Log a session to a tracker; what its client prints and warns about is left out."""
    models: dict[str, list[Record]] = {}
    for record in session.records:
        models.setdefault(record.model.title, []).append(record)
    locations: list[str] = []
    try:
        with warnings.catch_warnings(), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            warnings.simplefilter("ignore")
            for title, records in models.items():
                run = TrackerRun(
                    project=target.project,
                    group=folder.resolve().name,
                    name=title,
                    config=_make_config(session, records, verdicts),
                )
                locations.append(_log_model(target.make_tracker(), run, records, folder, offline, verdicts))
    except (Exception, SystemExit) as error:  # a client may end the process
        return TrackingResult(
            f"{target} has {len(locations)} of {count_of(len(models), 'model')}: {describe_error(error)} The run is "
            f"kept; log it again with: eyechart track {folder} --to={target}",
            failed=True,
        )
    return TrackingResult(
        f"{target} has {count_of(len(models), 'model')}: {hide_secrets('; '.join(dict.fromkeys(locations)))}"
    )


def _log_model(
    tracker: Tracker,
    run: TrackerRun,
    records: Sequence[Record],
    folder: Path,
    offline: bool,
    verdicts: SessionVerdicts | None,
) -> str:
    """Log the cases of a model as a run of a tracker, and return where it is; a run that was started is ended."""
    tracker.start(run, offline=offline)
    try:
        for record in records:
            tracker.log_metrics(dict(_name_numbers(record)))
        if rows := _verdict_rows(records, verdicts):
            tracker.log_table("gate_verdicts", rows)
        tracker.log_files([path for path in (folder / LINES, folder / RECORDS_FILE) if path.exists()][:1])
    except BaseException:
        with suppress(Exception):
            tracker.end()
        raise
    return tracker.end()


def _case_name(record: Record) -> str:
    """Return benchmark, split, protocol and the options that are not the default: the case without its model."""
    options = record.case.removeprefix(f"{record.benchmark}/{record.split}/{record.model.title}")
    return f"{record.benchmark}/{record.split}/{record.protocol}{options}"


def metric_name(record: Record, metric: Metric) -> str:
    """Return the name of a metric in a tracker, the same for each model: CASE/METRIC[LABELS, SUBSET]."""
    return f"{_case_name(record)}/{metric.name}[{among_text(metric.labels, metric.subset_text)}]"


def _name_numbers(record: Record) -> Iterator[tuple[str, float]]:
    """Yield each defined value of a case with its n and the ends of its interval, by name."""
    for metric in record.metrics:
        if metric.value is not None:
            name = metric_name(record, metric)
            yield name, metric.value
            yield f"{name}.n", metric.n
            if metric.ci is not None:
                yield f"{name}.low", metric.ci[0]
                yield f"{name}.high", metric.ci[1]


def _make_config(session: Records, records: Sequence[Record], verdicts: SessionVerdicts | None) -> dict[str, Value]:
    """Return the settings of a tracker's run: the model, the session, and the settings of each case by its name."""
    model = records[0].model
    config: dict[str, Value] = {
        **{name: value for name, value in to_builtins(model).items() if value},
        "eyechart": session.run.eyechart,
        "started": session.run.started,
        "command": session.run.command,
        "git_commit": session.run.git_commit,
    }
    if verdicts is not None:
        config |= {"gate.verdict": _model_verdict(verdicts, model.title), "gate.sentence": verdicts.sentence}
    for record in records:
        settings: Mapping[str, Value] = {
            **record.variant,
            "limit": record.limit,
            "seed": record.seed,
            "data": record.data.fingerprint,
        }
        config |= {f"{_case_name(record)}/{name}": value for name, value in settings.items()}
    return config


def _model_verdict(verdicts: SessionVerdicts, title: str) -> str:
    """Return the verdict of the gate on a model, "not compared" without one."""
    return next((group.verdict for group in verdicts.models if group.name == title), "not compared")


def _verdict_rows(records: Sequence[Record], verdicts: SessionVerdicts | None) -> list[dict[str, Value]]:
    """Return the verdicts on the metrics of some cases as rows of a table."""
    cases = {(record.case, record.protocol) for record in records}
    metrics = verdicts.metrics if verdicts else ()
    return [
        {column: getattr(metric, column) for column in COLUMNS}
        for metric in metrics
        if (metric.case, metric.protocol) in cases
    ]


def describe_error(error: BaseException) -> str:
    """Return the class and the first line of an error, as one sentence, without credentials of addresses."""
    if isinstance(error, EyechartError):
        return str(error)
    line = next(iter(str(error).strip().splitlines()), "no message").strip()
    shown = hide_secrets(line if len(line) <= LENGTH else f"{line[:LENGTH]}…")
    return f"{type(error).__name__}: {shown.rstrip('.')}."
