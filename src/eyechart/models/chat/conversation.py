"""Requests as prompts in a checkpoint's chat template, and tokens as answers; shared by `hf` and `vllm`.

Every request is one turn of a user, put by the checkpoint's chat template, and the answer is the turn after it.
"""

import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from eyechart.errors import ModelError, SpecError
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.chat.template import ChatSettings, ChatTemplate
from eyechart.models.choices.trie import Trie, truncate_to_unique
from eyechart.models.runtime import torch_runtime
from eyechart.models.spec import ModelSpec, packaged_folder
from eyechart.models.types import Answer, Generator, Identity, Request, Until, Usage
from eyechart.models.weights import hub_files, weight_source
from eyechart.parsers.thinking import OPENING, TAGS, is_tag

PLAIN_TEMPLATE = (
    "{% for m in messages %}{% for c in m.content %}{{ c.text if c.type == 'text' else '<image>' }}{% endfor %}"
    "{% endfor %}"
)
DEFAULT = ChatSettings()
EDGES = {"min_pixels": "shortest_edge", "max_pixels": "longest_edge"}  # of the size, which counts pixels
Inputs = Mapping[str, Any]  # names to torch tensors
FORMS = Path(__file__).with_name("prompt_forms.toml")  # of families without a chat template, by the model_type
TEMPLATE_FILE = "chat_template.jinja"
SETTINGS = ("chat_template.json", "processor_config.json", "tokenizer_config.json")


def find_checkpoint(spec: ModelSpec, *, offline: bool, code: bool = False) -> weight_source.WeightSource:
    """Return the folder of weights, tokenizer, processor and chat template that a specification names.

    With `code`, the Python files of the model are fetched, too.
    """
    path = packaged_folder(spec)
    return (
        weight_source.WeightSource(path)
        if path
        else hub_files.find_folder(spec.arguments[0], offline=offline, code=code)
    )


def build_identity(
    spec: ModelSpec,
    source: weight_source.WeightSource,
    dtype: str,
    device: str,
    libraries: Sequence[str],
    settings: ChatSettings,
    **more: Any,
) -> Identity:
    """Return the model's identity: weights, processor files, settings of prompts, and libraries.

    `more` are settings of the engine.
    """
    return Identity(
        backend=spec.backend,
        name=spec.arguments[0].rstrip("/").rpartition("/")[2],
        weights_sha256=weight_source.digest(*hub_files.weight_files(source.path)),
        revision=source.revision,
        dtype=dtype,
        device=device.partition(":")[0],
        processor={
            "files_sha256": hub_files.processor_files_sha256(source.path),
            **_form_identity(source.path),
            **settings.identity,
            **more,
        },
        libraries=torch_runtime.library_versions(*libraries),
    )


def check_has_name(spec: ModelSpec) -> None:
    """Raise SpecError for a specification without a model."""
    if not spec.arguments:
        name = spec.backend
        raise SpecError(f"'{spec}' names no model. Expected {name}[PATH], {name}[owner/name] or {name}[toybox-mllm].")


def thinking_obstacle(model: Generator, name: str) -> str:
    """Return why a model that thinks has no log-probabilities of answers, "" for another model."""
    if not model.thinks:
        return ""
    return (
        f"'{name}' thinks before it answers, so that an answer alone has no probability. "
        "Give it thinking=off, where its chat template knows that."
    )


