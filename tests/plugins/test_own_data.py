"""Data of one's own: ROOT/<benchmark>/<split> is evaluated by itself, and what is not evaluated is named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from PIL import Image

from eyechart.plugins.left_out import suggest_names

COLLECT = ("--pyargs", "eyechart.benchmarks", "--collect-only")
HEAVY = """
import sys

def pytest_sessionfinish():
    print("HEAVY", sorted({"torch", "pandas", "datasets", "pyarrow", "scipy.stats"} & {*sys.modules}))
"""


@pytest.fixture
def root(world: Any) -> Callable[..., Path]:
    """Paint pictures below a root, by their names, and write other files empty."""

    def filled(*names: str) -> Path:
        for shade, name in enumerate(names):
            path = world.folder / "data" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".png":
                Image.new("RGB", (8, 8), (shade * 9, 0, 0)).save(path)
            else:
                path.write_text("")
        return world.folder / "data"

    return filled


PETS = tuple(f"pets/test/{name}/{number}.png" for name in ("cat", "dog") for number in range(3))


def cases(result: pytest.RunResult) -> list[str]:
    return [line.partition("::test_")[2] for line in result.outlines if "::" in line]


@pytest.mark.parametrize(("form", "other"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_a_name_that_is_not_ascii_is_a_name(world: Any, root: Callable[..., Path], form: str, other: str) -> None:
    typed, folder = "häuser/", normalize(form, "häuser")
    root(*(f"{folder}/test/{name}/{number}.png" for name in ("tür", "dach") for number in range(2)))
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
    result = world.call(*usual, "-k", "hauser/")
    assert "did you mean" in result.stdout.str()


def test_a_benchmark_of_ones_own_is_evaluated_under_its_own_name(world: Any, root: Callable[..., Path]) -> None:
    root(*PETS)
    result = world.call("--pyargs", "eyechart.benchmarks", "-k", "pets/", "--eye-data=data", "--eye-model=tiny[]")
    assert result.ret == 0, result.outlines
    (record,) = world.records
    assert (record["case"], record["metrics"][0]["n"]) == ("pets/test/tiny[]", 6)


def test_training_data_beside_a_test_split_are_left_out_unless_they_are_named(
    world: Any, root: Callable[..., Path]
) -> None:
    root(*PETS, *(path.replace("/test/", "/train/") for path in PETS))
    usual = ("--pyargs", "eyechart.benchmarks", "--eye-data=data", "--eye-model=tiny[]", "--collect-only", "-q")
    result = world.call(*usual, "-k", "pets/")
    assert ("pets/test/tiny[]" in result.stdout.str(), "pets/train/tiny[]" in result.stdout.str()) == (True, False)
    assert "eyechart: left out as training data: pets/train; -k pets/train evaluates it" in result.outlines
    assert "pets/train/tiny[]" in world.call(*usual, "-k", "pets/train or pets/test").stdout.str()


@pytest.mark.deep
def test_one_line_names_what_was_found_and_what_was_ignored(world: Any, root: Callable[..., Path]) -> None:
    root(*PETS, "pets/test/labels.json", "pets/test/manifest.csv", "scripts/run.py", "notes.txt", "pets/README.md")
    (line,) = (
        line for line in world.call(*COLLECT, "--eye-data=data").outlines if line.startswith("eyechart: data from")
    )
    assert ": 1 split found (pets/test); ignored: notes.txt (it is in no folder of a benchmark); " in line
    assert "pets/test/labels.json, pets/test/manifest.csv (class folders are the labels; others come with" in line
    assert line.endswith("scripts (it has no folder of a split, expected ROOT/<benchmark>/<split>)")


@pytest.mark.deep
def test_by_default_own_data_meet_conse_and_nothing_heavy_is_imported(cold: Any, root: Callable[..., Path]) -> None:
    root(*PETS)
    result = cold.call(*COLLECT, "-q", "-s", cold.plugin(HEAVY), "-k", "pets/", "--eye-data=data")
    assert cases(result) == ["zero_shot[pets/test/conse[]]"]
    assert "HEAVY []" in result.outlines


@pytest.mark.deep
def test_models_that_were_asked_for_meet_own_data_and_other_benchmarks_keep_their_meaning(
    world: Any, root: Callable[..., Path]
) -> None:
    birds, pairs = (
        [f"{name}/mine/{rest.removeprefix('pets/test/')}" for rest in PETS] for name in ("realbirdid", "oodbench")
    )
    root(*PETS, *birds, *pairs)
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
@pytest.mark.parametrize(
    ("keyword", "hint", "workers"),
    [
        ("imagenet/tny", "did you mean imagenet/tiny", "2"),
        ("imagenet/tiny and zero_shoot", "selects none of", "0"),
    ],
)
def test_a_keyword_that_selects_nothing_is_answered_with_the_nearest_split(
    world: Any, keyword: str, hint: str, workers: str
) -> None:
    result = world.run("-k", keyword, "-n", workers)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    (line,) = (line for line in result.outlines if line.startswith("eyechart: -k"))
    assert f"-k '{keyword}' selects none of" in line
    assert hint in line


@pytest.mark.parametrize(
    ("keyword", "hint"),
    [
        ("imagnet/", "selects none of 1 case; did you mean imagenet/ or imagenet/val? Splits: imagenet/val."),
        ("imagenet/val and zero_shoot", "selects none of 1 case. Splits: imagenet/val."),
    ],
)
def test_the_nearest_name_is_a_split_or_a_benchmark(keyword: str, hint: str) -> None:
    said = suggest_names(keyword, ["test_knn[imagenet/val/knn[a]]"], ["imagenet/val"])
    assert said == f"eyechart: -k '{keyword}' {hint}"


@pytest.mark.deep
def test_an_unrelated_session_is_told_nothing(world: Any) -> None:
    (world.folder / "test_other.py").write_text("def test_other(): pass\n")
    result = world.call("test_other.py", "-k", "imagnet")
    assert "eyechart:" not in result.stdout.str()
    assert "= eyechart =" not in result.stdout.str()
    assert {path.name for path in world.folder.iterdir()} <= {"test_other.py", ".pytest_cache", "__pycache__"}


@pytest.mark.deep
def test_what_lies_in_class_folders_and_is_no_picture_is_noted(world: Any, root: Callable[..., Path]) -> None:
    root(*PETS, "pets/test/cat/9.heic", "pets/test/dog/more/9.png")
    result = world.call("--pyargs", "eyechart.benchmarks", "-k", "pets/", "--eye-data=data", "--eye-model=tiny[]")
    assert result.ret == 0, result.outlines
    (record,) = world.records
    (note,) = record["notes"]
    assert note.startswith("pets/test: cat/9.heic, dog/more in class folders are not evaluated: expected pictures that")
    assert f"note: {note}" in result.outlines
