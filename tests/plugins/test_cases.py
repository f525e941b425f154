"""Collection: from an empty folder, without anything heavy, beside other tests, with markers that are checked."""

from typing import Any

import pytest

from eyechart.models.spec import parse_spec
from eyechart.plugins.left_out import _explain_missing_scores
from eyechart.plugins.settings import get_settings
from eyechart.protocol.registry import get_protocol, list_protocols

pytestmark = pytest.mark.deep

# Imported before the sessions of `pytester`, which forgets what they import.
PROTOCOLS = {name: get_protocol(name) for name in list_protocols()}

HEAVY = """
import sys

def pytest_sessionfinish():
    heavy = {"torch", "timm", "open_clip", "transformers", "webdataset", "datasets", "scipy.stats", "hypothesis"}
    print("HEAVY", sorted(heavy & {*sys.modules}))
"""
EVERY = (
    "timm[vit_tiny_patch16_224]",
    "open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]",
    "hf_clip[google/siglip2-base-patch16-224]",
    "conse[]",
    "knn[timm[resnet18],k=11]",
    "hf[toybox-mllm]",
    "vllm[toybox-mllm]",
    "replay[path=absent.csv]",
)
BENCHMARK = """
import pytest

@pytest.mark.eyechart({arguments})
def test_mine(eye_case):
    pass
"""
OTHERS = """
import pytest

@pytest.mark.parametrize("place", range(6))
def test_other(place, record_property):
    record_property("place", place)

@pytest.mark.benchmark(group="mine")
def test_of_pytest_benchmark():
    pass

def test_with_a_fixture_of_its_own(dataset):
    assert dataset == 1

@pytest.fixture
def dataset():
    return 1
"""


def test_collection_imports_nothing_heavy(cold: Any) -> None:
    cold.models = EVERY
    said = cold.passes("--collect-only", "-q", "-s", cold.plugin(HEAVY)).stdout.str()
    assert "HEAVY []" in said
    assert "test_knn[imagenet/tiny/knn[timm[resnet18],k=11]]" in said
    assert cold.asked == 0


def test_a_case_is_named_benchmark_split_model_for_each_model_that_a_protocol_can_use(world: Any) -> None:
    world.models = ("sentence[]", *world.models)
    result = world.passes("--collect-only", "-q")
    found = [line.partition("::")[2] for line in result.outlines if "::" in line]
    assert found == [
        "test_zero_shot[imagenet/tiny/tiny[]]",
        "test_zero_shot[imagenet/tiny2/tiny[]]",
        "test_supervised[imagenet/tiny/tinyclass[]]",
        "test_supervised[imagenet/tiny2/tinyclass[]]",
    ]


def test_what_has_no_case_is_explained(world: Any) -> None:
    world.models = ("sentence[]", "openai[toy,base_url=http://127.0.0.1:9/v1]", "hf[toybox-mllm]")
    said = world.run("--collect-only", "-k", "toybox/sample/ and posterior").stdout.str()
    (line,) = (line for line in said.splitlines() if line.startswith("eyechart: no case of"))
    assert line == (
        "eyechart: no case of posterior: 'openai[toy,base_url=http://127.0.0.1:9/v1]' has no log-probabilities of "
        "given answers: its API returns those of the likeliest tokens at each position of an answer that the model "
        "writes. Use hf[…] or vllm[…] with the same weights, or vllm_server[…] with a server of vLLM."
    )
    assert "eyechart: sentence[] offers text_encoder, which no protocol asks for; they ask for" in said
    assert "hf[toybox-mllm] offers" not in said


@pytest.mark.parametrize("keyword", ["mcq", "closed_world and not posterior"])
def test_other_protocols_in_k_need_no_explanation(keyword: str) -> None:
    assert [*_explain_missing_scores(keyword, [parse_spec("openai[toy,base_url=http://127.0.0.1:9/v1]")])] == []


def test_a_folder_without_benchmarks_says_where_they_are(world: Any) -> None:
    result = world.call("-k", "realbirdid/", "--eye-model=tiny[]")
    hint = "eyechart: no benchmark is here: run `eyechart run`, or give --pyargs eyechart.benchmarks"
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert hint in result.outlines


def test_nobody_is_told_where_benchmarks_are_without_asking_or_where_they_are(world: Any) -> None:
    world.models = ("tinyclass[]",)
    unasked, left = world.call(), world.run("-k", "nothing/", "--collect-only")
    assert not any("no benchmark is here" in result.stdout.str() for result in (unasked, left))


def combinations(result: pytest.RunResult) -> set[str]:
    """Which models are put to which benchmarks, splits left out."""
    assert result.ret == 0, result.errlines
    names = [line.partition("[")[2][:-1].split("/", 2) for line in result.outlines if "::" in line]
    return {f"{benchmark} {model}" for benchmark, _, model in names}


