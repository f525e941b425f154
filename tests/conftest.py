"""A run's folder made by the real recording from a handful of answers, for everything that reads runs."""

import atexit
import gc
import os
import re
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from xdist.scheduler import LoadFileScheduling

from eyechart.classification.answers.class_predictions import Classification, ClassPredictions, Targets
from eyechart.data.dataset.dataset import Dataset, Row, build_label_set, build_original_labels
from eyechart.data.index.file_index import whole_file_source
from eyechart.data.labels.equivalences import LabelPolicy, equivalent_pairs
from eyechart.evaluation.case_result import CaseResult
from eyechart.evaluation.settings import Case, Settings
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import parse_named_spec
from eyechart.models.types import Identity, Request
from eyechart.protocol.registry import get_protocol
from eyechart.results.records import Record, Records, Run, encode

SHARED = (
    *("compressed", "gate.evidence_makers", "in_memory", "interchange.in_process", "oodbench.drawn_divisions", "pets"),
    *("plugins.worlds", "realbirdid.recorded", "realbirdid.worlds", "reports.recorded_runs", "reports.shot_worlds"),
)
pytest_plugins = tuple(f"tests.{name}" for name in SHARED)  # fixtures that tests of several packages take

if "PYTEST_XDIST_WORKER" in os.environ:  # workers, and what they start, share the cores
    os.environ.setdefault("OMP_NUM_THREADS", "1")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts background commands so, and children inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

try:
    from hypothesis import settings
except ImportError:  # pytest loads this file for `--pyargs eyechart.benchmarks`, too, which needs no test extra
    pass
else:
    settings.register_profile("ci", max_examples=20, deadline=None, derandomize=True)
    settings.register_profile("thorough", max_examples=2000, deadline=None)
    settings.load_profile("ci")

NO_SKIPS = "EYECHART_NO_SKIPS"  # .ci/run sets it: nothing that can run there may be left out
SLOWEST = "EYECHART_SLOWEST"  # how many of the slowest tests are listed at the end
MARK = "pytest.mark.deep"  # a file without it has no deep test
DEEP = re.compile(rf"^pytestmark = .*\b{re.escape(MARK)}\b", re.MULTILINE)  # a file whose tests are all deep
WARM = run_path(str(Path(__file__).parent / "warm.py"))
FROZEN = [0]  # how many modules there were when objects were left out of collections of garbage
EVERY_TABLE = tuple(f"tests/reports/tables/test_{name}" for name in ("figures", "golden", "latex"))
TOGETHER = {  # how files begin that share what takes long to make
    "a run of OODBench": ("tests/end_to_end/test_oodbench",),
    "the imports of OpenAI's and Anthropic's clients": tuple(
        f"tests/models/served/test_{name}"
        for name in (
            *("anthropic", "client", "content", "failures", "faults"),
            *("half_price", "openai", "request_group", "vllm_server"),
        )
    ),
    "the import of Lightning": ("tests/integrations/test_lightning", "tests/project/test_doctests"),
    "the import of vLLM": ("tests/end_to_end/test_vllm", "tests/models/vllm/"),
    "tiny models of families": ("tests/models/chat/", "tests/models/hf/", "tests/models/runtime/test_batch_backoff"),
    "runs of every table": EVERY_TABLE,
    "compressed variants": ("tests/reports/comparison/test_compression_",),
    "a Ray cluster": (
        "tests/inference/engines/ray/test_cluster_pool",
        "tests/plugins/faults/test_pools",
    ),
}

FIRST = (  # the longest, for which one worker would wait in the end; README's first command answers for others
    "tests/end_to_end/test_readme.py",
    "tests/end_to_end/test_vllm",
    "tests/models/vllm/",
)
LONG = (
    *("tests/end_to_end", "tests/reports/annotation/", "tests/reports/page/", "tests/models/hf/", *EVERY_TABLE),
    *("tests/models/runtime/test_batch_backoff", "tests/inference/engines/ray/", "tests/plugins/faults/test_pools"),
    "tests/gate/session/test_no_change",
)
LATER = ("tests/end_to_end/test_oodbench", "tests/reports/annotation/test_answer", "tests/reports/page/test_samples")


def runs_tests(config: pytest.Config) -> bool:
    """Return whether the session runs tests: pytest loads this file for `--pyargs eyechart.benchmarks`, too."""
    named = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    return all(path.resolve().is_relative_to(Path(__file__).parent) for path in named)


def pytest_configure(config: pytest.Config) -> None:
    """List the slowest tests at the end in CI."""
    if SLOWEST in os.environ and runs_tests(config) and not config.option.durations:
        config.option.durations = int(os.environ[SLOWEST])


