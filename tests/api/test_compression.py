"""`eyechart compress` and `eyechart.compress`: flips of known answers, verdicts, and sentences for wrong words."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

import eyechart
from eyechart.cli import main
from eyechart.errors import ReportError, SpecError
from eyechart.gate.session.gate_status import INCONCLUSIVE, REGRESSION
from eyechart.inference.store.contents import list_entries
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Classifier, Floats, Identity
from eyechart.reports.tables.render import RENDERERS
from eyechart.statistics.intervals import wilson
from eyechart.statistics.noise_floor import detectable_beside_noise
from eyechart.statistics.noninferiority import loss_upper_limit
from eyechart.toybox.samples.open_toybox import open_toybox

pytestmark = pytest.mark.deep

IMAGES = 20  # of each of two classes
MODULE = __name__
Compress = Callable[..., eyechart.Compression]
Run = Callable[..., SimpleNamespace]
CALLS = {"evaluations": 0}


class Colours(Classifier):
    """A classifier of the mean colour, which moves the scores by `moved`, those of `unsteady` at every second call."""

    batch_size = 64

    def __init__(
        self, spec: ModelSpec, moved: float = 0.0, wait: float = 0.0, *, unsteady: bool = False, **_: object
    ) -> None:
        self.spec, self.loads, self.moved, self.wait, self.unsteady = spec, 0, moved, wait, unsteady

    @property
    def weight_files(self) -> tuple[Path, ...]:
        return (Path(__file__),)

    @property
    def identity(self) -> Identity:
        return Identity(
            backend="colours",
            name="c",
            weights_sha256=f"{self.moved}",
            dtype="int8" if self.moved else "float32",
            device="cpu",
            processor={"size": 1, "engine": self.moved},
            libraries={},
        )

    def prepare(self, image: Image.Image) -> Any:
        return np.asarray(image, np.float32).mean(axis=(0, 1))

    def classify(self, images: Sequence[Any]) -> Floats:
        CALLS["evaluations"] += 1
        sleep(self.wait)
        logits = np.stack(images)[:, [2, 0]]
        if self.unsteady and CALLS["evaluations"] % 2 == 0:
            logits[0] = logits[0][::-1]
        logits[:, 0] += self.moved
        return logits


@pytest.fixture
def root(tmp_path: Path) -> Path:
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
def compress(tmp_path: Path) -> Compress:
    def run(*arguments: Any, **options: Any) -> eyechart.Compression:
        return eyechart.compress(
            *arguments, **{"store": tmp_path / "store", "offline": True, "progress": False, "speed": False, **options}
        )

    return run


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


def test_known_flips_are_counted_with_their_intervals_and_the_noise_floor(
    compress: Compress, answers: Callable[..., str], root: Path
) -> None:
    first = answers("first.csv", "red0.png")
    lost = [f"blue{number}.png" for number in range(4)]
    other = answers("other.csv", *lost)
    result = compress(first, "pets/test", {"again": first, "int8": other}, data_root=str(root), alpha=0.2, margin=0.05)
    same, changed = (row for _, row in result.variants.iterrows())
    assert (same["variant"], same["n"], same["flips"], same["lost"], same["gained"]) == ("again", 40, 0, 0, 0)
    assert (changed["variant"], changed["n"], changed["flips"]) == ("int8", 40, 5)
    assert (changed["lost"], changed["gained"]) == (4, 1)
    assert (changed["before"], changed["after"]) == pytest.approx((39 / 40, 36 / 40))
    assert (changed["flip_rate_low"], changed["flip_rate_high"]) == wilson(5, 40)
    floors = [detectable_beside_noise(40, share, 0.2) for share in (wilson(5, 40).low, 5 / 40, wilson(5, 40).high)]
    assert [*changed[["noise_floor_low", "noise_floor", "noise_floor_high"]]] == pytest.approx(floors)
    assert changed["excluded_loss"] == pytest.approx(loss_upper_limit(4, 1, 40, 0.2))
    assert {*result.samples["key"].map(lambda key: Path(key).name)} == {"red0.png", *lost}
    assert [*result.classes[["variant", "class", "lost"]].itertuples(index=False)] == [("int8", "blue", 4)]
    assert "int8 differs in files" in repr(result)
    assert "int8: classes that lost most: blue (4)." in repr(result)


@pytest.mark.parametrize(
    ("wrong", "margin", "verdict", "status"),
    [
        (0, 0.2, "kept", 0),
        (0, 0.01, "kept", 0),  # the same bytes: there is no loss
        (1, 0.01, "not shown", INCONCLUSIVE),
        (4, 0.01, "not shown", INCONCLUSIVE),
        (12, 0.2, "worse", REGRESSION),
        (4, 0.4, "kept", 0),
    ],
)
def test_the_verdict_follows_from_the_margin_and_decides_the_status(
    compress: Compress, answers: Callable[..., str], root: Path, wrong: int, margin: float, verdict: str, status: int
) -> None:
    other = answers("other.csv", *(f"blue{number}.png" for number in range(wrong)))
    result = compress(answers("first.csv"), "pets/test", {"int8": other}, data_root=str(root), margin=margin)
    assert [*result.variants["verdict"]] == [verdict]
    assert result.status == status


def test_scores_that_move_too_little_for_any_answer_are_equal_and_are_not_rounded(
    compress: Compress, root: Path
) -> None:
    variants = {"float": f"{MODULE}:Colours[moved=0.00002]", "far": f"{MODULE}:Colours[moved=200]"}
    result = compress(f"{MODULE}:Colours[]", "pets/test", variants, data_root=str(root), protocol="supervised")
    rows = result.variants.set_index("variant")
    assert [*rows["verdict"]] == ["equal", "not shown"]
    assert [*rows["flips"]] == [0, 0]
    assert rows.loc["float", "score_change"] == pytest.approx(0.00002, rel=0.2)
    assert [*rows["top1_margin"]] == [255, 255]
    assert [*rows["smaller"]] == [1, 1]
    assert result.status == INCONCLUSIVE
    assert "far differs in files, number format (float32, now int8), settings (engine)." in repr(result)
    assert "far: a loss of 1 point is not excluded; one of 11.9 points is." in repr(result)


def test_samples_without_an_answer_are_left_out_and_named(
    run: Run, answers: Callable[..., str], tmp_path: Path, root: Path
) -> None:
    other = answers("other.csv", "blue0.png")
    lines = (tmp_path / "other.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "other.csv").write_text("\n".join(lines[:-3]), encoding="utf-8")
    words = (answers("first.csv"), "pets/test", f"--data={root}", f"--variant=int8={other}", "--format=csv")
    printed = run(*words, code=INCONCLUSIVE)
    _, row = csv.DictReader(io.StringIO(printed.out))
    assert (row["Variant"], row["Flips"], row["Lost"], row["Verdict"]) == ("int8", "1", "1", "not shown")
    assert {"Flips, % low", "Flips, % high", "Noise floor", "Excludes, points"} <= {*row}
    assert "int8: 3 samples ended in an error, and do not count." in printed.err


def test_a_variant_that_equals_the_original_is_computed_anew(compress: Compress, root: Path) -> None:
    CALLS["evaluations"] = 0
    spec = f"{MODULE}:Colours[unsteady=true]"
    result = compress(spec, root / "pets" / "test", {"one": spec, "two": spec, "three": spec}, protocol="supervised")
    assert [*result.variants["flips"]] == [*result.variants["lost"]] == [1, 0, 1]
    assert result.variants["score_change"].tolist() == [255, 0, 255]
    assert [*result.variants["verdict"]] == ["not shown", "equal", "not shown"]
    assert CALLS["evaluations"] == 4
    again = compress(spec, root / "pets" / "test", {"one": spec}, protocol="supervised")
    assert CALLS["evaluations"] == 5  # the answers of the original came from the store
    assert [*again.variants["flips"]] == [0]


def test_a_packaged_model_keeps_its_answers_in_other_batches_and_moves_its_scores_with_the_precision(
    compress: Compress, tmp_path: Path, toys: Path
) -> None:
    variants = {
        "ones": "open_clip[toybox-clip,batch_size=1]",
        "bf16": "open_clip[toybox-clip,batch_size=6,dtype=bfloat16]",
    }
    result = compress("open_clip[toybox-clip,batch_size=6]", toys, variants)
    rows = result.variants.set_index("variant")
    assert rows.loc["ones", "verdict"] == "equal"
    assert 0 <= rows.loc["ones", "score_change"] < 1e-5
    assert rows.loc["bf16", "flips"] <= 1
    assert rows.loc["bf16", "score_change"] > 1e-3
    assert not (rows["noise_floor"] <= 0.1).any()  # so few images cannot show a loss of ten points, if any
    assert rows.loc["ones", "bytes"] > 4_000_000
    keys = [entry.key for entry in list_entries(tmp_path / "store")]
    assert {key["model"]["dtype"] for key in keys} == {"float32", "bfloat16"}  # variants are not asked again


def test_a_generator_is_compared_by_its_words_and_repeated_questions_are_clusters(compress: Compress) -> None:
    spec = "hf[toybox-mllm]"
    result = compress(
        spec, "toybox/sample", {"again": spec}, protocol="multiple_choice", options={"epochs": 3}, limit=2
    )
    (row,) = (row for _, row in result.variants.iterrows())
    assert row["n"] == 6
    assert row["flip_rate_high"] == pytest.approx(wilson(0, 2).high)  # 2 images, asked three times each
    assert np.isnan(row["noise_floor"])
    assert row["verdict"] == "kept"  # the same model with the same answers: there is no loss
    assert row["score_change"] is None


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


def test_the_speed_is_beside_the_original_and_a_slower_variant_is_not_called_faster(
    compress: Compress, root: Path
) -> None:
    variants = {"slow": f"{MODULE}:Colours[moved=0.00002,wait=0.02]"}
    spec = f"{MODULE}:Colours[wait=0.002]"
    result = compress(spec, "pets/test", variants, data_root=str(root), protocol="supervised", speed=True)
    (row,) = (row for _, row in result.variants.iterrows())
    assert row["faster_low"] <= row["faster"] <= row["faster_high"] < 1
    assert row["images_per_second"] < 16 / 0.02
    table = repr(result)
    assert "Speed with " in table
    assert "Smaller, faster" not in table


def test_splits_have_a_table_each_and_are_decided_together(run: Run, answers: Callable[..., str], root: Path) -> None:
    spec, other = answers("answers.csv"), answers("others.csv", "red0.png", "red11.png")
    for path in (root.parent / "answers.csv", root.parent / "others.csv"):
        head, *rows = path.read_text(encoding="utf-8").splitlines()
        first = [f"blue{index}." for index in range(IMAGES // 2)] + [f"red{index}." for index in range(IMAGES // 2)]
        lines = [f"{row},{'more' if row.startswith(tuple(first)) else 'test'}" for row in rows]
        path.write_text("\n".join([f"{head},split", *lines]), encoding="utf-8")
    for name in ("blue", "red"):
        for index in range(IMAGES // 2):
            path = root / "pets" / "test" / name / f"{name}{index}.png"
            (root / "pets" / "more" / name).mkdir(parents=True, exist_ok=True)
            path.rename(root / "pets" / "more" / name / path.name)
    printed = run(spec, "pets/more", "pets/test", f"--data={root}", f"--variant=int8={other}", code=INCONCLUSIVE)
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
    run: Run, answers: Callable[..., str], root: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "calibration" / "some"
    folder.mkdir(parents=True)
    Image.new("RGB", (9, 9)).save(folder / "other.png")
    spec = answers("answers.csv")
    words = (spec, "pets/test", f"--data={root}", f"--variant=again={spec}", f"--calibration={folder.parent}")
    assert "again" in run(*words).out
    (folder / "renamed.png").write_bytes((root / "pets" / "test" / "red" / "red3.png").read_bytes())
    printed = run(*words, code=2)
    assert "1 calibration image is among the 40 evaluated images of pets/test, such as some/renamed.png." in printed.err
    assert printed.out == ""
    printed = run(*words[:-1], "--calibration=pets/test", code=2)
    assert "40 calibration images are among the 40 evaluated images of pets/test" in printed.err
    (tmp_path / "empty").mkdir()
    assert "has no file" in run(*words[:-1], f"--calibration={tmp_path / 'empty'}", code=2).err
    assert "pets/none" in run(*words[:-1], "--calibration=pets/none", code=2).err


def test_another_model_without_the_same_case_is_refused(
    compress: Compress, answers: Callable[..., str], root: Path
) -> None:
    with pytest.raises(ReportError, match=r"clip has no case"):
        compress(answers("a.csv"), root / "pets" / "test", {"clip": "open_clip[toybox-clip]"})
    with pytest.raises(SpecError, match="compress keeps no runs, so that out='runs' has no effect"):
        compress("conse[]", "toybox/sample", {"same": "conse[]"}, out="runs")
    with pytest.raises(SpecError, match=r"margin is 1\. Expected a fraction"):
        compress("conse[]", "toybox/sample", {"same": "conse[]"}, margin=1)
    with pytest.raises(SpecError, match="There is no variant to compare"):
        compress("conse[]", "toybox/sample", {})


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> eyechart.Compression:
    """A classifier of 400 images beside one that is as accurate and faster, and one that is slower and often wrong."""
    folder = tmp_path_factory.mktemp("measured")
    for name, colour in (("blue", (0, 0, 255)), ("red", (255, 0, 0))):
        (folder / "pets" / "test" / name).mkdir(parents=True)
        for number in range(200):
            edge = 10 + number % 20, 10 + number // 20
            Image.new("RGB", edge, tuple(part - number // 40 for part in colour)).save(
                folder / "pets" / "test" / name / f"{number}.png"
            )
    variants = {
        "fast": f"{MODULE}:Colours[moved=0.00002]",
        "bad": f"{MODULE}:Colours[moved=251.5,wait=0.02]",  # the darker half of the reds becomes blue
        "far": f"{MODULE}:Colours[moved=130]",
    }
    return eyechart.compress(
        f"{MODULE}:Colours[wait=0.002]", "pets/test", variants, data_root=str(folder), protocol="supervised",
        margin=0.05, store=folder / "store", offline=True, progress=False,
    )  # fmt: skip


def test_a_variant_is_dominated_only_beyond_both_intervals(measured: eyechart.Compression) -> None:
    rows = measured.variants.set_index("variant")
    assert [*rows["verdict"]] == ["equal", "worse", "kept"]
    assert measured.status == REGRESSION
    text = repr(measured)
    assert "bad is dominated: original is no larger and more accurate, beyond both intervals." in text
    assert "bad is dominated: original is faster and more accurate, beyond both intervals." in text
    assert "fast is dominated" not in text
    (slices,) = (line for line in text.splitlines() if "slices that lost significantly" in line)
    assert slices.startswith("- bad: slices that lost significantly: class=red lost ")
    assert "far is dominated" not in text  # it may be slower than `fast`, and is not surely less accurate


def test_the_chart_has_each_model_in_both_panels(measured: eyechart.Compression) -> None:
    figure = measured.plot()
    size, speed = figure.axes
    assert (size.get_xlabel(), speed.get_xlabel()) == ("size, MB", "times as fast as the original")
    legend = speed.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["original", "fast: equal", "bad: worse", "far: kept"]
    changes = [container.lines[0].get_ydata()[0] for container in speed.containers]
    assert changes == pytest.approx([0, *(100 * measured.variants["change"])])


def test_the_page_is_one_file_that_loads_nothing_and_shows_what_changed(
    measured: eyechart.Compression, tmp_path: Path
) -> None:
    text = measured.page(tmp_path / "new" / "page.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert "http://" not in text.replace("http://www.w3.org/", "").replace("http://purl.org/", "").replace(
        "http://creativecommons.org/", ""
    )
    assert '<td class="worse">worse</td>' in text
    assert text.count("<svg") == 1
    lost = int(measured.variants.set_index("variant").loc["bad", "lost"])
    assert f"<summary>bad, pets/test (supervised): {lost} changed</summary>" in text
    assert text.count("<td>lost</td>") == min(lost, 200)


def test_the_tables_are_latex_and_csv_too(measured: eyechart.Compression) -> None:
    tex = RENDERERS["tex"](measured.tables)
    assert "\\begin{tabular" in tex
    assert "fast & equal &" in tex
    rows = [*csv.DictReader(io.StringIO(RENDERERS["csv"](measured.tables)))]
    assert [row["Variant"] for row in rows] == ["original", "fast", "bad", "far"]
    assert rows[2]["Lost"] == str(measured.variants["lost"][1])


def test_scores_belong_to_their_protocol_in_whatever_order_they_are_named(tmp_path: Path) -> None:
    spec = "hf[toybox-mllm]"
    found = eyechart.compress(
        spec,
        "toybox/sample-cutouts",
        {"same": spec},
        protocol=["posterior", "closed_world"],  # records are in the order of the alphabet
        limit=2,
        speed=False,
        store=tmp_path / "store",
        offline=True,
        progress=False,
    )
    largest = {item.key[1]: item.scores and item.scores.largest for item in found.cases}
    assert largest == {"closed_world": None, "posterior": 0}  # closed world has no scores
