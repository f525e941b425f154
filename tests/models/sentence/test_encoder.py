"""Sentence encoders: the packaged MiniLM, and a tiny Qwen3 in the layout of Qwen3-Embedding."""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eyechart.errors import ModelError, SpecError
from eyechart.models.registry import create_model
from eyechart.models.runtime import text_batches
from eyechart.models.runtime.torchvision_repair import repair
from eyechart.models.sentence.encoder import SentenceEncoder
from eyechart.models.spec import parse_spec
from eyechart.models.types import Encoder, Floats, TextEncoder

pytestmark = pytest.mark.deep

repair()  # before any test imports transformers itself
TEXTS = ["tench", "a photo of a great white shark, in the open sea.", "Siberian husky", "tench", "a"]
QUERY = "Instruct: Name what is meant\nQuery:"
END = "<|endoftext|>"
SIZES = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 16}
Folder = Callable[..., Path]


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")


def bytes_tokenizer(folder: Path) -> int:
    """Letters as tokens, padded on the left, with the end of text behind every text, as Qwen3-Embedding's."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens([AddedToken(END, special=True)])
    end = tokenizer.token_to_id(END)
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, end)])
    tokenizer.save(str(folder / "tokenizer.json"))
    told = {"eos_token": END, "pad_token": END, "padding_side": "left", "tokenizer_class": "Qwen2Tokenizer"}
    write(folder / "tokenizer_config.json", told | {"model_max_length": 131072})
    return int(end)


def layout(folder: Path) -> None:
    """The files that sentence-transformers adds."""
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    steps = [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (path, kind) in enumerate(kinds.items())
    ]
    write(folder / "modules.json", steps)
    modes = {"pooling_mode_mean_tokens": False, "pooling_mode_lasttoken": True, "include_prompt": True}
    write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 32} | modes)
    write(
        folder / "config_sentence_transformers.json",
        {"prompts": {"query": QUERY, "document": ""}, "default_prompt_name": None, "similarity_fn_name": "cosine"},
    )


@pytest.fixture
def qwen(tmp_path: Path) -> Path:
    """A folder as Qwen3-Embedding's, with random weights."""
    import torch
    from transformers import Qwen3Config, Qwen3Model

    folder = tmp_path / "tiny-embedding"
    folder.mkdir()
    ids = {"pad_token_id": bytes_tokenizer(folder), "eos_token_id": 256, "bos_token_id": None}
    config = Qwen3Config(vocab_size=260, num_key_value_heads=1, max_position_embeddings=128, **SIZES, **ids)
    torch.manual_seed(0)
    Qwen3Model(config).save_pretrained(folder)
    layout(folder)
    return folder


@pytest.fixture(scope="module")
def minilm() -> SentenceEncoder:
    return SentenceEncoder(parse_spec("sentence[]"), offline=True)


def ours(folder: Path | str, more: str = "") -> SentenceEncoder:
    return SentenceEncoder(parse_spec(f"sentence[{folder}{more}]"), offline=True)


