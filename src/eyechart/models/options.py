"""Options that a model specification may have, as fields of structs: `hf[PATH,NAME=VALUE]`.

A backend names its struct in `declared_options` and reads a specification with `read`. The type, bounds, choices,
default and explanation of each field say what is accepted, what a refusal expects, and what
`eyechart ls models --options` prints.

>>> from eyechart.models.spec import parse_spec
>>> class Settings(ModelOptions):
...     top: Annotated[Count, described("number of classes")] = 10
>>> Settings.read(parse_spec("my[top=3]")).top
3
>>> Settings.read(parse_spec("my[top=0]"))
Traceback (most recent call last):
...
eyechart.errors.SpecError: 'my[top=0]' has top=0. Expected a whole number of at least 1.
"""

import json
from collections.abc import Iterator
from math import isfinite
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args, get_origin

import msgspec
from msgspec import Meta, inspect

from eyechart.errors import SpecError
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.spec import ModelSpec

Count = Annotated[int, Meta(ge=1)]
Number = Annotated[int, Meta(ge=0)]
Fraction = Annotated[float, Meta(gt=0, le=1)]
Positive = Annotated[float, Meta(gt=0)]
Amount = Annotated[float, Meta(ge=0)]


def described(text: str, default: str = "", type: str = "") -> Meta:  # noqa: A002
    """Return the description of a field, and what its default and type are called if they do not say it themselves."""
    return Meta(description=text, extra={"default": default, "type": type})


DtypeOption = Annotated[
    Literal["float32", "bfloat16", "float16"] | None,
    described("precision of weights and computation", "bfloat16 on a GPU that supports it, else float32"),
]
BatchSize = Annotated[Count, described("number of images or texts in one forward pass")]


class _OptionRow(NamedTuple):
    """An option as text; one whose name ends in `.KEY` stands for all options that begin as it does."""

    name: str
    type: str
    default: str
    help: str


class ModelOptions(msgspec.Struct, kw_only=True):
    """The options of a specification."""

    @classmethod
    def read(cls, spec: ModelSpec, *, arguments: int = 1) -> Self:
        """Return the options of a specification that has at most `arguments` plain arguments.

        Raises SpecError for an unknown option, and for a value that an option cannot have.
        """
        spec.check(arguments=arguments, options=names_of(cls))
        values: dict[str, Any] = {}
        for field in msgspec.structs.fields(cls):
            if isinstance(_unwrap(field.type), inspect.DictType):
                values[field.name] = _read_keywords(spec, field.name)
            elif field.name in spec.options:
                values[field.name] = _read_value(spec, field.name, field.type)
        options = cls(**values)
        options.check(spec)
        return options

    def check(self, spec: ModelSpec) -> None:
        """Raise SpecError for options that exclude each other."""


def rows_of(options: type[ModelOptions]) -> list[_OptionRow]:
    """Return the options of a struct as text."""
    return [_row(field) for field in msgspec.structs.fields(options)]


def names_of(options: type[ModelOptions]) -> list[str]:
    """Return the names of the options of a struct."""
    return [row.name for row in rows_of(options)]


def precision_advice(options: type[ModelOptions], dtype: str) -> str:
    """Return what to do about NaN or infinity in answers of a model with these options in a precision.

    >>> class Settings(ModelOptions):
    ...     dtype: Annotated[str, described("precision")] = "float32"
    >>> precision_advice(Settings, "float16"), precision_advice(Settings, "float32")
    ('Try dtype=float32, and check the weights', 'Check the weights')
    """
    narrow = dtype != "float32" and "dtype" in names_of(options)
    return f"{'Try dtype=float32, and check' if narrow else 'Check'} the weights"


def _row(field: msgspec.structs.FieldInfo) -> _OptionRow:
    info = inspect.type_info(field.type)
    extra = (info.extra or {}) if isinstance(info, inspect.Metadata) else {}
    text = (info.extra_json_schema or {}).get("description", "") if isinstance(info, inspect.Metadata) else ""
    kinds = [*_kinds(field.type)]
    if isinstance(kinds[0], inspect.DictType):
        return _OptionRow(f"{field.name}.KEY", "JSON or text", "", text)
    match field.default:
        case None | msgspec.NODEFAULT:
            default = ""
        case bool():
            default = str(field.default).lower()
        case float():
            default = f"{field.default:g}"
        case value:
            default = str(value)
    type_name = extra.get("type") or " or ".join(map(_type_name, kinds))
    return _OptionRow(field.name, type_name, extra.get("default") or default, text)


