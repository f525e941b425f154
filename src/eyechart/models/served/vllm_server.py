"""vLLM's own server, which gives log-probabilities too: `vllm_server[MODEL,base_url=http://localhost:8000/v1]`.

Each choice is sent as the answer that the chat template writes after the request, and the server returns the
log-probability of every token of that prompt. It reads the whole prompt for every choice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import msgspec
import numpy as np

from eyechart.errors import ModelError, RequestError
from eyechart.models.choices.trie import ExhaustiveScorer, truncate_to_unique
from eyechart.models.served.api import Api, Completion, decode
from eyechart.models.served.failures import build_probe
from eyechart.models.served.openai import OpenAiGenerator
from eyechart.models.served.openai_chat import ChatCompletions, parse_completion
from eyechart.models.types import Answer, Floats, Request, Until

TRIED = ("x", "7")  # answers that differ in all tokens, so that what their prompts end alike in is the end of a turn


@dataclass(frozen=True)
class _ReadPrompt(Answer):
    """An answer with the tokens of its prompt and their log-probabilities, that of the first unknown."""

    prompt: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()


class _TokenLogprob(msgspec.Struct):
    """The log-probability of a token."""

    logprob: float


class _PromptCompletion(msgspec.Struct):
    """The fields of vLLM's completion that describe the prompt."""

    prompt_token_ids: list[int] | None = None
    prompt_logprobs: list[dict[str, _TokenLogprob] | None] | None = None


class _VllmChatCompletions(ChatCompletions):
    """Chat Completions with what vLLM adds to them."""

    def write_turn(self, request: Request, choice: str | None) -> Mapping[str, Any]:
        """Return a request for the log-probabilities of the prompt with a choice as its answer, None for the prompt."""
        body = dict(self.write(request, 1, None)) | {"return_token_ids": True}
        if choice is None:
            return body
        messages = [*body["messages"], {"role": "assistant", "content": choice}]
        return body | {"messages": messages, "add_generation_prompt": False, "prompt_logprobs": 0}

    def parse(self, body: bytes) -> Completion:
        """Return the completion in the body of a response, with its prompt if that was asked for."""
        completion = parse_completion(body)
        read = decode(body, _PromptCompletion)
        if not read.prompt_token_ids or completion.answer.error:
            return completion
        prompt, tokens = tuple(read.prompt_token_ids), read.prompt_logprobs or []
        logprobs = tuple(
            entry[str(token)].logprob if entry else 0.0 for token, entry in zip(prompt, tokens, strict=False)
        )
        answer = completion.answer
        return Completion(_ReadPrompt(answer.text, (), answer.finished, "", False, answer.usage, "", prompt, logprobs),
                          completion.model)  # fmt: skip


class VllmServerGenerator(OpenAiGenerator, ExhaustiveScorer):
    """Generates answers on a vLLM server, and scores given ones."""

    _api: _VllmChatCompletions

    def create_api(self) -> Api:
        """Return Chat Completions with what vLLM adds."""
        return _VllmChatCompletions(self.options)

    @property
    def scoring_obstacle(self) -> str:
        """Why there are no log-probabilities of answers, "" if there are."""
        return f"'{self.spec}' thinks: an answer alone has no log-probability." if self.thinks else ""

    def score(self, requests: Sequence[Request], choices: Sequence[str], *, until: Until = "end") -> Floats:
        """Return log-probabilities (n, choices) of every choice, up to its end of turn or its unique prefix."""
        scores, errors = np.empty((len(requests), len(choices)), np.float32), dict[int, str]()
        for row, request in enumerate(requests if choices else ()):
            try:
                scores[row] = self._score(request, choices, until)
            except RequestError as error:
                errors[row] = str(error)
        if errors:
            raise RequestError(errors)
        return scores

    def _score(self, request: Request, choices: Sequence[str], until: Until) -> list[float]:
        names = [*dict.fromkeys(choices)]
        prompt, *answers = self._read(request, [None, *names])
        start, tail = len(prompt.prompt), self._tail
        if any(answer.prompt[:start] != prompt.prompt for answer in answers):
            raise ModelError(
                f"The chat template of '{self.spec}' writes an earlier answer in another way than a new one, so that "
                "its server cannot score choices. Use vllm[FOLDER] with the same checkpoint."
            )
        ends = [len(answer.prompt) - len(tail) + 1 for answer in answers]
        rows = [answer.prompt[start:end] for answer, end in zip(answers, ends, strict=True)]
        cut = truncate_to_unique(rows) if until == "unique" else rows
        sums = {
            name: sum(answer.logprobs[start : start + len(row)])
            for name, answer, row in zip(names, answers, cut, strict=True)
        }
        return [sums[choice] for choice in choices]

    @cached_property
    def _tail(self) -> tuple[int, ...]:
        """The tokens that the chat template writes after an answer; the first ends the turn."""
        first, second = (answer.prompt[::-1] for answer in self._read(Request(("?",)), TRIED))
        shared = next(index for index, pair in enumerate(zip(first, second, strict=False)) if pair[0] != pair[1])
        if not shared:
            raise ModelError(
                f"The chat template of '{self.spec}' writes nothing after an answer, so that its server cannot score "
                "the end. Use vllm[FOLDER] with the same checkpoint."
            )
        return first[:shared][::-1]

    def _read(self, request: Request, choices: Sequence[str | None]) -> list[_ReadPrompt]:
        """Return the prompts with some choices. Raises RequestError for the first that the server cannot read."""
        read: dict[int, _ReadPrompt] = {}
        _ = self._line  # which creates the API
        probe = build_probe(partial(self._api.write_turn, choice=None), has_images=bool(request.images))
        writes = (partial(self._api.write_turn, request, choice) for choice in choices)
        for index, answer in self._answers(writes, probe):
            if answer.error:
                raise RequestError({0: answer.error})
            if not isinstance(answer, _ReadPrompt) or (choices[index] is not None and not answer.logprobs):
                raise ModelError(
                    f"The server of '{self.spec}' gives no log-probabilities of prompts (prompt_logprobs). Serve the "
                    "model with vLLM, or use openai[…] for cases that need none."
                )
            read[index] = answer
        return [read[index] for index in range(len(choices))]
