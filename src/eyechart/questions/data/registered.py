"""Tables of questions as a registered data set: folders of the user with a table beside their images."""

from collections.abc import Sequence
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.splits.registry import SplitRef
from eyechart.errors import DataError
from eyechart.questions.data.table_files import NAMES

_NAME = "questions"  # of the registered data set, which is the layout and the family of its splits


class _Questions:
    """Questions of the user about images of the user; none are packaged."""

    summary = "Questions of one's own about images of one's own."
    expected = "a table questions.csv (.tsv, .jsonl, .parquet)"
    splits: tuple[str, ...] = ()

    def dataset(self, split: str) -> Dataset:
        """Raise DataError: no questions are packaged."""
        raise DataError(
            f"There are no packaged questions '{split}'. Give your own: ROOT/<benchmark>/<split>/questions.csv."
        )

    def recognises(self, folder: Path, root: Path) -> Sequence[SplitRef]:
        """Return the split of a folder ROOT/<benchmark>/<split> with a table of questions."""
        if root in (folder, folder.parent) or not any((folder / name).is_file() for name in NAMES):
            return ()
        return (SplitRef(folder.parent.name, folder.name, _NAME, str(folder), family=_NAME),)

    def open_folder(self, ref: SplitRef, cache: Path | None) -> Dataset:  # noqa: ARG002
        """Open a table of the user."""
        from eyechart.questions.data.open_questions import open_question_folder

        return open_question_folder(Path(ref.location), ref.benchmark, ref.split)


QUESTIONS = _Questions()
