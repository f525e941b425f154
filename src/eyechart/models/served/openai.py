"""OpenAI and servers with its API: `openai[MODEL,base_url=http://localhost:8000/v1]`."""

from collections.abc import Mapping
from typing import Any, ClassVar

from eyechart.errors import SpecError
from eyechart.models.model_option import AnyOption
from eyechart.models.runtime import torch_runtime
from eyechart.models.served.api import Api
from eyechart.models.served.generator import ServedGenerator
from eyechart.models.served.openai_chat import ChatCompletions
from eyechart.models.served.openai_responses import ResponsesApi
from eyechart.models.served.options import EFFORT_HELP, Provider, choice_option, seed_option
from eyechart.models.spec import ModelSpec

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")


class OpenAiGenerator(ServedGenerator):
    """Generates answers on a server with an API of OpenAI."""

    provider = Provider(
        "openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "openai", example="http://localhost:8000/v1"
    )
    declared_options: ClassVar[tuple[AnyOption, ...]] = provider.declare_options(
        {
            "api": "chat (Chat Completions) or responses (the Responses API, which takes no seed) (default: chat)",
            "seed": "seed that is sent to the server, or none (default: 42)",
            "reasoning": "true for models that take no temperature and count reasoning as answer (default: false)",
            "effort": EFFORT_HELP.format(", ".join(EFFORTS)) + "; only with reasoning=true",
        }
    )

    @classmethod
    def parse_settings(cls, spec: ModelSpec) -> Mapping[str, Any]:
        """Return the options that change an answer: greedy sampling, unless the model reasons."""
        reasoning, effort = torch_runtime.flag_option(spec, "reasoning", False), choice_option(spec, "effort", EFFORTS)
        api = choice_option(spec, "api", ("chat", "responses"))
        if effort and not reasoning:
            raise SpecError(f"'{spec}' has effort={effort}, which only reasoning models take. Add reasoning=true.")
        sampling = {} if reasoning else {"temperature": 0, **seed_option(spec)}
        if api == "responses":
            sampling.pop("seed", None)
        return {
            "reasoning": reasoning,
            **sampling,
            **({"effort": effort} if effort else {}),
            **({"api": api} if api == "responses" else {}),
        }

    @property
    def thinks(self) -> bool:
        """Whether answers begin with thinking, which counts as part of them."""
        return bool(self.options.settings["reasoning"])

    def create_api(self) -> Api:
        """Return the Responses API or Chat Completions."""
        return (ResponsesApi if "api" in self.options.settings else ChatCompletions)(self.options)
