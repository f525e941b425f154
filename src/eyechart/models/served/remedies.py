"""What a user can do about a refusal: the option that leaves out what a server does not take."""

import re

SET = "--eye-set=PROTOCOL"  # as in --eye-set=closed_world.max_tokens=512
REFUSED = (
    r"(?:unsupported|not support|n.t support|not (?:allowed|permitted|available|accepted|recogni[sz]ed)|unknown"
    r"|unrecogni[sz]ed|unexpected|invalid|only .{0,40}(?:allowed|support)|deprecated|extra (?:inputs|fields)|cannot)"
)
SCHEMA = r"(?:response_?format|json_?schema|output_?(?:config|format)|structured.?outputs?|grammar|response_?mime)"


def _refused(name: str) -> str:
    """Return the pattern of a sentence that refuses a parameter, which it may name before or after."""
    return rf"{name}.{{0,80}}{REFUSED}|{REFUSED}.{{0,80}}{name}"


REMEDIES = (  # the first that fits is shown
    (r"use .{0,4}max_completion_tokens|max_completion_tokens.{0,40}instead", "Add reasoning=true to the specification"),
    (r"unexpected endpoint or method", "Give base_url whole, such as http://localhost:1234/v1"),
    (r"cannot be read .*<(?:!doctype|html)", "Give base_url whole, such as http://localhost:8000/v1"),
    (r"v1/responses", "Add api=responses to the specification"),
    (
        r"max_(?:completion_|output_)?tokens.{0,80}(?:too large|at most|exceed|greater|less than|maximum|between)",
        f"Set {SET}.max_tokens=… to what the model takes",
    ),
    (
        (
            r"at most 0 image|not (?:a )?(?:multi-?modal|vision)|no (?:vision|image) support|text.only|mmproj"
            r"|(?:not|n.t) (?:support|accept|have|process).{0,30}(?:image|vision|multi-?modal)"
            r"|image.{0,40}(?:not|n.t|un)[ -]?support|invalid content type.{0,20}image_url"
            r"|missing data.{0,20}image input"
            r"|unknown variant .?image_url|content.{0,3} must be a string|content.{0,20}str(?:ing)? type expected"
            r"|no endpoints found.{0,30}image input"
        ),
        "Name a model that reads images",
    ),
    (
        r"at most \d+ images?|too many images|images? (?:per|in (?:one|a)) (?:prompt|request|message)",
        f"Set {SET}.images_per_request to fewer images, or let the server take more (vLLM: --limit-mm-per-prompt)",
    ),
    (
        r"image.{0,60}(?:too small|must be (?:larger|at least|greater))|must be larger than",
        "Leave such small images out, or allow for these errors with --eye-max-errors",
    ),
    (
        r"image.{0,40}(?:exceed|too (?:large|big)|maximum)|dimensions? exceed|too many pixels|^request too large",
        "Make larger images smaller, or allow for these errors with --eye-max-errors",
    ),
    (
        r"^context length|context.?(?:length|window|size)|maximum model length|too many (?:input |prompt )?tokens",
        f"Serve the model with a longer context, or send less: a smaller {SET}.max_tokens, smaller or fewer images",
    ),
    (
        _refused("temperature"),
        (
            "Leave the temperature out: reasoning=true for openai[…], temperature=none for gemini[…], and no "
            "temperature= for anthropic[…]"
        ),
    ),
    (_refused(r"\bseed\b"), "Add seed=none to the specification"),
    (_refused("logprobs"), "Serve the model with vLLM, or choose cases that need no log-probabilities"),
    (
        rf"{SCHEMA}.{{0,10}} must be|{_refused(SCHEMA)}",
        f"Set {SET}.structured_output=parsed, or leave out cases that need a JSON schema",
    ),
    (_refused("effort"), "Give effort= another value, or leave it out"),
    (_refused("thinking"), "Give thinking= another value, or leave it out"),
)
COMPILED = tuple((re.compile(pattern, re.IGNORECASE | re.DOTALL), remedy) for pattern, remedy in REMEDIES)


def find_remedy(message: str) -> str:
    """Return what helps against a refusal, without a full stop, "" if that is unknown.

    >>> find_remedy("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    'Add reasoning=true to the specification'
    >>> find_remedy("no pictures, please")
    ''
    """
    return next((remedy for pattern, remedy in COMPILED if pattern.search(message)), "")


def add_remedy(reason: str) -> str:
    """Return the reason of a refusal, which has no full stop, with what helps against it.

    >>> add_remedy("HTTP 400: seed is not supported"), add_remedy("HTTP 400: no")
    ('HTTP 400: seed is not supported. Add seed=none to the specification', 'HTTP 400: no')
    """
    remedy = find_remedy(reason)
    return f"{reason.rstrip('.')}. {remedy}" if remedy else reason