def _unwrap(kind: Any) -> inspect.Type:
    info = inspect.type_info(kind)
    return info.type if isinstance(info, inspect.Metadata) else info


def _kinds(kind: Any) -> Iterator[inspect.Type]:
    """Yield the types that a text may become: None is the value of an option that is not given."""
    info = _unwrap(kind)
    for part in info.types if isinstance(info, inspect.UnionType) else (info,):
        if isinstance(part, inspect.LiteralType):
            yield inspect.LiteralType(_choices(kind))  # in their order; msgspec sorts them
        elif not isinstance(part, inspect.NoneType):
            yield part.type if isinstance(part, inspect.Metadata) else part


def _choices(kind: Any) -> tuple[Any, ...]:
    if get_origin(kind) is Literal:
        return get_args(kind)
    return tuple(value for part in get_args(kind) for value in _choices(part))


def _type_name(kind: inspect.Type) -> str:
    match kind:
        case inspect.IntType():
            return "whole number"
        case inspect.FloatType(gt=0, le=1):
            return "number from 0 to 1"
        case inspect.FloatType(gt=0):
            return "number above 0"
        case inspect.FloatType():
            return "number"
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType(values=values):
            return ", ".join(map(str, values))
    return "text"


def _expected(kind: inspect.Type) -> str:
    match kind:
        case inspect.IntType(ge=least, le=None):
            return f"a whole number of at least {least}"
        case inspect.IntType(ge=least, le=most):
            return f"a whole number from {least} to {most}"
        case inspect.FloatType(gt=0, le=1):
            return "a number above 0 and at most 1"
        case inspect.FloatType(ge=0):
            return "a number of at least 0"
        case inspect.LiteralType(values=values):
            words = [*map(str, values)]
            return " or ".join(words) if len(words) < 3 else f"one of {', '.join(words)}"
        case inspect.FloatType():
            return f"a {_type_name(kind)}"
    return _type_name(kind)


def _read_value(spec: ModelSpec, name: str, kind: Any) -> Any:
    text, kinds = spec.options[name], [*_kinds(kind)]
    for part in kinds:
        try:
            return msgspec.convert(_parse(text, part), kind)
        except ValueError:  # msgspec's ValidationError is one, too
            continue
    words = [str(value) for part in kinds if isinstance(part, inspect.LiteralType) for value in part.values]
    expected = " or ".join(map(_expected, kinds))
    raise SpecError(f"'{spec}' has {name}={text}. Expected {expected}{did_you_mean(text, words)}")


def _parse(text: str, kind: inspect.Type) -> Any:
    """Return a text as a value of a type; bounds and choices are still to be checked. Raises ValueError."""
    match kind:
        case inspect.IntType():
            if not (text.isascii() and text.isdigit()):
                raise ValueError
            return int(text)
        case inspect.FloatType():
            if not isfinite(value := float(text)):
                raise ValueError
            return value
        case inspect.BoolType():
            return {"true": True, "false": False}.get(text, text)
    return text


def _read_keywords(spec: ModelSpec, option: str) -> dict[str, Any]:
    """Return the options NAME.KEY=VALUE as a mapping; a value is read as JSON where it is, else as text."""
    keywords: dict[str, Any] = {}
    for name, text in spec.options.items():
        first, *keys = name.split(".")
        if first != option or not keys:
            continue
        level = keywords
        for key in keys[:-1]:
            level = level.setdefault(key, {})
            if not isinstance(level, dict):
                raise SpecError(f"'{spec}' gives {name} both a value and parts. Leave out one of them.")
        if keys[-1] in level:
            raise SpecError(f"'{spec}' gives {name} both a value and parts. Leave out one of them.")
        level[keys[-1]] = _json_or_text(text)
    return keywords


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
