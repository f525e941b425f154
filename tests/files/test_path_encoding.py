"""Names of files beyond ASCII in a program whose locale has no UTF-8."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
REMEDY = "Set PYTHONUTF8=1 or LC_ALL=C.UTF-8, and run the same command again."


def run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env={**os.environ, **C_LOCALE}, capture_output=True, check=False
    )
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def test_a_command_says_in_a_sentence_that_the_locale_has_no_utf8(tmp_path: Path) -> None:
    (folder := tmp_path / "Müller").mkdir()
    for said in (run(folder, "-m", "eyechart", "ls"), run(tmp_path, "-m", "eyechart", "ls", "--data=Müller")):
        assert said.startswith("eyechart: Python reads names of files as ascii here")
        assert "M\\xfcller. " + REMEDY in said


@pytest.mark.deep
def test_a_session_says_so_before_its_first_case(tmp_path: Path) -> None:
    (folder := tmp_path / "Müller").mkdir()
    said = run(folder, "-m", "pytest", "-p", "no:cacheprovider", "--pyargs", "eyechart.benchmarks", "--eye-data=.")
    assert said.startswith("ERROR: Python reads names of files as ascii here")
    assert "INTERNALERROR" not in said
