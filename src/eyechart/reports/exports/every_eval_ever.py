"""Runs in the schema of Every Eval Ever, version 0.3.0: a JSON file for each benchmark and model."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from math import isfinite
from typing import Any
from uuid import UUID

from eyechart.reports.runs import CaseRun, Runs
from eyechart.results.glossary import describe_metric, is_counted, is_percent
from eyechart.results.records import Metric, Record, Run, encode

SCHEMA, LEVEL = "0.3.0", 0.95
UNKNOWN = "unknown"


def export_every_eval_ever(runs: Runs, organization: str) -> Iterator[tuple[str, bytes]]:
    """Yield the path and content of a file for each case: every metric with a direction, its interval and n.

    `organization` is who evaluated.
    """
    sessions = dict(runs.sessions)
    for case in runs.cases:
        record = case.record
        content = encode(_describe_case(case, sessions[case.folder], organization))
        name = UUID(bytes=sha256(content).digest()[:16], version=4)
        developer, _, model = case.model.rpartition("/")
        parts = (record.benchmark, developer or UNKNOWN, model)
        yield "/".join(("data", *map(_safe_part, parts), f"{name}.json")), content


def _safe_part(text: str) -> str:
    """Return a text as the name of a folder.

    >>> _safe_part("open_clip[ViT-B-32,pretrained=openai]")
    'open_clip-ViT-B-32-pretrained-openai'
    """
    kept = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in text)
    return kept.strip("-.") or UNKNOWN


def _describe_case(case: CaseRun, run: Run, organization: str) -> dict[str, Any]:
    """Return the content of a file."""
    record, when = case.record, str(datetime.fromisoformat(run.started).timestamp())
    tool = record.model.backend if record.model.backend in record.environment else "eyechart"
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{record.benchmark}/{case.model}/{when}",
        "evaluation_timestamp": run.started,
        "retrieved_timestamp": when,
        "source_metadata": {
            "source_name": "eyechart",
            "source_type": "evaluation_run",
            "source_organization_name": organization,
            "evaluator_relationship": "other",
        },
        "eval_library": {
            "name": tool,
            "version": record.environment.get(tool, UNKNOWN),
            "additional_details": dict(record.environment),
        },
        "model_info": {
            "name": case.model,
            "id": record.model.name or case.model,
            "additional_details": {
                "deployment_type": "self_deployed" if record.model.weights_sha256 else UNKNOWN,
                "model_availability": UNKNOWN,
                "specification": record.model.spec,
                "weights_sha256": record.model.weights_sha256,
                "revision": record.model.revision,
                "dtype": record.model.dtype,
            },
        },
        "evaluation_results": [
            _describe_metric_result(metric, record)
            for metric in record.metrics
            if metric.value is not None and metric.higher_is_better is not None
        ],
    }


def _describe_metric_result(metric: Metric, record: Record) -> dict[str, Any]:
    """Return a metric as a result, with its interval, number of samples and settings."""
    value = float(metric.value or 0)
    is_proportion = is_percent(metric.name, value, counted=is_counted(metric.ci_method)) and value >= 0
    unbounded = {"min_score": "-Infinity", "max_score": "Infinity"}
    return {
        "evaluation_name": "/".join((record.benchmark, record.split, record.protocol)),
        "source_data": {
            "dataset_name": f"{record.benchmark}/{record.split}",
            "source_type": "other",
            "additional_details": {"fingerprint": record.data.fingerprint, "samples": str(record.data.n)},
        },
        "metric_config": {
            "evaluation_description": describe_metric(metric.name) or metric.name,
            "metric_id": "/".join(filter(None, ("eyechart", *metric.printed_key))),
            "metric_name": metric.name,
            "metric_unit": "proportion" if is_proportion else "points",
            "metric_parameters": {"labels": metric.labels, "subset": metric.subset_text},
            "lower_is_better": not metric.higher_is_better,
            "score_type": "continuous",
            **({"min_score": 0.0, "max_score": 1.0} if is_proportion else unbounded),
        },
        "score_details": {
            "score": value,
            "details": {"n_clusters": str(metric.n_clusters)},
            "uncertainty": {"num_samples": metric.n, **_describe_interval(metric)},
        },
        "generation_config": {"additional_details": dict(record.variant)},
    }


def _describe_interval(metric: Metric) -> Mapping[str, Any]:
    """Return the interval of a metric, {} without one."""
    if metric.ci is None or not all(map(isfinite, metric.ci)):
        return {}
    low, high = metric.ci
    return {
        "confidence_interval": {
            "lower": low, "upper": high, "confidence_level": LEVEL, "method": metric.ci_method,
        }
    }  # fmt: skip
