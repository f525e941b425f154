"""The file of verdicts: what its schema describes, numbers that there are not, groups, and a place that is none."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from jsonschema import Draft202012Validator

from eyechart.errors import ReportError
from eyechart.gate.comparison.compare_metrics import compare_metrics
from eyechart.gate.comparison.pooled import pool_models
from eyechart.gate.verdicts.decide import Rule, Verdict, decide
from eyechart.gate.verdicts.verdict_file import SessionVerdicts, json_schema, summarise_session, write_verdicts
from tests.gate.verdicts.changed_shares import RIGHT, changed


@pytest.fixture
def clustered(make: Any, share: Any) -> list[Verdict]:
    """The verdicts on two cases of a model whose samples are in clusters, and then the pooled one."""
    groups = np.array([0, 0, 1, 1])
    parts = [
        comparison
        for split in ("s0", "s1")
        for comparison in compare_metrics(
            *(
                make(share(acc1=side), case=f"imagenet/{split}/m[]", groups=groups, weights_sha256=weights)
                for side, weights in (([1.0, 1, 0, 1], "0" * 64), ([0.0, 0, 0, 1], "1" * 64))
            )
        )
    ]
    return decide([*parts, *pool_models(parts)])


def test_verdicts_of_clustered_samples_are_json(clustered: list[Verdict]) -> None:
    *cases, pooled = clustered
    text = msgspec.json.encode(summarise_session(cases, [pooled], Rule()))
    assert msgspec.json.decode(text)["metrics"][0]["low"] < 0


def test_what_is_written_is_what_the_schema_describes_and_is_read_again(
    clustered: list[Verdict], tmp_path: Path
) -> None:
    *cases, pooled = clustered
    summary = summarise_session(cases, [pooled], Rule(), ["imagenet/s2/m[] (zero_shot)"], 10)
    write_verdicts(tmp_path / "v.json", summary)
    text = (tmp_path / "v.json").read_text(encoding="utf-8")
    Draft202012Validator.check_schema(json_schema())
    Draft202012Validator(json_schema()).validate(json.loads(text))
    assert msgspec.json.decode(text, type=SessionVerdicts) == summary
    assert text.endswith("}\n")
    assert summary.sentence.endswith("; 1 case was not compared")


def test_a_number_that_there_is_not_is_null(make: Any, named: Any) -> None:
    sides = (make([named("ig", value, interval=None)]) for value in (0.5, 0.4))
    (metric,) = summarise_session(decide([*compare_metrics(*sides)]), [], Rule()).metrics
    absent = {"low", "high", "lost", "gained", "p", "p_adjusted", "draws", "loss_limit", "more_samples", "margin"}
    assert {name for name, value in msgspec.structs.asdict(metric).items() if value is None} == absent
    assert metric.change == pytest.approx(-0.1)


def test_losses_of_accepted_versions_make_a_session_a_regression(judged: Any) -> None:
    summary = summarise_session(judged({"acc1": RIGHT}, {"acc1": changed(0, 100)}), [], Rule(), drifts=["a drift"])
    assert (summary.verdict, summary.cases[0].verdict) == ("regression", "improvement")
    assert summary.sentence.startswith("a drift; improvement in 1 of 1 case")
    assert summarise_session([], [], Rule()).sentence == "nothing was compared"


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ReportError) as refused:
        write_verdicts(tmp_path, summarise_session([], [], Rule()))
    assert str(refused.value) == f"{tmp_path} cannot be written: Is a directory."
