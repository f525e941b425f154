"""How a prompt is written for a checkpoint without a chat template: the form that its family was trained with.

`prompt_forms.toml` has the forms by the family's model_type.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from eyechart.models.weights import hub_files

FORMS = Path(__file__).with_suffix(".toml")
TEMPLATE_FILE = "chat_template.jinja"
SETTINGS = ("chat_template.json", "processor_config.json", "tokenizer_config.json")


@cache
def read_forms() -> Mapping[str, str]:
    """Return the forms, Jinja templates, by the family's model_type."""
    return {family: form["template"] for family, form in tomllib.loads(FORMS.read_text(encoding="utf-8")).items()}


def find_template(path: Path) -> str:
    """Return the template for a folder whose processor has none: its own file, or its family's form; "" without any."""
    file = path / TEMPLATE_FILE
    return file.read_text(encoding="utf-8") if file.exists() else _find_form(path)


def _find_form(path: Path) -> str:
    """Return the form of the family of a folder; "" if the folder has a chat template or its family has no form."""
    own = (path / TEMPLATE_FILE).exists() or any(
        hub_files.read_settings(path / name).get("chat_template") for name in SETTINGS
    )
    return "" if own else read_forms().get(str(hub_files.read_settings(path / "config.json").get("model_type")), "")


def form_identity(path: Path) -> dict[str, Any]:
    """Return the form as a part of the model's identity, which the files of a checkpoint do not hold."""
    form = _find_form(path)
    return {"prompt_form": form} if form else {}
