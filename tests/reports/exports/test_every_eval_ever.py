"""Tests of `eyechart.reports.exports.every_eval_ever`."""

import json
from collections.abc import Callable
from pathlib import Path

from eyechart.results.records import Record, read_run

Export = Callable[..., list[Path]]


def by_case(run: Path) -> dict[tuple[str, str], Record]:
    return {(record.case, record.protocol): record for record in read_run(run).records}


def test_every_eval_ever_has_each_metric_with_interval_and_n(run_folder: Path, export: Export) -> None:
    paths = export("every-eval-ever", run_folder, "--organization=me")
    records = [*by_case(run_folder).values()]
    assert len(paths) == len(records)
    found = {}
    for path in paths:
        content = json.loads(path.read_bytes())
        assert content["schema_version"] == "0.3.0"
        assert path.parts[-5:-3] == ("data", "imagenet")
        for result in content["evaluation_results"]:
            config, details = result["metric_config"], result["score_details"]
            interval = details["uncertainty"].get("confidence_interval", {})
            key = (content["model_info"]["additional_details"]["specification"], config["metric_id"])
            assert key not in found
            found[key] = (
                details["score"], interval.get("lower"), interval.get("upper"), details["uncertainty"]["num_samples"],
                config["lower_is_better"],
            )  # fmt: skip
    expected = {
        (record.model.spec, "/".join(filter(None, ("eyechart", metric.name, metric.labels, metric.subset_text)))): (
            metric.value, *(metric.ci or (None, None)), metric.n, not metric.higher_is_better,
        )
        for record in records
        for metric in record.metrics
        if metric.value is not None and metric.higher_is_better is not None
    }  # fmt: skip
    assert found == expected
