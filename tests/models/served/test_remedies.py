"""What helps against refusals, in the words of servers."""

import pytest

from eyechart.models.served.remedies import find_remedy

SAID = {
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.": (
        "reasoning=true"
    ),
    "This model is only supported in v1/responses and not in v1/chat/completions.": "api=responses",
    "max_tokens is too large: 8214. This model supports at most 4096 completion tokens.": "max_tokens=…",
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.": (
        "reasoning=true for openai"
    ),
    "invalid temperature: only 1 is allowed for this model": "reasoning=true for openai",
    "`temperature` is deprecated for this model.": "no temperature= for anthropic",
    "Unknown name \"seed\" at 'generation_config': Cannot find field.": "seed=none",
    "You are not allowed to request logprobs from this model": "need no log-probabilities",
    "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.": (
        "structured_output=parsed"
    ),
    "image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes": "Make larger images smaller",
    "At least one of the image dimensions exceed max allowed size: 8000 pixels": "Make larger images smaller",
    "height:26 must be larger than factor:28": "Leave such small images out",
    "At most 1 image(s) may be provided in one prompt.": "images_per_request",
    "At most 0 image(s) may be provided in one prompt.": "Name a model that reads images",
    "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj": (
        "Name a model that reads images"
    ),
    "this model is missing data required for image input": "Name a model that reads images",
    "messages[0]: unknown variant `image_url`, expected `text`": "Name a model that reads images",
    "messages[0].content must be a string": "Name a model that reads images",
    "No endpoints found that support image input": "Name a model that reads images",
    "[height:8 or width:8 must be larger than 10]": "Leave such small images out",
    "the request exceeds the available context size": "longer context",
    "'response_format.type' must be 'json_schema' or 'text'": "structured_output=parsed",
    "Unexpected endpoint or method. (POST /chat/completions). Returning 200 anyway": "Give base_url whole",
    "the response cannot be read (JSON is malformed): '<!DOCTYPE html>'": "Give base_url whole",
    "toy is not a multimodal model": "Name a model that reads images",
    "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens": "longer context",
    "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model.": "effort=",
    "adaptive thinking is not supported on this model": "thinking=",
    "no pictures, please": "",
}


@pytest.mark.parametrize(("said", "remedy"), SAID.items(), ids=[*map(str, range(len(SAID)))])
def test_a_known_refusal_has_the_remedy_that_works(said: str, remedy: str) -> None:
    assert remedy in find_remedy(said)
    assert bool(remedy) == bool(find_remedy(said))
