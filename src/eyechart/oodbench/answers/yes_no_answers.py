"""Prompts and requests about image–category pairs, and the parsing of their answers.

The store's key of a request does not depend on the division, so that divisions share their answers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from eyechart.data.dataset.dataset import Dataset
from eyechart.data.index.sample_keys import CsvLine, FindClass, class_finder, match_images, read_lines
from eyechart.errors import ModelError
from eyechart.inference.requests.text_requests import TextRequest
from eyechart.inference.store.responses import Response, Responses
from eyechart.parsers import compat, number, yes_no
from eyechart.protocol.ask import ask
from eyechart.protocol.context import Context
from eyechart.protocol.prompts import Prompt, get_prompt
from eyechart.results.records import SubsetTiming

PROMPT_NAMES: Mapping[str, tuple[str, str]] = {
    "direct": ("existence", "existence_not"),
    "cot": ("existence_cot", "existence_cot_not"),
}
QUESTIONS = ("positive", "negative")
PROMPT_KINDS: Mapping[str, str] = {
    name: question for pair in PROMPT_NAMES.values() for name, question in zip(pair, QUESTIONS, strict=True)
}
PROMPTS = (
    *("existence", "existence_not", "existence_cot", "existence_cot_not"),
    *("progression_counting", "progression_logic"),
)
TOKENS, TOKENS_COT = 64, 1024
KEY_COLUMNS, ANSWER_COLUMNS = ("key", "category", "question"), ("response", "answer")
EXPECTED = (
    "Expected a csv with the columns key, category, question (positive or negative) and answer, such as the csv of "
    "predictions of a case of existence."
)
_QuestionKey = tuple[int, int, str]  # the image's index, the category, the question


def existence_prompts(reasoning: str = "direct") -> tuple[Prompt, Prompt]:
    """Return the positive and the negative prompt; `reasoning` is direct or cot (chain of thought).

    Raises KeyError for another reasoning.

    Source: arXiv 2602.18094, sections 5.3 and 5.4, verbatim.

    >>> [each.fill(category="book") for each in existence_prompts()]
    ['Does this image contain a book? (yes or no)', 'Does this image not contain a book? (yes or no)']
    """
    positive, negative = PROMPT_NAMES[reasoning]
    return get_prompt(positive), get_prompt(negative)


@dataclass(frozen=True)
class Query:
    """A question: its kind (one of `PROMPTS`), the image's row index, and one or two categories."""

    kind: str
    row: int
    category: int
    other: int = 0


@cache
def request_prompts() -> dict[str, tuple[Prompt, int]]:
    """Return the prompt of every kind of question, and the number of tokens that its answer takes."""
    return {kind: (get_prompt(kind), TOKENS_COT if "cot" in kind else TOKENS) for kind in PROMPTS}


def ask_queries(context: Context, queries: Sequence[Query]) -> Responses:
    """Return the responses to queries, in their order."""
    return ask(context, build_requests(context, queries), lambda: _replayed_responses(context, queries))


def timing(responses: Responses) -> SubsetTiming:
    """Return the numbers of answers and the time that they took, as the record has them."""
    return SubsetTiming(answers=responses.distinct, fresh=responses.fresh, seconds=responses.seconds)


def _replayed_responses(context: Context, queries: Sequence[Query]) -> list[Response]:
    """Return the responses of a replayed file."""
    words = read_replayed_pairs(context.replayed_words.path, context.dataset, context.names)
    return [words(query.row, query.category, PROMPT_KINDS[query.kind]) for query in queries]


def build_requests(context: Context, queries: Sequence[Query]) -> list[TextRequest]:
    """Return the requests of queries: the image, then the prompt with the names of the categories."""
    prompts = {kind: (prompt, context.token_limit(tokens)) for kind, (prompt, tokens) in request_prompts().items()}
    names = context.names
    requests = []
    for query in queries:
        prompt, limit = prompts[query.kind]
        values = {"category": names[query.category], "other": names[query.other]}
        text = prompt.fill(**{slot: values[slot] for slot in prompt.slots})
        requests.append(TextRequest((query.row, text), limit))
    return requests


