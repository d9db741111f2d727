"""Data sets of Hugging Face: in memory, mapped, with indices, with splits, and as streams."""

import random

import numpy as np
import pytest

import lshfast
import lshfast.hf
from tests.corpora import similar_texts

datasets = pytest.importorskip("datasets")

TEXTS = similar_texts(random.Random(1), 300)
OPTIONS = {"threshold": 0.6, "size": 2}


@pytest.fixture(scope="module")
def rows():
    return datasets.Dataset.from_dict(
        {"text": TEXTS, "number": list(range(len(TEXTS)))}
    )


def kept_numbers(texts, **options):
    return np.flatnonzero(lshfast.dedup(texts, **OPTIONS | options).keep).tolist()


def test_a_dataset(rows, tmp_path):
    found = lshfast.hf.dedup(rows, **OPTIONS)
    assert found["number"][:] == kept_numbers(TEXTS)
    assert found.features == rows.features
    rows.save_to_disk(tmp_path / "rows")
    mapped = datasets.load_from_disk(tmp_path / "rows")
    assert lshfast.hf.dedup(mapped, **OPTIONS)["number"][:] == kept_numbers(TEXTS)
    assert lshfast.hf.dedup(rows, keep="last", **OPTIONS)["number"][:] == kept_numbers(
        TEXTS, keep="last"
    )


def test_rows_that_were_moved(rows):
    moved = rows.filter(lambda row: row["number"] % 3 > 0).shuffle(seed=1)
    numbers = moved["number"][:]
    wanted = [
        numbers[place] for place in kept_numbers([TEXTS[number] for number in numbers])
    ]
    assert lshfast.hf.dedup(moved, **OPTIONS)["number"][:] == wanted


def test_fingerprints_of_caches(rows):
    same = [lshfast.hf.dedup(rows, **OPTIONS)._fingerprint for _ in range(2)]
    other = lshfast.hf.dedup(rows, threshold=0.9, size=2)._fingerprint
    assert same[0] == same[1] not in (other, rows._fingerprint)


def test_rows_that_are_marked(rows):
    result = lshfast.dedup(TEXTS, **OPTIONS)
    marked = lshfast.hf.dedup(rows, annotate=True, **OPTIONS)
    wanted = [
        None if keep else int(keeper)
        for keep, keeper in zip(result.keep, result.keeper, strict=True)
    ]
    assert marked["duplicate_of"][:] == wanted
    assert [
        value for value in marked["similarity"][:] if value is not None
    ] == result.similarity[~result.keep].tolist()
    with pytest.raises(ValueError, match="there is a column 'duplicate_of' already"):
        lshfast.hf.dedup(marked, annotate=True, **OPTIONS)
    alone = lshfast.hf.dedup(rows.select([0]), annotate=True)
    assert alone["duplicate_of"][:] == [None]


def test_vectors():
    vectors = np.random.default_rng(1).standard_normal((100, 8)).astype(np.float32)
    vectors[60:] = vectors[:40]
    found = lshfast.hf.dedup(
        datasets.Dataset.from_dict({"embedding": vectors.tolist()}), "embedding"
    )
    assert found.num_rows == 60
    marked = lshfast.hf.dedup(
        datasets.Dataset.from_dict({"embedding": vectors.tolist()}),
        "embedding",
        measure="angle",
        radius=0.1,
        annotate=True,
    )
    assert marked["distance"][60:] == pytest.approx([0.0] * 40)


