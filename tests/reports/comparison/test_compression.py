"""A variant beside the original: flips of known answers, the verdict on them, and what scores moved."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eyechart.gate.session.gate_status import INCONCLUSIVE, REGRESSION
from eyechart.statistics.intervals import wilson
from eyechart.statistics.noise_floor import detectable_beside_noise
from eyechart.statistics.noninferiority import loss_upper_limit
from tests.compressed import COLOURS, Compress

pytestmark = pytest.mark.deep


def test_known_flips_are_counted_with_their_intervals_and_the_noise_floor(
    compress: Compress, replayed: Callable[..., str], colours: Path
) -> None:
    first = replayed("first.csv", "red0.png")
    lost = [f"blue{number}.png" for number in range(4)]
    other = replayed("other.csv", *lost)
    result = compress(
        first, "pets/test", {"again": first, "int8": other}, data_root=str(colours), alpha=0.2, margin=0.05
    )
    same, changed = (row for _, row in result.variants.iterrows())
    assert (same["variant"], same["n"], same["flips"], same["lost"], same["gained"]) == ("again", 40, 0, 0, 0)
    assert (changed["variant"], changed["n"], changed["flips"]) == ("int8", 40, 5)
    assert (changed["lost"], changed["gained"]) == (4, 1)
    assert (changed["before"], changed["after"]) == pytest.approx((39 / 40, 36 / 40))
    assert (changed["flip_rate_low"], changed["flip_rate_high"]) == wilson(5, 40)
    floors = [detectable_beside_noise(40, share, 0.2) for share in (wilson(5, 40).low, 5 / 40, wilson(5, 40).high)]
    assert [*changed[["noise_floor_low", "noise_floor", "noise_floor_high"]]] == pytest.approx(floors)
    assert changed["excluded_loss"] == pytest.approx(loss_upper_limit(4, 1, 40, 0.2))
    assert {*result.samples["key"].map(lambda key: Path(key).name)} == {"red0.png", *lost}
    assert [*result.classes[["variant", "class", "lost"]].itertuples(index=False)] == [("int8", "blue", 4)]
    assert "int8 differs in files" in repr(result)
    assert "int8: classes that lost most: blue (4)." in repr(result)


@pytest.mark.parametrize(
    ("wrong", "margin", "verdict", "status"),
    [
        (0, 0.2, "kept", 0),
        (0, 0.01, "kept", 0),  # the same bytes: there is no loss
        (1, 0.01, "not shown", INCONCLUSIVE),
        (4, 0.01, "not shown", INCONCLUSIVE),
        (12, 0.2, "worse", REGRESSION),
        (4, 0.4, "kept", 0),
    ],
)
def test_the_verdict_follows_from_the_margin_and_decides_the_status(
    compress: Compress,
    replayed: Callable[..., str],
    colours: Path,
    wrong: int,
    margin: float,
    verdict: str,
    status: int,
) -> None:
    other = replayed("other.csv", *(f"blue{number}.png" for number in range(wrong)))
    result = compress(replayed("first.csv"), "pets/test", {"int8": other}, data_root=str(colours), margin=margin)
    assert [*result.variants["verdict"]] == [verdict]
    assert result.status == status


def test_scores_that_move_too_little_for_any_answer_are_equal_and_are_not_rounded(
    compress: Compress, colours: Path
) -> None:
    variants = {"float": f"{COLOURS}[moved=0.00002]", "far": f"{COLOURS}[moved=200]"}
    result = compress(f"{COLOURS}[]", "pets/test", variants, data_root=str(colours), protocol="supervised")
    rows = result.variants.set_index("variant")
    assert [*rows["verdict"]] == ["equal", "not shown"]
    assert [*rows["flips"]] == [0, 0]
    assert rows.loc["float", "score_change"] == pytest.approx(0.00002, rel=0.2)
    assert [*rows["top1_margin"]] == [255, 255]
    assert [*rows["smaller"]] == [1, 1]
    assert result.status == INCONCLUSIVE
    assert "far differs in files, number format (float32, now int8), settings (engine)." in repr(result)
    assert "far: a loss of 1 point is not excluded; one of 11.9 points is." in repr(result)


def test_a_generator_is_compared_by_its_words_and_repeated_questions_are_clusters(compress: Compress) -> None:
    spec = "hf[toybox-mllm]"
    result = compress(
        spec, "toybox/sample", {"again": spec}, protocol="multiple_choice", options={"epochs": 3}, limit=2
    )
    (row,) = (row for _, row in result.variants.iterrows())
    assert row["n"] == 6
    assert row["flip_rate_high"] == pytest.approx(wilson(0, 2).high)  # 2 images, asked three times each
    assert np.isnan(row["noise_floor"])
    assert row["verdict"] == "kept"  # the same model with the same answers: there is no loss
    assert row["score_change"] is None
