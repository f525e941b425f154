"""Label sets against the labels of each image in turn, and the forms of many names against those of each."""

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.dataset.dataset import Row, build_label_set, hash_samples
from eyechart.data.labels.label_files import _form_columns

labels = st.lists(st.none() | st.lists(st.integers(0, 9), max_size=3), max_size=8)
names = st.lists(st.text("ab./\\", min_size=1, max_size=6), min_size=1, max_size=5)


@given(labels)
def test_labels_are_padded_and_hashed_as_image_by_image(given_labels) -> None:
    rows = [Row(f"{number}.png", "", "") for number in range(len(given_labels))]
    found = build_label_set("mine", rows, given_labels, "exclude", "test")
    width = max((len(valid) for valid in given_labels if valid), default=0)
    assert found.labels.tolist() == [[*(valid or ()), *[-1] * (width - len(valid or ()))] for valid in given_labels]
    assert found.labels.shape == (len(rows), width)
    assert found.annotated.tolist() == [valid is not None for valid in given_labels]
    text = "".join(f"{row.key}\t{valid}\n" for row, valid in zip(rows, given_labels, strict=True))
    assert found.sha256 == sha256(text.encode()).hexdigest()


@given(names)
def test_the_forms_of_names_do_not_depend_on_one_another(several) -> None:
    together = zip(*_form_columns(several), strict=True)
    alone = [[column[0] for column in _form_columns([name])] for name in several]
    assert [[*dict.fromkeys(forms)] for forms in together] == [[*dict.fromkeys(forms)] for forms in alone]


def test_the_hash_of_a_sample_is_of_its_key_and_image() -> None:
    one, other, image = hash_samples([("a", "00" * 32), ("b", "00" * 32), ("a", "ff" * 32)]).tolist()
    assert one >> 16 != other >> 16
    assert one >> 16 == image >> 16
    assert (one & 0xFFFF, image & 0xFFFF) == (0, 0xFFFF)
    assert len({*hash_samples((str(number), "ab" * 32) for number in range(50_000)).tolist()}) == 50_000
