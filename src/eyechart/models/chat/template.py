"""Requests in the chat template of a checkpoint: the settings of a specification, and whether the model thinks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from eyechart.errors import ModelError, SpecError
from eyechart.files.text_files import plain_text
from eyechart.models.options import ModelOptions, Number, described
from eyechart.models.spec import ModelSpec
from eyechart.parsers.thinking import END, START

SWITCHES = ("enable_thinking", "thinking")  # variables by which chat templates turn thinking on and off
FILES = ("*.jinja", "chat_template.json", "processor_config.json", "tokenizer_config.json")
Turns = Sequence[Mapping[str, Any]]


class ChatOptions(ModelOptions):
    """The options of a checkpoint with a chat template."""

    thinking: Annotated[
        Literal["on", "off"] | None,
        described("whether the model thinks before it answers", "what its chat template does"),
    ] = None
    thinking_budget: Annotated[
        Number | None,
        described("most tokens of thinking, after which the answer is forced to begin", "no limit"),
    ] = None
    chat_template_kwargs: Annotated[
        dict[str, Any],
        described("a variable of the chat template, as in chat_template_kwargs.enable_thinking=false"),
    ] = msgspec.field(default_factory=dict)
    system_prompt: Annotated[
        str,
        described("system prompt before every request: a text without commas and brackets, or a .txt file", "none"),
    ] = ""


@dataclass(frozen=True)
class ChatSettings:
    """The settings of prompts. `thinking` is on, off, or "" for what the chat template does by itself."""

    thinking: str = ""
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    system_prompt: str = ""
    thinking_budget: int | None = None

    @classmethod
    def from_options(cls, options: ChatOptions, spec: ModelSpec) -> "ChatSettings":
        """Return the settings in the options of a specification. Raises SpecError for a file that cannot be read."""
        return cls(
            options.thinking or "",
            options.chat_template_kwargs,
            _read_system_prompt(options.system_prompt, spec),
            options.thinking_budget,
        )

    @property
    def identity(self) -> dict[str, Any]:
        """The settings that are not at their defaults, for the model's identity."""
        settings = {
            "thinking": self.thinking,
            "chat_template_kwargs": dict(self.chat_template_kwargs),
            "system_prompt": self.system_prompt,
            "thinking_budget": self.thinking_budget,
        }
        return {name: value for name, value in settings.items() if value not in ("", {}, None)}


class ChatTemplate:
    """The chat template in a folder; `load` returns the processor."""

    def __init__(self, path: Path, settings: ChatSettings, load: Callable[[], Any]) -> None:
        self.path, self.settings, self._load = path, settings, load

    @cached_property
    def thinks(self) -> bool:
        """Whether answers begin with thinking: by the setting, or by what the chat template does.

        The processor is loaded only if a file of the template, or of tokens, has the word.
        """
        if self.settings.thinking == "off" and not self._switch:
            raise ModelError(
                f"thinking=off has no effect: the chat template in {self.path} has none of the variables "
                f"{', '.join(SWITCHES)}. Leave it out, or set its own variable with chat_template_kwargs.KEY=VALUE."
            )
        if self.settings.thinking:
            return self.settings.thinking == "on"
        if not self._mentions_thinking or self.opens_thinking:
            return self._mentions_thinking
        return bool(self._switch) and self._example() != self._example(**{self._switch: False})

    @property
    def _mentions_thinking(self) -> bool:
        texts = (path.read_text("utf-8", "replace") for name in FILES for path in self.path.glob(name))
        return any("think" in text.lower() for text in texts)

    @cached_property
    def opens_thinking(self) -> bool:
        """Whether the prompt ends in thinking that it opens, so that a completion has no opening tag."""
        begun = self._example().removeprefix(self._example(add_generation_prompt=False))
        *_, end = (0, *(match.end() for match in END.finditer(begun)))
        return bool(START.search(begun, end))

    @cached_property
    def _switch(self) -> str:
        """The variable that turns thinking on and off, "" if the template has none."""
        turn = self._turns(("?",))
        for name in SWITCHES:
            on, off = (self.write(turn, add_generation_prompt=True, **{name: value}) for value in (True, False))
            if on != off:
                return name
        return ""

    def write(self, turns: Turns, **variables: Any) -> str:
        """Return turns in the template with variables; variables that the template does not use are not passed."""
        processor = self._load()
        from jinja2 import TemplateError  # which transformers brings

        known = {name: value for name, value in variables.items() if name in str(processor.chat_template)}
        try:
            return str(processor.apply_chat_template(turns, tokenize=False, **known))
        except TemplateError as error:
            remedy = "Leave out system_prompt" if self.settings.system_prompt else "Correct it, or its variables"
            raise ModelError(f"The chat template in {self.path} refuses a prompt: {error}. {remedy}.") from error

    @cached_property
    def _variables(self) -> dict[str, Any]:
        for name in self.settings.chat_template_kwargs:
            if name not in str(self._load().chat_template):
                raise ModelError(
                    f"chat_template_kwargs.{name} has no effect: the chat template in {self.path} has no variable "
                    f"{name}. Correct the name, or leave it out."
                )
        switch = self.settings.thinking and self._switch
        chosen = {switch: self.settings.thinking == "on"} if switch else {}
        return {"add_generation_prompt": True, **self.settings.chat_template_kwargs, **chosen}

    def _example(self, **variables: Any) -> str:
        return self.write(self._turns(("?",)), **{**self._variables, **variables})

    def _turns(self, parts: Sequence[str | None]) -> Turns:
        """Return texts and images (None) as one turn of a user, after the system prompt."""
        content = [{"type": "image"} if part is None else {"type": "text", "text": part} for part in parts]
        system = [{"type": "text", "text": self.settings.system_prompt}]
        before = [{"role": "system", "content": system}] if self.settings.system_prompt else []
        return [*before, {"role": "user", "content": content}]

    @cached_property
    def render(self) -> Callable[[tuple[str | None, ...]], str]:
        """Return the function that renders texts and images (None); a template takes 3 ms, and most prompts recur."""

        @lru_cache(maxsize=128)
        def render(parts: tuple[str | None, ...]) -> str:
            return self.write(self._turns(parts), **self._variables)

        return render


def _read_system_prompt(text: str, spec: ModelSpec) -> str:
    """Return a system prompt, or that of the file that it names."""
    if not text.endswith(".txt"):
        return text
    path = Path(text).expanduser()
    try:
        return plain_text(path).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(
            f"'{spec}': the system prompt {path} cannot be read ({error}). Expected a text file."
        ) from error
