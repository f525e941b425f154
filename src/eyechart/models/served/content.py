"""Reads the content of a response, in every form that servers have for it.

A content is a text, a list of parts, or nothing. Parts are texts, thinking (Mistral, Anthropic and what passes their
answers on; Google marks it with `thought`), refusals, or others, such as references. Numbers may be of another type
than the provider's documentation says.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from eyechart.models.types import Usage

TEXTS = frozenset({"", "text", "output_text"})
THINKING = ("thinking", "reasoning", "thought")  # one of them is in the type of a part of thinking
HOLDERS = ("text", "thinking", "reasoning", "content", "summary", "value")  # fields that hold the text of a part


@dataclass(frozen=True)
class _Content:
    """The text of an answer, the thinking before it, a refusal, and the types of parts that are none of these."""

    text: str = ""
    thinking: str = ""
    refusal: str = ""
    others: tuple[str, ...] = ()

    @property
    def missing_text(self) -> str:
        """What is there instead of a text, thinking or refusal, "" if one of them is there or nothing at all."""
        if self.text or self.thinking or self.refusal:
            return ""
        return ", ".join(dict.fromkeys(self.others))


def read_content(value: Any) -> _Content:
    """Return the content of a response.

    >>> read_content([{"type": "thinking", "thinking": [{"type": "text", "text": "Fins."}]}, {"text": "B"}])
    _Content(text='B', thinking='Fins.', refusal='', others=())
    >>> read_content(None), read_content([{"type": "image_url"}]).missing_text
    (_Content(text='', thinking='', refusal='', others=()), 'image_url')
    """
    if isinstance(value, list):
        return _join(map(read_content, value))
    if isinstance(value, Mapping):
        return _read_part(value)
    if isinstance(value, bool):
        return _Content(others=("true" if value else "false",))
    if isinstance(value, int | float):  # an answer in JSON that the server read as such
        return _Content(json.dumps(value))
    return _Content(value if isinstance(value, str) else "")


def _read_part(part: Mapping[str, Any]) -> _Content:
    kind = part["type"].lower() if isinstance(part.get("type"), str) else ""
    if part.get("thought") is True or any(word in kind for word in THINKING):
        return _Content(thinking=flatten(part))
    if part.get("refusal") or kind == "refusal":
        return _Content(refusal=flatten(part.get("refusal")) or "without a reason")
    if kind in TEXTS and "text" in part:
        return _Content(flatten(part["text"]))
    if kind in ("", "message") and isinstance(part.get("content"), str | list):
        return read_content(part["content"])
    return _Content(others=(kind or f"an object with the fields {', '.join(map(str, part))}",))


def _join(contents: Iterable[_Content]) -> _Content:
    """Return the content of several parts: texts are one text, and thoughts are apart from each other."""
    parts = [*contents]
    return _Content(
        "".join(part.text for part in parts),
        "\n".join(part.thinking for part in parts if part.thinking),
        " ".join(part.refusal for part in parts if part.refusal),
        tuple(kind for part in parts for kind in part.others),
    )


def flatten(value: Any) -> str:
    """Return the text within parts of one kind.

    >>> flatten({"type": "text", "text": {"value": "B"}}), flatten(["Fins", {"text": "."}]), flatten(None)
    ('B', 'Fins.', '')
    """
    if isinstance(value, list):
        return "".join(map(flatten, value))
    if isinstance(value, Mapping):
        return next(filter(None, (flatten(value[name]) for name in HOLDERS if name in value)), "")
    return value if isinstance(value, str) else ""


def get_object(value: Any, name: str) -> Mapping[str, Any]:
    """Return a field that is an object, empty if it is something else or not there."""
    field = value.get(name) if isinstance(value, Mapping) else None
    return field if isinstance(field, Mapping) else {}


def get_list(value: Mapping[str, Any], name: str) -> list[Any]:
    """Return a field that is a list, empty if it is something else or not there."""
    field = value.get(name)
    return field if isinstance(field, list) else []


def get_text(value: Mapping[str, Any], name: str) -> str:
    """Return a field that is a text, "" if it is something else or not there."""
    field = value.get(name)
    return field if isinstance(field, str) else ""


def get_usage(response: Mapping[str, Any], prompt: str, answer: str) -> Usage:
    """Return the token counts of a response of one of OpenAI's APIs; they call the prompt and the answer differently.

    >>> response = {"usage": {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 8}, "output_tokens": 2}}
    >>> get_usage(response, "input", "output")
    Usage(prompt=9, cached=8, answer=2, thinking=0)
    """
    usage = get_object(response, "usage")
    return Usage(
        get_count(usage, f"{prompt}_tokens"),
        get_count(get_object(usage, f"{prompt}_tokens_details"), "cached_tokens"),
        get_count(usage, f"{answer}_tokens"),
        get_count(get_object(usage, f"{answer}_tokens_details"), "reasoning_tokens"),
    )


def get_count(value: Mapping[str, Any], name: str) -> int:
    """Return a field that is a number of tokens, 0 if it is something else or not there.

    >>> get_count({"prompt_tokens": 12.0}, "prompt_tokens"), get_count({"prompt_tokens": None}, "prompt_tokens")
    (12, 0)
    """
    field = value.get(name)
    if isinstance(field, str) and field.isdecimal():
        return int(field)
    return int(field) if isinstance(field, int | float) and 0 <= field < float("inf") else 0
