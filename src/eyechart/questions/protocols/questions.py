"""The questions of a table: each is asked about its images, and its answer is read by its kind.

The prompt of a kind has the slots `{question}`, `{options}` and `{hint}`; a prompt of one's own replaces it. Where a
question says `<image 1>`, its pictures stand there, else before the text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import SpecError
from eyechart.inference.requests.class_weights import class_weights, cosine_similarity
from eyechart.inference.requests.text_requests import TextRequest
from eyechart.inference.store.responses import Response
from eyechart.models.types import Floats
from eyechart.parsers import letter, number, yes_no
from eyechart.parsers.no_image import lacks_image
from eyechart.parsers.text import answer_text
from eyechart.protocol.ask import ask
from eyechart.protocol.base import Protocol
from eyechart.protocol.context import Context
from eyechart.protocol.options import MAX_TOKENS, OWN, PROMPT, Option, OptionValues, parser_option
from eyechart.protocol.prompts import Prompt, get_prompt
from eyechart.protocol.sample_view import Asked, Line, SampleView
from eyechart.protocol.text_encoders import TEXT_ENCODER, text_encoder, text_features
from eyechart.questions.answers.kinds import AUTO, CHOICE, CHOICES, EXACT, KINDS, TEXT, VQA, read_number, resolve_kinds
from eyechart.questions.answers.question_predictions import LABELS, Answered, QuestionPredictions, listed_options
from eyechart.questions.answers.readings import UNREAD, VERSION, Reading, complete_part, read_answer
from eyechart.questions.data.question_set import (
    NO_SHUFFLE,
    Question,
    QuestionSet,
    find_questions,
    option_orders,
    reorder,
)
from eyechart.questions.metrics.question_estimates import accuracy

PROMPTS: Mapping[str, str] = {kind: f"questions_{EXACT if kind == VQA else kind}" for kind in KINDS}
TOKENS, SENTENCE_TOKENS = 32, 128
BARE = ("{c}",)  # the template of an answer whose embedding is compared
PLACEHOLDER = re.compile(r"<image(?: (\d+))?>")


def _check_tolerance(value: str, _: str | None) -> None:
    """Raise SpecError for a tolerance that is no number and no percentage.

    >>> _check_tolerance("5%", None)
    """
    if (size := read_number(value.removesuffix("%"))) is None or size < 0:
        raise SpecError(
            f"questions.tolerance is '{value}'. Expected a number, such as 0.5, or a percentage, such as 5%."
        )


KIND = Option(
    "kind",
    "the kind of answer of questions without options: auto (found from the answers, or named by a column kind), "
    "yes_no, number, exact (equal to an accepted answer after VQA's normalisation), vqa (VQA's soft accuracy over the "
    "answers of ten people), list (F1 of the set), text (a sentence that includes an accepted answer)",
    AUTO,
    (AUTO, *(kind for kind in KINDS if kind not in (CHOICE, CHOICES))),
)
TOLERANCE = Option(
    "tolerance",
    "the largest difference of a number that is right: absolute, such as 0.5, or of the number, such as 5%; a column "
    "tolerance comes first",
    "0",
    check=_check_tolerance,
)
MAPPING = Option(
    "mapping",
    "how a sentence (kind text) is read: by an accepted answer that it includes, or as the nearest of all given "
    "answers by text embedding",
    "inclusion",
    ("inclusion", "nearest"),
)
CIRCULAR = Option(
    "circular",
    "whether each choice is asked in every rotation of its options, and right only if all answers are (MMBench's "
    "CircularEval)",
    "false",
    ("false", "true"),
)
SHUFFLE = Option("shuffle", "the seed of a random order of options; none: the order of the table", NO_SHUFFLE, least=0)


def _build_request(context: Context, question: Question, kind: str, prompt: Prompt) -> TextRequest:
    """Return the request for an answer: the images, then the text, or the images where the text names them."""
    values = {
        "question": question.text,
        "options": listed_options(question.options),
        "hint": f"{question.hint}\n" if question.hint else "",
    }
    text = prompt.fill(**{slot: values[slot] for slot in prompt.slots})
    return TextRequest(
        tuple(_parts(text, question.pictures)), context.token_limit(SENTENCE_TOKENS if kind == TEXT else TOKENS)
    )


def _parts(text: str, pictures: Sequence[int]) -> Iterator[str | int]:
    """Yield the texts and pictures of a request; a picture that the text does not name is before it."""
    named = [int(number or 1) for number in PLACEHOLDER.findall(text)]
    if not named or sorted({*named}) != [*range(1, len(pictures) + 1)]:
        yield from pictures
        yield text
        return
    pieces = PLACEHOLDER.split(text)
    for index, piece in enumerate(pieces):
        if index % 2:
            yield pictures[int(piece or 1) - 1]
        elif piece.strip():
            yield piece


class Questions(Protocol[QuestionPredictions]):
    """The questions of a table about its images."""

    name = "questions"
    prompts = tuple(dict.fromkeys(PROMPTS.values()))
    summary = "The model answers the questions of a table about its images."
    sample_view = SampleView(
        lambda _: {LABELS: ("correct", "target")},
        unit="question",
        question=lambda row: _shown_question(row),
        slots=lambda row: _shown_slots(row),
    )
    prompt_kinds: ClassVar[Mapping[str, str]] = {name: name for name in PROMPTS.values()}
    requires = ("generator",)
    replays = name
    options = (KIND, TOLERANCE, MAPPING, TEXT_ENCODER, CIRCULAR, SHUFFLE, PROMPT, parser_option(), MAX_TOKENS)
    benchmarks = ("questions/*",)
    metrics = (accuracy,)
    steps = (resolve_kinds, option_orders, _build_request, read_answer)

    def unused_options(self, options: OptionValues, *, replayed: bool) -> set[str]:
        """Return the options that have no effect on answers of a file, or without a mapping by text embedding."""
        unused = {"max_tokens"} if replayed else set()
        return unused | ({"text_encoder"} if options["mapping"] == "inclusion" else set())

    def unavailable(self, context: Context) -> str:
        """Return why a file of answers cannot be read: it has one answer to each question."""
        replayed = f"said:{self.replays}" if context.spec.startswith("replay[") else ""
        if replayed and context.options["circular"] == "true":
            return "a file of answers has one answer to each question. Leave out questions.circular=true."
        return ""

    def open_in_memory(self, data: Any, benchmark: str, split: str) -> Dataset:
        """Return the questions of a data frame."""
        from eyechart.questions.data.open_questions import open_question_frame

        return open_question_frame(data, benchmark, split)

    def predict(self, context: Context) -> QuestionPredictions:
        """Ask every question in every order of its options, and read the answers."""
        _check_tolerance(context.options["tolerance"], None)
        questions = find_questions(context.dataset)
        kinds = resolve_kinds(questions.questions, context.options["kind"])
        prompts = {kind: select_prompt(context, kind, questions) for kind in KINDS if kind in kinds}
        shuffle, circular = context.options["shuffle"], context.options["circular"] == "true"
        shown = [
            (row, reorder(question, order))
            for row, question in enumerate(questions.questions)
            for order in option_orders(question, shuffle, circular=circular)
        ]
        requests = [_build_request(context, question, kinds[row], prompts[kinds[row]]) for row, question in shown]
        pictures = replace(context, dataset=_asked_pictures(context.dataset, questions))
        responses = ask(pictures, requests, lambda: _replayed(context, [row for row, _ in shown]))
        answers = tuple(
            _answer(context, row, question, kinds[row], response)
            for (row, question), response in zip(shown, responses.responses, strict=True)
        )
        if context.options["mapping"] == "nearest":
            answers = _read_nearest(context, answers, kinds)
        return QuestionPredictions(
            questions=questions,
            kinds=kinds,
            answers=answers,
            variant=_variant(context, prompts),
            usage=responses.usage,
            cost=context.model.cost(responses.usage),
            seed=context.runner.seed,
        )


def _shown_question(row: Line) -> str:
    order = f" (order {int(row['order']) + 1})" if row["order"] else ""
    return f"{row['question']}{order}"


def _shown_slots(row: Line) -> Asked:
    """Return the prompt of a row of the sample table, and what its slots hold."""
    hint = f"{row['hint']}\n" if row["hint"] else ""
    slots = {
        "question": row["question"],
        "options": listed_options([*filter(None, row["options"].split(";"))]),
        "hint": hint,
    }
    return PROMPTS[row["kind"]], slots


def select_prompt(context: Context, kind: str, questions: QuestionSet) -> Prompt:
    """Return the prompt of a kind of answer, which the option `prompt` may replace.

    Raises SpecError if it has no slot for the question, or for options or hints that the questions have.
    """
    name = context.options["prompt"]
    prompt = get_prompt(PROMPTS[kind] if name == OWN else name)
    known = {"question", "options", "hint"}
    needed = {"question"}
    needed |= {"options"} if any(question.options for question in questions.questions) else set()
    needed |= {"hint"} if any(question.hint for question in questions.questions) else set()
    if name != OWN and not needed <= {*prompt.slots} <= known:
        listed, slots = (", ".join(f"{{{slot}}}" for slot in sorted(group)) for group in (needed, prompt.slots))
        raise SpecError(f"{context.flag('prompt')} has the slots {slots or 'none'}. The questions need: {listed}.")
    return prompt


def _asked_pictures(dataset: Dataset, questions: QuestionSet) -> Dataset:
    """Return the pictures of the questions; each is the blank if the data set has one instead of its images."""
    if dataset.with_images is None:
        return questions.pictures
    digest = dataset.index[0].sha256
    index = tuple(type(row)(row.key, row.file, digest, row.label) for row in questions.pictures.index)
    return replace(questions.pictures, index=index, source=dataset.source)


def _replayed(context: Context, rows: Sequence[int]) -> list[Response]:
    """Return the responses of a file of answers."""
    responses = context.replayed_words.responses(context.dataset)
    return [responses[row] for row in rows]


def _answer(context: Context, row: int, question: Question, kind: str, response: Response) -> Answered:
    """Return the reading of a response."""
    if response.error:
        return Answered(row, question, UNREAD, response.display_text, response.error)
    text = response.text if response.finished else complete_part(kind, response.text)
    parser, tolerance = context.options["parser"], context.options["tolerance"]
    reading = UNREAD if response.is_all_thinking else read_answer(kind, question, text, parser, tolerance)
    truncated = not response.finished and reading == UNREAD
    return Answered(row, question, reading, response.display_text, truncated=truncated)


def _variant(context: Context, prompts: Mapping[str, Prompt]) -> dict[str, str]:
    """Return the options, the prompts by kind and the parsers, as the record stores them."""
    for prompt in prompts.values():
        context.prompts[prompt.sha256] = prompt
    named = dict.fromkeys(f"{prompt.name} ({prompt.sha256[:8]})" for prompt in prompts.values())
    parsers = f"questions {VERSION}, letter {letter.VERSION}, yes_no {yes_no.VERSION}, number {number.VERSION}"
    return {**context.options, "prompt": ", ".join(named), "parser_version": parsers, **context.extra_variant}


def _read_nearest(context: Context, answers: Sequence[Answered], kinds: Sequence[str]) -> tuple[Answered, ...]:
    """Return the answers, with those in sentences read as the nearest of all answers of the table to such questions.

    An error, and an answer without words or that there is no image, stays as it is.
    """
    encoder = text_encoder(context)

    def encode(texts: Sequence[str]) -> Floats:
        return text_features(context, encoder, texts)

    asked = [number for number, answer in enumerate(answers) if kinds[answer.row] == TEXT and _has_words(answer)]
    given = [text for answer in answers if kinds[answer.row] == TEXT for text in answer.question.answers]
    candidates, found = [*dict.fromkeys(given)], [*answers]
    if asked:
        texts = [answers[number].response.strip() for number in asked]
        cosines = cosine_similarity(class_weights(encode, texts, BARE), class_weights(encode, candidates, BARE))
        for number, best in zip(asked, cosines.argmax(axis=1).tolist(), strict=True):
            nearest = candidates[best]
            reading = Reading(nearest, float(nearest in answers[number].question.answers))
            found[number] = answers[number]._replace(reading=reading)
    return tuple(found)


def _has_words(answer: Answered) -> bool:
    """Return whether there is an answer to compare; a truncated one without a complete line has none."""
    unread = answer.truncated or (answer.reading == UNREAD and not answer.response.strip())
    return not answer.error and not unread and not lacks_image(answer_text(answer.response))