COLLECT = ("--pyargs", "eyechart.benchmarks", "--collect-only", "-q")
IMAGENET = {"imagenet timm[tf_efficientnet_lite0]", "imagenet conse[]"}
TOYBOX = {"toybox open_clip[toybox-clip]", "toybox conse[]", "toybox hf[toybox-mllm]"}
BIRDS = {"realbirdid open_clip[toybox-clip]", "realbirdid conse[]", "realbirdid hf[toybox-mllm]"}
OODBENCH = {"oodbench open_clip[toybox-clip]", "oodbench open_clip[toybox-clip-b]", "oodbench hf[toybox-mllm]"}


def test_by_default_a_benchmark_meets_the_packaged_models_that_know_its_classes(cold: Any) -> None:
    """Nothing heavy is imported to find them, and OODBench needs no data."""
    result = cold.call(*COLLECT, "-s", cold.plugin(HEAVY))
    assert "HEAVY []" in result.outlines
    assert combinations(result) == IMAGENET | TOYBOX | OODBENCH | BIRDS
    for protocol in ("existence", "progression"):
        for kind in ("coco", "lvis", "nuscenes", "cityscapes"):
            assert f"test_{protocol}[oodbench/sample-{kind}/hf[toybox-mllm]]" in result.stdout.str()


def test_a_model_that_was_asked_for_meets_every_benchmark(world: Any) -> None:
    asked = {f"{benchmark} open_clip[toybox-clip]" for benchmark in ("imagenet", "toybox", "oodbench", "realbirdid")}
    (world.folder / "pytest.ini").write_text("[pytest]\neye_model = open_clip[toybox-clip]\n")
    assert combinations(world.call(*COLLECT)) == asked


WORDS = (*COLLECT, "--eye-model=hf[toybox-mllm]", "-k", "toybox/sample-cutouts/")


def cases(result: pytest.RunResult) -> list[str]:
    """The cases by their protocol, split and model left out."""
    assert result.ret == 0, result.errlines
    names = [line.partition("::test_")[2][:-1] for line in result.outlines if "::" in line]
    return [name.replace("[toybox/sample-cutouts/hf[toybox-mllm]", "") for name in names]


def test_a_model_of_words_meets_every_protocol_of_words(world: Any) -> None:
    asks_for_words = [name for name, protocol in PROTOCOLS.items() if {*protocol.requires} & {"generator", "scorer"}]
    assert cases(world.call(*WORDS)) == [name for name in asks_for_words if "toybox" in PROTOCOLS[name].benchmarks]


CHOSEN = [
    (("images_per_request=01", "image_order=random", "answer=name"), ["closed_world"]),
    (("image_order=same_class",), ["closed_world"]),  # with one image a request there is none
    (
        ("images_per_request=1,5, 10", "image_order=all"),
        [
            "closed_world",
            "closed_world@images_per_request=5",
            "closed_world@images_per_request=10",
            "closed_world@image_order=same_class,images_per_request=5",
            "closed_world@image_order=same_class,images_per_request=10",
        ],
    ),
    (("answer=all",), ["closed_world", "closed_world@answer=id", "closed_world@answer=constrained"]),
    (("images_per_request=5", "images_per_request=10"), ["closed_world@images_per_request=10"]),  # the last one wins
]


@pytest.mark.parametrize(("options", "wanted"), CHOSEN)
def test_every_choice_makes_a_case_that_is_named_by_it(
    pytester: pytest.Pytester, options: tuple[str, ...], wanted: list[str]
) -> None:
    given = [f"--eye-set=closed_world.{option}" for option in options]
    assert sorted(named(pytester.parseconfigure(*given), "closed_world")) == sorted(wanted)


def named(config: pytest.Config, name: str) -> list[str]:
    """The cases of a protocol by their choices."""
    protocol = PROTOCOLS[name]
    grid = protocol.expand_grid(get_settings(config).options.get(name, {}))
    suffixes = [protocol.case_suffix(options) for options in grid]
    return [f"{name}@{suffix}" if suffix else name for suffix in suffixes]


def test_choices_are_those_of_their_protocols(world: Any) -> None:
    encoders = "text_encoder=sentence[minilm],hf_clip[a/b,x=1]"
    chosen = ("mcq.parser=lenient,mill", "multiple_choice.parser=lenient,mill", "multiple_choice.setting=all")
    chosen += (f"multiple_choice.{encoders}", f"open_world.{encoders}")
    options = [f"--eye-set={each}" for each in chosen]
    found = cases(world.call(*WORDS, *options))
    assert [sum(case.partition("@")[0] == name for case in found) for name in ("mcq", "multiple_choice")] == [2, 18]
    assert "multiple_choice@parser=mill,setting=second+text,text_encoder=hf_clip[a/b,x=1]" in found
    assert [case for case in found if case.startswith("open_world")] == [
        "open_world",
        "open_world@text_encoder=hf_clip[a/b,x=1]",
    ]


