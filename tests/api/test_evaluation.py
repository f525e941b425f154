"""`eyechart.evaluate`: models and data in memory give the numbers of their specifications and folders."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import eyechart
from eyechart.classification.metrics.class_estimates import top1
from eyechart.classification.protocols.zero_shot import ZeroShot
from eyechart.errors import AbsentError, DataError, ModelError, ReportError, SpecError, ToleranceError
from eyechart.models.in_memory.wrap import InMemory
from eyechart.models.open_clip.encoder import OpenClipEncoder
from eyechart.models.spec import parse_spec
from eyechart.models.timm.classifier import _make_packaged
from eyechart.models.types import Classifier, Floats, Identity
from eyechart.results.estimates import Estimate
from eyechart.samples.files import packaged

pytestmark = pytest.mark.deep

Evaluate = Callable[..., eyechart.EvaluationRun]
MAKERS = run_path(str(Path(__file__).parents[1] / "tiny_pairs.py"))


def redness(image: Image.Image) -> Any:
    """The mean colour of an image, as a tensor (3, 1, 1)."""
    import torch

    return torch.tensor(np.asarray(image, np.float32).mean(axis=(0, 1)) / 255).reshape(3, 1, 1)


def colours() -> Any:
    """A module of torch that tells blue from red."""
    import torch

    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(0.5), torch.nn.Linear(3, 2, bias=False))
    with torch.no_grad():
        module[2].weight.copy_(torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
    return module


def values(run: eyechart.EvaluationRun) -> dict[tuple[str, ...], float]:
    """Every number of a run, without the case that it is of."""
    names = ["protocol", "metric", "labels", "subset", "level", "prompt"]
    return {tuple(row[:-1]): row[-1] for row in run.metrics[[*names, "value"]].itertuples(index=False)}


def accuracy(run: eyechart.EvaluationRun) -> float:
    rows = run.metrics
    return float(rows[(rows["metric"] == "acc1") & (rows["subset"] == "all")]["value"].iloc[0])


def test_a_packaged_model_and_split_by_their_names(evaluate: Evaluate) -> None:
    run = evaluate("open_clip[toybox-clip]", "toybox/sample", protocol="zero_shot")
    assert run.metrics["metric"].iloc[0] == "acc1"
    assert accuracy(run) == pytest.approx(121 / 123)
    assert run.samples["correct"].sum() == 121
    assert len(run.samples) == 123
    assert (run.folder / "records.json").is_file()
    assert (run.folder.parent / "latest").resolve() == run.folder.resolve()
    for folder in (run.folder.parent, run.store):
        assert (folder / ".gitignore").read_text() == "*\n"
    assert values(eyechart.load_run(run.folder)) == values(run)


def test_open_clip_in_memory_has_the_numbers_of_its_specification(evaluate: Evaluate) -> None:
    encoder = OpenClipEncoder(parse_spec("open_clip[toybox-clip]"))
    model = (encoder._module, encoder._transform, encoder._tokenizer)
    run = evaluate(model, "toybox/sample-cutouts", protocol="zero_shot", templates="7", name="mine")
    expected = evaluate("open_clip[toybox-clip]", "toybox/sample-cutouts", protocol="zero_shot")
    assert run.records[0].case == "toybox/sample-cutouts/mine"
    assert values(run) == pytest.approx(values(expected))


def test_timm_in_memory_has_the_numbers_of_its_name(evaluate: Evaluate, monkeypatch: pytest.MonkeyPatch) -> None:
    from timm.data import create_transform, resolve_model_data_config

    module = _make_packaged()
    transform = create_transform(**resolve_model_data_config(module, use_test_size=True))
    monkeypatch.setattr(InMemory, "batch_size", 4)  # a batch is filled up with repeated images
    split, few = "imagenet/sample-drawing", {"protocol": "supervised", "limit": 4}
    # Float32 of few images: a mean of squares differs in its seventh digit.
    expected = values(evaluate("timm[tf_efficientnet_lite0,batch_size=4]", split, **few))
    assert values(evaluate(module, split, **few)) == pytest.approx(expected, rel=1e-5)
    assert values(evaluate((module, transform), split, **few)) == pytest.approx(expected, rel=1e-5)


def test_a_generator_of_transformers_in_memory_answers_as_its_checkpoint(evaluate: Evaluate) -> None:
    import transformers

    folder = packaged("toybox-mllm")
    module = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype="float32")
    processor = transformers.AutoProcessor.from_pretrained(folder)
    module.generation_config.do_sample = True  # as many checkpoints have it
    module.train()
    settings = {"protocol": ("closed_world", "posterior"), "limit": 2}
    run = evaluate((module, processor), "toybox/sample-cutouts", **settings)
    expected = evaluate("hf[toybox-mllm]", "toybox/sample-cutouts", **settings)
    assert [*run.samples["prediction"]] == [*expected.samples["prediction"]]
    assert values(run) == pytest.approx(values(expected))
    assert module.training
    assert module.generation_config.do_sample


def test_clip_of_transformers_in_memory_is_the_one_in_its_folder(
    evaluate: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(InMemory, "batch_size", 9)
    torch.manual_seed(0)
    model, tokenizer, images = MAKERS["PARTS"]["clip"]()
    for part in (model, tokenizer, images):
        part.save_pretrained(tmp_path / "clip")
    from transformers import CLIPProcessor

    settings = {"protocol": "zero_shot", "templates": "1", "limit": 9}
    run = evaluate((model, CLIPProcessor(images, tokenizer)), "toybox/sample-cutouts", **settings)
    expected = evaluate(f"hf_clip[{tmp_path / 'clip'},batch_size=9]", "toybox/sample-cutouts", **settings)
    assert [*run.samples["prediction"]] == [*expected.samples["prediction"]]


def test_an_image_classifier_of_transformers(evaluate: Evaluate, pets: Path) -> None:
    import torch
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    model = ViTForImageClassification(ViTConfig(image_size=32, patch_size=16, num_labels=2, **size))
    processor = ViTImageProcessor(size={"height": 32, "width": 32})
    run = evaluate((model, processor), pets, protocol="supervised")
    pixels = [processor(Image.open(path).convert("RGB"), return_tensors="pt")["pixel_values"] for path in files(pets)]
    with torch.inference_mode():
        expected = [("blue", "red")[int(model.eval()(batch).logits.argmax())] for batch in pixels]
    assert [*run.samples["prediction"]] == expected


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.png"))


def test_a_folder_a_frame_a_table_and_pairs_of_the_same_images(evaluate: Evaluate, pets: Path) -> None:
    import datasets

    paths = files(pets)
    frame = pd.DataFrame({"path": paths, "label": [path.parent.name for path in paths]})
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["blue", "red"])})
    table = datasets.Dataset.from_dict(
        {"image": [str(path) for path in paths], "label": [path.parent.name for path in paths]}, features=features
    )
    pairs = [(Image.open(path), path.parent.name == "red") for path in paths]
    runs = [
        evaluate((colours(), redness), data, protocol="supervised", class_names=names)
        for data, names in ((pets, ()), (str(pets), ()), (frame, ()), (table, ()), (pairs, ("blue", "red")))
    ]
    assert [accuracy(run) for run in runs] == [1.0] * 5
    assert [{*run.samples["target"]} for run in runs] == [{"blue", "red"}] * 5
    assert {run.records[0].benchmark for run in runs[:2]} == {"pets"}
    assert runs[2].samples["key"].iloc[0] == "blue/0.png"
    assert runs[0].records[0].data.root == str(pets.parents[1])  # where the page finds the images
    assert runs[2].records[0].command == "eyechart.evaluate(<tuple>, <DataFrame>, protocol='supervised', seed=42)"


def test_a_torch_data_set_is_read_without_its_transform(evaluate: Evaluate, pets: Path) -> None:
    class ImageFolder:
        def __init__(self) -> None:
            self.classes = ["blue", "red"]
            self.samples = [(str(path), int(path.parent.name == "red")) for path in files(pets)]

        def __len__(self) -> int:
            return len(self.samples)

        def __getitem__(self, index: int) -> tuple[Any, int]:
            raise AssertionError("the transform of training")

    run = evaluate((colours(), redness), ImageFolder(), protocol="supervised", data_name="pets/test")
    assert accuracy(run) == 1
    assert run.records[0].case == "pets/test/memory[Sequential]"


def test_a_further_training_step_is_another_model(evaluate: Evaluate, pets: Path) -> None:
    import torch

    module = colours()
    module.train()
    before = evaluate((module, redness), pets, protocol="supervised", name="colours")
    assert module.training
    assert module[1].training
    assert module[2].weight.requires_grad
    with torch.no_grad():
        module[2].weight.neg_()
    after = evaluate((module, redness), pets, protocol="supervised", name="colours")
    assert (accuracy(before), accuracy(after)) == (1, 0)
    compared = eyechart.compare(before, after)
    row = compared.verdicts.set_index(["metric", "subset"]).loc[("acc1", "all")]
    assert (row["before"], row["after"], row["change"], row["lost"], row["n"]) == (1, 0, -1, 6, 6)
    assert "0 significantly worse" in repr(compared)  # six images show no loss at the level of the gate
    assert len(eyechart.compare(before, after, alpha=0.4).regressions)


def test_a_second_evaluation_asks_only_for_what_is_not_stored(evaluate: Evaluate, pets: Path) -> None:
    calls: list[int] = []

    class Counted(Classifier):
        batch_size = 2

        @property
        def identity(self) -> Identity:
            return Identity(
                backend="mine", name="counted", weights_sha256="1", dtype="float32", device="cpu", processor={},
                libraries={},
            )  # fmt: skip

        def prepare(self, image: Image.Image) -> Any:
            return redness(image).numpy().reshape(3)

        def classify(self, images: Any) -> Floats:
            calls.append(len(images))
            return np.stack(images)[:, [2, 0]].astype(np.float32)

    first = evaluate(Counted(), pets, protocol="supervised", limit=4, identity="counted-1")
    assert sum(calls) == 4
    second = evaluate(Counted(), pets, protocol="supervised", identity="counted-1")
    assert sum(calls) == 6
    assert (accuracy(first), accuracy(second)) == (1, 1)
    evaluate(Counted(), pets, protocol="supervised", identity="counted-2")
    evaluate(Counted(), pets, protocol="supervised")
    evaluate(Counted(), pets, protocol="supervised")
    assert sum(calls) == 6 + 3 * 6


TRAINED = """
from pathlib import Path
import numpy as np
from eyechart.models.types import Classifier

