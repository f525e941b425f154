"""An extension of vLLM's worker that reads the nodes of a trie side by side after a prompt.

vLLM answers a prompt as usual, and the keys and values that its attention layers are given are recorded. Nodes are then
one more forward pass of the model, in which each attends to the prompt and its own prefixes. No request is made, and
the cache of the engine is not used.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

Layers = dict[str, Any]  # vLLM's attention layers by their names


class TrieWorker:
    """Methods for `collective_rpc`; arguments and results are plain values, for workers may be other processes."""

    model_runner: Any
    vllm_config: Any

    def can_read_trie(self) -> bool:
        """Return whether nodes can be read side by side in every layer of the model."""
        layers = self.vllm_config.compilation_config.static_forward_context.values()
        return self.vllm_config.parallel_config.pipeline_parallel_size == 1 and all(map(_is_plain, layers))

    def record_prompt(self) -> None:
        """Record the next prompt, until `stop_recording`."""
        layers = self.vllm_config.compilation_config.static_forward_context
        self._prompt = _RecordedPrompt(self.model_runner.get_model(), self.vllm_config, layers)

    def stop_recording(self) -> None:
        """Leave the layers and the model as they were."""
        self._prompt.stop()

    def score_root(self, depth: int, tokens: list[int]) -> list[float] | None:
        """Return the log-probabilities of tokens right after the prompt.

        It is None for a prompt that is longer, with `depth` more tokens, than a sliding window.
        """
        longest = self._prompt.join() + depth
        if any(layer.sliding_window and longest > layer.sliding_window for layer in self._prompt.layers.values()):
            return None
        return self._prompt.score(self._prompt.last, [0] * len(tokens), tokens)

    def score_nodes(
        self, kept: list[int], tokens: list[int], paths: list[list[int]], edges: list[list[int]]
    ) -> list[float]:
        """Read nodes, and return the log-probabilities of the `edges`, which are rows of nodes and tokens after them.

        Of the nodes read before, those at the indices `kept` are held; for `paths` see `RecordedPrompt.read`.
        """
        self._prompt.keep(kept)
        return self._prompt.score(self._prompt.read(tokens, paths), *edges)


def _is_plain(layer: Any) -> bool:
    """Return whether a layer is causal attention over keys and values that are cached as they are."""
    from vllm.model_executor.layers.attention import Attention

    return (
        type(layer) is Attention
        and layer.attn_type == "decoder"
        and layer.kv_sharing_target_layer_name is None
        and layer.kv_cache_torch_dtype == layer.dtype
        and not layer.has_sink
        and not layer.use_alibi_sqrt
        and getattr(layer.impl, "alibi_slopes", None) is None
        and not getattr(layer.impl, "logits_soft_cap", None)
    )


class _RecordedPrompt:
    """The keys and values of a prompt in every layer, and of nodes that were read after it."""

    def __init__(self, model: Any, vllm_config: Any, layers: Layers) -> None:
        self.model, self.vllm_config, self.layers = model, vllm_config, layers
        self.keys: dict[str, list[torch.Tensor]] = {name: [] for name in layers}
        self.values: dict[str, list[torch.Tensor]] = {name: [] for name in layers}
        self.inputs: dict[str, Any] = {}
        self._hooks = [
            model.register_forward_pre_hook(self._see_inputs, with_kwargs=True),
            model.register_forward_hook(self._see_output),
        ]
        for layer in layers.values():
            layer.impl.forward = partial(self._record, layer.impl.forward)

    def stop(self) -> None:
        """Stop recording."""
        for hook in self._hooks:
            hook.remove()
        for layer in self.layers.values():
            del layer.impl.forward

    def join(self) -> int:
        """Put together what was recorded, and return the number of tokens of the prompt."""
        import torch

        self.prompt = {name: (torch.cat(self.keys[name]), torch.cat(self.values[name])) for name in self.layers}
        self.held = {name: (keys[:0], values[:0]) for name, (keys, values) in self.prompt.items()}
        self.length = len(next(iter(self.prompt.values()))[0])
        return self.length

    def _see_inputs(self, _: Any, __: Any, inputs: dict[str, Any]) -> None:
        self.inputs = {name: value for name, value in inputs.items() if name in ("input_ids", "inputs_embeds")}
        self.position = inputs["positions"][..., _token_count() - 1 :][..., :1].clone()

    def _see_output(self, _: Any, __: Any, hidden: "torch.Tensor") -> None:
        self.last = hidden[_token_count() - 1 :][:1].clone()

    def _record(self, forward: Any, layer: Any, query: Any, key: Any, value: Any, *rest: Any, **named: Any) -> Any:
        count = _token_count()
        self.keys[layer.layer_name].append(key[:count].clone())
        self.values[layer.layer_name].append(value[:count].clone())
        return forward(layer, query, key, value, *rest, **named)

    def keep(self, indices: Sequence[int]) -> None:
        """Drop all nodes but some."""
        import torch

        index = torch.tensor(indices, dtype=torch.long, device=self.last.device)
        self.held = {name: (keys[index], values[index]) for name, (keys, values) in self.held.items()}

    def read(self, tokens: Sequence[int], paths: Sequence[Sequence[int]]) -> "torch.Tensor":
        """Read the tokens of nodes, and return their hidden states.

        A path has the indices of the node and all its prefixes, among the nodes that are held and then these.
        """
        import torch
        from vllm.forward_context import set_forward_context

        device, settings = self.last.device, {"num_tokens": len(tokens), "slot_mapping": {}, "skip_compiled": True}
        self._attend_along(paths)
        with torch.inference_mode(), self._attending(), set_forward_context(None, self.vllm_config, **settings):
            inputs = self._inputs(torch.tensor(tokens, device=device))
            positions = self.position + torch.tensor([len(path) for path in paths], device=device)
            hidden: torch.Tensor = self.model(positions=positions, intermediate_tensors=None, **inputs)
        return hidden

    def _inputs(self, tokens: "torch.Tensor") -> dict[str, Any]:
        """Return tokens in the form in which the model got the prompt."""
        inputs = {"input_ids": tokens, "inputs_embeds": None}
        if self.inputs.get("inputs_embeds") is not None:
            inputs["inputs_embeds"] = self.model.embed_input_ids(tokens)
        return {name: None if self.inputs.get(name) is None else inputs[name] for name in inputs}

    def _attend_along(self, paths: Sequence[Sequence[int]]) -> None:
        """Let each node attend to the prompt and its path."""
        import torch

        held = len(next(iter(self.held.values()))[0])
        rows = [row for row, path in enumerate(paths) for _ in path]
        columns = [self.length + index for path in paths for index in path]
        mask = torch.zeros((len(paths), self.length + held + len(paths)), dtype=torch.bool)
        mask[:, : self.length] = True
        mask[rows, columns] = True
        self.mask = mask.to(self.last.device)

    @contextmanager
    def _attending(self) -> Iterator[None]:
        for layer in self.layers.values():
            layer.impl.forward = self._attend
        try:
            yield
        finally:
            for layer in self.layers.values():
                del layer.impl.forward

    def _attend(
        self, layer: Any, query: "torch.Tensor", key: "torch.Tensor", value: "torch.Tensor", *_: Any,
        output: "torch.Tensor", **__: Any
    ) -> "torch.Tensor":  # fmt: skip
        """Write the attention of new nodes to the prompt, to the nodes that are held and to one another."""
        import torch

        name = layer.layer_name
        held = self.held[name]
        self.held[name] = (torch.cat([held[0], key]), torch.cat([held[1], value]))
        keys, values = (torch.cat(both) for both in zip(self.prompt[name], self.held[name], strict=True))
        heads = [
            part.transpose(0, 1)[None] for part in (query, keys, values)
        ]  # a batch of one: the fast kernels want it
        attended = torch.nn.functional.scaled_dot_product_attention(
            heads[0], heads[1], heads[2], self.mask, scale=layer.impl.scale, enable_gqa=True
        )
        return output.copy_(attended[0].transpose(0, 1))

    def score(self, hidden: "torch.Tensor", rows: Sequence[int], tokens: Sequence[int]) -> list[float]:
        """Return the log-probabilities of tokens after some rows of hidden states; [] where another worker has them."""
        import torch

        with torch.inference_mode():
            logits = self.model.compute_logits(hidden)
            if logits is None:
                return []
            scores: list[float] = logits.float().log_softmax(-1)[list(rows), list(tokens)].tolist()
        return scores


def _token_count() -> int:
    """Return how many tokens a forward pass has, without those that only fill a batch."""
    from vllm.forward_context import get_forward_context

    metadata = get_forward_context().attn_metadata
    count: int = next(iter(metadata.values())).num_actual_tokens
    return count
