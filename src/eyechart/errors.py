"""The exceptions of eyechart, as one tree.

    EyechartError
    ├── SpecError          a model specification that cannot be parsed
    ├── DataError          images, shards, labels
    │   ├── AbsentError    missing data; a case is skipped, and fails under --eye-strict
    │   └── ImageError     one image; its answer becomes an error, the others continue
    ├── UnavailableError   a case that cannot run with this model or data set; it is skipped
    ├── VocabularyError    class names
    ├── ModelError         weights, libraries, features
    │   └── RequestError   some requests of a batch that a model cannot answer; the others can be sent without them
    ├── StoreError         stored answers
    │   └── MissingAnswersError  answers that a session needs and may not ask for
    ├── BaselineError      the baseline that a run is compared with
    ├── ToleranceError     more errors in a case than are allowed
    └── ReportError        runs, tables, figures
        └── NotComparableError  two runs without a case in common

A message has one or two sentences: the file or option, what was found, what was expected, and the remedy.
"""

from collections.abc import Mapping


class EyechartError(Exception):
    """Base class of all errors that the suite raises on purpose."""


class SpecError(EyechartError):
    """A model specification that cannot be parsed."""


class DataError(EyechartError):
    """Images, shards or labels that are missing or broken."""


class AbsentError(DataError):
    """Missing data: a case that needs them is skipped, and fails under `--eye-strict`."""


class UnavailableError(EyechartError):
    """A case that cannot run with this model or data set; it is skipped."""


class ImageError(DataError):
    """One image that cannot be decoded or sent to a model."""


class VocabularyError(EyechartError):
    """Class names that cannot be used as a vocabulary."""


class ModelError(EyechartError):
    """Weights, libraries or features that cannot be used."""


class RequestError(ModelError):
    """Some requests of a batch that a model cannot answer; `errors` has a sentence for each, by its index."""

    def __init__(self, errors: Mapping[int, str]) -> None:
        self.errors = dict(sorted(errors.items()))
        super().__init__(next(iter(self.errors.values()), ""))

    def __reduce__(self) -> tuple[type["RequestError"], tuple[Mapping[int, str]]]:
        return type(self), (self.errors,)  # by itself pickle gives a new one the message of this one


class StoreError(EyechartError):
    """Stored answers that cannot be read or written."""


class MissingAnswersError(StoreError):
    """Answers that a session needs and may not ask for."""


class ToleranceError(EyechartError):
    """More errors in a case than are allowed."""


class ReportError(EyechartError):
    """A run that cannot be read, or a table or figure that cannot be created."""


class NotComparableError(ReportError):
    """Two runs without a case in common, or whose cases are all refused."""


class BaselineError(EyechartError):
    """A baseline that is missing, cannot be read, or is of another model, benchmark or data."""