class Trained(Classifier):
    def __init__(self, spec):
        self.weights = np.array([*map(float, Path("net.txt").read_text().split())])

    def prepare(self, image):
        return np.asarray(image, np.float32).mean(axis=(0, 1))[[2, 0]]

    def classify(self, images):
        {late}
        return (np.stack(images) * self.weights).astype(np.float32)
"""


@pytest.mark.parametrize("late", [False, True])
def test_weights_that_are_trained_anew_into_the_same_file_answer_anew(
    evaluate: Evaluate, pets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    """A file that the class opens only while it answers is not in its identity, and a note says so in every run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    name = f"trained_{late}"
    line = 'self.weights = np.array([*map(float, Path("late.txt").read_text().split())])' if late else "pass"
    (tmp_path / f"{name}.py").write_text(TRAINED.format(late=line))
    runs = []
    for weights in ("1 1", "-1 -1"):
        (tmp_path / "net.txt").write_text("1 1" if late else weights)
        (tmp_path / "late.txt").write_text(weights)
        runs.append(evaluate(f"{name}:Trained[]", pets, protocol="supervised"))
    before, after = runs
    assert (accuracy(before), accuracy(after)) == (1, 1 if late else 0)
    noted = [any("late.txt only while it answered" in note for note in run.records[0].notes) for run in runs]
    assert noted == [late, late]
    if late:
        said = repr(eyechart.compare(before, after, margin=0.01))
        assert "no regression: the same code, options and files gave the same answers" in said


