"""`eyechart compress`: what it prints, its exit status, and one sentence for wrong words."""

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image

from eyechart.cli import main
from eyechart.gate.session.gate_status import INCONCLUSIVE
from tests.compressed import IMAGES

pytestmark = pytest.mark.deep

Run = Callable[..., SimpleNamespace]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run `eyechart compress` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object, code: int = 0) -> SimpleNamespace:
        status = main(["compress", *arguments, "--offline", "--no-speed"])
        captured = capsys.readouterr()
        assert status == code, captured.err
        return SimpleNamespace(out=captured.out, err=captured.err)

    return call


def test_samples_without_an_answer_are_left_out_and_named(
    run: Run, replayed: Callable[..., str], tmp_path: Path, colours: Path
) -> None:
    other = replayed("other.csv", "blue0.png")
    lines = (tmp_path / "other.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "other.csv").write_text("\n".join(lines[:-3]), encoding="utf-8")
    words = (replayed("first.csv"), "pets/test", f"--data={colours}", f"--variant=int8={other}", "--format=csv")
    printed = run(*words, code=INCONCLUSIVE)
    _, row = csv.DictReader(io.StringIO(printed.out))
    assert (row["Variant"], row["Flips"], row["Lost"], row["Verdict"]) == ("int8", "1", "1", "not shown")
    assert {"Flips, % low", "Flips, % high", "Noise floor", "Excludes, points"} <= {*row}
    assert "int8: 3 samples ended in an error, and do not count." in printed.err


def test_the_command_prints_a_row_for_the_original_and_each_variant(run: Run, tmp_path: Path, toys: Path) -> None:
    words = (
        *("open_clip[toybox-clip]", "toys/test", f"--data={toys.parents[1]}", "--margin=0.05"),
        *("--variant=four=open_clip[toybox-clip,batch_size=4]", "--variant=bf16=open_clip[toybox-clip,dtype=bfloat16]"),
    )
    printed = run(*words)
    lines = printed.out.splitlines()
    assert (
        lines[0] == "### open_clip[toybox-clip] on toys/test (zero_shot): 6 samples, 6 with an outcome; margin 5 points"
    )
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")][1:]
    assert [row[0] for row in rows[1:]] == ["original", "four", "bf16"]
    assert rows[2][1] == "equal"
    assert not (tmp_path / "reports").exists()  # it keeps no run, and `latest` stays as it is


def test_splits_have_a_table_each_and_are_decided_together(
    run: Run, replayed: Callable[..., str], colours: Path
) -> None:
    spec, other = replayed("answers.csv"), replayed("others.csv", "red0.png", "red11.png")
    for path in (colours.parent / "answers.csv", colours.parent / "others.csv"):
        head, *rows = path.read_text(encoding="utf-8").splitlines()
        first = [f"blue{index}." for index in range(IMAGES // 2)] + [f"red{index}." for index in range(IMAGES // 2)]
        lines = [f"{row},{'more' if row.startswith(tuple(first)) else 'test'}" for row in rows]
        path.write_text("\n".join([f"{head},split", *lines]), encoding="utf-8")
    for name in ("blue", "red"):
        for index in range(IMAGES // 2):
            path = colours / "pets" / "test" / name / f"{name}{index}.png"
            (colours / "pets" / "more" / name).mkdir(parents=True, exist_ok=True)
            path.rename(colours / "pets" / "more" / name / path.name)
    printed = run(spec, "pets/more", "pets/test", f"--data={colours}", f"--variant=int8={other}", code=INCONCLUSIVE)
    titles = [line for line in printed.out.splitlines() if line.startswith("###")]
    assert [title.partition(" on ")[2].partition(":")[0] for title in titles] == [
        "pets/more (replay)",
        "pets/test (replay)",
    ]


VARIANT = "--variant=other=conse[]"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["conse[]", "imagenet/smaple", VARIANT], "imagenet/smaple"),
        (
            ["conse[]", "toybox/sample", "--variant=low=conse[dtype=int4]"],
            "has dtype=int4. Expected one of float32, bfloat16, float16.",
        ),
        (["conse[]", "toybox/sample", "--variant=conse[]"], "--variant is 'conse[]'. Expected NAME=SPEC"),
        (["conse[]", "toybox/sample", VARIANT, VARIANT], "Two variants have one name."),
        (["conse[]", "toybox/sample", "--variant=original=conse[]"], "A variant has the name 'original'"),
        (["conse[]", "toybox/sample"], "Missing option '--variant'"),
        (["conse[]", VARIANT], "Missing argument 'SPLIT…'"),
        (["conse[]", "toybox/sample", VARIANT, "--margin=1"], "must be from 0 up and below 0.5"),
        (["conse[]", "toybox/sample", VARIANT, "--protocol=zeroshot"], "zeroshot"),
        (
            ["conse[]", "toybox/sample", "--variant=v=vlm[toybox-mllm]"],
            "names the backend 'vlm', which is not known",
        ),
        (["conse[]", "toybox/sample", VARIANT, "--alpha=2"], "'2' is not a significance level"),
        (["conse[]", "toybox/sample", "--variant=v=onnx[none.onnx,like=timm[]]"], "none.onnx does not exist"),
    ],
)
def test_wrong_words_get_a_sentence_before_anything_is_evaluated(
    run: Run, tmp_path: Path, words: list[str], sentence: str
) -> None:
    printed = run(*words, code=2)
    assert sentence in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""
    assert not [*tmp_path.rglob("*.json")]


def test_calibration_images_that_are_evaluated_are_found_by_their_bytes(
    run: Run, replayed: Callable[..., str], colours: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "calibration" / "some"
    folder.mkdir(parents=True)
    Image.new("RGB", (9, 9)).save(folder / "other.png")
    spec = replayed("answers.csv")
    words = (spec, "pets/test", f"--data={colours}", f"--variant=again={spec}", f"--calibration={folder.parent}")
    assert "again" in run(*words).out
    (folder / "renamed.png").write_bytes((colours / "pets" / "test" / "red" / "red3.png").read_bytes())
    printed = run(*words, code=2)
    assert "1 calibration image is among the 40 evaluated images of pets/test, such as some/renamed.png." in printed.err
    assert printed.out == ""
    printed = run(*words[:-1], "--calibration=pets/test", code=2)
    assert "40 calibration images are among the 40 evaluated images of pets/test" in printed.err
    (tmp_path / "empty").mkdir()
    assert "has no file" in run(*words[:-1], f"--calibration={tmp_path / 'empty'}", code=2).err
    assert "pets/none" in run(*words[:-1], "--calibration=pets/none", code=2).err
