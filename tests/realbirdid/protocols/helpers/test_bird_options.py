"""Values of the options of birds are checked before anything is asked."""

from pathlib import Path

import pytest

from eyechart.errors import DataError, SpecError
from eyechart.realbirdid.protocols.helpers.bird_options import PROMPT_SET, PROMPTS_PER_LEVEL


def test_a_file_of_prompts_is_read_before_anything_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    assert PROMPT_SET.check is not None
    with pytest.raises(DataError, match=r"The wordings .*mine\.toml cannot be read \(No such file or directory\)"):
        PROMPT_SET.check(str(path), None)
    path.write_text("naive = []", encoding="utf-8")
    with pytest.raises(DataError, match="'naive' has no wording"):
        PROMPT_SET.check(str(path), None)


def test_a_number_of_prompts_is_one_at_least_or_all() -> None:
    assert PROMPTS_PER_LEVEL.parse_values("all,03", "--eye-set") == ("all", "3")
    with pytest.raises(SpecError):
        PROMPTS_PER_LEVEL.parse_values("0", "--eye-set")
