"""Every figure of RealBirdID: SVG that parses, names its models, and says of what."""

import pytest
from matplotlib.text import Text

from eyechart.cli import main
from eyechart.errors import ReportError
from eyechart.realbirdid.figures.chart_styles import case_styles
from eyechart.reports.figures.registry import draw, figure_drawers
from eyechart.reports.tables.registry import names_by_number, tables

pytestmark = pytest.mark.deep

NAMES = [
    number
    for number, name in names_by_number().items()
    if number.startswith("realbirdid-") and name in figure_drawers()
]
OF_EVERY_KIND = tuple(f"realbirdid-F{number}" for number in (4, 5, 6, 8, 11, 19))
OF_ONE = "realbirdid-F8"  # only who answers in words is in it
MEANS = "realbirdid-F6"  # no model has its name in it


def test_the_figures_are_those_of_the_paper():
    assert sorted(NAMES) == sorted(f"realbirdid-F{n}" for n in (*range(3, 12), 13, *range(15, 20)))


def texts_of(made):
    """What is written on a figure; it is drawn for long names in every/test_figures.py, and in tests below."""
    ticks = [label for ax in made.axes for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    return [text.get_text() for text in (*ticks, *made.findobj(Text))]


@pytest.mark.parametrize("name", OF_EVERY_KIND)
def test_a_figure_names_every_model_and_says_how_was_asked(three, figure, name):
    texts = texts_of(figure(three, name.partition("-")[2]))
    models = ("hf[c]",) if name == OF_ONE else ("hf_clip[$x$]", "hf_clip[b]", "hf[c]")
    assert name == MEANS or all(any(model in text for text in texts) for model in models)
    if name != OF_ONE:
        assert_caption(name, " ".join(texts))


def assert_caption(name: str, caption: str) -> None:
    """Its labels, numbers of images and prompts."""
    labels = {"F6": "eligible", "F19": "eligible", "F11": "range"}.get(name.partition("-")[2], "all species")
    n = "A n=40, UA n=20" if labels == "all species" else "A n=32, UA n=16"
    for said in ("realbirdid/val", f"{labels}: {n}", "prompt species (89abcdef)", "templates bird (01234567)"):
        assert said in caption


def test_runs_without_birds_are_refused_with_the_remedy(run_folder, tmp_path):
    for name in NAMES:
        assert main(["figure", name, str(run_folder), "--out", str(tmp_path / "f.svg")]) == 2, name
        assert not (tmp_path / "f.svg").exists()


def test_a_name_like_a_formula_is_drawn_as_it_is(three, drawing):
    assert any("hf_clip[$x$]" in (text or "") for text in drawing(three, "realbirdid-F4"))


def test_labels_that_no_number_has_are_refused_with_the_nearest(three, tmp_path):
    with pytest.raises(ReportError, match=r"No number is under 'ranges'; did you mean range\? There are: all species"):
        draw("realbirdid-F5", three, "ranges", None, tmp_path)


@pytest.mark.parametrize(
    ("first", "refused"),
    [
        (0, {"F9": "answerable and unanswerable images together"}),
        (
            2,
            {
                "F9": "answerable and unanswerable images together",
                "F5": "answerable images",
                "F18": "answerable images",
            },
        ),
    ],
)
def test_birds_of_one_kind_without_a_curve_are_refused(alike, tmp_path, first, refused):
    pool = alike(first)
    for name, kinds in refused.items():
        said = rf"realbirdid-{name} needs .*, about {kinds}; these runs have species"
        with pytest.raises(ReportError, match=said):
            draw(f"realbirdid-{name}", pool, None, None, tmp_path)
        with pytest.raises(ReportError, match=said):
            tables(f"realbirdid-{name}", pool)


@pytest.mark.parametrize("name", ["realbirdid-F4", "realbirdid-F9"])
def test_labels_can_be_chosen(three, tmp_path, name):
    text = draw(name, three, "range", None, tmp_path).read_text(encoding="utf-8")
    assert "range: A n=32, UA n=16" in text
    assert "all species:" not in text


def test_sixteen_models_have_their_names_and_sixteen_looks(aviary, figure):
    models = [f"hf_clip[a{index:02}]" for index in range(16)]
    aviary.species(models[0])
    aviary.again(*models[1:])
    pool = aviary.pool()
    texts = texts_of(figure(pool, "F5"))
    assert all(any(model in text for text in texts) for model in models)
    assert len({*case_styles(pool, pool.groups[0].cases)}) == 16


def test_a_model_looks_the_same_whoever_else_is_in_a_figure(three):
    entries = [entry for group in three.groups for entry in group.cases]
    by_model = {}
    for protocol in ("species", "flat_list", "abstention"):
        some = [entry for entry in entries if entry.record.protocol == protocol]
        for entry, look in zip(some, case_styles(three, some), strict=True):
            by_model.setdefault(entry.model, set()).add(look)
    assert [len(found) for found in by_model.values()] == [1, 1, 1]


def test_two_cases_of_one_model_differ_in_their_dashes(aviary):
    for called in ("scientific", "common"):
        aviary.species("hf_clip[a]", species_names=called)
    pool = aviary.pool()
    one, other = case_styles(pool, pool.groups[0].cases)
    assert (one.colour, one.marker) == (other.colour, other.marker)
    assert one.dash != other.dash
