"""Runs for a model's page on the Hugging Face hub: `.eval_results/*.yaml`, and a model card."""

from collections.abc import Iterator, Mapping
from importlib.util import find_spec

from eyechart.errors import ReportError
from eyechart.gate.baselines.baseline_files import model_slug
from eyechart.messages.install_commands import install_command
from eyechart.reports.runs import CaseRun, Runs
from eyechart.reports.tables.render import Table, to_markdown
from eyechart.results.glossary import is_counted, is_percent
from eyechart.results.headlines import ANSWERED, headlines
from eyechart.results.records import Metric, Run

DIGITS = 4  # of a value in percent


def export_hub(runs: Runs, datasets: Mapping[str, str], source_url: str | None) -> Iterator[tuple[str, bytes]]:
    """Yield the files of each model: results of benchmarks that are data sets of the hub, and a card with all results.

    `datasets` are the names of data sets on the hub by benchmark; `source_url` is where the results are published. The
    files of a model are in a folder of its own if there are several. Raises ReportError without huggingface_hub.
    """
    if find_spec("huggingface_hub") is None:
        raise ReportError(f"The hub's formats need huggingface_hub: {install_command('hub')}.")
    by_model: dict[str, list[CaseRun]] = {}
    for case in runs.cases:
        by_model.setdefault(case.model, []).append(case)
    known = {case.record.benchmark for case in runs.cases}
    if unknown := sorted(datasets.keys() - known):
        raise ReportError(
            f"--dataset: the runs have no benchmark '{unknown[0]}'. They have: {', '.join(sorted(known))}."
        )
    sessions = dict(runs.sessions)
    for model, cases in by_model.items():
        folder = f"{model_slug(model)}/" if len(by_model) > 1 else ""
        for benchmark, dataset in datasets.items():
            if own := [case for case in cases if case.record.benchmark == benchmark]:
                content = "".join(_result_entries(own, dataset, sessions[own[0].folder], source_url))
                yield f"{folder}.eval_results/{benchmark}.yaml", content.encode()
        yield f"{folder}README.md", model_card(model, cases, datasets).encode()


def _main_metric(case: CaseRun) -> Metric | None:
    """Return the first metric over all samples that the gate judges, None if a case has none."""
    judged = [
        metric
        for metric in case.record.metrics
        if metric.value is not None and metric.higher_is_better is not None and metric.name != ANSWERED
    ]
    return next(iter(headlines(judged) or judged), None)


def _shown_value(metric: Metric) -> float:
    """Return a value as it is published: a fraction in percent."""
    value = float(metric.value or 0)
    return round(100 * value, DIGITS) if is_percent(metric.name, value, counted=is_counted(metric.ci_method)) else value


def _describe_result(case: CaseRun, metric: Metric) -> str:
    """Return the metric, its interval and n, and the protocol, as a note of a result."""
    scale = 100 if is_percent(metric.name, metric.value, counted=is_counted(metric.ci_method)) else 1
    interval = f", 95 % interval {scale * metric.ci[0]:.2f} to {scale * metric.ci[1]:.2f}" if metric.ci else ""
    unit = " in %" if scale == 100 else ""
    unit += "" if metric.higher_is_better else ", lower is better"
    return f"{metric.name} ({metric.labels}){unit}{interval}, n={metric.n}, protocol {case.record.protocol}"


def _result_entries(cases: list[CaseRun], dataset: str, run: Run, source_url: str | None) -> Iterator[str]:
    """Yield the results of a model on the splits of a data set of the hub as YAML."""
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml
    from yaml import safe_dump

    for case in cases:
        if metric := _main_metric(case):
            entry = EvalResultEntry(
                dataset_id=dataset,
                task_id=case.record.split,
                value=_shown_value(metric),
                date=run.started,
                source_url=source_url,
                notes=_describe_result(case, metric),
            )
            yield str(safe_dump(eval_result_entries_to_yaml([entry]), sort_keys=False, allow_unicode=True))


def model_card(model: str, cases: list[CaseRun], datasets: Mapping[str, str]) -> str:
    """Return a model card: metadata with the main metric of each case, and a table of metrics over all samples."""
    from huggingface_hub import EvalResult, ModelCardData

    results = [
        EvalResult(
            task_type="image-classification",
            dataset_type=datasets.get(case.record.benchmark, case.record.benchmark),
            dataset_name=case.record.benchmark,
            dataset_split=case.record.split,
            metric_type=metric.name,
            metric_name=_describe_result(case, metric),
            metric_value=_shown_value(metric),
        )
        for case in cases
        if (metric := _main_metric(case))
    ]
    data = ModelCardData(model_name=model, eval_results=results, tags=["eyechart"])
    rows = tuple(
        (f"{case.record.benchmark}/{case.record.split}", case.record.protocol, *metric_cells(metric))
        for case in cases
        for metric in headlines(case.record.metrics)
        if metric.value is not None
    )
    columns = ("Split", "Protocol", "Metric", "Labels", "Value", "95 % interval", "n")
    note = "Evaluated with eyechart; accuracies and shares are fractions."
    return f"---\n{data.to_yaml()}\n---\n\n# {model}\n\n{to_markdown(Table('Evaluation', columns, rows, (note,)))}"


def metric_cells(metric: Metric) -> tuple[str, str, str, str, int]:
    """Return the cells of a metric: name, labels, value, interval and n."""
    interval = f"{metric.ci[0]:.4f} to {metric.ci[1]:.4f}" if metric.ci else ""
    return metric.name, metric.labels, f"{metric.value:.4f}", interval, metric.n
