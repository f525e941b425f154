"""The options of `vllm[…]`, under vLLM's names."""

from typing import Any

from eyechart.errors import SpecError
from eyechart.models import options
from eyechart.models.chat import template
from eyechart.models.hf import loading
from eyechart.models.spec import ModelSpec

MOST_LOGPROBS = 128  # log-probabilities of chosen tokens that vLLM gives in one request
MAX_MODEL_LEN = options.optional_whole_number(
    "max_model_len", "tokens of a request and its answer", "as many as memory allows"
)
MAX_NUM_SEQS = options.whole_number("max_num_seqs", "number of concurrent requests, in each copy", 128)
GPU_MEMORY_UTILIZATION = options.fraction("gpu_memory_utilization", "fraction of the memory of a GPU that is used", 0.9)
TENSOR_PARALLEL_SIZE = options.whole_number(
    "tensor_parallel_size", "number of devices that share the weights of one copy", 1
)
DATA_PARALLEL_SIZE = options.whole_number(
    "data_parallel_size", "number of copies, each on its own devices and in its own process", 1
)
ENFORCE_EAGER = options.optional_flag(
    "enforce_eager", "true for no CUDA graphs: a faster start and slower answers", "false, on a CPU true"
)
PIPELINE_PARALLEL_SIZE = options.whole_number(
    "pipeline_parallel_size", "number of devices, or groups of them, that share the layers of one copy", 1
)
QUANTIZATION = options.words(
    "quantization", "method of quantisation, such as fp8 or bitsandbytes", type="name of vLLM", shown="the checkpoint's"
)
KV_CACHE_DTYPE = options.choice(
    "kv_cache_dtype",
    "precision of keys and values in the cache",
    ("float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"),
    shown="that of the model",
)
MAX_LOGPROBS = options.whole_number(
    "max_logprobs", f"most log-probabilities in one request, at most {MOST_LOGPROBS}", MOST_LOGPROBS
)
OPTIONS = (
    options.DTYPE,
    MAX_MODEL_LEN,
    MAX_NUM_SEQS,
    GPU_MEMORY_UTILIZATION,
    TENSOR_PARALLEL_SIZE,
    PIPELINE_PARALLEL_SIZE,
    DATA_PARALLEL_SIZE,
    ENFORCE_EAGER,
    QUANTIZATION,
    KV_CACHE_DTYPE,
    MAX_LOGPROBS,
    *template.OPTIONS,
    loading.TRUST_REMOTE_CODE,
    *loading.PROCESSOR_OPTIONS,
)


def read_settings(spec: ModelSpec, device: str) -> dict[str, Any]:
    """Return the arguments of vLLM in a specification; without a length, vLLM uses the longest that memory allows."""
    further = {
        "pipeline_parallel_size": PIPELINE_PARALLEL_SIZE.read(spec),
        "quantization": QUANTIZATION.read(spec),
        "kv_cache_dtype": KV_CACHE_DTYPE.read(spec),
    }
    return {
        "max_model_len": MAX_MODEL_LEN.read(spec) or -1,
        "gpu_memory_utilization": GPU_MEMORY_UTILIZATION.read(spec),
        "tensor_parallel_size": TENSOR_PARALLEL_SIZE.read(spec),
        "enforce_eager": device == "cpu" if (eager := ENFORCE_EAGER.read(spec)) is None else eager,
        **{name: value for name, value in further.items() if name in spec.options},
    }


def read_max_logprobs(spec: ModelSpec) -> int:
    """Return the most log-probabilities in one request. Raises SpecError for more than vLLM gives."""
    most = MAX_LOGPROBS.read(spec)
    if most > MOST_LOGPROBS:
        raise SpecError(f"'{spec}' has max_logprobs={most}. Expected a whole number from 1 to {MOST_LOGPROBS}.")
    return most
