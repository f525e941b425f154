"""The baselines of the packaged samples, which the workflow gates: readable, small, of no machine in particular."""

import multiprocessing
import re
import tomllib
from collections.abc import Callable
from difflib import ndiff
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from eyechart.data.splits.registry import default_models
from eyechart.errors import BaselineError
from eyechart.gate.baselines.baseline_files import (
    FOLDER,
    Baseline,
    WrittenBaseline,
    _encode_baseline,
    case_key,
    model_slug,
    read_baseline,
    read_baselines,
    read_drifts,
    write_baselines,
)

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
    assert {case.partition("/")[0] for case, _ in read_baselines(ROOT / FOLDER)} == {*default_models()}


def test_a_file_is_where_it_would_be_written_and_as_it_would_be(path: Path, kept: Baseline) -> None:
    assert path.relative_to(ROOT / FOLDER) == Path(kept.benchmark) / f"{model_slug(kept.model)}.json"
    assert path.read_bytes() == _encode_baseline(kept)


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


REMEDY = "--eye-update-baseline"


@pytest.fixture
def cases(make: Any, share: Any) -> Callable[..., list[Any]]:
    """Cases of benchmarks and models, each as `imagenet/val/m[]`."""

    def cases(*names: str, right: float = 1) -> list[Any]:
        given = share(acc1=[right, 0, 1])
        return [make(given, case=each, model=each.rpartition("/")[2]) for each in names]

    return cases


def test_what_is_written_is_read_but_for_the_samples_names(cases: Any, tmp_path: Path) -> None:
    found = cases("imagenet/val/m[]", "imagenet/val/n[]", "toybox/val/m[]")
    files = [written.path for written in write_baselines(tmp_path, found)]
    assert len(set(files)) == 3
    back = read_baselines(tmp_path)
    assert {key: evidence for key, (evidence, _) in back.items()} == {case_key(e): replace(e, keys=()) for e in found}
    assert {path for _, path in back.values()} == set(files)


def test_cases_that_were_not_run_are_kept_and_those_that_were_are_replaced(cases: Any, tmp_path: Path) -> None:
    write_baselines(tmp_path, cases("imagenet/a/m[]", "imagenet/b/m[]"))
    (written,) = write_baselines(tmp_path, cases("imagenet/b/m[]", "imagenet/c/m[]", right=0))
    held = {each.case: each.metrics[0].value for each in read_baseline(written.path).cases}
    assert held == {"imagenet/a/m[]": 2 / 3, "imagenet/b/m[]": 1 / 3, "imagenet/c/m[]": 1 / 3}


