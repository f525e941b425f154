"""Logs of inspect_ai in each form that its versions write, and a sentence for what is none."""

from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from eyechart.errors import DataError
from eyechart.interchange.inspect_format import read_log
from tests.interchange.changed_logs import changed

FILES = Path(__file__).parent / "files" / "inspect"


def responses(path: Path) -> list[str]:
    return [sample.output.text for sample in read_log(path).samples or ()]


@pytest.mark.parametrize("parts", [False, True])
def test_a_log_of_an_older_version_has_its_responses_in_the_choices(tmp_path: Path, parts: bool) -> None:
    def age(log: dict[str, Any]) -> None:
        for sample in log["samples"]:
            sample["output"].pop("completion", None)
            for choice in sample["output"].get("choices", ()) if parts else ():
                text = choice["message"]["content"]
                choice["message"]["content"] = [{"type": "reasoning", "reasoning": "r"}, {"type": "text", "text": text}]

    new = responses(FILES / "epochs.json")
    old = responses(changed(FILES / "epochs.json", tmp_path, age))
    assert {*new} > {"ANSWER: A", "ANSWER: B"}
    assert old == new


def test_an_archive_with_a_damaged_file_is_refused(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "a.eval", "w", ZIP_DEFLATED) as archive:
        archive.writestr("header.json", (FILES / "epochs.json").read_bytes())
    content = bytearray((tmp_path / "a.eval").read_bytes())
    content[60:90] = bytes(30)
    (tmp_path / "a.eval").write_bytes(content)
    with pytest.raises(DataError, match=r"a\.eval cannot be read \("):
        read_log(tmp_path / "a.eval")


def test_files_of_another_kind_are_refused_with_a_sentence(tmp_path: Path) -> None:
    other = tmp_path / "a.eval"
    with pytest.raises(DataError, match=r"a.eval cannot be read \(\[Errno 2\].*Expected a log of inspect_ai"):
        read_log(other)
    other.write_bytes(b"nothing")
    with pytest.raises(DataError, match=r"a.eval cannot be read \(File is not a zip file\)"):
        read_log(other)
    with ZipFile(other, "w") as archive:
        archive.writestr("_journal/start.json", "{}")
    with pytest.raises(DataError, match=r"has no header\.json, which inspect_ai writes at the end"):
        read_log(other)
    text = tmp_path / "a.json"
    text.write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.json is no JSON"):
        read_log(text)


def test_without_pyarrow_the_message_has_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyechart.interchange.inspect_format.find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"pip install 'eyechart\[interchange\]', or convert it with `inspect log"):
        read_log(FILES / "before.eval")