def parse_yes_no(text: str, parser: str) -> bool | None:
    """Return whether an answer is yes, None if it is not parsed."""
    if parser == "authors":
        return compat.parse_authors_yes_no(text)
    result = yes_no.parse(text)
    return result.strict if parser == "strict" else result.lenient


def parse_count(text: str, parser: str) -> int | None:
    """Return the number of an answer, None if it is not parsed."""
    if parser == "authors":
        return compat.parse_first_number(text)
    result = number.parse(text)
    return result.strict if parser == "strict" else result.lenient


def parser_versions(parser: str, *names: str) -> str:
    """Return the parsers with their versions."""
    versions = {"yes_no": yes_no.VERSION, "number": number.VERSION}
    used = ", ".join(f"{name} {versions[name]}" for name in names)
    return f"compat {compat.VERSION}" if parser == "authors" else used


@dataclass(frozen=True)
class _ReplayedPairs:
    """The replayed answers of a file about the pairs of a data set."""

    path: Path
    dataset: Dataset
    names: Sequence[str]
    responses: Mapping[_QuestionKey, Response]

    def __call__(self, row: int, category: int, question: str) -> Response:
        """Return the answer about a pair; a question without a line is an error of this question only."""
        known = self.responses.get((row, category, question))
        if known is not None:
            return known
        about = f"{self.dataset.keys[row]}, {self.names[category]}"
        return Response(
            "",
            error=f"{self.path} has no answer to the {question} question about {about}. "
            "Add a line with this key, category and question.",
        )


def read_replayed_pairs(path: Path, dataset: Dataset, names: Sequence[str]) -> _ReplayedPairs:
    """Read a file of answers about the pairs of a data set.

    Raises ModelError for another format, an unknown key, category or question, and different answers to one question.
    """
    find = class_finder(names, dataset.classes)
    file_lines = list(read_lines(path, KEY_COLUMNS, EXPECTED, dataset.split, either=ANSWER_COLUMNS))
    rows = match_images(path, dataset, [line.key for line in file_lines], lambda index: file_lines[index].where)
    indices = {row: index for index, row in enumerate(dataset.selected)}
    responses: dict[_QuestionKey, Response] = {}
    for row, line in zip(rows.tolist(), file_lines, strict=True):
        about = parse_target(line, dataset, find)
        if (
            row in indices
            and responses.setdefault((indices[row], *about), response := _line_response(line)) != response
        ):
            raise ModelError(
                f"{line.where}: the {about[1]} question about {line.key}, {line.cells['category']} is "
                "answered twice with different texts. Keep one of the lines."
            )
    return _ReplayedPairs(path, dataset, names, responses)


def parse_target(line: CsvLine, dataset: Dataset, find: FindClass) -> tuple[int, str]:
    """Return the category and the question of a line.

    Raises ModelError for an unknown category or question.
    """
    category, question = find(line.cells["category"]), line.cells["question"].strip().lower()
    split = f"{dataset.benchmark}/{dataset.split}"
    if category < 0:
        why = f"{split} has no category '{line.cells['category']}'. Expected a name or an index below {dataset.classes}"
    elif question not in QUESTIONS:
        why = f"there is no question '{question}'. Expected {' or '.join(QUESTIONS)}"
    else:
        return category, question
    raise ModelError(f"{line.where}: {why}.")


def _line_response(line: CsvLine) -> Response:
    """Return the answer of a line: its error if there is one, else the column `response`, else `answer`."""
    error = line.cells.get("error", "")
    return Response.from_completion(
        "" if error else next(line.cells[name] for name in ANSWER_COLUMNS if name in line.cells), error=error
    )