def test_no_case_is_lost_where_processes_write_one_file_at_once(cases: Any, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(4)

    def write(name: str) -> None:
        for index in range(5):
            barrier.wait(60)
            write_baselines(tmp_path / str(index), cases(f"imagenet/{name}/m[]"))

    writers = [context.Process(target=write, args=(name,)) for name in "abcd"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * 4
    for index in range(5):
        assert len(read_baselines(tmp_path / str(index))) == 4
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {f"{model_slug('m[]')}.json"}


def test_the_same_run_gives_the_same_bytes_whatever_the_order(cases: Any, tmp_path: Path) -> None:
    found = cases("imagenet/a/m[]", "imagenet/b/m[]")
    (one,), (other,) = write_baselines(tmp_path / "one", found), write_baselines(tmp_path / "other", found[::-1])
    assert one.path.read_bytes() == other.path.read_bytes()
    write_baselines(tmp_path / "one", found)
    assert one.path.read_bytes() == other.path.read_bytes()


def test_a_number_that_changes_is_one_line_that_changes(make: Any, share: Any, tmp_path: Path) -> None:
    found = make(share(acc1=[1, 0], acc5=[1, 1])), make(share(acc1=[0, 0], acc5=[1, 1]))
    old, new = (write_baselines(tmp_path / "b.json", [each])[0].path.read_text().splitlines() for each in found)
    changed = [line for line in ndiff(old, new) if line[0] in "+-"]
    assert [line[0] for line in changed if '"name": "acc1"' in line] == ["-", "+"]
    assert [line for line in changed if '"name": "acc5"' in line] == []


def test_one_case_under_two_protocols_is_two(make: Any, share: Any, tmp_path: Path) -> None:
    write_baselines(tmp_path, [make(share(acc1=[1]), protocol=each) for each in ("mcq", "zero_shot")])
    assert len(read_baselines(tmp_path)) == 2


def test_no_two_models_share_a_file() -> None:
    names = ["m[a/b]", "m[a-b]", "M[a/b]", "m[" + "x" * 300 + "]", "m[" + "x" * 301 + "]"]
    assert len({model_slug(each).casefold() for each in names}) == len(names)
    assert max(len(model_slug(each)) for each in names) < 120


@pytest.mark.parametrize("cut", [0, 1, 40, 400, -2, -40])
def test_one_that_is_cut_off_is_refused(cases: Any, tmp_path: Path, cut: int) -> None:
    (written,) = write_baselines(tmp_path, cases("imagenet/a/m[]"))
    written.path.write_bytes(written.path.read_bytes()[:cut])
    with pytest.raises(BaselineError, match=f"is no whole baseline.*Restore it from git.*{REMEDY}") as error:
        read_baselines(tmp_path)
    assert str(written.path) in str(error.value)


@pytest.mark.parametrize(
    ("before", "now", "why"),
    [('"schema": 4\n}', '"schema": 0\n}', "has schema 0; .* reads schema 4. Write it again"),
     ('"schema": 4\n}', '"schema": 5\n}', "has schema 5; .* Upgrade eyechart"),
     ('"correct"', '"wrong"', "^$"), ('"samples": 3', '"samples": 30', "has another size than 4 bytes"),
     ('"samples": 3', '"samples": "3"', r"cases\[0\].samples"), ('"arrays": {', '"arrays": {}, "p": {', "is missing"),
     (',\n  "schema": 4\n}', "\n}", "schema")],
)  # fmt: skip
def test_one_of_another_schema_or_that_is_damaged_is_refused(
    cases: Any, tmp_path: Path, before: str, now: str, why: str
) -> None:
    (written,) = write_baselines(tmp_path, cases("imagenet/a/m[]"))
    text = written.path.read_text()
    assert before in text
    written.path.write_text(text.replace(before, now))
    if why == "^$":  # readers ignore what they do not know
        assert read_baselines(tmp_path)
        return
    with pytest.raises(BaselineError, match=why):
        read_baselines(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[1]", b"null", b"key,answer"])
def test_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(BaselineError, match=r"a\.json is no whole baseline"):
        read_baselines(tmp_path)


@pytest.mark.parametrize("content", [b"{}", b'{"run": {"schema": 1}}', b'{"tests": []}'])
def test_a_file_of_another_kind_is_not_to_be_restored(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "verdict.json").write_bytes(content)
    with pytest.raises(BaselineError, match=r"verdict\.json is no baseline: .*such as reports/baselines"):
        read_baselines(tmp_path)


def test_a_folder_of_runs_names_the_folder_of_the_baselines(cases: Any, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "1"
    run.mkdir(parents=True)
    (run / "records.json").write_bytes(b"{}")
    with pytest.raises(BaselineError, match=r"has runs, such as .*runs/1\. Give .*Write them with"):
        read_baselines(tmp_path)
    write_baselines(tmp_path / "baselines", cases("imagenet/a/m[]"))
    with pytest.raises(BaselineError, match=r"Give the folder of the baselines alone: .*/baselines\."):
        read_baselines(tmp_path)


@pytest.mark.parametrize("named", ["", "records.json"])
def test_a_run_is_no_baseline(tmp_path: Path, named: str) -> None:
    (tmp_path / "records.json").write_bytes(b'{"run": {}}')
    with pytest.raises(BaselineError, match=r"is a run and no baseline\. Write a baseline with --eye-update-baseline"):
        read_baselines(tmp_path / named)


def test_a_place_with_nothing_in_it_is_refused(tmp_path: Path) -> None:
    for index in (tmp_path, tmp_path / "nowhere", tmp_path / "nothing.json"):
        with pytest.raises(BaselineError, match=f"There is no baseline at {index}. Write one with {REMEDY}"):
            read_baselines(index)


def test_what_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").mkdir()
    with pytest.raises(BaselineError, match=r"a\.json cannot be read \(Is a directory\)"):
        read_baselines(tmp_path)


def test_a_case_in_two_files_is_refused(cases: Any, tmp_path: Path) -> None:
    (written,) = write_baselines(tmp_path, cases("imagenet/a/m[]"))
    (tmp_path / "copy.json").write_bytes(written.path.read_bytes())
    with pytest.raises(BaselineError, match=r"imagenet/a/m\[\] under zero_shot is in .*copy.json and in .*Keep one"):
        read_baselines(tmp_path)


def test_one_file_is_for_one_model_and_benchmark(cases: Any, tmp_path: Path) -> None:
    location = tmp_path / "main.json"
    assert write_baselines(location, cases("imagenet/a/m[]", "imagenet/b/m[]")) == [WrittenBaseline(location)]
    with pytest.raises(BaselineError, match=r"main\.json is one file"):
        write_baselines(location, cases("imagenet/a/m[]", "toybox/a/m[]"))
    with pytest.raises(BaselineError, match=r"is of m\[\] on imagenet, not of m\[\] on toybox"):
        write_baselines(location, cases("toybox/a/m[]"))


def test_a_file_that_cannot_be_read_is_written_anew_and_that_is_said(cases: Any, tmp_path: Path) -> None:
    (written,) = write_baselines(tmp_path, cases("imagenet/a/m[]"))
    written.path.write_text('{"schema": 7}')
    (again,) = write_baselines(tmp_path, cases("imagenet/b/m[]"))
    assert again.path == written.path
    assert "has schema 7" in again.unreadable
    assert len(read_baselines(tmp_path)) == 1


def test_a_place_that_cannot_be_written_is_refused(cases: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BaselineError, match="cannot be written"):
        write_baselines(tmp_path / "file", cases("imagenet/a/m[]"))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n", "pointer of Git LFS .*git lfs pull"),
        (b"<!doctype html><p>502", "is a web page"),
        (b'{\n  "benchmark": "pets",\n<<<<<<< HEAD\n  "cases": [\n', "merge conflict of git in line 3.*git checkout"),
    ],
)
def test_what_git_leaves_in_place_of_a_baseline_is_named(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(BaselineError, match=rf"a\.json .*{why}.*{REMEDY}"):
        read_baselines(tmp_path)


def test_a_byte_order_mark_and_the_files_of_a_system_do_no_harm(cases: Any, tmp_path: Path) -> None:
    (written,) = write_baselines(tmp_path, cases("imagenet/a/m[]"))
    copies = tmp_path / ".ipynb_checkpoints" / "copy.json", written.path.with_name(f"._{written.path.name}")
    for copy in copies:
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(written.path.read_bytes())
    written.path.write_bytes(b"\xef\xbb\xbf" + written.path.read_bytes().replace(b"\n", b"\r\n"))
    assert len(read_baselines(tmp_path)) == 1
    assert len(read_drifts([written.path])) == 1
