"""The baselines of the packaged samples, which the workflow gates: readable, small, of no machine in particular."""

import re
import tomllib
from pathlib import Path

import pytest

from eyechart.gate.baselines.baseline_files import (
    FOLDER,
    Baseline,
    encode_baseline,
    model_slug,
    read_baseline,
    read_baselines,
)
from eyechart.plugins.options import DEFAULT_MODELS

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / FOLDER).rglob("*.json"))


@pytest.fixture(params=FILES, ids=[f"{path.parent.name}/{path.stem}" for path in FILES])
def path(request: pytest.FixtureRequest) -> Path:
    """Each file."""
    return Path(request.param)


@pytest.fixture
def kept(path: Path) -> Baseline:
    """What it holds."""
    return read_baseline(path)


def test_each_benchmark_has_some_and_no_case_is_in_two() -> None:
    assert {case.partition("/")[0] for case, _ in read_baselines(ROOT / FOLDER)} == {*DEFAULT_MODELS}


def test_a_file_is_where_it_would_be_written_and_as_it_would_be(path: Path, kept: Baseline) -> None:
    assert path.relative_to(ROOT / FOLDER) == Path(kept.benchmark) / f"{model_slug(kept.model)}.json"
    assert path.read_bytes() == encode_baseline(kept)


def test_a_file_is_fit_for_git(path: Path) -> None:
    assert path.stat().st_size < 2**19
    assert sum(each.stat().st_size for each in FILES) < 2**21


def test_only_packaged_samples_are_in_it(kept: Baseline) -> None:
    assert [each.case for each in kept.cases if not re.match(rf"{kept.benchmark}/sample[\w-]*/", each.case)] == []


def test_it_names_no_place_and_no_time(path: Path) -> None:
    assert re.findall(r'"[^"]*?(?:"/|[A-Z]:\\|20\d\d-\d\d-\d\d)', path.read_text(encoding="utf-8")) == []


def test_they_are_in_no_package() -> None:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    folders = [ROOT / folder for folder in tools["package-dir"].values()]
    assert not any((ROOT / "reports").is_relative_to(folder) for folder in folders)
