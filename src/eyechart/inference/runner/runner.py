"""Answers requests once: reads the store, and sends what is missing to an engine."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, overload

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.dataset.limits import Limit
from eyechart.errors import SpecError
from eyechart.inference.engines.interface import MakeEngine
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.requests.row_requests import Classify, ClassWeights, Encode, LogitScale, Match, ScoreChoices
from eyechart.inference.requests.text_requests import Generate
from eyechart.inference.runner.image_rows import CheckWidth, ImageRun, Progress
from eyechart.inference.runner.texts_asked import BatchRun, TextRun
from eyechart.inference.store.arrays import CachedArray, read_or_compute
from eyechart.inference.store.entries import Store, request_key
from eyechart.inference.store.responses import AnswerCounts, Responses
from eyechart.models.runtime.phases import phase
from eyechart.models.types import Classifier, Encoder, Floats, Generator, ImageEncoder, Matcher, Scorer, TextEncoder


@dataclass(frozen=True)
class Runner:
    """Where answers are stored, the limit and seed of the session, and the engine that answers what is missing.

    The engine is made when `engine` is first called. `in_blocks` is set if the limit grows while a case runs. `digests`
    collects the digests of the store's entries that were used, `token_limits` the most tokens of answers that requests
    allow, and `answer_counts` whether the answer to each request is thinking alone.
    """

    store: Store
    limit: Limit
    seed: int
    progress: Progress
    engine: MakeEngine = field(default_factory=lambda: cache(LocalEngine), compare=False)
    in_blocks: bool = False
    digests: set[str] = field(default_factory=set, compare=False)
    token_limits: set[int] = field(default_factory=set, compare=False)
    answer_counts: dict[str, AnswerCounts] = field(default_factory=dict, compare=False)

    @property
    def fixed_limit(self) -> Limit:
        """The limit, for requests that depend on which images are asked together.

        Raises SpecError if the limit grows, since a longer run would ask others.
        """
        if self.in_blocks:
            raise SpecError(
                "--eye-sequential: the requests of this case depend on which images are asked together, so that a "
                "longer run would ask again. Leave it out, or ask about one image a request (images_per_request=1)."
            )
        return self.limit

    @overload
    def run(self, request: Encode, model: TextEncoder) -> Floats: ...

    @overload
    def run(
        self, request: Encode, model: ImageEncoder, dataset: Dataset, check_width: CheckWidth | None = None
    ) -> CachedArray: ...

    @overload
    def run(
        self, request: Classify, model: Classifier, dataset: Dataset, check_width: CheckWidth | None = None
    ) -> CachedArray: ...

    @overload
    def run(
        self, request: Match, model: Matcher, dataset: Dataset, check_width: CheckWidth | None = None
    ) -> CachedArray: ...

    @overload
    def run(self, request: ScoreChoices, model: Scorer, dataset: Dataset | None = None) -> CachedArray: ...

    @overload
    def run(self, request: ClassWeights, model: TextEncoder) -> Floats: ...

    @overload
    def run(self, request: LogitScale, model: Encoder) -> Floats: ...

    @overload
    def run(self, request: Generate, model: Generator, dataset: Dataset | None = None) -> Responses: ...

    def run(
        self,
        request: Any,
        model: Any,
        dataset: Dataset | None = None,
        check_width: Callable[[int], None] | None = None,
    ) -> CachedArray | Floats | Responses:
        """Return the answers of a model to a request, from the store as far as they are there.

        Returns one row per image or per text of a request about such items, an array for other requests about texts,
        and for `Generate` one response per request. `check_width` raises an error for a number of values per image
        that the caller cannot use; it is called before the first answers are stored.
        """
        with phase("identify"):
            entry = self.store.entry(request_key(request, model, dataset))
        self.digests.add(entry.key.digest)
        if request.row_per_image:
            assert dataset is not None
            return ImageRun(entry, self.engine, request, model, dataset, self.progress, check_width).answers()
        if isinstance(request, ScoreChoices):
            return TextRun(entry, self.engine, request, model, self.progress).answers()
        if not isinstance(request, Generate):
            return read_or_compute(entry, lambda: self.engine().answer_texts(request, model))
        self.token_limits.update(text_request.max_tokens for text_request in request.requests)
        run = BatchRun(entry, self.engine, request, model, dataset, self.progress)
        responses = run.responses()
        self.answer_counts.update(zip(run.ids, map(AnswerCounts.of, responses.responses), strict=True))
        return responses
