"""Hide keys and passwords in texts that are written to a file: command lines, settings, addresses and errors."""

import re

NAMES = (
    r"(?:api|access|private|account|auth|secret|subscription)[_-]?key|secret|passw|credential|authorization|cookie|pwd"
)
SECRET_NAME = re.compile(rf"{NAMES}|(?:^|[._-])(?:\w+_)?(?:token|sig|signature)$", re.IGNORECASE)
NAMED = re.compile(
    rf"""((?:[\w.-]*(?:{NAMES})[\w-]*|\b(?:\w+[_-])?(?:token|sig|signature))['"]?\s*[=:]\s*)"""
    r"""("[^"]*"|'[^']*'|(?:Bearer |Basic )?[^,;&\s}\]'"]+)""",
    re.IGNORECASE,
)
LOGIN = re.compile(r"(?<=://)[^/\s@'\"]+@")  # the user and password of an address
# The forms of keys of OpenAI and others, the hub, GitHub, Google, AWS, Slack, NVIDIA, Groq, xAI, Perplexity, GitLab,
# Cerebras, Replicate, Fireworks, Together and Databricks, and of JSON web tokens
FORMS = re.compile(
    r"\b(?:sk-[\w-]{8,}|hf_\w{16,}|gh[opsu]_\w{16,}|github_pat_\w{16,}|AIza[\w-]{20,}|(?:AKIA|ASIA)[A-Z0-9]{12,}"
    r"|xox[abp]-[\w-]{10,}|(?:nvapi|xai|pplx|glpat|csk)-[\w-]{16,}|(?:gsk|r8|fw|tgp_v1)_[\w-]{16,}"
    r"|dapi[0-9a-f]{32}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*)|(?<=\bBearer )[\w.~+/=-]{8,}"
)


def hide_secrets(text: str) -> str:
    """Return a text with … instead of values that are called a key or password, or look like one.

    Args:
        text: A command line, a setting, an address or a message.

    >>> hide_secrets("--eye-model=openai[m,api_key=abc,base_url=https://me:pw@host/v1]")
    '--eye-model=openai[m,api_key=…,base_url=https://…@host/v1]'
    >>> hide_secrets("https://host/data?sv=1&sig=abc%3D&se=2"), hide_secrets("sk-proj-0123456789 key_env=MY_KEY")
    ('https://host/data?sv=1&sig=…&se=2', '… key_env=MY_KEY')
    """
    return FORMS.sub("…", LOGIN.sub("…@", NAMED.sub(r"\1…", text)))
