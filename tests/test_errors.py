"""The exceptions of eyechart: their tree, and what another process gets of them."""

import pickle

import pytest

from eyechart import errors
from eyechart.errors import EyechartError, RequestError


def classes(root: type[EyechartError]) -> list[type[EyechartError]]:
    """The classes of `eyechart.errors` below one."""
    below = [child for child in root.__subclasses__() if child.__module__ == errors.__name__]
    return [root, *(one for child in below for one in classes(child))]


def test_the_tree_that_the_module_shows_is_that_of_its_classes() -> None:
    path: list[str] = []
    shown = {}
    for line in (errors.__doc__ or "").splitlines():
        if "Error" in line:
            name = next(word for word in line.split() if word.endswith("Error"))
            path[(line.index(name) - 4) // 4 :] = [name]
            shown[name] = path[-2:-1]
    assert shown == {
        found.__name__: [found.__base__.__name__] if found is not EyechartError and found.__base__ else []
        for found in classes(EyechartError)
    }


@pytest.mark.parametrize("kind", [kind for kind in classes(EyechartError) if kind is not RequestError])
def test_an_error_comes_out_of_another_process_as_it_was(kind: type[EyechartError]) -> None:
    received = pickle.loads(pickle.dumps(kind("A sentence.")))
    assert (type(received), str(received)) == (kind, "A sentence.")


def test_an_error_of_requests_has_a_sentence_for_each_in_every_process() -> None:
    raised = RequestError({7: "Too long.", 2: "No text."})
    for error in (raised, pickle.loads(pickle.dumps(raised))):
        assert [*error.errors.items()] == [(2, "No text."), (7, "Too long.")]
        assert str(error) == "No text."
    assert str(RequestError({})) == ""