def test_choices_may_stand_in_the_ini_file(world: Any) -> None:
    (world.folder / "pytest.ini").write_text(
        "[pytest]\neye_set =\n  closed_world.images_per_request=1,5\n  mcq.parser=mill\n"
    )
    found = cases(world.call(*WORDS, "-k", "(test_mcq or posterior) and toybox/sample-cutouts/"))
    assert found == ["mcq@parser=mill", "posterior"]


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ((), "closed_world@images_per_request=10,parser=authors"),
        (("--eye-set=closed_world.images_per_request=1",), "closed_world@parser=authors"),
    ],
)
def test_a_preset_sets_options_and_the_command_line_wins(
    pytester: pytest.Pytester, more: tuple[str, ...], wanted: str
) -> None:
    assert named(pytester.parseconfigure("--eye-preset=paper", *more), "closed_world") == [wanted]


def test_a_benchmark_of_ones_own_meets_encoders_of_a_general_vocabulary_by_default(world: Any) -> None:
    (world.folder / "data" / "mine" / "val" / "cats").mkdir(parents=True)
    (world.folder / "test_mine.py").write_text(BENCHMARK.format(arguments='"mine", protocol="zero_shot"'))
    result = world.call("test_mine.py", "--collect-only", "-q", "--eye-data=data")
    assert combinations(result) == {"mine conse[]"}


@pytest.mark.parametrize(
    "arguments",
    ['"imagenet", protcol="zero_shot"', '"imagenet", protocol="zero_short"', '"imagenet"', 'protocol="super"', ""],
)
def test_an_unknown_marker_argument_is_refused(pytester: pytest.Pytester, arguments: str) -> None:
    pytester.makepyfile(BENCHMARK.format(arguments=arguments))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["*test_mine: @pytest.mark.eyechart takes protocol=*, and names of benchmarks instead of*Got*instead."]
    )
    result.stdout.no_fnmatch_line("*Traceback*")


NAMED = """
import pytest
from eyechart.classification.protocols.supervised import Supervised

class Own(Supervised):
    name = "own_names"
    benchmarks = {names}

@pytest.mark.eyechart(protocol=Own)
def test_mine(eye_case):
    pass
"""


def test_a_mark_without_names_has_the_benchmarks_of_its_protocol(world: Any) -> None:
    (world.folder / "data" / "mine" / "val" / "cats").mkdir(parents=True)
    (world.folder / "test_mine.py").write_text(NAMED.format(names=("toybox", "*")))
    result = world.call("test_mine.py", "--collect-only", "-q", "--eye-data=data", "--eye-model=timm[resnet18]")
    assert combinations(result) == {"toybox timm[resnet18]", "mine timm[resnet18]"}


def test_a_protocol_without_benchmarks_needs_their_names_in_the_mark(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(NAMED.format(names=()))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*test_mine: neither @pytest.mark.eyechart nor the protocol own_names names a*"])


def test_a_benchmark_that_asks_for_no_known_data_is_no_case(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(BENCHMARK.format(arguments='"nothing", protocol="supervised"'))
    pytester.runpytest_inprocess().assert_outcomes(deselected=1)


def test_other_tests_run_as_they_would_without_eyechart(cold: Any) -> None:
    (cold.folder / "test_others.py").write_text(OTHERS)
    arguments = ["test_others.py", "-v", "-W", "ignore::pytest.PytestUnknownMarkWarning"]
    with_eyechart, without = (cold.call(*arguments, *more) for more in ((), ("-p", "no:eyechart.plugins")))
    assert with_eyechart.parseoutcomes() == without.parseoutcomes() == {"passed": 8}
    assert lines(with_eyechart) == lines(without)
    assert not (cold.folder / "reports").exists()


def lines(result: pytest.RunResult) -> list[str]:
    return [line.split(" ")[0] for line in result.outlines if "::" in line]


@pytest.mark.parametrize("workers", ["0", "2"])
def test_other_tests_run_beside_cases(world: Any, workers: str) -> None:
    (world.folder / "test_others.py").write_text(OTHERS)
    world.models = ("tinyclass[]",)
    chosen = ["test_others.py", "-k", "imagenet/tiny2 or others", "-n", workers]
    result = world.passes(*chosen, "-W", "ignore::pytest.PytestUnknownMarkWarning")
    assert result.parseoutcomes()["passed"] == 1 + 8
    assert len(world.records) == 1
