"""The options of `vllm[…]`, under vLLM's names."""

from typing import Annotated, Any, Literal

from msgspec import Meta

from eyechart.models.hf.loading import ProcessorOptions
from eyechart.models.options import Count, DtypeOption, Fraction, described

MOST_LOGPROBS = 128  # log-probabilities of chosen tokens that vLLM gives in one request


class VllmOptions(ProcessorOptions):
    """The options of `vllm[…]`."""

    dtype: DtypeOption = None
    max_model_len: Annotated[
        Count | None, described("tokens of a request and its answer", "as many as memory allows")
    ] = None
    max_num_seqs: Annotated[Count, described("number of concurrent requests, in each copy")] = 128
    gpu_memory_utilization: Annotated[Fraction, described("fraction of the memory of a GPU that is used")] = 0.9
    tensor_parallel_size: Annotated[Count, described("number of devices that share the weights of one copy")] = 1
    pipeline_parallel_size: Annotated[
        Count | None, described("number of devices, or groups of them, that share the layers of one copy", "1")
    ] = None
    data_parallel_size: Annotated[
        Count, described("number of copies, each on its own devices and in its own process")
    ] = 1
    enforce_eager: Annotated[
        bool | None,
        described("true for no CUDA graphs: a faster start and slower answers", "false, on a CPU true"),
    ] = None
    quantization: Annotated[
        str | None,
        described("method of quantisation, such as fp8 or bitsandbytes", "the checkpoint's", "name of vLLM"),
    ] = None
    kv_cache_dtype: Annotated[
        Literal["float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"] | None,
        described("precision of keys and values in the cache", "that of the model"),
    ] = None
    max_logprobs: Annotated[
        int,
        Meta(ge=1, le=MOST_LOGPROBS),
        described(f"most log-probabilities in one request, at most {MOST_LOGPROBS}"),
    ] = MOST_LOGPROBS

    def settings(self, device: str) -> dict[str, Any]:
        """Return the arguments of vLLM; without a length, vLLM uses the longest that memory allows."""
        further = {
            "pipeline_parallel_size": self.pipeline_parallel_size,
            "quantization": self.quantization,
            "kv_cache_dtype": self.kv_cache_dtype,
        }
        return {
            "max_model_len": self.max_model_len or -1,
            "gpu_memory_utilization": self.gpu_memory_utilization,
            "tensor_parallel_size": self.tensor_parallel_size,
            "enforce_eager": device == "cpu" if self.enforce_eager is None else self.enforce_eager,
            **{name: value for name, value in further.items() if value is not None},
        }
