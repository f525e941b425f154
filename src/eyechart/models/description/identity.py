"""Descriptions of models: what protocols read of a model beside its answers.

A run writes the description of each model beside the answers. With `--eye-stored` a model is made from its description
alone, so that answers are scored without weights and without the packages of the model.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import ModelError
from eyechart.files.atomic import write_atomic
from eyechart.messages.plurals import count_of
from eyechart.models.registry import INTERFACES
from eyechart.models.spec import ModelSpec, parse_spec
from eyechart.models.types import (
    Classifier,
    Encoder,
    Generator,
    Head,
    Identity,
    Model,
    Neighbours,
    Probe,
    Scorer,
    Usage,
)

FOLDER = "models"
MILLION = 1_000_000


class _NeighboursDescription(msgspec.Struct, frozen=True):
    """The vote of a k-NN model, and its encoder."""

    k: int
    weights: str
    support_split: tuple[str, str]
    encoder: "ModelDescription"


class _ProbeDescription(msgspec.Struct, frozen=True):
    """The fit of a linear probe, and its encoder."""

    c: float | None
    validation: float
    support_split: tuple[str, str]
    encoder: "ModelDescription"


class ModelDescription(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model without its weights. `prices` are USD for a million tokens of each kind of `Usage`."""

    spec: str
    identity: Identity
    owner: str = ""
    interfaces: tuple[str, ...]
    batch_size: int = 1
    thinks: bool = False
    structured: bool = False
    scoring_obstacle: str = ""
    templates: str = ""
    head: tuple[int, bool] | None = None
    head_names: tuple[str, ...] = ()
    prices: Mapping[str, float] = {}
    note: str = ""
    late_files: tuple[str, ...] = ()
    neighbours: _NeighboursDescription | None = None
    probe: _ProbeDescription | None = None

    @property
    def encoder(self) -> "ModelDescription | None":
        """The description of the encoder that answers for the model, None for a model that answers itself."""
        asked = self.neighbours or self.probe
        return asked.encoder if asked else None


def describe(model: Model) -> ModelDescription:
    """Return the description of a model that `registry.create_model` made; no weights are loaded.

    Its device is that where the model answered.
    """
    head = model.head if isinstance(model, Classifier) else None
    return ModelDescription(
        spec=str(model.made_from),
        identity=model.remote_identity or model.identity,
        owner=model.owner,
        interfaces=tuple(name for name, interface in INTERFACES.items() if isinstance(model, interface)),
        batch_size=model.batch_size,
        thinks=isinstance(model, Generator) and model.thinks,
        structured=isinstance(model, Generator) and model.structured,
        scoring_obstacle=model.scoring_obstacle if isinstance(model, Scorer) else "",
        templates=model.templates if isinstance(model, Encoder) else "",
        head=(head.outputs, head.imagenet) if head else None,
        head_names=head.names if head else (),
        prices=dict(_describe_prices(model)),
        note=model.model_note,
        late_files=tuple(sorted(model.late_files)),
        neighbours=_describe_neighbours(model) if isinstance(model, Neighbours) else None,
        probe=_describe_probe(model) if isinstance(model, Probe) else None,
    )


def _describe_prices(model: Model) -> Iterator[tuple[str, float]]:
    """Yield the kinds of tokens that cost something, with the cost of a million: the cost is a sum over kinds."""
    for kind in asdict(Usage()):
        if cost := model.cost(Usage(**{kind: MILLION})):
            yield kind, cost


def _describe_neighbours(model: Neighbours) -> _NeighboursDescription:
    """Return the description of a k-NN model's vote and encoder."""
    return _NeighboursDescription(model.k, model.weights, model.support_split, describe(model.encoder))


def _describe_probe(model: Probe) -> _ProbeDescription:
    """Return the description of a linear probe's fit and encoder."""
    return _ProbeDescription(model.c, model.validation, model.support_split, describe(model.encoder))


class DescribedModel(Model):
    """A model that is known by its description; its answers are in the store."""

    def __init__(self, description: ModelDescription) -> None:
        self.description = description
        self.made_from = parse_spec(description.spec)
        self.owner = description.owner
        self.late_files = frozenset(description.late_files)
        self.batch_size = description.batch_size
        if description.neighbours:
            voting = description.neighbours
            self.k, self.weights, self.support_split = voting.k, voting.weights, voting.support_split
        if description.probe:
            fit = description.probe
            self.c, self.validation, self.support_split = fit.c, fit.validation, fit.support_split
        if description.encoder:
            self.encoder = model_of(description.encoder)

    @property
    def identity(self) -> Identity:
        """The identity where the answers were made."""
        return self.description.identity

    @property
    def thinks(self) -> bool:
        """Whether answers begin with thinking."""
        return self.description.thinks

    @property
    def structured(self) -> bool:
        """Whether answers are held to a JSON schema."""
        return self.description.structured

    @property
    def scoring_obstacle(self) -> str:
        """Why there are no log-probabilities, "" if there are."""
        return self.description.scoring_obstacle

    @property
    def templates(self) -> str:
        """The name of the prompt templates that suit the model."""
        return self.description.templates

    @property
    def head(self) -> Head | None:
        """The outputs of a classifier, None if they are known only from its answers."""
        return Head(*self.description.head, self.description.head_names) if self.description.head else None

    @property
    def model_note(self) -> str:
        """The note of the model where it answers."""
        return self.description.note

    def cost(self, usage: Usage) -> float | None:
        """Return the cost of tokens in USD, None without prices."""
        prices, tokens = self.description.prices, asdict(usage)
        return sum(tokens[kind] * price for kind, price in prices.items()) / MILLION if prices else None


