"""Answers requests once: reads the store, and sends what is missing to an engine."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, overload

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.dataset.limits import Limit
from eyechart.errors import SpecError
from eyechart.inference.engines.interface import Engine
from eyechart.inference.engines.local import LocalEngine
from eyechart.inference.requests.row_requests import ImageRequest, ScoreTexts, TextRequest
from eyechart.inference.requests.text_requests import RequestBatch
from eyechart.inference.runner.image_rows import CheckWidth, ImageRun, Progress
from eyechart.inference.runner.text_rows import TextRun
from eyechart.inference.runner.texts_asked import BatchRun
from eyechart.inference.store.arrays import CachedArray, read_or_compute
from eyechart.inference.store.entries import Store
from eyechart.inference.store.keys import request_key
from eyechart.inference.store.responses import AnswerCounts, Responses
from eyechart.models.runtime.tracing import span
from eyechart.models.types import Floats, Generator, Model, Scorer

ModelT = TypeVar("ModelT", bound=Model)


@dataclass(frozen=True)
class Runner:
    """Where answers are stored, the limit and seed of the session, and the engine that answers what is missing.

    `in_blocks` is set if the limit grows while a case runs. `digests` collects the digests of the store's entries that
    were used, `token_limits` the most tokens of answers that requests allow, and `answer_counts` how many answers of
    each entry are thinking alone.
    """

    store: Store
    limit: Limit
    seed: int
    progress: Progress
    engine: Engine = field(default_factory=LocalEngine)
    in_blocks: bool = False
    digests: set[str] = field(default_factory=set, compare=False)
    token_limits: set[int] = field(default_factory=set, compare=False)
    answer_counts: dict[str, AnswerCounts] = field(default_factory=dict, compare=False)

    @property
    def key_limit(self) -> Limit:
        """The limit, for requests that depend on which images are asked together.

        Raises SpecError if the limit grows, since a longer run would ask them again.
        """
        if self.in_blocks:
            raise SpecError(
                "--eye-sequential: the requests of this case depend on which images are asked together, so that a "
                "longer run would ask again. Leave it out, or ask about one image a request (images_per_request=1)."
            )
        return self.limit

    @overload
    def run(
        self,
        request: ImageRequest[ModelT],
        model: ModelT,
        dataset: Dataset,
        check_width: CheckWidth | None = None,
    ) -> CachedArray: ...

    @overload
    def run(self, request: ScoreTexts, model: Scorer) -> CachedArray: ...

    @overload
    def run(self, request: TextRequest[ModelT], model: ModelT) -> Floats: ...

    @overload
    def run(self, request: RequestBatch, model: Generator, dataset: Dataset | None = None) -> Responses: ...

    def run(
        self,
        request: Any,
        model: Any,
        dataset: Dataset | None = None,
        check_width: Callable[[int], None] | None = None,
    ) -> CachedArray | Floats | Responses:
        """Return the answers of a model to a request, from the store as far as they are there.

        Returns for an `ImageRequest` one row per image, for `ScoreTexts` one row per text, for a `TextRequest` an
        array, and for a `RequestBatch` one response per request. `check_width` raises an error for a number of values
        per image that the caller cannot use; it is called before the first answers are stored.
        """
        with span("identify"):
            entry = self.store.entry(request_key(request, model, dataset))
        self.digests.add(entry.key.digest)
        if isinstance(request, TextRequest):
            return read_or_compute(entry, lambda: self.engine.answer_texts(request, model))
        if isinstance(request, ScoreTexts):
            return TextRun(entry, self.engine, request, model, self.progress).answers()
        if isinstance(request, ImageRequest):
            assert dataset is not None
            return ImageRun(entry, self.engine, request, model, dataset, self.progress, check_width).answers()
        self.token_limits.update(template.max_tokens for template in request.templates)
        if dataset and dataset.rows and request.scope == "split":
            dataset = replace(dataset, rows=())  # such requests name images by their indices in the whole split
        responses = BatchRun(entry, self.engine, request, model, dataset, self.progress).responses()
        self.answer_counts[entry.key.digest] = responses.answer_counts
        return responses
