"""Words about pairs of an image and a category that were said elsewhere: `replay[path=answers.csv,of=existence]`.

A csv with the columns `key`, `category`, `question` (positive or negative) and `answer`; a category is its index or its
name, a key a sample's key or its file name. What a case of existence wrote is such a file: its `said` are the words,
and its `error` says why there are none. With a column `split`, one file has the answers to several splits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eyechart.data.dataset import Dataset
from eyechart.data.sample_keys import Finder, Line, images, read_lines
from eyechart.errors import ModelError
from eyechart.inference.responses import Reply
from eyechart.oodbench.existence_prompts import QUESTIONS

COLUMNS, WORDS = ("key", "category", "question"), ("said", "answer")
EXPECTED = (
    "Expected a csv with the columns key, category, question (positive or negative) and answer, such as the csv of "
    "predictions of a case of existence."
)
About = tuple[int, int, str]  # the image's place, the category, the question


@dataclass(frozen=True)
class PairWords:
    """What a file says about each pair of a data set."""

    path: Path
    dataset: Dataset
    names: Sequence[str]
    said: Mapping[About, Reply]

    def __call__(self, row: int, category: int, question: str) -> Reply:
        """The words about a pair; a question without a line is an error of that question alone."""
        known = self.said.get((row, category, question))
        if known is not None:
            return known
        about = f"{self.dataset.keys[row]}, {self.names[category]}"
        return Reply(
            "",
            error=f"{self.path} has no answer to the {question} question about {about}. "
            "Add a line with this key, category and question.",
        )


def pair_words(path: Path, dataset: Dataset, names: Sequence[str]) -> PairWords:
    """Read a file of words about the pairs of a data set.

    Raises ModelError for a file that is none, a key, category or question that there is not, and for a question that is
    answered twice, and not in the same words.
    """
    find = Finder(names, dataset.classes)
    told = list(read_lines(path, COLUMNS, EXPECTED, dataset.split, either=WORDS))
    rows = images(path, dataset, [line.key for line in told], [line.where for line in told])
    places = {row: place for place, row in enumerate(dataset.selected)}
    said: dict[About, Reply] = {}
    for row, line in zip(rows, told, strict=True):
        about = asked(line, dataset, find)
        if row in places and said.setdefault((places[row], *about), reply := words(line)) != reply:
            raise ModelError(
                f"{line.where}: the {about[1]} question about {line.key}, {line.cells['category']} is "
                "answered a second time, in other words. Keep one of the lines."
            )
    return PairWords(path, dataset, names, said)


def asked(line: Line, dataset: Dataset, find: Finder) -> tuple[int, str]:
    """The category and the question of a line; one about nothing that can be asked is refused."""
    category, question = find(line.cells["category"]), line.cells["question"].strip().lower()
    split = f"{dataset.benchmark}/{dataset.split}"
    if category < 0:
        why = f"{split} has no category '{line.cells['category']}'. Expected a name or an index below {dataset.classes}"
    elif question not in QUESTIONS:
        why = f"there is no question '{question}'. Expected {' or '.join(QUESTIONS)}"
    else:
        return category, question
    raise ModelError(f"{line.where}: {why}.")


def words(line: Line) -> Reply:
    """What a line answers: `said` goes before `answer`, and why there is no answer before both."""
    error = line.cells.get("error", "")
    return Reply("" if error else next(line.cells[name] for name in WORDS if name in line.cells), error=error)
