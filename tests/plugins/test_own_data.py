"""Data of one's own: ROOT/<benchmark>/<split> is evaluated by itself, and what is not evaluated is named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from PIL import Image

from eyechart.cli import main
from tests.plugins.own_files import PETS

COLLECT = ("--pyargs", "eyechart.benchmarks", "--collect-only")
HEAVY = """
import sys

def pytest_sessionfinish():
    print("HEAVY", sorted({"torch", "pandas", "datasets", "pyarrow", "scipy.stats"} & {*sys.modules}))
"""


def cases(result: pytest.RunResult) -> list[str]:
    return [line.partition("::test_")[2] for line in result.outlines if "::" in line]


@pytest.mark.parametrize(("form", "other"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_name_that_is_not_ascii_is_a_name(world: Any, own_root: Callable[..., Path], form: str, other: str) -> None:
    typed, folder = "häuser/", normalize(form, "häuser")
    own_root(*(f"{folder}/test/{name}/{number}.png" for name in ("tür", "dach") for number in range(2)))
    usual = ("--pyargs", "eyechart.benchmarks", "--eye-data=data", "--eye-baseline=kept", "-v")
    result = world.call(*usual, f"--eye-model={normalize(form, 'größe')}=tiny[]", "-k", typed, "--eye-update-baseline")
    assert result.ret == 0, result.outlines
    assert f"[{folder}/test/größe] PASSED" in result.stdout.str()
    (record,) = world.records
    assert record["case"] == f"{folder}/test/größe"
    (world.folder / "data" / folder).rename(world.folder / "data" / normalize(other, "häuser"))
    usual = (*usual, f"--eye-model={normalize(other, 'größe')}=tiny[]")
    result = world.call(*usual, "-k", typed, "--eye-strict", f"--eye-floor={typed}zero_shot:answered>=1")
    assert result.ret == 0, result.outlines
    assert "was not run" not in result.stdout.str()
    kept = world.folder / "kept"
    for spelled in ("NFC", "NFD"):
        case = normalize(spelled, "häuser/test/")
        assert main(["explain", str(world.latest), case, "--baseline", str(kept)]) == 0
    assert world.call(*usual, "-k", normalize("NFD", typed), "--eye-update-baseline").ret == 0
    assert len([*kept.rglob("*.json")]) == 1
    result = world.call(*usual, "-k", "hauser/")
    assert "did you mean" in result.stdout.str()


def test_a_benchmark_of_ones_own_is_evaluated_under_its_own_name(world: Any, own_root: Callable[..., Path]) -> None:
    own_root(*PETS)
    result = world.call("--pyargs", "eyechart.benchmarks", "-k", "pets/", "--eye-data=data", "--eye-model=tiny[]")
    assert result.ret == 0, result.outlines
    (record,) = world.records
    assert (record["case"], record["metrics"][0]["n"]) == ("pets/test/tiny[]", 6)


@pytest.mark.deep
def test_one_line_names_what_was_found_and_what_was_ignored(world: Any, own_root: Callable[..., Path]) -> None:
    own_root(*PETS, "pets/test/labels.json", "pets/test/manifest.csv", "scripts/run.py", "notes.txt", "pets/README.md")
    (line,) = (
        line for line in world.call(*COLLECT, "--eye-data=data").outlines if line.startswith("eyechart: data from")
    )
    assert ": 1 split found (pets/test); ignored: notes.txt (it is in no folder of a benchmark); " in line
    assert "pets/test/labels.json, pets/test/manifest.csv (class folders are the labels; others come with" in line
    assert line.endswith("scripts (it has no folder of a split, expected ROOT/<benchmark>/<split>)")


@pytest.mark.deep
def test_by_default_own_data_meet_conse_and_nothing_heavy_is_imported(cold: Any, own_root: Callable[..., Path]) -> None:
    own_root(*PETS)
    result = cold.call(*COLLECT, "-q", "-s", cold.plugin(HEAVY), "-k", "pets/", "--eye-data=data")
    assert cases(result) == ["zero_shot[pets/test/conse[]]"]
    assert "HEAVY []" in result.outlines


@pytest.mark.deep
def test_models_that_were_asked_for_meet_own_data_and_other_benchmarks_keep_their_meaning(
    world: Any, own_root: Callable[..., Path]
) -> None:
    birds, pairs = (
        [f"{name}/mine/{rest.removeprefix('pets/test/')}" for rest in PETS] for name in ("realbirdid", "oodbench")
    )
    own_root(*PETS, *birds, *pairs)
    models = ("tinyclass[]", "knn[timm[a]]", "replay[path=a.csv]", "hf[toybox-mllm]")
    chosen = [f"--eye-model={model}" for model in models]
    result = world.call(*COLLECT, "-q", "-k", "pets/ or mine", "--eye-data=data", *chosen)
    for model, protocol in zip(models[:3], ("supervised", "knn", "replay"), strict=True):
        assert [case for case in cases(result) if f"pets/test/{model}]" in case] == [f"{protocol}[pets/test/{model}]"]
    for benchmark in ("realbirdid", "oodbench"):
        found = [case for case in cases(result) if f"[{benchmark}/mine/hf" in case]
        assert found
        assert not any(case.startswith(("zero_shot", "mcq", "posterior")) for case in found)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("data/pets", "data/pets is itself a benchmark with the splits test; expected ROOT/<benchmark>/<split>. Give"),
        ("data/pets/test", "data/pets/test is itself a split with the class folders cat, dog; expected"),
        (".", "The data root . is a folder too high: data in it holds the benchmarks pets; expected"),
    ],
)
def test_a_root_one_level_off_says_which_one_to_give(pytester: pytest.Pytester, given: str, sentence: str) -> None:
    for name in PETS:
        path = pytester.path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(path)
    result = pytester.runpytest_inprocess(*COLLECT, f"--eye-data={given}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    (said,) = (line for line in result.errlines if line)
    assert sentence in said
    assert f"Give --eye-data={(pytester.path / 'data').resolve()}" in said


@pytest.mark.deep
def test_an_unrelated_session_is_told_nothing(world: Any) -> None:
    (world.folder / "test_other.py").write_text("def test_other(): pass\n")
    result = world.call("test_other.py", "-k", "imagnet")
    assert "eyechart:" not in result.stdout.str()
    assert "= eyechart =" not in result.stdout.str()
    assert {path.name for path in world.folder.iterdir()} <= {"test_other.py", ".pytest_cache", "__pycache__"}


@pytest.mark.deep
def test_what_lies_in_class_folders_and_is_no_picture_is_noted(world: Any, own_root: Callable[..., Path]) -> None:
    own_root(*PETS, "pets/test/cat/9.heic", "pets/test/dog/more/9.png")
    result = world.call("--pyargs", "eyechart.benchmarks", "-k", "pets/", "--eye-data=data", "--eye-model=tiny[]")
    assert result.ret == 0, result.outlines
    (record,) = world.records
    (note,) = record["notes"]
    assert note.startswith("pets/test: cat/9.heic, dog/more in class folders are not evaluated: expected pictures that")
    assert f"note: {note}" in result.outlines


def test_paths_of_the_home_folder_and_names_in_another_order(
    world: Any, own_root: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    own_root(*PETS)
    monkeypatch.setenv("HOME", str(world.folder))
    for file, head, line in (("answers.csv", "key,answer", "{},{}"), ("labels.csv", "file,labels", "{},{}")):
        lines = [line.format(name.removeprefix("pets/test/"), int("/dog/" in name)) for name in PETS]
        (world.folder / file).write_text("\n".join([head, *lines]))
    (world.folder / "names.txt").write_text("cat\ndog\n")
    usual = ("--pyargs", "eyechart.benchmarks", "-k", "pets/", "--eye-data=~/data", "--eye-names=~/names.txt")
    usual = (*usual, "--eye-labels=own=~/labels.csv", "--eye-out=~/out", "--eye-model=replay[path=~/answers.csv]")
    result = world.call(*usual)
    assert result.ret == 0, result.stdout.str() + result.stderr.str()
    assert (world.folder / "out").is_dir()
    (world.folder / "names.txt").write_text("dog\ncat\n")
    assert "are in another order than the classes of pets/test" in world.call(*usual).stdout.str()
