"""`eyechart audit` and `eyechart.audit`: counted flips of known answers, real models, and sentences for wrong words."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import eyechart
from eyechart.cli import main
from eyechart.errors import ReportError, SpecError
from eyechart.inference.store.contents import list_entries
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Classifier, Floats, Identity
from eyechart.statistics.intervals import wilson
from eyechart.statistics.noise_floor import detectable_beside_noise
from eyechart.toybox.samples.open_toybox import open_toybox

pytestmark = pytest.mark.deep

IMAGES = 20  # of each of two classes
LOST, GAINED = 4, 1
MODULE = __name__
Audit = Callable[..., eyechart.Audit]
Run = Callable[..., SimpleNamespace]
CALLS = {"evaluations": 0}


class Unsteady(Classifier):
    """A classifier that answers the first image of every second evaluation wrongly."""

    batch_size = 64

    def __init__(self, spec: ModelSpec, **_: object) -> None:
        self.spec, self.loads = spec, 0

    @property
    def identity(self) -> Identity:
        return Identity(
            backend="unsteady", name="u", weights_sha256="0" * 64, dtype="", device="cpu", processor={}, libraries={}
        )

    def prepare(self, image: Image.Image) -> Any:
        return np.asarray(image, np.float32).mean(axis=(0, 1))

    def classify(self, images: Sequence[Any]) -> Floats:
        CALLS["evaluations"] += 1
        logits = np.stack(images)[:, [2, 0]]
        if CALLS["evaluations"] % 2 == 0:
            logits[0] = logits[0][::-1]
        return logits


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A data root with 20 blue and 20 red images."""
    for name, colour in (("blue", (0, 0, 255)), ("red", (255, 0, 0))):
        folder = tmp_path / "root" / "pets" / "test" / name
        folder.mkdir(parents=True)
        for number in range(IMAGES):
            Image.new("RGB", (40 + number, 40), colour).save(folder / f"{name}{number}.png")
    return tmp_path / "root"