def test_splits_are_compared_with_each_other():
    texts = [text for text in TEXTS if text]
    train, test = texts[:200], [*texts[200:], texts[0], texts[7]]
    both = datasets.DatasetDict(
        train=datasets.Dataset.from_dict({"text": train}),
        test=datasets.Dataset.from_dict({"text": test}),
    )
    found = lshfast.hf.dedup(both, **OPTIONS)
    assert list(found) == ["train", "test"]
    keep = lshfast.dedup([*test, *train], **OPTIONS).keep
    assert found["test"]["text"][:] == [
        text for text, kept in zip(test, keep[: len(test)], strict=True) if kept
    ]
    assert found["train"]["text"][:] == [
        text for text, kept in zip(train, keep[len(test) :], strict=True) if kept
    ]
    assert train[0] not in found["train"]["text"][:]
    other = lshfast.hf.dedup(both, splits=["train", "test"], **OPTIONS)
    assert other["train"]["text"][:] == [train[row] for row in kept_numbers(train)]
    marked = lshfast.hf.dedup(both, annotate=True, **OPTIONS)
    assert marked["train"]["duplicate_of"][0].startswith("test:")
    assert (
        lshfast.pairs(
            [test[int(marked["train"]["duplicate_of"][0][5:])], train[0]], **OPTIONS
        )["similarity"]
        >= 0.6
    )
    for arguments, said in (
        (
            {"splits": ["train"]},
            "splits must be the splits of the data set, train, test, not train",
        ),
        ({"keep": "last"}, "keep must be 'first' for a DatasetDict"),
    ):
        with pytest.raises(ValueError, match=said):
            lshfast.hf.dedup(both, **arguments)


def test_a_stream(rows):
    stream = lshfast.hf.dedup(rows.to_iterable_dataset(), batch_size=64, **OPTIONS)
    first, again = ([row["number"] for row in stream] for _ in range(2))
    assert first == again
    # Similarities to earlier batches are estimates.
    assert set(first) >= set(kept_numbers(TEXTS))
    assert len(first) < len(TEXTS) - 30
    whole = lshfast.hf.dedup(rows.to_iterable_dataset(), batch_size=1000, **OPTIONS)
    assert [row["number"] for row in whole] == kept_numbers(TEXTS)
    for arguments, said in (
        ({"annotate": True}, "annotate is not for a stream"),
        ({"keep": "last"}, "keep must be 'first' for a stream"),
        ({"measure": "cosine"}, "measure is not an option of a stream"),
        ({"threshold": 2.0}, "threshold must be"),
        ({"batch_size": 0}, "batch_size must be"),
    ):
        with pytest.raises(ValueError, match=said):
            lshfast.hf.dedup(rows.to_iterable_dataset(), **arguments)


def test_what_is_no_dataset_or_column(rows):
    with pytest.raises(
        TypeError,
        match="dataset must be a Dataset, a DatasetDict, an IterableDataset or an",
    ):
        lshfast.hf.dedup(TEXTS)
    for dataset in (rows, rows.to_iterable_dataset(), datasets.DatasetDict(train=rows)):
        with pytest.raises(
            ValueError, match="there is no column 'body'; columns are: text, number"
        ):
            lshfast.hf.dedup(dataset, "body")
    with pytest.raises(ValueError, match="splits is for a DatasetDict"):
        lshfast.hf.dedup(rows, splits=["train"])


def test_types_do_not_depend_on_rows(rows):
    """Neither those of the columns that are added, nor that of a column of a split without rows."""
    both = datasets.DatasetDict(
        train=rows, test=datasets.Dataset.from_dict({"text": [], "number": []})
    )
    assert lshfast.hf.dedup(both, **OPTIONS)["train"]["number"][:] == kept_numbers(
        TEXTS
    )
    marked = lshfast.hf.dedup(
        datasets.DatasetDict(
            train=rows, test=datasets.Dataset.from_dict({"text": ["of its own"]})
        ),
        annotate=True,
        **OPTIONS,
    )
    alone = lshfast.hf.dedup(rows.select([0]), annotate=True)
    for name, kind in (("duplicate_of", "string"), ("similarity", "float64")):
        assert {split.features[name].dtype for split in marked.values()} == {kind}
    assert (
        alone.features["duplicate_of"].dtype,
        alone.features["similarity"].dtype,
    ) == ("int64", "float64")
    large = rows.cast(
        datasets.Features(
            {"text": datasets.Value("large_string"), "number": datasets.Value("int64")}
        )
    )
    found = lshfast.hf.dedup(datasets.DatasetDict(train=rows, test=large), **OPTIONS)
    assert found["test"]["number"][:] == kept_numbers(TEXTS)
    other = datasets.Dataset.from_dict({"text": [1, 2]})
    with pytest.raises(
        TypeError,
        match=r"must have one type in all splits, not int64 \(test\), string \(train\)",
    ):
        lshfast.hf.dedup(datasets.DatasetDict(train=rows, test=other))
    with pytest.raises(ValueError, match="dataset has no splits"):
        lshfast.hf.dedup(datasets.DatasetDict())


