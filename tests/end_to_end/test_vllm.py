"""vLLM's own processes load the torchvision repair through its plugins, and nothing of ours besides."""

import subprocess
import sys

CODE = """
from vllm.plugins import load_general_plugins
load_general_plugins()
import torchvision
from vllm import LLM
from transformers import CLIPImageProcessor
print(LLM.__name__, CLIPImageProcessor.__name__)
"""


def test_vllm_loads_the_repair_and_with_it_its_image_processors() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["LLM CLIPImageProcessor"], done.stderr
