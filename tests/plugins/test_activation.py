"""A session without benchmarks pays for the options alone; a benchmark needs no option to be one."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.own_files import OWN, PLAIN, write

pytestmark = pytest.mark.deep

ALLOWED = {
    "eyechart",
    "eyechart.fixtures",
    "eyechart.files",
    "eyechart.files.folders",
    "eyechart.plugins",
    "eyechart.version",
    *(f"eyechart.plugins.{name}" for name in ("activation", "case_ids", "options", "workers")),
}
SLOW = {"PIL", "msgspec", "numpy", "open_clip", "pandas", "scipy", "timm", "torch", "tqdm", "transformers"}
MODULES = """
import json, os, sys
from pathlib import Path

def pytest_sessionfinish():
    Path(f"modules-{os.getpid()}.json").write_text(json.dumps([*sys.modules]))
"""
ONE = ("-k", "toybox/sample-noto-v1/open_clip")
USES_FIXTURES = """
import pytest

@pytest.fixture
def run_name(eye_run):
    return eye_run.name

def test_through_another_fixture(run_name, eye_progress):
    assert run_name
    eye_progress("a case")(1, 1, "images")
"""
OVERRIDES = """
import pytest

@pytest.fixture
def eye_test():
    return "overridden"
"""
ASKS = """
import pytest

@pytest.mark.eyechart("toybox", protocol="zero_shot")
def test_mine(eye_case, eye_test, eye_dataset):
    assert eye_test == "overridden"
    assert eye_dataset.split == eye_case.split
"""


@pytest.mark.parametrize("workers", [(), ("-p", "xdist.plugin", "-n1")], ids=["serial", "worker"])
def test_an_unrelated_session_imports_the_options_alone(cold: Any, workers: tuple[str, ...]) -> None:
    write(cold.folder, test_plain=PLAIN, extra=MODULES)
    cold.environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    result = cold.call("-p", "eyechart.plugins", "-p", "extra", *workers)
    assert result.parseoutcomes() == {"passed": 3}
    sessions = [set(json.loads(path.read_text())) for path in cold.folder.glob("modules-*.json")]
    assert len(sessions) == (2 if workers else 1)
    for modules in sessions:
        assert {name for name in modules if name.partition(".")[0] == "eyechart"} <= ALLOWED
        assert "eyechart.plugins.options" in modules
        assert modules & SLOW == set()


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["serial", "worker"])
def test_a_test_whose_id_looks_like_a_case_is_none(world: Any, workers: tuple[str, ...]) -> None:
    write(world.folder, test_plain=PLAIN.replace("imagenet/val", "imagenet/tiny/tiny[x]"))
    result = world.call("-p", "no:cacheprovider", *workers, "test_plain.py", "--eye-offline")
    assert result.ret == 0
    assert "recorded a metric" not in result.stdout.str()
    assert not (world.folder / "reports").exists()


@pytest.mark.parametrize("workers", [(), ("-n1",), ("-n1", "--dist=loadfile")], ids=["serial", "worker", "files"])
def test_a_benchmark_needs_no_option(world: Any, workers: tuple[str, ...]) -> None:
    write(world.folder, test_own=OWN)
    result = world.call("test_own.py", *ONE, "--junitxml=junit.xml", *workers)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    (record,) = world.records
    assert record["case"] == "toybox/sample-noto-v1/open_clip[toybox-clip]@test=test_own.py::test_mine"
    assert "records and answers: reports/runs/" in result.stdout.str()
    assert 'name="eyechart.case"' in (world.folder / "junit.xml").read_text()


def test_fixtures_serve_a_test_that_is_no_benchmark_and_a_conftest_overrides_one(world: Any) -> None:
    write(world.folder, conftest=OVERRIDES, test_asks=ASKS, test_uses=USES_FIXTURES)
    result = world.call("test_asks.py", "test_uses.py", "-k", f"{ONE[1]} or through")
    assert result.parseoutcomes()["passed"] == 2


def test_an_error_in_the_set_up_of_models_is_a_sentence(world: Any, tmp_path: Path) -> None:
    other = tmp_path / "site" / "other-1.0.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[eyechart.models]\ntiny = otherpackage:Other\n")
    world.environment = {"PYTHONPATH": f"{world.site}:{other.parent}"}
    write(world.folder, test_own=OWN)
    result = world.call("test_own.py")
    said = result.stdout.str() + result.stderr.str()
    assert result.ret == pytest.ExitCode.INTERRUPTED, said
    assert "Two packages register the model backend 'tiny'" in said
    assert "Traceback" not in said


def test_the_marker_and_the_fixtures_are_listed(pytester: pytest.Pytester) -> None:
    marker = "@pytest.mark.eyechart(*benchmarks, protocol)"
    assert marker in pytester.runpytest_inprocess("--markers").stdout.str()
    said = pytester.runpytest_inprocess("--fixtures").stdout.str()
    for name in ("evaluate", "eye_dataset", "eye_label_sets", "eye_run", "eye_session", "eye_settings"):
        assert f"{name} " in said