@pytest.fixture(scope="module")
def toys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of 6 packaged images of as many classes, so that few names are encoded in 80 templates."""
    dataset = open_toybox("sample")
    rows = {row.label: index for index, row in enumerate(dataset.index) if row.label < 6}
    folder = tmp_path_factory.mktemp("root") / "toys" / "test"
    for index, data in dataset.source.read(sorted(rows.values())):
        home = folder / str(dataset.names[dataset.index[index].label])
        home.mkdir(parents=True)
        (home / dataset.index[index].file).write_bytes(data)
    return folder


@pytest.fixture
def answers(tmp_path: Path) -> Callable[..., str]:
    """Write answers of a model that is wrong about some images; return its specification."""

    def write(name: str, *wrong: str) -> str:
        keys = [f"{name}{number}.png" for name in ("blue", "red") for number in range(IMAGES)]
        lines = [f"{key},{int(key.startswith('red')) ^ (key in wrong)}" for key in keys]
        (tmp_path / name).write_text("\n".join(["key,answer", *lines]), encoding="utf-8")
        return f"replay[path={tmp_path / name}]"

    return write


@pytest.fixture
def audit(tmp_path: Path) -> Audit:
    def run(*arguments: Any, **options: Any) -> eyechart.Audit:
        return eyechart.audit(
            *arguments, **{"store": tmp_path / "store", "offline": True, "progress": False, **options}
        )

    return run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run `eyechart audit` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object, code: int = 0) -> SimpleNamespace:
        status = main(["audit", *arguments, "--offline"])
        captured = capsys.readouterr()
        assert status == code, captured.err
        return SimpleNamespace(out=captured.out, err=captured.err)

    return call


def test_known_flips_are_counted_with_their_intervals_and_the_noise_floor(
    audit: Audit, answers: Callable[..., str], root: Path
) -> None:
    first = answers("first.csv", "red0.png")
    lost = [f"blue{number}.png" for number in range(LOST)]
    other = answers("other.csv", *lost)
    result = audit(first, "pets/test", against=[other], data_root=str(root), alpha=0.2)
    same, changed = (row for _, row in result.flips.iterrows())
    assert (same["setting"], same["n"], same["changed"], same["lost"], same["gained"]) == ("none", 40, 0, 0, 0)
    assert (changed["setting"], changed["n"], changed["changed"]) == (other, 40, LOST + GAINED)
    assert (changed["lost"], changed["gained"]) == (LOST, GAINED)
    assert (changed["low"], changed["high"]) == wilson(5, 40)
    floors = [detectable_beside_noise(40, share, 0.2) for share in (wilson(5, 40).low, 5 / 40, wilson(5, 40).high)]
    assert [*changed[["noise_floor_low", "noise_floor", "noise_floor_high"]]] == pytest.approx(floors)
    assert {*result.samples["key"].map(lambda key: Path(key).name)} == {"red0.png", *lost}
    (sentence,) = result.conclusions
    assert f"5 of 40 predictions changed with {other}; of 40 outcomes, 4 became wrong and 1 correct." in sentence
    assert f"A gate at alpha 0.2 detects losses from {100 * floors[1]:.2f} points on" in sentence
    assert "weights" in repr(result)  # other weights are no noise: a note says so


def test_samples_without_an_answer_are_left_out_and_named(
    run: Run, answers: Callable[..., str], tmp_path: Path, root: Path
) -> None:
    other = answers("other.csv", "blue0.png")
    lines = (tmp_path / "other.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "other.csv").write_text("\n".join(lines[:-3]), encoding="utf-8")
    words = (answers("first.csv"), "pets/test", f"--data={root}", f"--against={other}", "--repeats=0", "--format=csv")
    printed = run(*words)
    (row,) = csv.DictReader(io.StringIO(printed.out))
    assert (row["n"], row["Predictions changed"], row["Lost"]) == ("37", "1", "1")
    assert {"Flip rate low", "Flip rate high", "Noise floor", "Excludable loss"} <= {*row}
    assert "3 samples ended in an error, and do not count." in printed.err


def test_the_repeat_is_computed_anew_and_finds_a_model_that_answers_differently(audit: Audit, root: Path) -> None:
    CALLS["evaluations"] = 0
    result = audit(f"{MODULE}:Unsteady[]", root / "pets" / "test", repeats=3, protocol="supervised")
    assert [*result.flips["setting"]] == ["none (1)", "none (2)", "none (3)"]
    assert [*result.flips["changed"]] == [1, 0, 1]
    assert [*result.flips["lost"]] == [1, 0, 1]
    assert result.flips["score_change"].max() == 0.0  # the first image has the same two logits, exchanged
    assert CALLS["evaluations"] == 4
    again = audit(f"{MODULE}:Unsteady[]", root / "pets" / "test", protocol="supervised")
    assert CALLS["evaluations"] == 5  # the reference came from the store, the repeat did not
    assert [*again.flips["changed"]] == [0]


def test_a_packaged_model_changes_few_answers_with_the_batch_size_and_more_scores_with_the_precision(
    audit: Audit, tmp_path: Path, toys: Path
) -> None:
    images = 6  # one batch, since the default of 64 would be filled up with repeated images
    result = audit(f"open_clip[toybox-clip,batch_size={images}]", toys, batch_size=(1, 4), dtype=["bfloat16"])
    rows = result.flips.set_index("setting")
    changed = [f"batch_size={size}" for size in (1, 4)]
    assert [*rows.index] == ["none", *changed, "dtype=bfloat16"]
    assert {*rows["n"]} == {images}
    assert rows.loc["none", "changed"] == rows.loc["none", "score_change"] == 0
    for setting in changed:
        assert rows.loc[setting, "changed"] == 0
        assert rows.loc[setting, "score_change"] < 1e-4
    assert rows.loc["dtype=bfloat16", "changed"] <= 1
    assert rows.loc["dtype=bfloat16", "score_change"] > 1e-3
    assert not (rows["noise_floor"] <= 0.1).any()  # so few images cannot show a loss of ten points, if any
    keys = [entry.key for entry in list_entries(tmp_path / "store")]
    assert {key["batch_size"] for key in keys} <= {0, images}  # the store has the answers of the reference alone
    assert {key["model"]["dtype"] for key in keys} == {"float32"}


def test_a_generator_is_asked_again_with_another_batch_size_and_repeated_questions_are_clusters(audit: Audit) -> None:
    result = audit("hf[toybox-mllm]", "toybox/sample", protocol="multiple_choice", options={"epochs": 3}, limit=2)
    rows = result.flips.set_index("setting")
    assert [*rows.index] == ["none", "batch_size=1"]
    assert {*rows["n"]} == {6}
    assert rows.loc["none", "high"] == pytest.approx(wilson(0, 2).high)  # 2 images, asked three times each
    assert rows["noise_floor"].isna().all()
    assert "detects no loss" in result.conclusions[0]


def test_the_command_prints_a_row_for_each_setting_and_a_sentence(run: Run, tmp_path: Path, toys: Path) -> None:
    words = (
        "open_clip[toybox-clip]",
        "toys/test",
        f"--data={toys.parents[1]}",
        "--batch-size=4",
        "--dtype=bfloat16",
    )
    printed = run(*words)
    lines = printed.out.splitlines()
    assert lines[0] == "### Determinism of open_clip[toybox-clip]"
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| toys")]
    assert [row[2].replace("\\", "") for row in rows] == ["none", "batch_size=4", "dtype=bfloat16"]
    assert lines[-1].startswith("- toys/test (zero_shot): ")
    assert lines[-1].endswith("it cannot decide about smaller ones.")
    assert not (tmp_path / "reports").exists()  # an audit is no run, and `latest` stays as it is
    assert {row[3] for row in rows} == {"6"}


def test_splits_are_looked_up_in_the_data_root_and_share_a_table(
    run: Run, answers: Callable[..., str], root: Path
) -> None:
    spec = answers("answers.csv")
    other = answers("others.csv", "red0.png", "red1.png")
    (root / "pets" / "more").mkdir()
    for name in ("blue", "red"):
        (root / "pets" / "test" / name).rename(root / "pets" / "more" / name)
    printed = run(spec, "pets/more", f"--data={root}", f"--against={other}", "--repeats=0")
    assert "pets/more (replay): 2 of 40 predictions changed" in printed.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["conse[]", "imagenet/smaple"], "imagenet/smaple"),
        (["conse[]", "--dtype=int4"], "has dtype=int4. Expected one of float32, bfloat16, float16."),
        (["conse[]", "--batch-size=0"], "has batch_size=0. Expected a whole number of at least 1."),
        (["conse[]", "--batch-size=1,,8"], "'1,,8' has an empty value"),
        (["conse[]", "--protocol=zeroshot"], "zeroshot"),
        (["conse[]", "--against=vlm[toybox-mllm]"], "names the backend 'vlm', which is not known"),
        (["conse[]", "--alpha=2"], "'2' is not a significance level"),
        (["sentence[minilm]", "--dtype=bfloat8"], "bfloat8"),
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


def test_a_model_without_a_batch_size_says_so(run: Run, answers: Callable[..., str]) -> None:
    printed = run(answers("answers.csv"), "--batch-size=1", code=2)
    assert (
        "has no option 'batch_size', so that --batch-size cannot change it. The options of replay are: " in printed.err
    )


def test_another_model_without_the_same_case_is_refused(audit: Audit, answers: Callable[..., str], root: Path) -> None:
    with pytest.raises(ReportError, match=r"has no case"):
        audit(answers("a.csv"), root / "pets" / "test", against=["open_clip[toybox-clip]"])
    with pytest.raises(SpecError, match="audit keeps no runs, so that out='runs' has no effect"):
        audit("conse[]", "toybox/sample", out="runs")
    with pytest.raises(SpecError, match="repeats is -1"):
        audit("conse[]", "toybox/sample", repeats=-1)
