"""The chart of variants, and which of them another model beats."""

import pytest

import eyechart
from eyechart.gate.session.gate_status import REGRESSION

pytestmark = pytest.mark.deep


def test_a_variant_is_dominated_only_beyond_both_intervals(measured: eyechart.Compression) -> None:
    rows = measured.variants.set_index("variant")
    assert [*rows["verdict"]] == ["equal", "worse", "kept"]
    assert measured.status == REGRESSION
    text = repr(measured)
    assert "bad is dominated: original is no larger and more accurate, beyond both intervals." in text
    assert "bad is dominated: original is faster and more accurate, beyond both intervals." in text
    assert "fast is dominated" not in text
    (slices,) = (line for line in text.splitlines() if "slices that lost significantly" in line)
    assert slices.startswith("- bad: slices that lost significantly: class=red lost ")
    assert "far is dominated" not in text  # it may be slower than `fast`, and is not surely less accurate


def test_the_chart_has_each_model_in_both_panels(measured: eyechart.Compression) -> None:
    figure = measured.plot()
    size, speed = figure.axes
    assert (size.get_xlabel(), speed.get_xlabel()) == ("size, MB", "times as fast as the original")
    legend = speed.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["original", "fast: equal", "bad: worse", "far: kept"]
    changes = [container.lines[0].get_ydata()[0] for container in speed.containers]
    assert changes == pytest.approx([0, *(100 * measured.variants["change"])])
