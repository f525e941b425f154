"""`eyechart run` and `eyechart answer`: every word reaches pytest over the packaged benchmarks, and its exit status."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eyechart", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)


def test_words_that_begin_like_an_option_of_the_command_are_those_of_pytest(tmp_path: Path) -> None:
    """-h is no option of the command, or click would find it in -kpath."""
    done = run(tmp_path, "run", "-qkpath-of-no-case", "--collect-only", "-pno:cacheprovider")
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, done.stderr
    assert "deselected" in done.stdout


def test_the_benchmarks_of_the_package_are_collected_in_any_folder(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text("def test_own():\n    pass\n", encoding="utf-8")
    done = run(tmp_path, "run", "--collect-only", "-q", "-k", "toybox/sample and zero_shot", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stderr
    assert "toybox/sample" in done.stdout
    assert "test_own" not in done.stdout


def test_answers_are_only_stored(tmp_path: Path) -> None:
    done = run(tmp_path, "answer", "--eye-track=wandb", "--collect-only")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--eye-answer only stores answers. Leave out --eye-track." in done.stderr