GAIN = 1.0


@pytest.mark.parametrize("location", ["attribute", "closure", "global", "method", "flag"])
def test_stored_answers_of_a_changed_object_in_memory_are_not_used(
    evaluate: Evaluate, pets: Path, location: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the state dict nor the `repr` of the module or of its transform shows these changes."""

    class Transform:
        gain = 1.0

        def __call__(self, image: Image.Image) -> Any:
            return redness(image) * self.gain * GAIN * closed

    module, transform, closed = colours(), Transform(), 1.0
    module.negative = False
    module.register_forward_hook(lambda module, _, output: -output if module.negative else output)
    before = accuracy(evaluate((module, transform), pets, protocol="supervised"))
    if location == "attribute":
        transform.gain = -1.0
    elif location == "closure":
        closed = -1.0
    elif location == "global":
        monkeypatch.setitem(globals(), "GAIN", -1.0)
    elif location == "method":
        forward = module.forward
        module.forward = lambda batch: -forward(batch)
    else:
        module.negative = True
    assert (before, accuracy(evaluate((module, transform), pets, protocol="supervised"))) == (1, 0)


def test_all_suitable_protocols_with_options_and_own_metrics(evaluate: Evaluate) -> None:
    runs = evaluate("open_clip[toybox-clip]", "toybox/sample-cutouts")
    assert {record.protocol for record in runs.records} == {"zero_shot"}
    names = [*runs.metrics["metric"]]

    def halves(predictions: Any) -> Floats:
        return np.full(len(predictions.keys), 0.5)

    run = evaluate("open_clip[toybox-clip]", "toybox/sample-cutouts", protocol="zero_shot", metrics=[halves])
    assert [*run.metrics["metric"]] == [*names[:-1], "halves", names[-1]]
    assert run.metrics.set_index("metric")["value"]["halves"] == 0.5

    def largest(predictions: Any) -> list[Estimate]:
        return [Estimate(name="largest", value=0.25, n=54, method="none", interval=None)]

    run = evaluate("open_clip[toybox-clip]", "toybox/sample-cutouts", protocol="zero_shot", metrics=[largest])
    assert run.metrics.set_index("metric")["value"]["largest"] == 0.25


def test_several_processes_give_the_answers_of_one(
    tmp_path: Path, warm_python: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real encoder in two processes of this machine; the stores have equal bytes."""
    monkeypatch.setattr(sys, "executable", warm_python[0])  # or each process imports the models' libraries
    stores = []
    for devices in (1, 2):
        folder = tmp_path / str(devices)
        eyechart.evaluate(
            "open_clip[toybox-clip,batch_size=16]", "toybox/sample-cutouts", protocol="zero_shot", templates="1",
            devices=devices, store=folder / "store", out=folder / "runs", progress=False, offline=True,
        )  # fmt: skip
        stores.append({path.parent.name: path.read_bytes() for path in (folder / "store").rglob("answers.npy")})
    assert len(stores[0]) == 3  # features of images, class weights, scale
    assert stores[0] == stores[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"devices": 0}, "got 0"),
        ({"devices": "two"}, "got 'two'"),
        ({"devices": 2, "ray": "auto"}, "ray=… is given, too"),
    ],
)
def test_devices_that_cannot_be_used_are_refused(evaluate: Evaluate, options: dict[str, Any], said: str) -> None:
    """A sentence, before any model is made."""
    with pytest.raises(SpecError, match=f"devices takes 'auto' or a whole number from 1 up, .*{said}"):
        evaluate("open_clip[toybox-clip]", "toybox/sample-cutouts", protocol="zero_shot", **options)


