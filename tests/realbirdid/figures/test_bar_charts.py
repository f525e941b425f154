"""Figures 3, 4, 6, 7, 8, 16 and 19 of RealBirdID: bars, points and matrices are the numbers of their tables."""

import pytest

from eyechart.realbirdid.figures.range_charts import NOTHING
from tests.realbirdid.figures.table_rows import rows


def widths(ax):
    """How long the bars of a panel are, from top to bottom."""
    bars = [bar for container in ax.containers for bar in container]
    return [bar.get_width() for bar in sorted(bars, key=lambda bar: bar.get_y())]


@pytest.mark.deep
def test_figure_3_has_a_point_a_genus_on_logarithmic_axes(three, figure):
    left, right = figure(three, "F3").axes
    points = [list(line.get_ydata()) for line in left.get_lines()[:2]]
    counts = [[int(row["count"]) for row in rows(three, "F3") if row["Set"] == name] for name in ("A", "UA")]
    assert points == counts
    assert (left.get_xscale(), left.get_yscale(), right.get_xscale()) == ("log", "log", "log")
    assert [line.get_ydata()[-1] for line in right.get_lines()] == [100, 100]


@pytest.mark.parametrize(("name", "heads"), [
    ("F4", ("Answerable", "Unanswerable", "HM")),
    ("F16", ("A Species", "A Genus", "UA Genus")),
])  # fmt: skip
def test_bars_are_as_long_as_their_numbers(three, figure, name, heads):
    axes = figure(three, name).axes
    assert [ax.get_title() for ax in axes] == [f"{head} (%)" for head in heads]
    for ax, head in zip(axes, heads, strict=True):
        columns = [column for column in rows(three, name)[0] if column in (head, *(f"{head} {of}" for of in (
            "AUC macro", "AUC balanced", "Acc macro")))]  # fmt: skip
        numbers = [float(row[column]) for row in rows(three, name) for column in columns]
        assert widths(ax) == pytest.approx(numbers, abs=0.01)


def test_every_bar_has_its_number_with_its_interval(three, figure):
    texts = sorted(figure(three, "F4").axes[0].texts, key=lambda text: text.xy[1])
    said = [text.get_text() for text in texts]
    first = rows(three, "F4")[0]
    assert len(said) == 6
    number = [f"{float(first[f'Answerable{end}']):.1f}" for end in ("", " low", " high")]
    assert said[0] == "{} [{}, {}]".format(*number)


def test_figure_6_has_the_means_and_every_model_as_a_point(ranged, figure):
    ax = figure(ranged, "F6").axes[0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["Encoder-Based, 2 models"]
    assert [[round(x) for x in line.get_xdata()] for line in ax.get_lines()] == [[50, 80], [60, 40]]
    assert ax.texts[0].get_text().startswith("55.0")


def test_a_model_with_one_side_alone_has_no_bar(flock, figure):
    flock.case(metrics=[("ig", "range", "answerable", 0.5), ("ua_a", "range", "all", 0.5)])
    assert not figure(flock.pool(), "F19").axes[0].containers


@pytest.mark.parametrize("name", ["F6", "F19"])
def test_a_number_that_no_model_has_is_told_in_its_panel(flock, figure, name):
    flock.case(metrics=[("ig", labels, "answerable", 0.5) for labels in ("eligible", "range")])
    has, lacks = figure(flock.pool(), name).axes
    assert (len(has.containers), [text.get_text() for text in lacks.texts]) == (2, [NOTHING])
    assert has.get_ylim() == lacks.get_ylim()
