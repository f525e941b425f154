"""`eyechart.compress`: what is computed anew, speed, and sentences for what cannot be compared."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import eyechart
from eyechart.errors import ReportError, SpecError
from eyechart.inference.store.contents import list_entries
from tests.compressed import CALLS, COLOURS, Compress

pytestmark = pytest.mark.deep


def test_a_variant_that_equals_the_original_is_computed_anew(compress: Compress, colours: Path) -> None:
    CALLS["evaluations"] = 0
    spec = f"{COLOURS}[unsteady=true]"
    result = compress(spec, colours / "pets" / "test", {"one": spec, "two": spec, "three": spec}, protocol="supervised")
    assert [*result.variants["flips"]] == [*result.variants["lost"]] == [1, 0, 1]
    assert result.variants["score_change"].tolist() == [255, 0, 255]
    assert [*result.variants["verdict"]] == ["not shown", "equal", "not shown"]
    assert CALLS["evaluations"] == 4
    again = compress(spec, colours / "pets" / "test", {"one": spec}, protocol="supervised")
    assert CALLS["evaluations"] == 5  # the answers of the original came from the store
    assert [*again.variants["flips"]] == [0]


def test_a_packaged_model_keeps_its_answers_in_other_batches_and_moves_its_scores_with_the_precision(
    compress: Compress, tmp_path: Path, toys: Path
) -> None:
    variants = {
        "ones": "open_clip[toybox-clip,batch_size=1]",
        "bf16": "open_clip[toybox-clip,batch_size=6,dtype=bfloat16]",
    }
    result = compress("open_clip[toybox-clip,batch_size=6]", toys, variants)
    rows = result.variants.set_index("variant")
    assert rows.loc["ones", "verdict"] == "equal"
    assert 0 <= rows.loc["ones", "score_change"] < 1e-5
    assert rows.loc["bf16", "flips"] <= 1
    assert rows.loc["bf16", "score_change"] > 1e-3
    assert not (rows["noise_floor"] <= 0.1).any()  # so few images cannot show a loss of ten points, if any
    assert rows.loc["ones", "bytes"] > 4_000_000
    keys = [entry.key for entry in list_entries(tmp_path / "store")]
    assert {key["model"]["dtype"] for key in keys} == {"float32", "bfloat16"}  # variants are not asked again


def test_the_speed_is_beside_the_original_and_a_slower_variant_is_not_called_faster(
    compress: Compress, colours: Path
) -> None:
    variants = {"slow": f"{COLOURS}[moved=0.00002,wait=0.02]"}
    spec = f"{COLOURS}[wait=0.002]"
    result = compress(spec, "pets/test", variants, data_root=str(colours), protocol="supervised", speed=True)
    (row,) = (row for _, row in result.variants.iterrows())
    assert row["faster_low"] <= row["faster"] <= row["faster_high"] < 1
    assert row["images_per_second"] < 16 / 0.02
    table = repr(result)
    assert "Speed with " in table
    assert "Smaller, faster" not in table


def test_another_model_without_the_same_case_is_refused(
    compress: Compress, replayed: Callable[..., str], colours: Path
) -> None:
    with pytest.raises(ReportError, match=r"clip has no case"):
        compress(replayed("a.csv"), colours / "pets" / "test", {"clip": "open_clip[toybox-clip]"})
    with pytest.raises(SpecError, match="compress keeps no runs, so that out='runs' has no effect"):
        compress("conse[]", "toybox/sample", {"same": "conse[]"}, out="runs")
    with pytest.raises(SpecError, match=r"margin is 1\. Expected a fraction"):
        compress("conse[]", "toybox/sample", {"same": "conse[]"}, margin=1)
    with pytest.raises(SpecError, match=r"alpha is 0\. Expected a significance level"):
        compress("conse[]", "toybox/sample", {"same": "conse[]"}, alpha=0)
    with pytest.raises(SpecError, match="There is no variant to compare"):
        compress("conse[]", "toybox/sample", {})


def test_scores_belong_to_their_protocol_in_whatever_order_they_are_named(tmp_path: Path) -> None:
    spec = "hf[toybox-mllm]"
    found = eyechart.compress(
        spec,
        "toybox/sample-cutouts",
        {"same": spec},
        protocol=["posterior", "closed_world"],  # records are in the order of the alphabet
        limit=2,
        speed=False,
        store=tmp_path / "store",
        offline=True,
        progress=False,
    )
    largest = {item.key[1]: item.scores and item.scores.largest for item in found.cases}
    assert largest == {"closed_world": None, "posterior": 0}  # closed world has no scores


@pytest.mark.parametrize(
    ("original", "variants", "sentence"),
    [
        ((len, len), {"a": "timm[]"}, "The original is of the type tuple. Expected a specification"),
        ("timm[]", {"a": len}, "The variant a is of the type builtin_function_or_method. Expected a specification"),
        ("timm[]", ["timm[]"], "The variants are a list. Expected a mapping from names"),
    ],
)
def test_models_in_memory_are_sent_elsewhere(original: Any, variants: Any, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        eyechart.compress(original, "toybox/sample", variants)