def pytest_sessionstart() -> None:
    """Collect no garbage while tests are collected: there is none."""
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave all tests and their modules out of later collections of garbage, which took half of the time otherwise."""
    gc.enable()
    gc.collect()
    gc.freeze()
    FROZEN.append(len(sys.modules))


def pytest_runtest_setup() -> None:
    """Leave what earlier tests imported out of collections of garbage: models that are closed collect it each time."""
    if len(sys.modules) > FROZEN[-1] + 400:  # to collect all of it takes a second
        FROZEN.append(len(sys.modules))
        gc.collect()
        gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let Python free everything at its end: extensions report what is left. In CI a skipped test is a failure."""
    atexit.register(gc.unfreeze)  # not yet: pytest collects garbage twice
    if skipped_tests(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print what the session cost, and in CI the tests that were skipped."""
    if not runs_tests(config):
        return
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    seconds = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    tests = sum(len(terminalreporter.stats.get(outcome, ())) for outcome in ("passed", "failed", "skipped"))
    terminalreporter.write_line(f"{tests:,} tests, {seconds:,.0f} CPU seconds of this session and what it started")
    for report in skipped_tests(config):
        terminalreporter.write_line(f"{report.nodeid} was skipped, which {NO_SKIPS} forbids", red=True)


def skipped_tests(config: pytest.Config) -> list[pytest.TestReport]:
    """Return the reports of skipped tests and files if none may be skipped."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return reporter.stats.get("skipped", []) if NO_SKIPS in os.environ and reporter and runs_tests(config) else []


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files that have no test of the session's kind: each is a quarter to a half of all files."""
    if collection_path.suffix != ".py" or config.option.markexpr not in ("deep", "not deep"):
        return None
    text = collection_path.read_text(encoding="utf-8")
    left_out = DEEP.search(text) is not None if config.option.markexpr == "not deep" else MARK not in text
    return left_out or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort files: the first, the other long ones, those that use their answers, and short ones, which fill gaps."""
    items.sort(key=lambda item: order(item.nodeid))


def order(name: str) -> int:
    """Return the place of a test's file among the others."""
    return 0 if name.startswith(FIRST) else 2 if name.startswith(LATER) else 1 if name.startswith(LONG) else 3


class Files(LoadFileScheduling):
    """Gives whole files to workers as they are collected: the long ones, those of end_to_end, are among the first."""

    # By itself xdist begins with the files that have the most tests, and in the end one worker waits for the other.
    def _split_scope(self, nodeid: str) -> str:
        shared = (name for name, files in TOGETHER.items() if nodeid.startswith(files))
        return next(shared, str(super()._split_scope(nodeid)))


@pytest.hookimpl(optionalhook=True, tryfirst=True)  # before that of the product, which is registered later
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Files | None:
    if config.getvalue("dist") != "load" or not runs_tests(config):
        return None
    config.option.loadscopereorder = False
    return Files(config, log)


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all workers share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session")
def warm_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """What stands for `python` in commands whose tests are not about how Python starts: see `warm.py`."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "PYTHONDONTWRITE"))}
    with WARM["shared_interpreter"](shared_folder(tmp_path_factory) / "warm", own) as command:
        yield command


@pytest.fixture(scope="session")
def torch_python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """As `warm_python`, but only torch has been imported: for tests of what is imported after it."""
    with WARM["shared_interpreter"](shared_folder(tmp_path_factory) / "torch", os.environ, WARM["TORCH"]) as command:
        yield command


@pytest.fixture(scope="session")
def warm_ray(tmp_path_factory: pytest.TempPathFactory, warm_python: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """As `warm_python`, and Ray has been imported, too."""
    socket = tmp_path_factory.mktemp("ray") / "socket"
    with WARM["interpreter"](socket, os.environ, WARM["RAY"], warm_python) as command:
        yield command


@pytest.fixture(scope="session")
def warm_vllm(tmp_path_factory: pytest.TempPathFactory, warm_python: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """As `warm_python`, and vLLM has been imported, too."""
    socket = tmp_path_factory.mktemp("vllm") / "socket"
    own = {**os.environ, **import_module("eyechart.models.vllm.engine").ENVIRONMENT}
    with WARM["interpreter"](socket, own, WARM["VLLM"], warm_python) as command:
        yield command


@pytest.fixture(scope="session")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of answers that tests share, in all workers; README's first command leaves there what it asked."""
    store = shared_folder(tmp_path_factory) / "answers"
    store.mkdir(exist_ok=True)
    return store


def evaluated(
    case: Case, settings: Settings, dataset: Dataset, identity: Identity, predictions: Any, run: Path
) -> CaseResult[Any]:
    """What the protocol of a case makes of predictions, before it is written down."""
    protocol = get_protocol(case.protocol)
    result = CaseResult(case, settings, dataset, identity, protocol, predictions, run)
    result.add(protocol.metrics)
    return result


@pytest.fixture(scope="session")
def evaluate_predictions() -> Callable[..., CaseResult[Any]]:
    """What the protocol of a case makes of predictions, before it is written down."""
    return evaluated


# Original label (-1: none), new labels, and those of the weasel study (None: not looked at).
Truth = tuple[int, tuple[int, ...], tuple[int, ...] | None]
TRUTHS: tuple[Truth, ...] = (
    (356, (356,), (356,)),
    (356, (356,), (356,)),
    (356, (357,), (357,)),
    (357, (357,), (357,)),
    (357, (357,), (357,)),
    (357, (0, 357), (357,)),
    (358, (358,), (358,)),
    (358, (359,), (359,)),
    (358, (1, 359), (359,)),
    (359, (359,), (359,)),
    (359, (359,), (359,)),
    (359, (), (359,)),
    (0, (0,), None),
    (0, (0, 5), None),
    (1, (1,), None),
    (1, (2, 3), None),
    (620, (681,), None),  # equivalent classes
    (-1, (), None),
)
NOTHING = 7  # a class that is right nowhere
CLIP, TIMM, CONSE = "open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]", "timm[tf_efficientnet_lite0]", "conse[]"
ANSWERS: Mapping[str, tuple[str, list[int]]] = {
    CLIP: ("zero_shot", [(study or new or (NOTHING,))[-1] for _, new, study in TRUTHS]),  # sees what is there
    TIMM: ("supervised", [old if old >= 0 else NOTHING for old, _, _ in TRUTHS]),  # repeats the original labels
    CONSE: ("zero_shot", [356] * 6 + [359] * 6 + [0] * 6),
}


@dataclass(frozen=True)
class Maker:
    """Makes runs."""

    root: Path

    def __call__(
        self,
        name: str = "run",
        models: Mapping[str, tuple[str, list[int]]] = ANSWERS,
        labels: tuple[str, ...] = ("ImGT", "ReGT", "WeaselGT"),
        errors: Mapping[int, str] = {},
        variant: Mapping[str, str] = {"names": "mill (e55fe991)", "templates": "80 (0123abcd)"},
        split: str = "val",
        limit: int | None = None,
        truths: tuple[Truth, ...] = TRUTHS,
    ) -> Path:
        folder = self.root / name
        dataset = self.dataset(labels, split, truths)
        records = []
        for spec, (protocol, answers) in models.items():
            case = Case("imagenet", split, parse_named_spec(spec), protocol)
            said = ClassPredictions(
                dataset.keys, self.scores(answers, errors), errors, variant if protocol == "zero_shot" else {}
            )
            records.append(self.record(case, dataset, said, folder, limit))
        return self.written(folder, tuple(records))

    def written(self, folder: Path, records: tuple[Record, ...]) -> Path:
        """Put records beside their files."""
        run = Run(
            eyechart="0.1.0",
            started="2026-01-01T00:00:00+00:00",
            seconds=1.5,
            exit_status=0,
            workers=0,
            loads=len(records),
            command="pytest -k imagenet",
        )
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "records.json").write_bytes(encode(Records(run=run, records=records)))
        return folder

    def dataset(self, labels: tuple[str, ...], split: str = "val", rows: tuple[Truth, ...] = TRUTHS) -> Dataset:
        """The images, of which only the labels matter here."""
        index = tuple(
            Row(f"{position:04d}", f"{position}.jpg", f"{position:064x}", old)
            for position, (old, *_) in enumerate(rows)
        )
        given = {
            "ImGT": [(old,) if old >= 0 else () for old, _, _ in rows],
            "ReGT": [new for _, new, _ in rows],
            "WeaselGT": [study for _, _, study in rows],
        }
        truths = {
            name: build_original_labels("imagenet", index, given[name], "test")
            if name == "ImGT"
            else build_label_set(name, index, given[name], "correct", "test")
            for name in labels
        }
        return Dataset("imagenet", split, index, whole_file_source(()), 1000, label_sets=truths)

    def scores(self, answers: list[int], errors: Mapping[int, str]) -> np.ndarray:
        """Scores whose highest are the answers; nothing where there was an error."""
        scores = np.zeros((len(answers), 1000), np.float32)
        scores[range(len(answers)), answers] = 1
        scores[list(errors)] = np.nan
        return scores

    def record(
        self,
        case: Case,
        dataset: Dataset,
        said: Classification,
        folder: Path,
        limit: int | None,
        data: str | None = None,
    ) -> Record:
        """What a benchmark does, then what the plugin does."""
        identity = Identity(
            backend=case.model.backend,
            name=str(case.model),
            weights_sha256="0" * 64,
            dtype="float32",
            device="cpu",
            processor={},
            libraries={},
        )
        original = np.array([dataset.index[row].label for row in dataset.selected], np.int64)
        targets = Targets(
            tuple(dataset.select_label_sets("correct")), original, self.policy(dataset), dataset.classes, 42
        )
        measured = replace(said, targets=targets)
        if isinstance(measured, ClassPredictions):
            measured = replace(measured, calibrated=case.protocol in ("supervised", "posterior"))
        settings = self.settings(case, limit, data)
        return evaluated(case, settings, dataset, identity, measured, folder).write_record(
            1.25, {}, "pytest -k imagenet"
        )

    def settings(self, case: Case, limit: int | None, data: str | None = None) -> Settings:
        """The defaults of the command line."""
        return Settings(
            models=(case.model,),
            data=data,
            out=self.root,
            store=self.root / "store",
            limit=limit,
            seed=42,
            offline=True,
            strict=False,
            max_errors=len(TRUTHS),
            names="mill",
            templates="80",
            labels=(),
            empty="correct",
            equivalences="12",
            categories="equivalent",
        )

    def policy(self, dataset: Dataset) -> LabelPolicy:
        """ImageNet's equivalent classes, where they are its classes."""
        return LabelPolicy(equivalent_pairs("12"), source="12") if dataset.classes == 1000 else LabelPolicy()


