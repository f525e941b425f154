"""The prefetch of a session on a cluster: cases of several models are answered at the same time, before the tests run.

A thread takes the cases of one model in their order and computes their predictions as the test does, which stores the
answers. The tests then find them in the store.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, suppress
from pathlib import Path
from threading import Event, Lock

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import EyechartError
from eyechart.evaluation.session import Session, SplitName, make_engine
from eyechart.evaluation.settings import Case, Settings
from eyechart.inference.engines.interface import Engine
from eyechart.inference.runner.runner import Progress
from eyechart.models.spec import ModelSpec

MODELS_AT_ONCE = 16
Track = Callable[[Case], AbstractContextManager[Progress]]  # shows a case while it is answered


class Prefetch:
    """Stores the answers of cases. Errors are left to the tests of the cases, which meet them again."""

    def __init__(self, settings: Settings, run: Path, track: Track) -> None:
        self.settings, self.run, self.track = settings, run, track
        self.stopped = Event()
        self.loading = Lock()  # libraries are not imported by two threads at once

    def answer(self, cases: Sequence[Case]) -> None:
        """Answer cases, those of each model in a thread of its own."""
        by_model: defaultdict[ModelSpec, list[Case]] = defaultdict(list)
        for case in cases:
            by_model[case.model].append(case)
        with closing(make_engine(self.settings)) as engine, Session(self.settings, engine=engine) as session:
            splits = _open_splits(session, cases)
            with ThreadPoolExecutor(MODELS_AT_ONCE, "eyechart-prefetch") as threads:
                try:
                    for done in [threads.submit(self.answer_model, some, engine, splits) for some in by_model.values()]:
                        done.result()
                finally:
                    self.stopped.set()
                    engine.close()

    def answer_model(self, cases: Sequence[Case], engine: Engine, splits: Mapping[SplitName, Dataset]) -> None:
        """Answer the cases of one model, then end its processes."""
        session = Session(self.settings, datasets=splits, engine=engine)
        with closing(session.models):
            for case in cases:
                if not self.stopped.is_set():
                    with suppress(Exception), self.track(case) as progress:
                        with self.loading:
                            session.models[case.model].identity  # noqa: B018
                        session.evaluate(case, self.run, progress).get_result()
            session.models.close_helpers()


def _open_splits(session: Session, cases: Sequence[Case]) -> dict[SplitName, Dataset]:
    """Return the splits of cases, without those that cannot be opened."""
    splits = {}
    for name in dict.fromkeys((case.benchmark, case.split) for case in cases):
        with suppress(EyechartError):
            splits[name] = session.open_whole_split(*name)
    return splits
