"""What can go wrong, as one tree.

    EyechartError
    ├── SpecError          a model specification that cannot be read
    ├── DataError          images, shards, labels
    │   ├── AbsentError    data that are not there; a case is skipped, and fails under --eye-strict
    │   └── ImageError     one image; its answer becomes an error, the others go on
    ├── VocabularyError    class names
    ├── ModelError         weights, libraries, features
    │   └── RequestError   some requests of several that a model cannot answer; the others can be asked without them
    ├── StoreError         kept answers
    ├── BaselineError      what a run is held against
    ├── ToleranceError     more images of a case without an answer than were allowed
    └── ReportError        runs, tables, figures

Every message is one sentence or two: the file or option, what was found, what was expected, and the remedy.
"""

from collections.abc import Mapping


class EyechartError(Exception):
    """Anything the suite itself refuses."""


class SpecError(EyechartError):
    """A model specification that cannot be read."""


class DataError(EyechartError):
    """Images, shards or labels that are missing or broken."""


class AbsentError(DataError):
    """Data that are not there: a case that needs them is skipped, and fails under `--eye-strict`."""


class UnavailableError(EyechartError):
    """A case that cannot be asked of this model or data set; it is skipped."""


class ImageError(DataError):
    """One image that cannot be shown to a model."""


class VocabularyError(EyechartError):
    """Class names that cannot serve as a vocabulary."""


class ModelError(EyechartError):
    """Weights, libraries or features that cannot be used."""


class RequestError(ModelError):
    """Some of several requests that a model cannot answer; `errors` has a sentence for each, by its place."""

    def __init__(self, errors: Mapping[int, str]) -> None:
        self.errors = dict(sorted(errors.items()))
        super().__init__(next(iter(self.errors.values()), ""))


class StoreError(EyechartError):
    """Kept answers that cannot be read or written."""


class ToleranceError(EyechartError):
    """More images of a case without an answer than were allowed."""


class ReportError(EyechartError):
    """A run, table or figure that cannot be made."""


class BaselineError(EyechartError):
    """A baseline that is not there, cannot be read, or is of something else."""
