"""`--eye-answer` stores answers, and `--eye-stored` scores them without models."""

import json
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import ModelError
from eyechart.models.description.identity import describe, model_of
from eyechart.models.served.prices import Prices
from eyechart.models.spec import parse_spec
from eyechart.models.types import Generator, Identity, Usage

PICTURES = 24  # of both small splits
NO_MODELS = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "torchvision", "transformers", "vllm"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())

def pytest_unconfigure():
    assert not {"open_clip", "timm"} & {*sys.modules}
"""
ELSEWHERE = """
import os
from msgspec.structs import replace
from tinyeyes import TinyClass

class Elsewhere(TinyClass):
    # answers on the device, in the number format and with the libraries that the environment names
    def __init__(self, spec, *, device, offline, dtype=""):
        super().__init__(type(spec)(spec.backend), device=device, offline=offline)
        self.dtype = dtype or os.environ["DTYPE"]

    @property
    def identity(self):
        where = {"device": os.environ["DEVICE"], "dtype": self.dtype}
        return replace(super().identity, **where, libraries={"torch": os.environ["BUILD"]})
"""
# Each protocol with each model that it meets, and each format of a data set.
PACKAGED = "imagenet/sample/ or toybox/sample/ or oodbench and (coco or detection) or realbirdid/sample-drawn/"
ONE, OTHER = ("-k", "imagenet/tiny/"), ("-k", "imagenet/tiny and not imagenet/tiny/")


def move(world: Any, **where: str) -> None:
    """Let the model answer on a device, in a number format and with a library from now on."""
    (world.folder / "mine.py").write_text(ELSEWHERE)
    world.models = ("mine:Elsewhere[]",)
    world.environment = {"DEVICE": "cpu", "DTYPE": "float32", "BUILD": "2.13.0"} | where


def test_a_session_stores_answers_and_another_one_scores_them(world: Any, serial: Any) -> None:
    """The first session writes no results; the second one reads no weights."""
    said = world.passes("--eye-answer").stdout.str()
    assert "4 cases answered in the store" in said
    assert not world.latest.exists()
    loads = world.loads
    world.passes("--eye-stored")
    assert world.records == serial.records
    assert (world.asked, world.loads) == (PICTURES * 2, loads)
    assert world.store == serial.store


def test_workers_store_answers_too(world: Any, serial: Any) -> None:
    assert "4 cases answered" in world.passes("--eye-answer", "-n", "2").stdout.str()
    assert world.store == serial.store


def test_missing_answers_come_with_the_command_that_makes_them(world: Any) -> None:
    """The command has the options of this session."""
    world.models = ("tinyclass[]",)
    world.passes("--eye-answer", "-k", "imagenet/tiny/")
    result = world.run("--eye-stored")
    assert result.ret == 1
    result.assert_outcomes(passed=1, failed=1)
    (line,) = [line for line in result.outlines if "Make them with" in line]
    assert line.startswith("tinyclass: answers are missing from the store")
    assert "pytest --eye-answer --pyargs eyechart.benchmarks" in line
    assert "--eye-stored" not in line
    assert world.asked == 18


def test_a_model_that_never_answered_is_named(world: Any) -> None:
    said = world.run("--eye-stored").stdout.str()
    assert "tiny[]: no run with this model wrote to the store" in said


def test_answers_of_another_device_and_build_are_found(world: Any) -> None:
    """A machine without a GPU finds what a GPU answered, with or without its own model."""
    move(world, DEVICE="cuda", BUILD="2.13.0+cu130")
    world.passes("--eye-answer")
    move(world, BUILD="2.13.0+cpu")
    world.passes()
    assert world.asked == PICTURES
    assert world.records[0]["model"]["device"] == "cuda"
    world.passes("--eye-stored")
    assert world.asked == PICTURES


def test_the_number_format_selects_one_of_two_models(world: Any) -> None:
    """Answers in bfloat16 and in float32 are those of two models."""
    for dtype, device in {"bfloat16": "cuda", "float32": "cpu"}.items():
        move(world, DEVICE=device, DTYPE=dtype)
        world.passes("--eye-answer")
    assert world.asked == PICTURES * 2
    said = world.run("--eye-stored").stdout.str()
    assert "has answers of 2 models with this specification" in said
    assert "Write dtype=… in the specification" in said
    world.models = ("mine:Elsewhere[dtype=bfloat16]",)
    world.passes("--eye-stored")
    assert {record["model"]["dtype"] for record in world.records} == {"bfloat16"}


@pytest.mark.parametrize("before", [{"BUILD": "2.12.0"}, {"DTYPE": "bfloat16", "DEVICE": "cuda"}])
def test_a_case_is_scored_with_the_model_that_answered_it(world: Any, before: dict[str, str]) -> None:
    """Another case of the specification was answered later, by another library or in another number format."""
    move(world, **before)
    world.passes(*ONE, "--eye-answer")
    move(world)
    world.passes(*OTHER, "--eye-answer")
    asked = world.asked
    world.passes("--eye-stored")
    assert world.asked == asked
    models = {record["split"]: record["model"] for record in world.records}
    found = {split == "tiny": (model["dtype"], model["device"]) for split, model in models.items()}
    assert found == {True: (before.get("DTYPE", "float32"), before.get("DEVICE", "cpu")), False: ("float32", "cpu")}


def test_a_record_names_the_device_of_the_process_that_answered(world: Any) -> None:
    """Also that of a session which only scores."""
    (world.folder / "mine.py").write_text(
        ELSEWHERE.replace('os.environ["DEVICE"]', '"cpu" if "pytest" in sys.argv[0] else "cuda"') + "\nimport sys"
    )
    world.models = ("mine:Elsewhere[]",)
    world.environment = {"DTYPE": "float32", "BUILD": "2.13.0"}
    for options in (("--eye-devices=2",), (), ("--eye-stored",)):
        world.passes(*ONE, *options)
        assert [record["model"]["device"] for record in world.records] == ["cuda"]


def test_a_gate_in_the_ini_file_does_not_concern_a_session_that_answers(world: Any) -> None:
    world.models = ("tinyclass[]",)
    (world.folder / "pytest.ini").write_text("[pytest]\neye_baseline = kept\n", encoding="utf-8")
    assert "2 cases answered" in world.passes("--eye-answer").stdout.str()
    refused = world.run("--eye-answer", "--eye-baseline=kept")
    assert "--eye-answer only stores answers. Leave out --eye-baseline." in refused.stderr.str()


@pytest.mark.deep
def test_every_packaged_protocol_is_scored_without_torch(world: Any, answers: Path) -> None:
    """The records and sample tables are those of the session that answered."""
    world.environment = {"HF_HUB_OFFLINE": "1"}
    (world.folder / ".eyechart").mkdir()
    (world.folder / ".eyechart" / "store").symlink_to(answers)
    world.installed(PACKAGED, "--eye-limit=2")
    records, tables = world.records, world.files
    assert len({record["protocol"] for record in records}) >= 15
    world.plugin(NO_MODELS)
    world.warm = ()  # the warm interpreter has imported these packages
    world.installed(PACKAGED, "--eye-limit=2", "--eye-stored", "-pextra")
    assert [*map(without_time, world.records)] == [*map(without_time, records)]
    assert world.files == tables


def without_time(record: dict[str, Any]) -> str:
    """A record as text, but for what was read and asked in its own session."""
    plain = json.loads(json.dumps(record))
    plain.pop("loads", None)
    for usage in (plain.get("usage") or {}).get("sets", {}).values():
        usage.update(fresh=0, seconds=0)
    return json.dumps(plain)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--eye-answer", "--eye-stored"), "--eye-answer only stores answers. Leave out --eye-stored."),
        (("--eye-answer", "--eye-update-baseline"), "Leave out --eye-update-baseline."),
        (("--eye-stored", "--eye-ray=local"), "--eye-stored asks no model, so that it needs no cluster."),
    ],
)
def test_options_that_contradict_one_another_are_refused(world: Any, options: tuple[str, ...], message: str) -> None:
    result = world.run(*options)
    assert result.ret == 4
    assert message in result.stderr.str()


class Priced(Generator):
    """A model whose tokens cost something; cached tokens are a part of those of the prompt."""

    made_from = parse_spec("priced[]")
    identity = Identity(
        backend="priced", name="priced", weights_sha256="", dtype="", device="", processor={}, libraries={}
    )
    structured = True

    def generate(self, *_: object) -> Any:
        """Answer nothing."""

    def cost(self, usage: Usage) -> float:
        """Return the cost at the prices of a server."""
        return Prices(2.5, 1.25, 10).cost(usage)


def test_a_described_model_costs_what_the_model_costs() -> None:
    """The cost of each kind of token is kept."""
    model = Priced()
    described = model_of(describe(model))
    usage = Usage(prompt=1_000, cached=400, answer=70, thinking=20)
    assert described.cost(usage) == pytest.approx(model.cost(usage))
    assert (described.identity, described.structured) == (model.identity, True)
    with pytest.raises(ModelError, match="cannot answer"):
        described.generate([], 1)
