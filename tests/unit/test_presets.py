"""Presets: their options are there, and a file that is none is refused with a sentence."""

from pathlib import Path

import pytest

from eyechart.errors import SpecError
from eyechart.protocol.options import OptionSetting
from eyechart.protocol.presets import PACKAGED, read_preset
from eyechart.protocol.registry import get_protocol


@pytest.mark.parametrize("name", PACKAGED)
def test_every_option_of_a_packaged_preset_is_there_and_takes_the_value(name: str) -> None:
    for setting in read_preset(name).settings:
        options = {option.name: option for option in get_protocol(setting.protocol).options}
        option = options[setting.option]
        for value in option.parse_values(setting.values, name):
            if option.check:
                option.check(value, None)


def test_the_settings_of_the_studies() -> None:
    preset = read_preset("paper")
    assert {*preset.names.values()} == {"kisel"}
    assert OptionSetting("multiple_choice", "epochs", "31") in preset.settings
    assert OptionSetting("closed_world_plus", "text_templates", "80") in preset.settings


def test_a_file_of_one_s_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[closed_world]\nimages_per_request = [1, 10]\nnames = "mill"\n')
    preset = read_preset(str(path))
    assert (preset.settings, preset.names) == (
        (OptionSetting("closed_world", "images_per_request", "1,10"),),
        {"closed_world": "mill"},
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("[closed_world", "cannot be read: .*Expected TOML"), ("images = 3", "'images' outside of a table")],
)
def test_a_file_that_is_no_preset_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(SpecError, match=sentence):
        read_preset(str(path))


def test_an_unknown_preset_is_answered_with_the_nearest() -> None:
    with pytest.raises(SpecError, match=r"neither packaged \(paper\) nor a file; did you mean paper"):
        read_preset("papers")