@pytest.mark.parametrize(
    ("model", "data", "settings", "error", "message"),
    [
        (object(), "toybox/sample", {}, ModelError, "The model is of the type object. Give a specification"),
        ("open_clip[toybox-clip]", "toybox/smaple", {}, AbsentError, "toybox/smaple; did you mean toybox/sample"),
        ("open_clip[toybox-clip]", 3, {}, DataError, "The data are of the type int. Give the name of a split"),
        ("open_clip[toybox-clip]", [], {}, DataError, "have no images"),
        ("open_clip[toybox-clip]", [(np.zeros(3), 1)], {}, DataError, "is a ndarray. Expected a PIL image or a path"),
        ("open_clip[toybox-clip]", [("gone.png", "a")], {}, DataError, "gone.png cannot be read"),
        ("open_clip[toybox-clip]", [(Image.new("RGB", (9, 9)), 1)], {}, DataError, "numbers without class names"),
        ("open_clip[toybox-clip]", pd.DataFrame({"file": ["a"]}), {}, DataError, "Expected a column 'label'"),
        ("open_clip[toybox-clip]", "toybox/sample", {"protocol": "zeroshot"}, SpecError, "did you mean zero_shot"),
        ("open_clip[toybox-clip]", "toybox/sample", {"protocol": "mcq"}, ModelError, "mcq needs generator"),
        (
            "anthropic[toy]", "toybox/sample", {"protocol": "posterior"}, ModelError,
            r"posterior needs scorer: .* has no log-probabilities of given answers: its API returns none\. Use hf",
        ),
        (
            "hf[toybox-mllm]", "toybox/sample", {"protocol": "multiple_choice", "options": {"epoch": 2}}, SpecError,
            "multiple_choice has no option 'epoch'; did you mean epochs",
        ),
        (
            "hf[toybox-mllm]", "toybox/sample", {"protocol": "multiple_choice", "options": {"epochs": "x"}}, SpecError,
            "multiple_choice.epochs takes whole numbers from 1",
        ),
        ("open_clip[toybox-clip]", "toybox/sample", {"options": {"epochs": 2}}, SpecError, "names no protocol"),
        ("open_clip[toybox-clip]", [(Image.new("RGB", (9, 9)), "a")], {"data_name": "pets"}, SpecError, "data_name"),
        ("open_clip[toybox-clip]", "toybox/sample", {"identity": "a"}, SpecError, "Give identity with a model in mem"),
        ("open_clip[toybox-clip]", "toybox/sample", {"stor": "a"}, TypeError, "argument 'stor'; did you mean store"),
    ],
)  # fmt: skip
def test_wrong_arguments_get_a_sentence(
    evaluate: Evaluate, model: Any, data: Any, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        evaluate(model, data, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"seed": -1}, "seed is -1. Expected a whole number from"),
        ({"seed": None}, "seed is None. Expected a whole number"),
        ({"max_errors": True}, "max_errors is True. Expected a wh"),
        ({"limit": 0}, "limit must be a whole number from 1 up"),
        ({"name": 3}, "name is 3. Expected a text"),
        ({"options": ["a"]}, r"options is \['a'\]. Expected a map"),
        ({"metrics": len}, "Expected a list of functions of pred"),
        ({"metrics": ["a"]}, "Expected a list of functions of pr"),
        ({"protocol": None}, "protocol is None. Expected names"),
        ({"slices": "x"}, "slices is 'x'. Expected 'attributes'"),
        ({"offline": "no"}, "offline is 'no'. Expected True or Fa"),
        ({"labels": "a"}, "labels is 'a'. Expected a mapping"),
        ({"store": __file__}, "which is a file. Expected a folder"),
    ],
)
def test_an_argument_of_another_kind_gets_a_sentence_before_anything_is_asked(
    evaluate: Evaluate, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        evaluate("open_clip[toybox-clip]", "toybox/sample", **settings)


def test_an_encoder_without_neighbours_gets_a_sentence(evaluate: Evaluate, pets: Path) -> None:
    with pytest.raises(ModelError, match=r"that is knn\[ENCODER,k=11,support=BENCHMARK/SPLIT\]"):
        evaluate("open_clip[toybox-clip]", pets, protocol="knn")


def test_too_many_errors_are_raised_after_the_run_is_written(evaluate: Evaluate, pets: Path, tmp_path: Path) -> None:
    (tmp_path / "own" / "red").mkdir(parents=True)
    (tmp_path / "own" / "blue").mkdir()
    Image.open(files(pets)[0]).save(tmp_path / "own" / "blue" / "0.png")
    (tmp_path / "own" / "red" / "broken.png").write_bytes(b"no image")
    with pytest.raises(ToleranceError, match=r"1 errors, .*red/broken\.png.* are stored and scored"):
        evaluate((colours(), redness), tmp_path / "own", protocol="supervised")
    run = evaluate((colours(), redness), tmp_path / "own", protocol="supervised", max_errors=1)
    assert run.records[0].outcomes.error == 1


def test_a_protocol_has_its_own_metrics_or_those_that_are_passed(evaluate: Evaluate, pets: Path) -> None:
    class Again(ZeroShot):
        """Zero-shot classification under another name."""

        name = "again"

    class Own(ZeroShot):
        """The same with metrics of its own."""

        name = "with_metrics"
        metrics = (top1,)

    class Bare(ZeroShot):
        """The same without metrics."""

        name = "without_metrics"
        metrics = ()

    model = "open_clip[toybox-clip]"
    assert {"acc1", "mean_per_class_recall"} < {*evaluate(model, pets, protocol=Again).metrics.metric}
    assert {*evaluate(model, pets, protocol=Own).metrics.metric} == {"acc1", "answered"}
    assert {*evaluate(model, pets, protocol=Bare, metrics=[top1]).metrics.metric} == {"acc1", "answered"}
    with pytest.raises(SpecError, match=r"The protocol without_metrics has no metrics, and none are passed\. Give its"):
        evaluate(model, pets, protocol=Bare)


def test_a_metric_is_computed_once_and_no_two_have_the_same_estimate(evaluate: Evaluate, pets: Path) -> None:
    once, twice = (
        evaluate("open_clip[toybox-clip]", pets, protocol="zero_shot", metrics=metrics).metrics
        for metrics in ([], [top1, top1])
    )
    assert [*once["metric"]] == [*twice["metric"]]

    def another(predictions: Any) -> list[Estimate]:
        return [*top1(predictions)]

    with pytest.raises(ReportError, match=r"top1 and another, both have the estimate acc1 .*Rename one"):
        evaluate("open_clip[toybox-clip]", pets, protocol="zero_shot", metrics=[another])