@pytest.fixture
def make_run(tmp_path: Path) -> Maker:
    """Make a run's folder under a name."""
    return Maker(tmp_path)


@pytest.fixture(scope="module")
def module_run(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """Make run folders that the tests of a module share."""
    return Maker(tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def session_run(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    """Make run folders that the tests of a session share."""
    return Maker(tmp_path_factory.mktemp("runs"))


@pytest.fixture
def run_folder(make_run: Callable[[], Path]) -> Path:
    """The run of all three models under all three ground truths."""
    return make_run()


@pytest.fixture(scope="session")
def tiny_chat(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Save a tiny model that answers in words, with random weights."""
    families = import_module("families")

    @cache
    def save(family: str) -> Path:
        folder: Path = families.save(family, tmp_path_factory.mktemp(family))
        return folder

    return save


@pytest.fixture(scope="session")
def thinking_chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a checkpoint that thinks, unless enable_thinking is false."""
    repair()  # before transformers is imported
    make = run_path(str(Path(__file__).with_name("thinking_checkpoint.py")))["make_checkpoint"]
    folder: Path = make(tmp_path_factory.mktemp("thinking") / "checkpoint")
    return folder


@pytest.fixture(scope="session")
def questions() -> list[Request]:
    """Short and long requests with no image, one and two, the images before, between and after the words."""
    noise = np.random.default_rng(3).integers(0, 256, (16, 4, 3, 3), dtype=np.uint8)
    images = [Image.fromarray(pixels).resize((50 + 10 * (index % 3), 60)) for index, pixels in enumerate(noise)]
    asked = [f"what is thing number {index} in a picture of caterpillars?" for index in range(12)]
    more = [images[index : index + index % 3] for index in range(12)]
    parts = [(text + " and so on" * (index % 2), *more[index]) for index, text in enumerate(asked)]
    return [Request(part if index % 4 else (*part[1:], part[0])) for index, part in enumerate(parts)]


@pytest.fixture
def faulty_server() -> Iterator[Any]:
    """Serve OpenAI's chat on loopback, with faults on demand."""
    with run_path(str(Path(__file__).with_name("faulty_server.py")))["serving"]() as server:
        yield server


@pytest.fixture(scope="session")
def golden() -> Iterator[Any]:
    """Import tools/golden.py, which compares runs with the golden files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[1] / "tools")
        yield import_module("golden")


@pytest.fixture(scope="session")
def browsing() -> dict[str, Any]:
    """What the tests of pages have in common."""
    return run_path(str(Path(__file__).with_name("browsing.py")))


@pytest.fixture(scope="module")  # no longer: while it is there, no other event loop can run
def browser(browsing: dict[str, Any]) -> Iterator[Any]:
    """A headless Chromium of the system."""
    with browsing["chromium"]() as found:
        yield found


@pytest.fixture(scope="session")
def contrast(browsing: dict[str, Any]) -> str:
    """A script that finds the least contrast of a page."""
    return str(browsing["CONTRAST"])