def by_hand(folder: Path, text: str, *, mean: bool) -> Floats:
    """One text alone, without padding, by transformers."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    read = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    with torch.inference_mode():
        hidden = AutoModel.from_pretrained(folder).eval()(**read).last_hidden_state[0].numpy()
    vector = hidden.mean(axis=0) if mean else hidden[-1]
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def test_it_reads_texts_and_sees_nothing(minilm: SentenceEncoder) -> None:
    assert isinstance(minilm, TextEncoder)
    assert not isinstance(minilm, Encoder)


def test_minilm_is_the_mean_of_its_tokens(minilm: SentenceEncoder) -> None:
    expected = [by_hand(minilm.source.path, text, mean=True) for text in TEXTS]
    np.testing.assert_allclose(minilm.encode_texts(TEXTS), expected, atol=1e-6)


def test_minilm_does_not_heed_case(minilm: SentenceEncoder) -> None:
    found = minilm.encode_texts(["Siberian Husky", "siberian husky"])
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)


def test_qwen_is_its_last_token_however_others_are_padded(qwen: Path) -> None:
    expected = [by_hand(qwen, text, mean=False) for text in TEXTS]
    np.testing.assert_allclose(ours(qwen).encode_texts(TEXTS), expected, atol=1e-5)
    np.testing.assert_allclose(ours(qwen).encode_texts(TEXTS[::-1]), expected[::-1], atol=1e-5)


def test_qwens_last_token_is_the_end_of_text(qwen: Path) -> None:
    from transformers import AutoTokenizer

    read = AutoTokenizer.from_pretrained(qwen)(["tench", "a"], padding=True)
    assert [row[-1] for row in read["input_ids"]] == [256, 256]
    assert read["attention_mask"][1] == [0, 0, 0, 0, 1, 1]


def test_qwen_heeds_case(qwen: Path) -> None:
    upper, lower = ours(qwen).encode_texts(["Crane", "crane"])
    assert np.abs(upper - lower).max() > 1e-2


@pytest.mark.parametrize("where", ["qwen", "minilm"])
def test_small_batches_change_nothing(where: str, request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = request.getfixturevalue("qwen") if where == "qwen" else "minilm"
    whole = ours(folder).encode_texts(TEXTS)
    np.testing.assert_allclose(ours(folder, ",batch_size=1").encode_texts(TEXTS), whole, atol=1e-5)
    monkeypatch.setattr(text_batches, "token_budget", lambda _: 30)
    np.testing.assert_allclose(ours(folder).encode_texts(TEXTS), whole, atol=1e-5)


def test_a_prompt_stands_before_every_text(qwen: Path, tmp_path: Path) -> None:
    expected = [by_hand(qwen, QUERY + text, mean=False) for text in TEXTS]
    np.testing.assert_allclose(ours(qwen, ",prompt=query").encode_texts(TEXTS), expected, atol=1e-5)
    (tmp_path / "mine.txt").write_text(f"{QUERY}\n")
    found = ours(qwen, f",prompt={tmp_path / 'mine.txt'}")
    assert found.prompt == QUERY


@pytest.mark.parametrize("prompt", ["query", "document"])
def test_vectors_equal_sentence_transformers_own(qwen: Path, prompt: str) -> None:
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(qwen), device="cpu").encode(TEXTS, prompt_name=prompt)
    np.testing.assert_allclose(ours(qwen, f",prompt={prompt}").encode_texts(TEXTS), expected, atol=1e-6)


def test_a_models_default_prompt_holds_until_another_is_asked_for(qwen: Path) -> None:
    path = qwen / "config_sentence_transformers.json"
    write(path, json.loads(path.read_text()) | {"default_prompt_name": "query"})
    assert (ours(qwen).prompt, ours(qwen, ",prompt=none").prompt) == (QUERY, "")


def test_long_texts_are_cut_where_the_identity_says(qwen: Path) -> None:
    write(qwen / "sentence_bert_config.json", {"max_seq_length": 9})
    model = ours(qwen)
    assert model.identity.processor["longest"] == 9
    cut = model.encode_texts(["abcdefgh and more", "abcdefgh"])
    np.testing.assert_allclose(cut[0], cut[1], atol=1e-6)


def test_a_limit_that_nobody_names_is_ours(qwen: Path) -> None:
    (qwen / "config.json").write_text(json.dumps({"model_type": "t5"}))
    write(qwen / "tokenizer_config.json", {"model_max_length": 10**30})
    assert ours(qwen).files.max_tokens == 32_768


def test_vectors_may_be_cut_short_by_the_model(qwen: Path) -> None:
    path = qwen / "config_sentence_transformers.json"
    whole = ours(qwen).encode_texts(TEXTS)
    write(path, json.loads(path.read_text()) | {"truncate_dim": 8})
    np.testing.assert_array_equal(ours(qwen).encode_texts(TEXTS), whole[:, :8])


def test_the_dtype_is_honoured_and_recorded(qwen: Path) -> None:
    low, exact = ours(qwen, ",dtype=bfloat16"), ours(qwen)
    assert (low.identity.dtype, exact.identity.dtype) == ("bfloat16", "float32")
    assert 0 < np.abs(low.encode_texts(TEXTS) - exact.encode_texts(TEXTS)).max() < 0.1


@pytest.mark.parametrize("file", ["tokenizer.json", "1_Pooling/config.json", "config.json", "model.safetensors"])
def test_what_changes_vectors_changes_the_identity(qwen: Path, file: str) -> None:
    before = ours(qwen).identity
    content = (qwen / file).read_bytes()
    (qwen / file).write_bytes(content.replace(b"false", b"true") + b"\n")
    assert ours(qwen).identity != before


def test_the_prompt_is_part_of_the_identity(qwen: Path) -> None:
    assert ours(qwen, ",prompt=query").identity.processor == ours(qwen).identity.processor | {"prompt": QUERY}


def test_weights_are_read_once_and_not_for_the_identity(qwen: Path) -> None:
    model = ours(qwen)
    assert model.identity.name == "tiny-embedding"
    assert model.loads == 0
    model.encode_texts(["a"])
    model.encode_texts(["b"])
    assert model.loads == 1


def test_minilm_has_two_names_and_one_identity(minilm: SentenceEncoder) -> None:
    named = create_model(parse_spec("sentence[minilm]"), device="cpu", offline=True)
    assert named.identity == minilm.identity
    assert minilm.identity.name == "all-MiniLM-L6-v2"
    assert minilm.identity.processor["longest"] == 256


def test_no_modules(qwen: Path) -> None:
    (qwen / "modules.json").unlink()
    with pytest.raises(ModelError, match=r"modules\.json is not there, and without it nobody knows how tiny-embedding"):
        _ = ours(qwen).identity


def test_code_that_came_with_a_model_is_not_run(qwen: Path) -> None:
    (qwen / "evil.py").write_text("raise SystemExit('ran')")
    write(qwen / "modules.json", [{"type": "evil.Transformer", "path": ""}])
    with pytest.raises(ModelError, match=r"asks for 'evil\.Transformer', expected classes of sentence_transformers"):
        ours(qwen).encode_texts(["a"])


def test_pooling_that_nobody_describes(qwen: Path) -> None:
    (qwen / "1_Pooling" / "config.json").unlink()
    with pytest.raises(ModelError, match=r"1_Pooling/config\.json is not there"):
        ours(qwen).encode_texts(["a"])


def test_no_tokenizer(qwen: Path) -> None:
    (qwen / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tiny-embedding holds no tokenizer \(tokenizer\.json, "):
        ours(qwen).encode_texts(["a"])


def test_a_tokenizer_that_was_cut_off(qwen: Path) -> None:
    (qwen / "tokenizer.json").write_text('{"version": ')
    with pytest.raises(ModelError, match=r"tiny-embedding gives no AutoTokenizer"):
        ours(qwen).encode_texts(["a"])


def test_no_weights(qwen: Path) -> None:
    (qwen / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="holds no weights"):
        _ = ours(qwen).identity


def test_weights_with_missing_keys(qwen: Path) -> None:
    from safetensors.torch import load_file, save_file

    state = load_file(qwen / "model.safetensors")
    del state["layers.1.mlp.up_proj.weight"]
    save_file(state, qwen / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"do not fit Qwen3Model: missing layers\.1\.mlp\.up_proj\.weight"):
        ours(qwen).encode_texts(["a"])


def test_weights_of_another_shape(qwen: Path) -> None:
    path = qwen / "config.json"
    write(path, json.loads(path.read_text()) | {"intermediate_size": 48})
    with pytest.raises(ModelError, match="cannot be read into a sentence encoder"):
        ours(qwen).encode_texts(["a"])


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (",prompt=qery", r"asks for the prompt 'qery'.*did you mean query\? It has none, query, document"),
        (",prompt=absent.txt", r"the prompt file absent\.txt cannot be read"),
        (",pooling=mean", "has the option 'pooling', which sentence does not know"),
        (",dtype=int4", "has dtype=int4"),
    ],
)
def test_options_that_cannot_be(qwen: Path, more: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        _ = ours(qwen, more).identity


def test_offline_and_missing(empty_hub: Path) -> None:
    with pytest.raises(ModelError, match=r"--eye-offline forbids fetching it.*`hf download Qwen/nothing`"):
        _ = ours("Qwen/nothing").identity


def test_it_loads_without_a_word_and_without_a_connection(warm_python: Sequence[str]) -> None:
    code = (
        "import socket, warnings; warnings.simplefilter('error'); socket.socket.connect = None\n"
        "from eyechart.models.registry import create_model; from eyechart.models.spec import parse_spec\n"
        "print(create_model(parse_spec('sentence[minilm]'), offline=True).encode_texts(['cat']).shape)"
    )
    done = subprocess.run([*warm_python, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("(1, 384)\n", "")
