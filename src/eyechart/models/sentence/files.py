"""The files of a sentence encoder, read without loading the model: modules, prompts and maximum length.

The layout is sentence-transformers' own: `modules.json` names the steps from tokens to one vector, and each step's
folder holds its `config.json`, such as how `1_Pooling` makes one vector of many.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from eyechart.errors import ModelError, SpecError
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.spec import ModelSpec
from eyechart.models.weights import hub_files

MAX_TOKENS = 32_768  # tokens; no text here is longer, and some tokenizers name no limit
LIBRARY_PREFIX = "sentence_transformers."
PROMPT_FILE = ".txt"


@dataclass(frozen=True)
class SentenceFiles:
    """A folder in sentence-transformers' layout."""

    path: Path

    @cached_property
    def steps(self) -> list[tuple[str, Path]]:
        """Return the class and folder of each step; all classes must be of the library, foreign code is never run."""
        file = self.path / "modules.json"
        if not file.exists():
            raise ModelError(
                f"{file} is not there, and without it nobody knows how {self.path.name} makes one vector of many "
                "tokens. Name a folder that sentence-transformers saved, or fetch the model with all its files."
            )
        steps = [self._step(file, step) for step in hub_files.read_json(file, [])]
        for kind, folder in steps:
            if kind.endswith("Pooling") and not (folder / "config.json").exists():
                raise ModelError(f"{folder / 'config.json'} is not there. Fetch the model with all its files.")
        return steps

    def _step(self, file: Path, step: Any) -> tuple[str, Path]:
        kind, where = (str(step.get(key, "")) if isinstance(step, dict) else "" for key in ("type", "path"))
        if not kind.startswith(LIBRARY_PREFIX):
            raise ModelError(
                f"{file} asks for '{kind}', expected classes of {LIBRARY_PREFIX.rstrip('.')} alone: "
                "code that comes with a model is never run. Use a model without code of its own."
            )
        return kind, self.path / where

    @property
    def step_settings(self) -> list[dict[str, Any]]:
        """Return the steps with their settings, for an identity."""
        return [
            {"type": kind.rpartition(".")[2]}
            | ({"config": hub_files.read_settings(folder / "config.json")} if folder != self.path else {})
            for kind, folder in self.steps
        ]

    @property
    def weight_files(self) -> list[Path]:
        """Return the weight files of all steps."""
        inner = {folder for _, folder in self.steps} - {self.path}
        return [file for folder in (self.path, *sorted(inner)) for file in hub_files.weight_files(folder, check=False)]

    @property
    def max_tokens(self) -> int:
        """The maximum number of tokens of a text, from the first file that names it, at most MAX_TOKENS."""
        max_seq_length = hub_files.read_settings(self.path / "sentence_bert_config.json").get("max_seq_length")
        limits = [
            max_seq_length or hub_files.read_settings(self.path / "tokenizer_config.json").get("model_max_length"),
            hub_files.read_settings(self.path / "config.json").get("max_position_embeddings"),
        ]
        return min([MAX_TOKENS, *(int(limit) for limit in limits if limit)])

    def prompt(self, spec: ModelSpec) -> str:
        """Return the prefix of every text: the option `prompt`, or the model's default, if any.

        `prompt=` is one of the model's own names, `none`, or a text file, whose last line end does not count.
        """
        settings = hub_files.read_settings(self.path / "config_sentence_transformers.json")
        known = {"none": "", **(settings.get("prompts") or {})}
        prompt_name = spec.options.get("prompt") or settings.get("default_prompt_name") or "none"
        if prompt_name.endswith(PROMPT_FILE):
            return _text(spec, Path(prompt_name).expanduser())
        if prompt_name not in known:
            raise SpecError(
                f"'{spec}' asks for the prompt '{prompt_name}', which {self.path.name} does not have"
                f"{did_you_mean(prompt_name, list(known))} It has {', '.join(known)}; "
                f"a file's name ends in {PROMPT_FILE}."
            )
        return str(known[prompt_name])


def _text(spec: ModelSpec, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"'{spec}': the prompt file {path} cannot be read ({error}). Check the path.") from error
