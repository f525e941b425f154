"""`eyechart annotate`: its options are those of the sheet that it writes, and those of the other kind are refused."""

from collections.abc import Callable
from typing import Any

import pytest

from eyechart.cli import main
from eyechart.reports.annotation.disputed import SheetOptions, write
from eyechart.reports.annotation.sample import SampleOptions, write_sample
from eyechart.reports.runs import load
from tests.reports.shot_worlds import MODEL, SECOND, World


@pytest.fixture
def world(make_shot_world: Callable[..., World], monkeypatch: pytest.MonkeyPatch) -> World:
    """A run of two models, and a file of other class names in the folder where the command runs."""
    world = make_shot_world()
    (world.root / "names.txt").write_text("".join(f"class {index}\n" for index in range(1000)), encoding="utf-8")
    monkeypatch.chdir(world.root)
    return world


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ((f"--model={MODEL}",), SheetOptions("ReGT", MODEL)),
        (
            (
                *(f"--model={SECOND}", "--protocol=supervised", f"--second={MODEL}", "--second-protocol=supervised"),
                *("--category=single_label_other", "--limit=3", "--names=names.txt", "--part=1/2", "--seed=7"),
            ),
            SheetOptions(
                "ReGT", SECOND, protocol="supervised", second=MODEL, second_protocol="supervised",
                category="single_label_other", limit=3, names="names.txt", part="1/2", seed=7,
            ),
        ),
        (("--sample=4",), SampleOptions(4, "ReGT")),
        (
            ("--sample=6", "--draw=stratified", "--split=imagenet/tiny", "--names=names.txt", "--part=2/2", "--seed=7"),
            SampleOptions(
                6, "ReGT", draw="stratified", split="imagenet/tiny", names="names.txt", part="2/2", seed=7,
            ),
        ),
        (("--sample=4", "--sequential"), SampleOptions(4, "ReGT", sequential=True)),
    ],
)  # fmt: skip
def test_the_sheet_is_that_of_the_options(
    world: World, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], options: Any
) -> None:
    assert main(["annotate", world.run, "--labels=ReGT", f"--data={world.root}", *words]) == 0
    written = world.run / "reports" / "sheet.html"
    said, sheet = capsys.readouterr().out, written.read_bytes()
    known = type(options)(**{**vars(options), "data": str(world.root)})
    make: Any = write if isinstance(known, SheetOptions) else write_sample
    assert said == f"{make(load([world.run]), known, world.out / 'own.html')}\n".replace(
        str(world.out / "own"), str(world.run / "reports" / "sheet")
    )
    assert sheet == (world.out / "own.html").read_bytes()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "Missing option '--model'. Or draw images for all models with --sample=N."),
        (("--sample=9", "--model=conse[]"), "--model cannot be used with --sample."),
        (
            ("--sample=9", "--second-protocol=mcq", "--limit=9", "--category=no_label"),
            "--category, --limit, --second-protocol cannot be used with --sample.",
        ),
        (("--model=conse[]", "--sequential"), "--sequential cannot be used without --sample."),
        (("--model=conse[]", "--draw=uniform", "--split=a/b"), "--draw, --split cannot be used without --sample."),
    ],
)
def test_options_of_the_other_kind_are_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    assert main(["annotate", "run", "--labels=ReGT", *words]) == 2
    assert capsys.readouterr().err == f"eyechart: {sentence} Help: eyechart annotate --help\n"