def test_rows_are_not_annotated_with_entries_of_an_index(rows):
    index = lshfast.LSHIndex(threshold=0.8)
    lshfast.dedup(TEXTS[:5], keys=["a", "b", "c", "d", "e"], against=index, add=True)
    for dataset in (rows, datasets.DatasetDict(train=rows)):
        with pytest.raises(ValueError, match="annotate cannot be used with against"):
            lshfast.hf.dedup(dataset, annotate=True, against=index)
    assert (
        lshfast.hf.dedup(rows, against=index).num_rows < lshfast.hf.dedup(rows).num_rows
    )


def test_a_stream_has_texts():
    def generated():
        yield {"text": "one"}
        yield {"text": None}
        yield {"text": ["two", "three"]}

    stream = lshfast.hf.dedup(
        datasets.IterableDataset.from_generator(generated), batch_size=1
    )
    with pytest.raises(
        TypeError,
        match=r"row 2: the column 'text' must have texts in a stream, not a .* type list",
    ):
        list(stream)


@pytest.mark.one_case
@pytest.mark.parametrize("kind", ["numpy", "arrow", "pandas", "polars"])
def test_a_stream_keeps_its_format(rows, kind):
    stream = rows.to_iterable_dataset().with_format(kind)
    found = lshfast.hf.dedup(stream, batch_size=1000, **OPTIONS)
    values = [row["number"] for row in found]
    numbers = [
        value
        if kind == "numpy"
        else value.to_pylist()[0]
        if kind == "arrow"
        else value[0]
        for value in values
    ]
    assert numbers == kept_numbers(TEXTS)
    types = (
        (np.ndarray, np.generic)
        if kind == "numpy"
        else type(next(iter(stream))["number"])
    )
    assert isinstance(values[0], types)


def nested(texts):
    rows = [
        {"content": text, "chat": [{"turn": text}, {"turn": None}], "in": {"side": "x"}}
        for text in texts
    ]
    return datasets.Dataset.from_list(rows)


@pytest.mark.one_case
@pytest.mark.parametrize("column", ["chat[].turn", ["content", "in.side"]], ids=str)
@pytest.mark.parametrize("is_stream", [False, True])
def test_paths_and_several_columns(column, is_stream):
    texts = [text for text in TEXTS if text][:120]
    rows = nested(texts)
    source = rows.to_iterable_dataset() if is_stream else rows
    found = lshfast.hf.dedup(source, column, batch_size=len(texts), **OPTIONS)
    joined = texts if isinstance(column, str) else [f"{text}\nx" for text in texts]
    wanted = [texts[row] for row in kept_numbers(joined)]
    assert [row["content"] for row in found] == wanted
    with pytest.raises(ValueError, match="there is no"):
        list(lshfast.hf.dedup(source, ["content", "in.sides"], **OPTIONS))


def test_splits_of_streams_are_compared_with_each_other():
    texts = [text for text in TEXTS if text]
    train = datasets.Dataset.from_dict({"text": texts[:200]})
    test = datasets.Dataset.from_dict({"text": [*texts[200:220], texts[0]]})
    both = datasets.IterableDatasetDict(
        train=train.to_iterable_dataset(), test=test.to_iterable_dataset()
    )
    found = lshfast.hf.dedup(both, **OPTIONS)
    assert list(found) == ["train", "test"]
    assert texts[0] in [row["text"] for row in found["test"]]
    kept_texts = [row["text"] for row in found["train"]]
    assert texts[0] not in kept_texts
    assert len(kept_texts) < 200
    other = lshfast.hf.dedup(both, splits=["train", "test"], **OPTIONS)
    assert texts[0] in [row["text"] for row in other["train"]]
    with pytest.raises(ValueError, match="splits must be the splits"):
        lshfast.hf.dedup(both, splits=["train"])