def _refuse_to_answer(_: str) -> Callable[..., Any]:
    """Return the method of a model that is not here, which raises ModelError."""

    def refuse(model: DescribedModel, *_: object, **__: object) -> Any:
        raise ModelError(f"{model.identity.name} is known by its description alone and cannot answer.")

    return refuse


def model_of(
    description: ModelDescription,
    base: type[DescribedModel] = DescribedModel,
    method: Callable[[str], Callable[..., Any]] = _refuse_to_answer,
) -> Any:
    """Return a model with the interfaces of a description; `method` makes its methods that answer, by name."""
    interfaces = [INTERFACES[name] for name in description.interfaces]
    bases = [kind for kind in interfaces if sum(issubclass(other, kind) for other in interfaces) == 1]
    abstract = {name for kind in bases for name in getattr(kind, "__abstractmethods__", ())} - {"identity"}
    methods = {name: method(name) for name in abstract}
    return type(base.__name__, (base, *bases), methods)(description)


def _description_path(store: Path, spec: str, identity: Identity, owner: str) -> Path:
    """Return the path of a description in a store: models with one specification and equal keys have one."""
    digest = sha256(msgspec.json.encode([spec, identity.in_key, owner], order="sorted")).hexdigest()
    return store / FOLDER / f"{digest}.json"


def write_description(store: Path, description: ModelDescription) -> None:
    """Write a description into a store, where its answers are."""
    path = _description_path(store, description.spec, description.identity, description.owner)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, msgspec.json.format(msgspec.json.encode(description, order="sorted")))


def read_description(store: Path, spec: ModelSpec, identity: Identity, owner: str) -> ModelDescription | None:
    """Return the description of a model in a store, None if there is none."""
    path = _description_path(store, str(spec), identity, owner)
    return read_file(path) if path.is_file() else None


def read_descriptions(store: Path) -> Iterator[ModelDescription]:
    """Yield the descriptions in a store. Raises ModelError for a file that is none."""
    yield from map(read_file, sorted((store / FOLDER).glob("*.json")))


def read_file(path: Path) -> ModelDescription:
    """Return the description in a file. Raises ModelError if there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ModelDescription)
    except (OSError, msgspec.DecodeError) as error:
        raise ModelError(f"The description of a model {path} cannot be read ({error}). Delete it.") from error


def find_descriptions(store: Path, spec: ModelSpec, command: str) -> list[ModelDescription]:
    """Return the descriptions of a model that answered, the last one first; others have other weights or libraries.

    Raises ModelError if there is none; `command` makes the answers.
    """
    specs, dtype = {str(spec), str(_without_dtype(spec))}, spec.options.get("dtype")
    matches = [
        description
        for description in read_descriptions(store)
        if description.spec == str(spec) or (description.spec in specs and dtype == description.identity.dtype)
    ]
    if not matches:
        raise ModelError(f"{spec}: no run with this model wrote to the store {store}. Make its answers with: {command}")

    def last_answer(match: ModelDescription) -> int:
        return _description_path(store, match.spec, match.identity, match.owner).stat().st_mtime_ns

    return sorted(matches, key=last_answer, reverse=True)


def _without_dtype(spec: ModelSpec) -> ModelSpec:
    """Return a specification without its option `dtype`."""
    options = {name: value for name, value in spec.options.items() if name != "dtype"}
    return ModelSpec(spec.backend, spec.arguments, options)


def describe_identity(identity: Identity) -> str:
    """Return what may distinguish models of one specification."""
    libraries = ", ".join(f"{name} {version}" for name, version in identity.in_key.libraries.items())
    return f"{identity.dtype}, weights {identity.weights_sha256[:8]} and {libraries}"


def describe_late_files(model: Model) -> str:
    """Return a sentence about the files that a model read only while it answered, "" if there are none."""
    files = sorted(name for name in model.late_files if Path(name).is_file())
    if not files:
        return ""
    first, *others = files
    more = f" and {count_of(len(others), 'other file')}" if others else ""
    return (
        f"the class opened {first}{more} only while it answered. Stored answers are used again even if this changes. "
        "Give the path as an option, open the file in the constructor, or put its sha256 into `identity`."
    )
