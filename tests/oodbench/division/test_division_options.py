"""Choices about pairs: which cases there are, and what two of them that ask the same are called."""

import pytest

from eyechart.errors import SpecError
from eyechart.models.registry import capabilities
from eyechart.models.spec import parse_spec
from eyechart.oodbench.division.division_options import DETECTORS, EXISTENCE, THRESHOLD
from eyechart.protocol.registry import get_protocol

FILE = ("mine.json",)


def variants(protocol: str, offered: str = "", **given: tuple[str, ...]) -> list[str]:
    """The names of the cases."""
    asked = get_protocol(protocol)
    return [asked.case_suffix(options) for options in asked.expand_grid(given, {offered})]


@pytest.mark.parametrize("protocol", ["existence", "progression", "detection"])
def test_every_threshold_is_a_case(protocol: str) -> None:
    assert variants(protocol, threshold=("0.05", "0.01")) == ["", "threshold=0.01"]


def test_a_detector_s_templates_are_a_case() -> None:
    assert variants("detection", detector_templates=("1", "7")) == ["", "detector_templates=7"]


@pytest.mark.parametrize(
    "name", ["detectors", "detector_templates", "threshold", "max_pairs", "absent_categories", "hard_samples"]
)
def test_a_division_from_a_file_has_its_own_parameters(name: str) -> None:
    values = (next(each.default for each in EXISTENCE if each.name == name), "another")
    assert variants("existence", division=FILE, **{name: values}) == ["division=mine.json"]


def test_options_that_a_division_from_a_file_leaves_idle_are_named() -> None:
    given = {"division": ("mine",), "threshold": ("0.01",), "hard_samples": ("own",)}
    idle = "which --eye-set=existence.threshold=0.01 and --eye-set=existence.hard_samples=own cannot change"
    assert get_protocol("existence").warnings(given).endswith(idle)
    assert get_protocol("existence").warnings({**given, "division": ("built", "mine")}) == ""


def test_a_distribution_is_a_case_with_a_reference_alone() -> None:
    assert variants("distribution") == []
    assert variants("distribution", reference=("oodbench/coco-train",)) == ["reference=oodbench/coco-train"]


def test_words_of_a_file_are_one_case_however_they_would_be_extracted() -> None:
    both = ("choice", "inclusion")
    assert variants("free_form", "said:free_form", extraction=both) == [""]
    assert variants("free_form", "generator", extraction=both) == ["", "extraction=inclusion"]


@pytest.mark.parametrize(("given", "values"), [("0.05,.05,5e-2", ("0.05",)), ("0.010,1", ("0.01", "1.0"))])
def test_equal_thresholds_are_one(given: str, values: tuple[str, ...]) -> None:
    assert THRESHOLD.parse_values(given, "--eye-set=existence.threshold") == values


@pytest.mark.parametrize("given", ["1.5", "-0.1", "nan", "five", ""])
def test_a_threshold_is_a_share(given: str) -> None:
    with pytest.raises(SpecError, match=r"existence\.threshold takes numbers from 0 to 1"):
        THRESHOLD.parse_values(given, "--eye-set=existence.threshold")


def test_detectors_are_joined_by_plus() -> None:
    assert DETECTORS.parse_values("open_clip[a,b=c]+conse[],own", "") == ("open_clip[a,b=c]+conse[]", "own")


@pytest.mark.parametrize(("value", "wrong"), [("./pairs.json", "./pairs.json"), ("timm[a]+sentence[]", "sentence[]")])
def test_what_is_no_detector_is_refused(value: str, wrong: str) -> None:
    assert DETECTORS.check is not None
    DETECTORS.check("blip2[a]+open_clip[a]+timm[a]+mine:Own", None)
    with pytest.raises(SpecError) as refused:
        DETECTORS.check(value, None)
    assert str(refused.value) == (
        f"{wrong} is not a detector. Expected an encoder, a matcher, or a classifier of the categories."
    )


@pytest.mark.parametrize(
    ("spec", "protocols"),
    [
        ("hf[toybox-mllm]", {"existence", "progression"}),
        ("open_clip[toybox-clip]", {"detection", "distribution"}),
        ("blip2[a]", {"detection"}),
        ("timm[a]", {"detection", "distribution"}),
        ("replay[a.csv,of=existence]", {"existence"}),
        ("replay[a.csv]", set()),
        ("knn[a]", set()),
    ],
)
def test_a_model_meets_the_protocols_whose_interface_it_offers(spec: str, protocols: set[str]) -> None:
    known = ("existence", "progression", "detection", "distribution")
    assert {name for name in known if get_protocol(name).supports(capabilities(parse_spec(spec)))} == protocols
