"""Cases as logs of inspect_ai, version 2, which `inspect view` opens."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from eyechart.gate.baselines.baseline_files import model_slug
from eyechart.reports.runs import CaseRun, Runs
from eyechart.results.headlines import ANSWERED
from eyechart.results.records import Record, Run
from eyechart.results.sample_table import SHARED_COLUMNS

VERSION = 2
OUTCOMES: Mapping[float, str] = {1.0: "C", 0.0: "I"}
OWN_COLUMNS = frozenset((*SHARED_COLUMNS, "response", "epoch"))


def export_inspect_logs(runs: Runs) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of a log for each case.

    `inspect view` lists a JSON log if its name begins with a time, and reads its fields in their order.
    """
    sessions = dict(runs.sessions)
    for case in runs.cases:
        record, run = case.record, sessions[case.folder]
        task = "-".join((record.benchmark, record.split, record.protocol))
        case_id = sha256(f"{record.case} {record.protocol}".encode()).hexdigest()[:8]  # with the options of the case
        task_and_model = (part.replace("_", "-") for part in (task, model_slug(case.model)))
        name = f"{'_'.join((run.started.replace(':', '-'), *task_and_model, case_id))}.json"
        yield name, msgspec.json.format(msgspec.json.encode(_describe_log(case, run)))


def _describe_log(case: CaseRun, run: Run) -> dict[str, Any]:
    """Return the log of a case: its answers as samples, and its metrics as results."""
    record = case.record
    scorer = next((metric.name for metric in record.metrics if metric.name != ANSWERED), record.protocol)
    samples = [*describe_samples(case, scorer)]
    epochs = max((sample["epoch"] for sample in samples), default=1)
    names = [*dict.fromkeys(sample["id"] for sample in samples)]
    return {
        "version": VERSION,
        "status": "success",
        "eval": {
            "eval_id": record.data.fingerprint[:22],
            "run_id": record.data.fingerprint[:22],
            "created": run.started,
            "task": f"{record.benchmark}/{record.protocol}",
            "task_id": case.model,
            "task_args": dict(record.variant),
            "dataset": {"name": record.split, "samples": len(names), "sample_ids": names, "shuffled": False},
            "model": case.model,
            "model_args": {"spec": record.model.spec, "weights_sha256": record.model.weights_sha256},
            "config": {"epochs": epochs, **({} if record.limit is None else {"limit": len(names)})},
            "packages": {name: text for name, text in record.environment.items() if name != "platform"},
            "metadata": {"notes": list(record.notes), "command": record.command},
        },
        "plan": {"name": record.protocol, "steps": [], "config": {}},
        "results": {
            "total_samples": len(samples),
            "completed_samples": sum("error" not in sample for sample in samples),
            "scores": [*_describe_scores(record)],
        },
        "stats": {"started_at": run.started, "completed_at": run.started, "model_usage": {}},
        "samples": samples,
    }


def _describe_scores(record: Record) -> Iterator[dict[str, Any]]:
    """Yield the metrics of a case, each with its value, the ends of its interval, and n."""
    names = Counter(metric.name for metric in record.metrics)
    for metric in record.metrics:
        if metric.value is not None:
            values = {"mean": float(metric.value)} | dict(zip(("ci_low", "ci_high"), metric.ci or (), strict=False))
            yield {
                "name": metric.name if names[metric.name] == 1 else metric.full_name,
                "scorer": metric.name,
                "scored_samples": metric.n,
                "params": {"labels": metric.labels, "subset": metric.subset_text},
                "metrics": {name: {"name": name, "value": value, "params": {}} for name, value in values.items()},
                "metadata": {"n": metric.n, "n_clusters": metric.n_clusters, "ci_method": metric.ci_method},
            }


def describe_samples(case: CaseRun, scorer: str) -> Iterator[dict[str, Any]]:
    """Yield the answers of a case; several answers to one image in an epoch get a number after their key."""
    frame = case.samples()
    rows: Sequence[Mapping[str, Any]] = frame.to_dict("records")
    answers: Counter[tuple[str, int]] = Counter()
    for row in rows:
        key, epoch = str(row["key"]), int(row.get("epoch") or 0) + 1
        answers[key, epoch] += 1
        number = answers[key, epoch]
        response = str(row.get("response") or row["prediction"])
        outcome = OUTCOMES.get(row["correct"])
        sample: dict[str, Any] = {
            "id": key if number == 1 else f"{key} #{number}",
            "epoch": epoch,
            "input": key,
            "target": row["target"],
            "messages": [
                {"role": "user", "content": key, "source": "input"},
                {"role": "assistant", "content": response, "source": "generate"},
            ],
            "output": {
                "model": case.model,
                "choices": [{"message": {"role": "assistant", "content": response}, "stop_reason": "stop"}],
                "completion": response,
            },
            "metadata": {name: str(value) for name, value in row.items() if name not in OWN_COLUMNS and value != ""},
            "scores": {scorer: {"value": outcome, "answer": row["prediction"]}} if outcome else {},
        }
        if row["error"]:
            sample["error"] = {"message": row["error"], "traceback": "", "traceback_ansi": ""}
        yield sample
