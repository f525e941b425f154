"""Words about pairs of an image and a category that were said elsewhere: `replay[path=answers.csv,of=existence]`.

A csv with the columns `key`, `category`, `question` (positive or negative) and `answer`; a category is its index or its
name, a key a sample's key or its file name. What a case of existence wrote is such a file: its `said` are the words,
and its `error` says why there are none. With a column `split`, one file has the answers to several splits.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eyechart.data.dataset import Dataset
from eyechart.errors import ModelError
from eyechart.models.replay import Finder
from eyechart.models.replayed_keys import keys_of
from eyechart.protocols.existence import QUESTIONS
from eyechart.replies import Reply

COLUMNS = ("key", "category", "question")
EXPECTED = (
    "Expected a csv with the columns key, category, question (positive or negative) and answer, such as the csv of "
    "predictions of a case of existence."
)
About = tuple[int, int, str]  # the image's place, the category, the question


@dataclass(frozen=True)
class Line:
    """One answer and where it stands."""

    number: int
    key: str
    category: str
    question: str
    reply: Reply


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
    known, find = keys_of(dataset), Finder(names, dataset.classes)
    places = {row: place for place, row in enumerate(dataset.selected)}
    said: dict[About, Reply] = {}
    for line in lines(path, dataset.split):
        row, category = known.get(line.key, -1), find(line.category)
        refuse(path, line, dataset, row, category)
        if row in places and said.setdefault((places[row], category, line.question), line.reply) != line.reply:
            raise ModelError(
                f"{path}, line {line.number}: the {line.question} question about {line.key}, {line.category} is "
                "answered a second time, in other words. Keep one of the lines."
            )
    if not said:
        raise ModelError(
            f"{path} has no answer about an image of {dataset.benchmark}/{dataset.split}. Give a file with lines "
            f"about it; a column split, if there is one, says {dataset.split}."
        )
    return PairWords(path, dataset, names, said)


def refuse(path: Path, line: Line, dataset: Dataset, row: int, category: int) -> None:
    """Refuse a line that is about nothing that can be asked."""
    split = f"{dataset.benchmark}/{dataset.split}"
    if row < 0:
        why = f"{split} has no image '{line.key}'; its first is '{dataset.index[0].key}'. Expected a sample's key"
    elif category < 0:
        why = f"{split} has no category '{line.category}'. Expected a name or an index below {dataset.classes}"
    elif line.question not in QUESTIONS:
        why = f"there is no question '{line.question}'. Expected {' or '.join(QUESTIONS)}"
    else:
        return
    raise ModelError(f"{path}, line {line.number}: {why}.")


def lines(path: Path, split: str) -> Iterator[Line]:
    """The file's answers to a split, one a line; `said` goes before `answer`."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            columns = reader.fieldnames or ()
            words = next((name for name in ("said", "answer") if name in columns), None)
            if words is None or not {*COLUMNS} <= {*columns}:
                raise ModelError(f"{path} has the columns {', '.join(columns) or 'none'}. {EXPECTED}")
            for row in reader:
                if (row.get("split") or split) != split:
                    continue
                error = row.get("error") or ""
                reply = Reply("" if error else row[words] or "", error=error)
                key, category, question = (row[name] or "" for name in COLUMNS)
                yield Line(reader.line_num, key, category, question.strip().lower(), reply)
    except (OSError, ValueError, csv.Error) as error:
        raise ModelError(f"{path} cannot be read ({error}). {EXPECTED}") from error