class ChatProcessor:
    """The processor of a checkpoint: tokenizer, image processor and chat template."""

    def __init__(
        self,
        path: Path,
        settings: ChatSettings = DEFAULT,
        processor_kwargs: Mapping[str, Any] = MappingProxyType({}),
        *,
        trust_remote_code: bool = False,
    ) -> None:
        self.path, self.processor_kwargs, self.trust_remote_code = path, processor_kwargs, trust_remote_code
        self.template = ChatTemplate(path, settings, lambda: self._processor)
        self._last: tuple[tuple[str, ...], Until, Trie] | None = None

    @cached_property
    def _processor(self) -> Any:
        how = {"trust_remote_code": True} if self.trust_remote_code else {}
        processor = hub_files.load_processor("AutoProcessor", self.path, **how)
        if not getattr(processor, "chat_template", None):
            processor.chat_template = _find_template(self.path)
        if not processor.chat_template:
            raise ModelError(
                f"The folder {self.path} has no chat template: expected chat_template.jinja, or chat_template in "
                "processor_config.json or tokenizer_config.json, which say how a prompt is written. Take an "
                "instruction-tuned checkpoint; or write the form that the model was trained with, which its card "
                f"shows, into chat_template.jinja. For an image before plain words it is: {PLAIN_TEMPLATE}"
            )
        return processor

    @cached_property
    def image_kwargs(self) -> dict[str, Any]:
        """The settings of the image processor, with limits of pixels as the size that transformers takes.

        Raises SpecError for a setting that the image processor does not have, which transformers would ignore.
        """
        if not self.processor_kwargs:
            return {}
        processor = self._processor.image_processor
        known = sorted(processor.valid_kwargs.__annotations__)
        for name in self.processor_kwargs:
            if name not in known:
                raise SpecError(
                    f"The image processor of {self.path} has no setting '{name}'{did_you_mean(name, known)} "
                    f"It has {', '.join(known)}."
                )
        kwargs = dict(self.processor_kwargs)
        edges = {EDGES[name]: kwargs.pop(name) for name in EDGES if name in kwargs}
        if edges:
            kwargs["size"] = {edge: processor.size[edge] for edge in EDGES.values()} | edges
        return kwargs

    @cached_property
    def _tokenizer(self) -> Any:
        return self._processor.tokenizer

    @cached_property
    def stop_tokens(self) -> tuple[int, ...]:
        """The tokens that end an answer."""
        listed = _read_stops(self.path)
        own = self._tokenizer.eos_token_id
        return tuple(dict.fromkeys([*listed, *([own] if own is not None else [])]))

    @cached_property
    def end_token(self) -> int:
        """The token that ends a turn: the last one that the chat template adds after an answer, or the tokenizer's."""
        turns = [("user", "?"), ("assistant", ".")]
        talk = [{"role": role, "content": [{"type": "text", "text": text}]} for role, text in turns]
        written = self._encode(self._processor.apply_chat_template(talk, tokenize=False))
        last = [token for token in written if token in self.stop_tokens][-1:]
        if not last and self._tokenizer.eos_token_id is None:
            raise ModelError(f"The tokenizer in {self.path} names no end of turn (eos_token). Add it to its config.")
        return last[0] if last else int(self._tokenizer.eos_token_id)

    @cached_property
    def forced_start(self) -> tuple[int, ...]:
        """The token that every answer begins with (forced_bos_token_id), as BART was trained; none for most models."""
        token = hub_files.read_settings(self.path / "generation_config.json").get("forced_bos_token_id")
        return () if token is None else (int(token),)

    @property
    def padding_token(self) -> int:
        """The token that pads short prompts; the attention mask hides it."""
        token = self._tokenizer.pad_token_id
        return self.end_token if token is None else int(token)

    def render_prompt(self, request: Request) -> str:
        """Return a request in the chat template, up to where the answer begins; images are placeholders."""
        return self.template.render(tuple(part if isinstance(part, str) else None for part in request.parts))

    def tokenize_prompt(self, request: Request) -> list[int]:
        """Return the tokens of a request's prompt; each image is one placeholder."""
        return self._encode(self.render_prompt(request))

    def prepare_inputs(self, request: Request) -> Inputs:
        """Return the tensors of a batch of one request."""
        text = self.render_prompt(request)
        images: dict[str, Any] = {"images": [list(request.images)]} if request.images else {}
        if images and self.image_kwargs:
            images["images_kwargs"] = self.image_kwargs
        how = {"add_special_tokens": self._adds(text), "return_tensors": "pt"}
        return dict(self._processor(text=[text], **images, **how))

    def tokenize_choices(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return each whole answer as tokens, including the end of turn.

        They are read behind a prompt, where a tokenizer may cut them differently than alone; where prompt and answer
        would share a token, which no model can say, they are read alone.
        """
        before = self.render_prompt(Request(("?",)))
        start, adds = self._encode(before), self._adds(before)
        behind = self._tokenizer([before + text for text in texts], add_special_tokens=adds)["input_ids"]
        alone = self._tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        rows = [
            row[len(start) :] if row[: len(start)] == start else other for row, other in zip(behind, alone, strict=True)
        ]
        return [(*self.forced_start, *row, self.end_token) for row in rows]

    def build_trie(self, choices: Sequence[str], until: Until = "end") -> Trie:
        """Return the trie of whole answers, or of their shortest unique prefixes.

        The last one is kept, for the next request has mostly the same choices.
        """
        if self._last is None or self._last[:2] != (tuple(choices), until):
            rows = self.tokenize_choices(choices)
            self._last = (
                tuple(choices),
                until,
                Trie.from_choices(truncate_to_unique(rows) if until == "unique" else rows),
            )
        return self._last[2]

    def decode_answer(self, tokens: Sequence[int], prompt: int, cached: int = 0) -> Answer:
        """Return the answer to a prompt of `prompt` tokens, up to the first end of turn."""
        ends = [index for index, token in enumerate(tokens) if token in self.stop_tokens]
        answer_tokens = tuple(tokens[: ends[0] + 1] if ends else tokens)
        text = OPENING * self.template.opens_thinking + self._decode(answer_tokens)
        return Answer(text, answer_tokens, bool(ends), usage=Usage(prompt, cached, len(answer_tokens)))

    def _decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens without special ones, but with those that begin or end thinking."""
        parts = (
            self._tags.get(part[0]) or str(self._tokenizer.decode(part, skip_special_tokens=True))
            for part in _split_at(tokens, self._tags)
        )
        return "".join(parts)

    @cached_property
    def _tags(self) -> dict[int, str]:
        """The special tokens that begin or end thinking."""
        added = self._tokenizer.added_tokens_decoder.items()
        return {number: str(token) for number, token in added if token.special and is_tag(str(token))}

    @property
    def thinking_tags(self) -> tuple[str, str]:
        """The tokens that begin and end thinking. Raises ModelError for a tokenizer without them."""
        known = self._tokenizer.get_vocab()
        for pair in TAGS:
            if {*pair} <= known.keys():
                return pair
        raise ModelError(
            f"The tokenizer in {self.path} has none of the tokens {', '.join(first for first, _ in TAGS)}, so that "
            "thinking_budget cannot end thinking. Leave it out, and limit the whole answer with max_tokens."
        )

    @property
    def thinking_token_ids(self) -> tuple[int, int]:
        """The numbers of the tokens that begin and end thinking."""
        begin, end = self._tokenizer.convert_tokens_to_ids([*self.thinking_tags])
        return int(begin), int(end)

    def _encode(self, text: str) -> list[int]:
        read: list[int] = self._tokenizer(text, add_special_tokens=self._adds(text))["input_ids"]
        return read

    def _adds(self, text: str) -> bool:
        """Return whether the tokenizer adds its own start token; not where the template wrote it."""
        start = self._tokenizer.bos_token
        return start is None or not text.startswith(start)


def _split_at(tokens: Sequence[int], tags: Collection[int]) -> Iterator[Sequence[int]]:
    """Yield the parts of a list of tokens, in which each tag is a part of its own.

    >>> list(_split_at([7, 1, 8, 9], {1})), list(_split_at([7, 8], {}))
    ([[7], [1], [8, 9]], [[7, 8]])
    """
    start = 0
    for index, token in enumerate(tokens):
        if token in tags:
            yield from (part for part in (tokens[start:index], tokens[index : index + 1]) if part)
            start = index + 1
    if tokens[start:]:
        yield tokens[start:]


def _read_stops(path: Path) -> list[int]:
    """Return the end tokens in generation_config.json, or else in config.json."""
    config = hub_files.read_settings(path / "config.json")
    for settings in (hub_files.read_settings(path / "generation_config.json"), config, config.get("text_config", {})):
        tokens = settings.get("eos_token_id")
        if tokens is not None:
            return [tokens] if isinstance(tokens, int) else list(tokens)
    return []


@cache
def _read_forms() -> Mapping[str, str]:
    """Return the forms, Jinja templates, by the family's model_type."""
    return {family: form["template"] for family, form in tomllib.loads(FORMS.read_text(encoding="utf-8")).items()}


def _find_template(path: Path) -> str:
    """Return the template for a folder whose processor has none: its own file, or its family's form; "" without any."""
    file = path / TEMPLATE_FILE
    return file.read_text(encoding="utf-8") if file.exists() else _find_form(path)


def _find_form(path: Path) -> str:
    """Return the form of the family of a folder; "" if the folder has a chat template or its family has no form."""
    own = (path / TEMPLATE_FILE).exists() or any(
        hub_files.read_settings(path / name).get("chat_template") for name in SETTINGS
    )
    return "" if own else _read_forms().get(str(hub_files.read_settings(path / "config.json").get("model_type")), "")


def _form_identity(path: Path) -> dict[str, Any]:
    """Return the form as a part of the model's identity, which the files of a checkpoint do not hold."""
    form = _find_form(path)
    return {"prompt_form": form} if form else {}
