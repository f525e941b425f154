"""What goes wrong in a case is a sentence; nothing that was answered is lost, and no error is a wrong answer."""

import shutil
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.deep

BROKEN = "tiny-03.png"
WARNS = """
import warnings
import tinyeyes

def see(self, images, old=tinyeyes.Base.see):
    warnings.warn("old habits", DeprecationWarning)
    return old(self, images)

tinyeyes.Base.see = see
"""


@pytest.fixture
def broken(world: Any, tmp_path: Path) -> Any:
    """A world with one corrupt picture among 17 good ones."""
    shutil.copytree(world.data, tmp_path / "data")
    world.data, world.models = tmp_path / "data", ("tiny[]",)
    picture = world.data / "imagenet" / "tiny" / "n01440764" / BROKEN
    picture.write_bytes(picture.read_bytes()[:40])
    return world


def test_a_corrupt_picture_is_an_error_and_no_wrong_answer_and_is_asked_when_it_is_mended(broken: Any) -> None:
    result = broken.passes("--eye-max-errors=1")
    result.stdout.fnmatch_lines(["note: imagenet/tiny/tiny[[][]] (zero_shot): 1 of 18 images ended in an error*"])
    record = broken.records[0]
    assert record["outcomes"]["error"] == 1
    assert record["outcomes"]["correct"] + record["outcomes"]["wrong"] == 17
    assert {metric["n"] for metric in record["metrics"] if metric["subset"] == "all"} == {17}
    rows = (broken.latest / record["predictions"]["path"]).read_text().splitlines()
    assert "truncated" in next(row for row in rows if BROKEN in row)
    assert broken.asked == 18 - 1 + 6
    shutil.copyfile(next(broken.data.glob("imagenet/tiny2/*/*.png")), next(broken.data.glob(f"*/*/*/{BROKEN}")))
    broken.passes()
    assert broken.records[0]["outcomes"]["error"] == 0


def test_not_a_number_is_an_error_with_a_remedy_and_a_later_run_asks_again_about_it_alone(
    world: Any, serial: Any
) -> None:
    world.order("tiny", batch=1, do="nan")
    result = world.run()
    result.assert_outcomes(failed=1, passed=3)
    result.stdout.fnmatch_lines(["1 of 18 images ended in an error; --eye-max-errors allows 0.*"])
    result.stdout.fnmatch_lines(
        ["*imagenet/tiny: *tiny-00.jpg: tiny answered with NaN or infinity in float32. Check *"]
    )
    before = world.asked
    world.passes()
    assert world.asked == before + 1
    assert (world.records, world.store) == (serial.records, serial.store)


def test_a_missing_data_set_is_a_skip_with_its_reason(world: Any) -> None:
    result = world.passes("-rs", "-k", "imagenet/val")
    result.assert_outcomes(skipped=2)
    result.stdout.fnmatch_lines(["SKIPPED*imagenet/val is not under*"])


def test_a_folder_in_an_unknown_layout_and_a_broken_one_fail_with_the_sentence_alone(
    world: Any, tmp_path: Path
) -> None:
    world.data, world.models = tmp_path / "data", ("tiny[]",)
    for split in ("tiny", "tiny2"):
        (world.data / "imagenet" / split).mkdir(parents=True)
    (world.data / "imagenet" / "tiny2" / "stray.png").write_bytes(b"")
    result = world.run()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*holds no split in a known layout: expected*"])
    result.stdout.fnmatch_lines(["*stray.png has no label*"])
    assert "Traceback" not in result.stdout.str()
    assert "errors_as_failures" not in result.stdout.str()


def test_a_store_that_is_a_file_fails_with_a_sentence(world: Any) -> None:
    (world.folder / "file").touch()
    result = world.run("--eye-store=file/store")
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["The store cannot be written at *file/store/*: Not a directory*--eye-store*"])
    assert world.asked == 0


FULL = """
import errno
import resource
import signal

def pytest_runtest_setup():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
"""


def test_a_disk_that_fills_up_ends_the_case_with_a_sentence(world: Any) -> None:
    world.models = ("tinyclass[]",)
    result = world.run(world.plugin(FULL))
    assert result.ret == pytest.ExitCode.TESTS_FAILED, result.stdout.str()
    result.stdout.fnmatch_lines(["The store cannot be written at *: File too large*run the same command again."])


def test_a_library_that_warns_fails_no_benchmark(world: Any) -> None:
    result = world.passes("-W", "error", world.plugin(WARNS))
    assert "old habits" in result.stdout.str()


def test_a_backend_whose_package_is_absent_names_it(world: Any) -> None:
    world.models = ("tinyclass[]",)
    hide = "import sys\nsys.modules['tinyeyes'] = None"
    result = world.run(world.plugin(hide))
    assert "tinyeyes" in result.stderr.str()
    assert "'tinyeyes:TinyClass' needs the module tinyeyes" in result.stderr.str()


def test_a_run_folder_that_cannot_be_written_fails_with_a_sentence(world: Any, serial: Any) -> None:
    (world.folder / "file").touch()
    result = world.run("--eye-out=file/runs")
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["The run's folder *file/runs/* cannot be written: Not a directory*--eye-out*"])
    assert world.store == serial.store


FULL_AT_REPORT = """
import resource
import signal

import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    if report.when == "call":
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
"""


def test_a_full_disk_under_the_records_ends_the_session_with_a_sentence(world: Any) -> None:
    result = world.run("-p", "no:cacheprovider", world.plugin(FULL_AT_REPORT))
    assert result.ret not in (pytest.ExitCode.OK, pytest.ExitCode.INTERNAL_ERROR)
    result.stdout.fnmatch_lines(["*The run's folder * cannot be written: File too large*"])
    assert "INTERNALERROR" not in result.stdout.str()


FULL_AT_END = """
import resource
import signal

import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
"""


def test_a_run_that_cannot_be_finished_on_a_full_disk_is_not_green(world: Any) -> None:
    result = world.run("-p", "no:cacheprovider", world.plugin(FULL_AT_END))
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert "cannot be written: File too large" in result.stderr.str()


def test_a_support_split_that_is_not_there_is_named(world: Any) -> None:
    world.models = ("knn[tiny[],support=imagenet/tinny]",)
    result = world.run("-rs")
    assert result.parseoutcomes()["skipped"] == 2
    result.stdout.fnmatch_lines(["*There is no split imagenet/tinny; did you mean imagenet/tiny or imagenet/tiny2*"])


def test_a_class_that_cannot_be_imported_is_a_wrong_option(world: Any) -> None:
    named = "mine:Mine"
    (world.folder / "mine.py").write_text("import nothing_there")
    world.models = (f"{named}[]",)
    result = world.run()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = [line for line in (*result.outlines, *result.errlines) if line.strip()]
    assert "no tests ran" in said[-2]  # before it are the versions of pytest and its plugins
    assert said[-1].startswith(f"ERROR: --eye-model: '{named}'")
    assert "kept" not in "\n".join(said)
