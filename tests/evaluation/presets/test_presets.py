"""Presets: their options are there, and a file that is none is refused with a sentence."""

from pathlib import Path

import pytest

from eyechart.errors import SpecError
from eyechart.evaluation.presets import preset_names, read_preset
from eyechart.protocol.options import OptionSetting
from eyechart.protocol.registry import get_protocol

SIGLIP = "hf_clip[google/siglip2-giant-opt-patch16-384]"


@pytest.mark.parametrize("name", preset_names())
def test_every_option_of_a_packaged_preset_is_there_and_takes_the_value(name: str) -> None:
    for setting in read_preset(name).settings:
        options = {option.name: option for option in get_protocol(setting.protocol).options}
        option = options[setting.option]
        for value in option.parse_values(setting.values, name):
            if option.check:
                option.check(value, None)


def test_the_settings_of_the_studies() -> None:
    preset = read_preset("paper")
    assert preset.suite["multiple_choice"] == {"names": "kisel", "limit": "1/class"}
    assert OptionSetting("multiple_choice", "epochs", "31") in preset.settings
    assert OptionSetting("closed_world_plus", "text_templates", "80") in preset.settings


@pytest.mark.parametrize("study", ["image-classifiers", "mill", "oodbench", "realbirdid"])
def test_a_study_has_its_settings_in_the_preset_of_all(study: str) -> None:
    alone, all_of_them = read_preset(study), read_preset("paper")
    assert {*alone.settings} <= {*all_of_them.settings}
    names = {"zero_shot"} if study == "mill" else set()  # which the encoders of arXiv 2603.06578 have with other names
    assert all(options == all_of_them.suite[name] for name, options in alone.suite.items() if name not in names)


def test_the_encoders_of_table_4_have_the_names_of_their_paper() -> None:
    assert read_preset("paper").suite["zero_shot"]["names"] == "kisel"


def test_options_of_models_are_those_of_the_preset_itself() -> None:
    assert (read_preset("mill").model_options, read_preset("paper").model_options) == ({"dtype": "bfloat16"}, {})


def test_every_setting_of_all_studies_is_of_one_of_them() -> None:
    studies = [read_preset(name) for name in ("image-classifiers", "mill", "oodbench", "realbirdid")]
    assert {*read_preset("paper").settings} == {setting for study in studies for setting in study.settings}


@pytest.mark.parametrize(
    ("name", "differing"),
    [
        ("image-classifiers-one-image", {"images_per_request": "1"}),
        ("image-classifiers-gpt-4o", {"structured_output": "enforced", "text_encoder": SIGLIP}),
        (
            "image-classifiers-paligemma",
            {"prompt": "open_world_caption", "images_per_request": "1", "text_encoder": SIGLIP},
        ),
    ],
)
def test_models_of_the_study_differ_in_few_settings(name: str, differing: dict[str, str]) -> None:
    own = {*read_preset(name).settings} - {*read_preset("image-classifiers").settings}
    assert {setting.option: setting.values for setting in own if setting.protocol == "open_world"} == differing


def test_a_file_of_one_s_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[closed_world]\nimages_per_request = [1, 10]\nnames = "mill"\nlimit = 20\n')
    preset = read_preset(str(path))
    assert preset.settings == (OptionSetting("closed_world", "images_per_request", "1,10"),)
    assert preset.suite == {"closed_world": {"names": "mill", "limit": "20"}}


def test_a_preset_of_a_part_names_the_splits_it_leaves_out_and_the_preset_of_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "part.toml"
    path.write_text('include = ["packaged"]\nwhole = "packaged"\n[mcq]\nleave_out = ["toybox/sample", "pets/test"]\n')
    preset, whole = read_preset(str(path)), read_preset("packaged")
    assert (preset.left_out, preset.whole) == ({"mcq": ("toybox/sample", "pets/test")}, "packaged")
    assert (preset.settings, whole.left_out, whole.whole) == (whole.settings, {}, "")


def test_splits_outside_of_the_tables_are_left_out_of_protocols_without_a_list(tmp_path: Path) -> None:
    path = tmp_path / "part.toml"
    path.write_text('leave_out = ["pets/test"]\n[mcq]\nleave_out = ["toybox/sample"]\n[knn]\nleave_out = []\n')
    left = {name: read_preset(str(path)).splits_left_out(name) for name in ("mcq", "knn", "posterior")}
    assert left == {"mcq": ("toybox/sample",), "knn": (), "posterior": ("pets/test",)}


def test_a_later_setting_replaces_an_included_one(tmp_path: Path) -> None:
    (tmp_path / "theirs.toml").write_text('[mcq]\nparser = "mill"\nnames = "mill"\n')
    path = tmp_path / "mine.toml"
    path.write_text('include = ["theirs.toml", "oodbench"]\n[mcq]\nparser = "strict"\n')
    preset = read_preset(str(path))
    assert [setting.values for setting in preset.settings if setting.protocol == "mcq"] == ["strict"]
    assert preset.suite["mcq"] == {"names": "mill"}
    assert OptionSetting("existence", "threshold", "0.05") in preset.settings


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[closed_world", "cannot be read: .*Expected TOML"),
        ("images = 3", "'images' outside of a table"),
        ("include = 3", r"include = 3\. Expected a list"),
        ('include = ["mine.toml"]', "mine.toml includes itself"),
        ('include = ["papers"]', "'papers' is neither packaged"),
        ('whole = "papers"', "'papers' is neither packaged"),
        ("whole = 3", r"whole = 3\. Expected the name"),
        ("source = 3", r"source = 3\. Expected the name of a publication"),
        ('[mcq]\nleave_out = "toybox"', r"mine.toml: \[mcq\] has leave_out = 'toybox'\. Expected a list of splits"),
        ('[mcq]\nlimit = "few"', r"mine.toml: the limit in \[mcq\] must be a whole number"),
    ],
)
def test_a_file_that_is_no_preset_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(SpecError, match=sentence):
        read_preset(str(path))


def test_an_unknown_preset_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpecError, match=r"neither packaged \(.*paper.*\) nor a file; did you mean paper"):
        read_preset("papers")


def test_a_preset_of_a_study_names_its_publication_and_one_that_includes_it_does_not() -> None:
    names = ("mill", "image-classifiers", "image-classifiers-paligemma", "oodbench", "realbirdid", "paper")
    sources = ["Mill", "arXiv 2603.06578", "", "arXiv 2602.18094", "arXiv 2603.27033", ""]
    assert [read_preset(name).source for name in names] == sources
