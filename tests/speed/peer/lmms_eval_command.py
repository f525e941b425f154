"""lmms-eval's command in its own environment, with FastVLM among the model types of `llava_hf`, and with counts.

`llava_hf` of lmms-eval 0.7.3 lists three types of LLaVA; FastVLM has the same interface and processor in transformers.
"""

from importlib import import_module

from lmms_eval.__main__ import cli_evaluate
from lmms_eval.models.simple.llava_hf import model_map
from transformers import FastVlmForConditionalGeneration

if __name__ == "__main__":
    import_module("forwards").start()  # of this folder, since other packages of the environment are called tests
    model_map["fast_vlm"] = FastVlmForConditionalGeneration
    cli_evaluate()
