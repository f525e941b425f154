"""Registration of the parts that a session with benchmarks needs, in the order in which their hooks must run."""

import os
from pathlib import Path

import pytest

from eyechart.models.runtime.device import keep_threads_to_quota

from . import cases, exit_codes, option_checks
from .answers import OnlyAnswers, PrefetchOfTests
from .exit_codes import ExitCodes
from .gate import Gate, SequentialCases
from .left_out import KeywordSuggestions, LeftOutByPreset, LeftOutTraining
from .missing_cases import MissingCases
from .options import get_option
from .progress import Progress
from .recorder import JUnitProperties, Recorder
from .result_files import MarkdownSummary, VerdictFile
from .settings import get_settings
from .shard import ShardOfCases, read_shard
from .summary import Summary
from .tracking import Tracking, read_trackers
from .workers import RUN, is_worker, limit_threads, send_to_controller

OFFLINE = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")


def register(config: pytest.Config, folder: Path, started: float) -> None:
    """Check the options and register all parts; `folder` is the run's folder, `started` the start of the session."""
    if is_worker(config):
        send_to_controller(config, RUN, str(folder))
        limit_threads(config)
    else:
        option_checks.check_options(config)
        if not getattr(config.option, "numprocesses", None):  # workers divide the processors
            keep_threads_to_quota()
    if get_settings(config).offline:
        os.environ.update(dict.fromkeys(OFFLINE, "1"))  # read by these libraries when they are imported
    manager = config.pluginmanager
    recorder = Recorder(config, folder, started)
    manager.register(cases, "eyechart-cases")
    manager.register(option_checks, "eyechart-single-benchmark-files")
    manager.register(training := LeftOutTraining(config), "eyechart-left-out-training")
    manager.register(preset := LeftOutByPreset(config), "eyechart-left-out")
    manager.register(KeywordSuggestions(config, training, preset), "eyechart-keyword-suggestions")
    if get_option(config, "sequential"):
        manager.register(SequentialCases(config), "eyechart-sequential")
    manager.register(recorder, "eyechart-recorder")
    if shard := read_shard(config):
        manager.register(ShardOfCases(shard), "eyechart-shard")
    if get_settings(config).only_answer:
        manager.register(OnlyAnswers(config, recorder), "eyechart-only-answers")
    manager.register(progress := Progress(config, recorder), "eyechart-progress")
    manager.register(PrefetchOfTests(config, folder, progress), "eyechart-prefetch")
    manager.register(Summary(recorder), "eyechart-summary")
    manager.register(exit_codes, "eyechart-exit-codes")
    # The hooks of the session's end run in the reverse order: the gate, missing cases, then the exit status.
    manager.register(statuses := ExitCodes(), "eyechart-exit-status")
    gate = Gate(config, recorder)
    manager.register(MissingCases(config, gate, statuses), "eyechart-missing-cases")
    manager.register(gate, "eyechart-gate")
    if not is_worker(config):
        for file in (MarkdownSummary, VerdictFile):
            if get_option(config, file.option):
                manager.register(file(config, gate), f"eyechart-{file.option}-file")
        if read_trackers(config):
            manager.register(Tracking(config, recorder, gate), "eyechart-tracking")
    manager.register(JUnitProperties(), "eyechart-junit")
