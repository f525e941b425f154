"""A user's own test functions: beside one another, and beside the packaged ones that ask the same."""

import json
import re
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest

pytestmark = pytest.mark.deep

OWN = """
import pytest

@pytest.mark.eyechart("imagenet", protocol="supervised")
def test_all(evaluate):
    evaluate()
"""
TWO = f"{OWN}\ntest_again = test_all\n"
PARAMETRIZED = OWN.replace("\n@", '\n@pytest.mark.parametrize("least", ["low", "high"])\n@').replace(
    "test_all(", "test_all(least, "
)
HELD = "--eye-baseline=kept"
PACKAGED = "imagenet/tiny/tinyclass[]"


@pytest.fixture
def write_test(world: Any) -> Callable[..., None]:
    """Write test files of the user's own into the folder; one model knows all classes."""
    world.models = ("tinyclass[]",)

    def write(**files: str) -> None:
        for name, text in files.items():
            path = world.folder / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.with_suffix(".py").write_text(text)

    return write


def run_own(world: Any, *arguments: str, code: int = 0) -> str:
    """Run the folder's own tests; what was printed."""
    result = world.call("--import-mode=importlib", f"--eye-data={world.data}", "--eye-model=tinyclass[]", *arguments)
    said: str = result.stdout.str() + result.stderr.str()
    assert result.ret == code, said
    return said


def cases_of(world: Any) -> list[str]:
    """The cases of the last run's records."""
    return [record["case"] for record in world.records]


def assert_files_are_intact(world: Any) -> None:
    """Every file of every record has the content that was recorded, and no two records share one."""
    files = [record[kind] for record in world.records for kind in ("predictions", "evidence")]
    assert len({file["path"] for file in files}) == len(files)
    for file in files:
        assert sha256((world.latest / file["path"]).read_bytes()).hexdigest() == file["sha256"]


def test_two_functions_that_ask_the_same_are_kept_apart(world: Any, write_test: Callable[..., None]) -> None:
    write_test(test_own=TWO)
    run_own(world, "-k", "tiny/", HELD, "--eye-update-baseline")
    tests = [f"test_own.py::test_{name}" for name in ("again", "all")]
    names = [f"{PACKAGED}@test={test}" for test in tests]
    assert cases_of(world) == names
    assert [record["variant"]["test"] for record in world.records] == tests
    assert_files_are_intact(world)
    (kept,) = (world.folder / "kept").rglob("*.json")
    assert [case["case"] for case in json.loads(kept.read_text())["cases"]] == names
    (compared,) = re.findall(r"gate: (\d+) numbers compared", run_own(world, "-k", "tiny/", HELD))
    assert int(compared) % 2 == 0
    assert int(compared) > 0


def test_an_own_test_stands_beside_the_packaged_one(world: Any, write_test: Callable[..., None]) -> None:
    write_test(mine__test_own=OWN)
    said = run_own(world, "--pyargs", "eyechart.benchmarks", "mine", "-k", "tiny/", "-n2")
    assert "2 passed" in said
    assert cases_of(world) == [PACKAGED, f"{PACKAGED}@test=test_own.py::test_all"]
    assert "test" not in world.records[0]["variant"]
    assert_files_are_intact(world)


def test_parameters_of_an_own_test_are_kept_apart(world: Any, write_test: Callable[..., None]) -> None:
    write_test(test_own=PARAMETRIZED)
    run_own(world, "-k", "tiny/")
    assert cases_of(world) == [f"{PACKAGED}@test=test_own.py::test_all[{each}]" for each in ("high", "low")]
    assert_files_are_intact(world)


def test_two_files_of_one_name_with_one_function_are_refused(world: Any, write_test: Callable[..., None]) -> None:
    write_test(one__test_own=OWN, two__test_own=OWN)
    said = run_own(world, "-k", "tiny/", code=2)
    assert "one/test_own.py::test_all and two/test_own.py::test_all" in said
    assert "Rename one of the functions or files." in said
    assert "FAILED" not in said


OWN_PROTOCOL = """
from dataclasses import replace

import pytest

from eyechart.classification.metrics.class_estimates import top1
from eyechart.classification.answers.class_predictions import Targets
from eyechart.classification.protocols.supervised import supervised
from eyechart.protocol.base import Protocol
from eyechart.protocol.options import Option

class Turned(Protocol):
    "A classifier whose scores are turned round."

    name = "{name}"
    requires = ("classifier",)
    benchmarks = ("imagenet", "*")
    metrics = (top1,)
    options = (Option("sign", "what scores are multiplied with", "-1"),)

    def predict(self, context):
        found = supervised(context.runner, context.classifier, context.dataset)
        sign = int(context.options["sign"])
        return replace(found, scores=sign * found.scores, targets=Targets.from_context(context))

@pytest.mark.eyechart(protocol=Turned)
def test_turned(evaluate):
    (accuracy, *_) = evaluate()
    assert accuracy.value < 0.5
"""


def test_a_protocol_in_a_test_file_needs_no_registration(world: Any, write_test: Callable[..., None]) -> None:
    write_test(test_own=OWN_PROTOCOL.format(name="turned"))
    run_own(world, "-k", "tiny/", HELD, "--eye-update-baseline")
    (record,) = world.records
    assert (record["protocol"], record["variant"]["sign"]) == ("turned", "-1")
    assert record["case"] == "imagenet/tiny/tinyclass[]@test=test_own.py::test_turned"
    said = run_own(world, "-k", "tiny/", "-n2", HELD)
    assert "gate: 1 number compared" in said
    assert "was not run" not in said  # its protocol is a class, and its case is known by the name of the protocol


def test_a_protocol_with_the_name_of_another_is_refused(world: Any, write_test: Callable[..., None]) -> None:
    write_test(test_own=OWN_PROTOCOL.format(name="supervised"))
    said = run_own(world, "-k", "tiny/", code=2)
    assert "Two protocols are called 'supervised': eyechart.classification.protocols.supervised.Supervised and" in said


def test_a_prompt_that_no_package_has_is_refused_before_the_first_case(
    world: Any, write_test: Callable[..., None]
) -> None:
    options = "    options = ("
    prompts = '    prompts = ("closed_word",)\n'
    write_test(test_own=OWN_PROTOCOL.format(name="turned").replace(options, prompts + options))
    said = run_own(world, "-k", "tiny/", code=2)
    assert "The protocol turned cannot be asked: The prompt 'closed_word' is neither a toml file nor one of" in said


SHORT_TABLE = """
from dataclasses import fields

import pytest

from eyechart.classification.answers.class_predictions import ClassPredictions
from eyechart.classification.protocols.supervised import Supervised

class Own(ClassPredictions):
    def samples(self):
        yield ["key", "answer"]
        yield from ([key, "hen"] for key in self.keys)

class Short(Supervised):
    name = "short"

    def predict(self, context):
        found = super().predict(context)
        return Own(**{field.name: getattr(found, field.name) for field in fields(found)})

@pytest.mark.eyechart(protocol=Short)
def test_short(evaluate):
    evaluate()
"""


def test_a_protocol_whose_samples_lack_a_shared_column_fails_its_case(
    world: Any, write_test: Callable[..., None]
) -> None:
    write_test(test_own=SHORT_TABLE)
    said = run_own(world, "-k", "tiny/", code=1)
    assert "sample table of the protocol short has no column target, prediction, correct, subset, error." in said
    assert "begin the header with SHARED_COLUMNS" in said
