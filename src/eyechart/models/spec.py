"""Model specifications: `backend[argument,option=value,…]`, the grammar of Mill.

>>> parse_spec("open_clip[ViT-B-32, pretrained=laion2b_s34b_b79k]")
ModelSpec(backend='open_clip', arguments=('ViT-B-32',), options={'pretrained': 'laion2b_s34b_b79k'}, alias='')
>>> str(parse_spec("clip[path=ViT-B-32,pretrained=openai]"))
'open_clip[ViT-B-32,pretrained=openai]'
>>> str(parse_spec("Qwen/Qwen3-VL-2B-Instruct[dtype=bfloat16]"))
'hf[Qwen/Qwen3-VL-2B-Instruct,dtype=bfloat16]'
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from unicodedata import normalize

from eyechart.errors import SpecError
from eyechart.messages.suggestions import did_you_mean
from eyechart.samples.files import packaged

WHOLE = re.compile(r"(?P<head>[^\[\],=]+?)\s*(?:\[(?P<body>.*)\])?", re.DOTALL)
NAMED = re.compile(r"(?P<alias>[^\[=]*)=(?P<spec>.*)", re.DOTALL)
ALIAS = re.compile(r"[^\W_][\w.-]*")
FILE = re.compile(r"(?P<folder>.*)/(?P<module>[^/:]+?)(?:\.py)?:(?P<name>[^\W\d]\w*)")
WEIGHT_SUFFIXES = (".safetensors", ".pt", ".pth", ".bin", ".ckpt", ".tar", ".npz")
PACKAGED_MODELS: Mapping[str, tuple[str, ...]] = {
    "open_clip": ("toybox-clip", "toybox-clip-b"),
    "hf": ("toybox-mllm",),
    "vllm": ("toybox-mllm",),
}
OPTION = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*)\s*=\s*(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class ModelSpec:
    """The specification of a model; `str` is the canonical spelling, `name` its name in cases and baselines."""

    backend: str
    arguments: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    alias: str = ""

    @property
    def name(self) -> str:
        """Return the alias, or the canonical spelling of a model without one."""
        return self.alias or str(self)

    def __str__(self) -> str:
        parts = [*self.arguments, *(f"{name}={value}" for name, value in sorted(self.options.items()))]
        return f"{self.backend}[{','.join(parts)}]"

    def __hash__(self) -> int:
        return hash(str(self))

    def check(self, *, arguments: int, options: Collection[str]) -> None:
        """Raise SpecError for more than `arguments` positional arguments or an unknown option.

        An option NAME.KEY stands for every option that begins with NAME and a dot.
        """
        if len(self.arguments) > arguments:
            raise SpecError(f"'{self}' has {len(self.arguments)} plain arguments; {self.backend} takes {arguments}.")
        for name in self.options:
            if name not in options and f"{name.partition('.')[0]}.KEY" not in options:
                hint = did_you_mean(name, [*options])
                raise SpecError(
                    f"'{self}' has the option '{name}', which {self.backend} does not know{hint} "
                    f"Its options are: {', '.join(options) or 'none'}."
                )


def split_outside_brackets(body: str, separator: str = ",") -> Iterator[str]:
    """Yield the parts between separators that are outside brackets. Raises SpecError for unbalanced brackets.

    >>> list(split_outside_brackets("open_clip[a,b=c]+conse[]", "+"))
    ['open_clip[a,b=c]', 'conse[]']
    """
    depth, start = 0, 0
    for index, letter in enumerate(body):
        depth += (letter == "[") - (letter == "]")
        if depth < 0:
            raise SpecError(f"'[{body}]' closes a bracket that it never opened.")
        if letter == separator and depth == 0:
            yield body[start:index].strip()
            start = index + 1
    if depth:
        raise SpecError(f"'[{body}]' leaves a bracket open.")
    yield body[start:].strip()


def parse_spec(text: str) -> ModelSpec:
    """Parse a specification, in our spelling or Mill's. Raises SpecError if it cannot be parsed."""
    match = WHOLE.fullmatch(text.strip())
    if not match:
        raise SpecError(
            f"The model '{text}' cannot be read. Expected backend[argument,option=value,…], "
            "such as open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]."
        )
    arguments: list[str] = []
    options: dict[str, str] = {}
    for piece in split_outside_brackets(match["body"] or ""):
        option = OPTION.fullmatch(piece)
        if option and option["name"] in options:
            raise SpecError(f"The model '{text}' has the option '{option['name']}' twice.")
        if option:
            options[option["name"]] = option["value"]
        elif piece:
            arguments.append(piece)
    return _canonical_spec(match["head"].strip(), arguments, options)


def parse_named_spec(text: str) -> ModelSpec:
    """Return the specification in NAME=SPEC or SPEC, with NAME as its alias.

    >>> parse_named_spec("prod=open_clip[local-dir:weights]").name
    'prod'
    >>> parse_named_spec("clip[path=ViT-B-32]").name
    'open_clip[ViT-B-32]'
    """
    match = NAMED.fullmatch(text)
    if match is None:
        return parse_spec(text)
    return replace(parse_spec(match["spec"]), alias=parse_alias(match["alias"].strip(), f"The model '{text}'"))


def parse_alias(alias: str, subject: str) -> str:
    """Return the name of a model, composed (NFC), so that a name typed on macOS is the same one.

    `subject` begins the sentence of the SpecError for another form.

    >>> parse_alias("größe-2", "The option")
    'größe-2'
    """
    alias = normalize("NFC", alias)
    if not ALIAS.fullmatch(alias):
        raise SpecError(
            f"{subject} has the name '{alias}'. Expected letters, digits, '_', '.' and '-', and the "
            "first is a letter or a digit, such as prod=open_clip[local-dir:weights]."
        )
    return alias


def _canonical_spec(head: str, arguments: list[str], options: dict[str, str]) -> ModelSpec:
    """Return a specification in our spelling: `clip[path=X]` is open_clip, a hub name is a transformers model."""
    if head == "clip":
        path = options.pop("path", "")
        if OPTION.fullmatch(path):
            raise SpecError(f"The path '{path}' in clip[path=…] reads like an option. Write ./{path} instead.")
        return ModelSpec("open_clip", tuple([path, *arguments] if path else arguments), options)
    if "/" in head and (file := FILE.fullmatch(head)):
        raise SpecError(
            f"The model '{head}' names a class in a file. Expected a module: run the command in the folder "
            f"{file['folder']}, and write {file['module']}:{file['name']}[…]."
        )
    if "/" in head:
        return ModelSpec("hf", (head, *arguments), options)
    return ModelSpec(head, tuple(arguments), options)


def is_path(text: str) -> bool:
    """Return whether a text is a path, by its spelling alone, so that a folder named `openai` changes nothing."""
    return "/" in text or text.startswith("~") or text.endswith(WEIGHT_SUFFIXES)


def packaged_folder(spec: ModelSpec) -> Path | None:
    """Return the folder of the packaged model that a specification names, if it names one.

    >>> packaged_folder(parse_spec("vllm[toybox-mllm]")).name, packaged_folder(parse_spec("vllm[./toybox-mllm]"))
    ('toybox-mllm', None)
    """
    name = "".join(spec.arguments)
    return packaged(name) if name in PACKAGED_MODELS.get(spec.backend, ()) else None
