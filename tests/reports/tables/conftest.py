"""Runs of models with long names from which every table and every figure can be made."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import ReportError
from eyechart.reports.annotation.sample import SampleOptions, write_sample
from eyechart.reports.runs import Runs, load
from eyechart.reports.tables.registry import table_builders, tables
from eyechart.reports.tables.render import Table
from eyechart.results.records import SubsetTiming

MLLMS = (
    "hf[organization/multimodal-30b-it]",
    "hf[organization/multimodal-72b-instruct-preview]",
    "openai[vision-language-2026-11-22]",
    "replay[path=/data/answers/of_another_server/model_a.csv,of=a]",
)
SHORT_AND_LONG = (MLLMS[0], MLLMS[3])  # where four names test nothing that two do not
CLASSIFIER = "timm[eva02_large_patch14_448.mim_m38m_ft_in22k_in1k]"
CONTRASTIVE = "open_clip[ViT-H-14-378-quickgelu,pretrained=dfn5b]"
ENCODER = "hf_clip[organization/contrastive-so400m]"
DETECTORS = ("open_clip[ViT-B-32,pretrained=openai]", "blip2[organization/blip2-itm-vit-g]")
SETS = ("ID", "OOD-S", "OOD-H")
SOURCES = ("coco", "lvis", "nuscenes", "cityscapes")
OUTSIDE = {0: "a beast", 2: "I don't know", 11: "ferret"}
MAPPED = {"a beast": 356, "I don't know": 7, "ferret": 359}
BIN = ("what", "name", "present", "low", "high", "count")


POOLS = (
    *("worded", "repeated", "classified", "one_option", "disputed", "reannotated"),
    *("paired", "hard", "birds", "free_form"),
)


def once(make: Callable[..., Runs]) -> Callable[..., Runs]:
    """Make a run for the first test that needs it, and give the same one to all others, which only read it."""
    made: list[Runs] = []

    @wraps(make)
    def run(**parts: Any) -> Runs:
        if not made:
            made.append(make(**parts))
        return made[0]

    return pytest.fixture(run)


@pytest.fixture(scope="session")
def pools() -> Sequence[str]:
    """The names of the runs below that have a golden file."""
    return POOLS


@pytest.fixture(scope="session")
def made_tables() -> dict[str, Mapping[str, Sequence[Table]]]:
    """The tables of each of these runs, which are made once."""
    return {}


@pytest.fixture(params=POOLS)
def pool(request: pytest.FixtureRequest, made_tables: Any) -> tuple[str, Runs, Mapping[str, Sequence[Table]]]:
    """The name of some runs, the runs, and every table that they have data for, by its number or name."""
    name, runs = request.param, request.getfixturevalue(request.param)
    if name not in made_tables:
        made_tables[name] = {}
        for table in table_builders().values():
            with suppress(ReportError):
                made_tables[name][table.alias or table.name] = tables(table.name, runs)
    return name, runs, made_tables[name]


@once
def worded(session: Any) -> Runs:
    """Answers in words about classes: every task, batch size, order, setting and encoder."""
    made = session(labels=("ImGT", "ReGT", "WeaselGT"))
    for number, model in enumerate(SHORT_AND_LONG):
        wrong = dict.fromkeys(range(number + 1), 7)
        for images in ("1", "5", "10"):
            made.closed_world(made.right(OUTSIDE | wrong), model=model, images_per_request=images)
        made.closed_world(made.right(wrong), model=model, images_per_request="10", image_order="same_class")
        made.closed_world_plus(made.right(OUTSIDE), MAPPED, model=model)
        for templates in ("none", "80"):
            made.open_world(made.right({8: 7, 14: 7}), model=model, text_templates=templates)
        made.closed_world(made.right(wrong), model=model, answer="id")
        made.mcq(made.right(wrong), model=model)
    made.classifier(made.right({3: 7}), model=CLASSIFIER)
    return made.pool()


@once
def repeated(session: Any) -> Runs:
    """Redrawn options in every setting, and a closed world that was asked several times."""
    from eyechart.classification.protocols.multiple_choice import SETTINGS

    made = session(name="repeated")
    for model in SHORT_AND_LONG:
        for setting in SETTINGS:
            made.multiple_choice(setting, [made.right(), made.right({0: 7})], model=model)
        made.closed_world(made.right({2: 7}), model=model)
        made.evaluations([made.right(OUTSIDE), made.right()], model=model)
    return made.pool()


@once
def classified(make_run: Any) -> Runs:
    """Classifiers under three ground truths."""
    from eyechart.reports.runs import load

    right = [old if old >= 0 else 7 for old in (356,) * 18]
    models = {CLASSIFIER: ("supervised", right), CONTRASTIVE: ("zero_shot", right[::-1]), ENCODER: ("knn", right)}
    return load([make_run("classified", models=models)])


@once
def one_option(make_run: Any) -> Runs:
    """Cases of two models that differ in their prompt, in what they see, or in the draw of the options alone."""
    prompt, other = "prompts/of/mine/first.toml (0123abcd)", "prompts/of/mine/second.toml (89abcdef)"
    variants = (
        {},
        {"prompt": other},
        {"prompt": "own (01234567)"},
        *({"blank": blank} for blank in ("grey", "noise1", "noise2")),
        *({"redraw": redraw} for redraw in "12"),
    )

    def run(number: int, options: Mapping[str, str]) -> Path:
        said = {
            model: ("zero_shot", [index % 4 if index >= 4 * number + first else 7 for index in range(40)])
            for first, model in enumerate((CONTRASTIVE, ENCODER))
        }
        truths = tuple((index % 4, (index % 4,), None) for index in range(40))
        variant = {"prompt": prompt, **options}
        return Path(make_run(f"option{number}", models=said, truths=truths, labels=("ImGT",), variant=variant))

    return load([run(number, options) for number, options in enumerate(variants)])


@once
def disputed(make_shot_world: Any, shot: Any) -> Runs:
    """The answers to a sheet of disputed images, of which some have two labels."""
    labels = {n: (n + 200,) if n < 10 else (n + 200, n + 800) for n in range(16)}
    world = make_shot_world({str(n): shot(n, labels[n], n + 400, n + 600) for n in labels})
    chosen = {str(n): [[n + 400], [n + 200], [n + 200, n + 400], [n]][n % 4] for n in labels}
    return replace(load([world.run]), annotations=(world.answer(world.sheet(), chosen),))


@once
def reannotated(make_shot_world: Any, shot: Any) -> Runs:
    """The answers to the sheet of a drawn sample, which change some labels."""
    world = make_shot_world({str(n): shot(n, (n + 200,), n + (200, 400)[n % 3 == 0], n + 600) for n in range(30)})
    runs, sheet = load([world.run]), world.out / "sample.html"
    write_sample(runs, SampleOptions(20, "ReGT", data=str(world.root), store=world.root / "s"), sheet)
    chosen = {str(n): [n + (200, 400)[n % 6 == 0]] for n in range(30)}
    return replace(runs, annotations=(world.answer(sheet, chosen),))


def answers(wrong: int, size: int = 12) -> dict[str, str]:
    """Answers by set, of which some are wrong out of distribution."""
    return {"ID": "yn" * (size - 1) + "nn", "OOD-S": "yn" * (size - 2) + "nn" * 2, "OOD-H": "nn" * wrong
            + "yn" * (size - wrong)}  # fmt: skip


@once
def paired(existing: Any) -> Runs:
    """Questions about image–category pairs: four data sets, thresholds, detectors, both benchmarks."""
    for number, model in enumerate(SHORT_AND_LONG):
        for source in SOURCES:
            existing(model, source, answers(4 + number), detectors="+".join(DETECTORS))
        for value in ("0.01", "0.005"):
            existing(model, "nuscenes", answers(3 + number), threshold=value, detectors="+".join(DETECTORS))
        for detectors in ("+".join(DETECTORS[::-1]), "+".join((*DETECTORS, ENCODER))):
            existing(model, "coco", answers(2 + number), detectors=detectors)
        metrics = [(f"{measure}_acc", name, 0.5, 8, (0.25, 0.75)) for name in SETS for measure in "ecl"]
        times = {
            "ID": SubsetTiming(answers=24, fresh=24, seconds=3725.4),
            "OOD-S": SubsetTiming(answers=24, fresh=3, seconds=1.0),
        }
        rows = [{"key": f"k{index}", "correct": correct, "subset": name, "sample": index, "question": question}
                for index, name in enumerate(SETS * 4)
                for question, correct in {"existence": 1, "counting": index % 2, "logic": 0}.items()]  # fmt: skip
        for source in SOURCES:
            existing.bench.case("progression", model, source, metrics=metrics, rows=rows, sets=times)
    return Runs(existing.bench.pool().groups, ())


def divided() -> Iterator[dict[str, Any]]:
    """The pairs of a division, with hard samples."""
    for pair in range(40):
        name, index = (*SETS, "Hard")[pair // 10], pair % 10
        yield {"pair": pair, "key": f"{name} {index}", "category": pair % 3, "name": ("cat", "traffic light", "dog")[
            pair % 3], "set": name, "main": 1, "present": 1, "flags": ("00", "20", "02", "22")[index % 4]}  # fmt: skip


def answered(wrong: int) -> Iterator[dict[str, Any]]:
    """Both questions of every pair of a division."""
    for row in divided():
        failed = row["pair"] % 10 < wrong and row["set"] != "ID"
        for question, expected in (("positive", "yes"), ("negative", "no")):
            given = {"yes": "no", "no": "yes"}[expected] if failed else expected
            shared = {"target": expected, "prediction": given, "correct": int(not failed), "subset": row["set"]}
            yield {**row, **shared, "category_name": row["name"], "question": question}


@once
def hard(bench: Any) -> Runs:
    """Hard samples beside pairs out of distribution, and what detectors said of every pair."""
    for number, model in enumerate(MLLMS):
        metrics = [
            number
            for name in (*SETS, "Hard")
            for number in (
                *((measure, name, 0.7, 20, (0.5, 0.9)) for measure in ("acc", "f1", "precision", "recall", "mcc")),
                ("acc_delta", name, 0.1, 40, (-0.05, 0.25)),
                ("acc_p", name, 0.04, 40, (0.03, 0.05), "permutation"),
            )
        ]
        bench.case("existence", model, rows=[*answered(2 + number)], metrics=metrics, hard_samples="own",
                   files={"division": [*divided()]}, detectors="+".join(DETECTORS))  # fmt: skip
    for number, name in enumerate(DETECTORS):
        bins = [
            dict(zip(BIN, (what, category, present, low, low + 0.05, 9 + number), strict=True)) | {"category": 0}
            for what in ("logit", "probability") for category in ("cat", "traffic light")
            for present in (0, 1) for low in (0.1, 0.2, 0.5)
        ]  # fmt: skip
        bench.case("detection", name, files={"logits": bins})
    kinds = [("mmd2", "OOD-S", 0.01, 9, (0.0, 0.02)), ("mmd2_tau", "OOD-S", 0.02), ("mmd2_null", "OOD-S", 0.0),
             ("mmd2_p", "OOD-S", 0.04)]  # fmt: skip
    bench.case("distribution", ENCODER, metrics=kinds)
    return Runs(bench.pool().groups, ())


@once
def birds(aviary: Any) -> Runs:
    """Birds: an encoder and two models that answer in words."""
    for index, model in enumerate((ENCODER, *SHORT_AND_LONG)):
        aviary.species(model, 1.0 + index / 2, index)
        aviary.flat_list(model, 1.0 + index / 2, index)
    for index, model in enumerate(SHORT_AND_LONG):
        aviary.abstention(model, 0.3 + index / 10, index)
    return Runs(aviary.pool().groups, ())


@once
def free_form(flock: Any) -> Runs:
    """Free words about birds."""
    for model in MLLMS:
        flock.mllm("free_form", model, metrics=[("acc", "observations", "answerable.species", 0.5, 40, (0.3, 0.7))])
    return Runs(flock.pool().groups, ())


@pytest.fixture
def runs(run_folder: Path) -> Runs:
    return load([run_folder])


@pytest.fixture
def under(make_run: Any) -> Callable[..., Path]:
    """A run of a model under one prompt, which makes it wrong about some of forty images."""

    def under(
        prompt: str, wrong: Collection[int], model: str = "conse[a]", errors: Mapping[int, str] = {}, **variant: str
    ) -> Path:
        answers = [999 if index in wrong else index for index in range(40)]
        truths = tuple((index, (index,), None) for index in range(40))
        models, options = {model: ("zero_shot", answers)}, {"prompt": prompt, **variant}
        name = f"run-{prompt}-{model}-{len(variant)}"
        return Path(make_run(name, models=models, truths=truths, labels=("ImGT",), variant=options, errors=errors))

    return under
