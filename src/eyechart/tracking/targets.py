"""The trackers by name: `NAME` or `NAME:PROJECT`, as `--eye-track` and `eyechart track --to` take them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Literal, cast

from eyechart.errors import SpecError
from eyechart.messages.install_commands import install_command
from eyechart.messages.suggestions import did_you_mean
from eyechart.tracking.tracker import Tracker

Name = Literal["mlflow", "trackio", "wandb"]  # the module of the client and the extra that installs it, too
TRACKERS: Mapping[Name, str] = {
    "mlflow": "eyechart.tracking.mlflow_tracker:MlflowTracker",
    "trackio": "eyechart.tracking.trackio_tracker:TrackioTracker",
    "wandb": "eyechart.tracking.wandb_tracker:WandbTracker",
}
PROJECT = "eyechart"


@dataclass(frozen=True)
class Target:
    """A tracker and the project in it."""

    name: Name
    project: str = PROJECT

    def __str__(self) -> str:
        return self.name if self.project == PROJECT else f"{self.name}:{self.project}"

    def make_tracker(self) -> Tracker:
        """Return a tracker for one run; its client is not yet imported."""
        return cast("Tracker", resolve_name(TRACKERS[self.name])())


def parse_targets(texts: Iterable[str]) -> tuple[Target, ...]:
    """Return the trackers of some texts, each with one or several separated by commas. Raises SpecError.

    >>> [str(target) for target in parse_targets(["wandb,mlflow:pets", "wandb"])]
    ['wandb', 'mlflow:pets']
    """
    return tuple(dict.fromkeys(parse_target(part.strip()) for text in texts for part in text.split(",")))


def parse_target(text: str) -> Target:
    """Return a tracker of a text. Raises SpecError for an unknown one, or one without a project after the colon."""
    name, colon, project = text.partition(":")
    if name not in TRACKERS:
        raise SpecError(
            f"'{name}' is not a tracker{did_you_mean(name, [*TRACKERS])} Trackers are {', '.join(TRACKERS)}."
        )
    if colon and not project:
        raise SpecError(f"'{text}' has no project after the colon. Expected NAME or NAME:PROJECT, such as {name}:pets.")
    return Target(cast("Name", name), project or PROJECT)


def check_targets(targets: Iterable[Target], *, offline: bool) -> None:
    """Raise SpecError if the client of a tracker is not installed, or needs the network that `offline` refuses."""
    for target in targets:
        client = find_spec(target.name)
        if client is None or client.origin is None:  # None of a folder of this name, where a client stores runs
            raise SpecError(
                f"{target.name} is a package that is not installed. Install it with: {install_command(target.name)}"
            )
        if offline:
            target.make_tracker().check()
