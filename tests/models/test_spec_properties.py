"""Specifications: what is read is written back, whatever stands in the brackets."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eyechart.errors import SpecError
from eyechart.models.spec import ModelSpec, parse_spec

pytestmark = pytest.mark.deep

names = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(lambda name: name not in ("clip", "path"))
plain = st.from_regex(r"[A-Za-z0-9./:_-]{1,12}", fullmatch=True)
nested = st.recursive(plain, lambda inner: st.builds("{}[{},k={}]".format, names, inner, plain), max_leaves=3)
specs = st.builds(ModelSpec, names, st.lists(nested, max_size=3).map(tuple), st.dictionaries(names, nested, max_size=3))


@given(specs)
def test_what_is_written_is_read_back(spec: ModelSpec) -> None:
    assert parse_spec(str(spec)) == spec


@given(specs)
def test_spaces_change_nothing(spec: ModelSpec) -> None:
    spaced = ", ".join([*spec.arguments, *(f"{name} = {value}" for name, value in spec.options.items())])
    assert parse_spec(f"  {spec.backend} [ {spaced} ] ") == spec


@given(specs, st.randoms())
def test_the_order_of_options_changes_nothing(spec: ModelSpec, random: object) -> None:
    turned = ModelSpec(spec.backend, spec.arguments, dict(reversed(spec.options.items())))
    assert (str(turned), hash(turned), turned) == (str(spec), hash(spec), spec)


texts = st.builds("{}[{}]".format, st.text("ab/ ", max_size=4), st.text("ab[],= /\n", max_size=12))


@given(texts | st.text("ab[],= /\n", max_size=12))
@example("clip[path=a=b]")
@example("clip[path=,a]")
def test_any_text_is_refused_or_read_for_good(text: str) -> None:
    try:
        spec = parse_spec(text)
    except SpecError:
        return
    assert parse_spec(str(spec)) == spec
