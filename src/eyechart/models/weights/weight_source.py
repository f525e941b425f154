"""Weight files: their location, hashes, and error messages for missing or unsuitable files."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.errors import ModelError
from eyechart.models.weights.digests import file_sha256

if TYPE_CHECKING:
    from torch import Tensor

_MAX_LISTED = 3  # keys of each kind in an error sentence
_LOADING = re.compile(r"(Missing key|Unexpected key|size mismatch for )(.*)")


@dataclass(frozen=True)
class WeightSource:
    """A file or folder of a model, and its hub commit (empty for a user's own files)."""

    path: Path
    revision: str = ""


def digest(*paths: Path) -> str:
    """Return the sha256 of a file's bytes, or one over the names and hashes of several files."""
    if len(paths) == 1:
        return _file_digest(paths[0])
    lines = sorted(f"{path.name}\t{_file_digest(path)}\n" for path in paths)
    return sha256("".join(lines).encode()).hexdigest()


def _file_digest(path: Path) -> str:
    try:
        return file_sha256(path)
    except OSError as error:
        raise ModelError(f"The weights file {path} cannot be read: {error.strerror}. Check the path.") from error


def find_local(text: str) -> WeightSource:
    """Return a file or folder that the user named."""
    path = Path(text).expanduser()
    if not path.exists():
        raise ModelError(f"The weights file {path} does not exist. Check the path in pretrained=… or in the name.")
    return WeightSource(path)


def hub_file(repo: str, names: Sequence[str], *, offline: bool) -> WeightSource:
    """Return the first file that a hub repository (`owner/name`, maybe `@revision`) has; a local copy is preferred."""
    from huggingface_hub import file_exists, hf_hub_download, try_to_load_from_cache

    repository, _, revision = repo.partition("@")
    with _asking(repository, names[-1], offline):
        for name in names:
            if isinstance(cached := try_to_load_from_cache(repository, name, revision=revision or None), str):
                return _found(cached)
        if offline:
            raise ConnectionError
        there = [name for name in names if file_exists(repository, name, revision=revision or None)]
        return _found(hf_hub_download(repository, (there or names)[0], revision=revision or None))


def hub_folder(repo: str, patterns: Sequence[str], *, offline: bool) -> WeightSource:
    """Return a folder with the files of a hub repository that match the patterns; a local folder is used as it is."""
    from huggingface_hub import snapshot_download

    if Path(repo).expanduser().is_dir():
        return WeightSource(Path(repo).expanduser())
    repository, _, revision = repo.partition("@")
    with _asking(repository, "", offline):
        folder = Path(
            snapshot_download(
                repository, revision=revision or None, allow_patterns=list(patterns), local_files_only=offline
            )
        )
    return WeightSource(folder, folder.name)


def _found(file: str) -> WeightSource:
    parts = Path(file).parts
    return WeightSource(Path(file), parts[parts.index("snapshots") + 1])


@contextmanager
def _asking(repo: str, name: str, offline: bool) -> Iterator[None]:
    from huggingface_hub.errors import HFValidationError

    try:
        yield
    except HFValidationError as error:
        raise ModelError(f"'{repo}' is neither a local path nor a name on the hub (owner/name). {error}") from error
    except Exception as error:  # whatever the hub's client or the network below it raises
        raise ModelError(_missing(repo, name, offline, error)) from error


def _missing(repo: str, name: str, offline: bool, error: Exception) -> str:
    what = f"{name} of {repo}" if name else f"The model {repo}"
    why = "--eye-offline forbids fetching it" if offline else f"fetching it failed ({_first_line(error)})"
    command = f"hf download {repo} {name}".rstrip()
    remedy = "Leave --eye-offline out once, or run" if offline else "With a connection to the hub, run"
    return f"{what} is not on this machine, and {why}. {remedy} `{command}`, or name a local copy by its path."


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def read_state_dict(path: Path) -> "dict[str, Tensor]":
    """Return a state dict from safetensors, or from a pickle restricted to tensors."""
    import torch

    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(path)
    state = torch.load(path, map_location="cpu", weights_only=True)
    return dict(state.get("state_dict", state))


@contextmanager
def explain_load_errors(path: Path, architecture: str) -> Iterator[None]:
    """Turn the errors of libraries that load a weights file into one sentence."""
    from pickle import UnpicklingError

    from safetensors import SafetensorError

    try:
        yield
    except (
        UnpicklingError,
        SafetensorError,
        EOFError,
        OSError,
        RuntimeError,
        LookupError,
        AssertionError,
        ValueError,
    ) as error:
        if isinstance(error, UnpicklingError) or isinstance(error.__cause__, UnpicklingError):
            raise ModelError(
                f"The weights file {path} is damaged or holds more than tensors, and pickled code is never run. "
                "Fetch it again, convert it to safetensors, or save its state dict alone."
            ) from error
        if "TorchScript archive" in str(error):
            raise ModelError(
                f"The weights file {path} is a program of TorchScript, whose code is not run from a file. Save its "
                "state dict alone, or give (torch.jit.load(…), transform) to eyechart.evaluate."
            ) from error
        raise ModelError(_trouble(path, architecture, error)) from error


def _trouble(path: Path, architecture: str, error: Exception) -> str:
    if matches := _LOADING.findall(str(error)):
        return _misfit(path, architecture, "; ".join(_shorten(kind, rest) for kind, rest in matches[:_MAX_LISTED]))
    if isinstance(error, AssertionError):
        return _misfit(path, architecture, str(error))
    return f"The weights file {path} cannot be read into {architecture} ({_first_line(error)}). Fetch or save it again."


def _shorten(kind: str, rest: str) -> str:
    if kind.startswith("size"):
        return f"{kind}{rest}".rstrip(".")
    keys = re.findall(r'"([^"]+)"', rest)
    return f"{kind}{'s' * (len(keys) > 1)}: {shorten_list(keys)}".lower()


def _misfit(path: Path, architecture: str, what: str) -> str:
    return (
        f"The weights file {path} does not fit {architecture}: {what}. "
        "Name the architecture that it was saved from, or another file."
    )


def check_state_dict_fits(
    path: Path, architecture: str, expected: "Mapping[str, Any]", loaded: "Mapping[str, Any]"
) -> None:
    """Raise ModelError for weights with missing, unexpected or mis-shaped keys, naming the first of each."""
    kinds = {
        "missing": [key for key in expected if key not in loaded],
        "unexpected": [key for key in loaded if key not in expected],
        "of another shape": [
            f"{key} {tuple(loaded[key].shape)} instead of {tuple(expected[key].shape)}"
            for key in expected
            if key in loaded and loaded[key].shape != expected[key].shape
        ],
    }
    if parts := [f"{kind}: {shorten_list(keys)}" for kind, keys in kinds.items() if keys]:
        raise ModelError(_misfit(path, architecture, "; ".join(parts)))


def shorten_list(keys: Sequence[str]) -> str:
    """Return the first few keys as text, and how many more there are."""
    more = f" and {len(keys) - _MAX_LISTED} more" if len(keys) > _MAX_LISTED else ""
    return ", ".join(keys[:_MAX_LISTED]) + more
