"""What indexes of families refuse: arguments, items, other families, damaged parameters; each with one clear error."""

import re
import struct

import numpy as np
import pytest

from lshfast import (
    Bands,
    LSHIndex,
    MinHasher,
    SimHasher,
    TokenSets,
    WeightedMinHasher,
    WeightedSets,
)
from lshfast._cli.console import index_table
from lshfast._common.errors import FormatError
from lshfast._engine.indexes.plan_of_index import plan_of_index
from lshfast.families import (
    MinHashFamily,
    SimHashFamily,
    WeightedMinHashFamily,
)
from lshfast.index.stores.file import save_store
from lshfast.index.stores.lmdb import LmdbStore
from lshfast.index.stores.memory import MemoryStore
from lshfast.index.stores.redis import RedisStore
from lshfast.index.stores.values import Parameters
from lshfast.kernels.checksum import checksum
from tests.index.redis_server import needs_redis, redis_server

__all__ = ["redis_server"]  # a fixture
from tests.index.family_kit import Digits, DigitsStage, Places

NO_LMDB = "lmdb cannot be imported: install lshfast[lmdb]"

# What is refused


@pytest.mark.parametrize(
    ("use", "kind", "said"),
    [
        (
            lambda: LSHIndex(family="minhash"),
            TypeError,
            "family must be a Family, such as MinHashFamily(), not 'minhash'",
        ),
        (
            lambda: LSHIndex(family=MinHashFamily(), seed=3),
            ValueError,
            "scheme and seed are those of the family: give ",
        ),
        (
            lambda: LSHIndex(family=Digits()),
            ValueError,
            "give bands and rows_per_band for Digits()",
        ),
        (
            lambda: LSHIndex(0.8, 64, family=Digits(), bands=2),
            ValueError,
            "num_perm is the length of MinHash signatures",
        ),
        (
            lambda: LSHIndex(family=Digits().or_(2), bands=2),
            ValueError,
            "family must have no OR step",
        ),
        (
            lambda: LSHIndex(family=MinHashFamily().and_(3), bands=2, rows_per_band=3),
            ValueError,
            "give the rows of each band as",
        ),
        (
            lambda: LSHIndex(family=Digits(), bands=0),
            ValueError,
            "bands must be at least 1",
        ),
        (
            lambda: LSHIndex(family=Digits(), bands=2, rows_per_band=0),
            ValueError,
            "rows_per_band must be at least 1",
        ),
        (
            lambda: LSHIndex(family=Digits(), bands=1.5),
            TypeError,
            "bands must be an int",
        ),
        (
            lambda: LSHIndex(family=Digits(), bands=65536),
            ValueError,
            "a row has at most 65536 words, not 65536 and 1024",
        ),
        (
            lambda: LSHIndex(family=Places(), bands=65537),
            ValueError,
            "a row has at most 65536 words, not 65537 and 0",
        ),
        (
            lambda: LSHIndex(family=Digits(), bands=2).hasher,
            AttributeError,
            "an index of Digits() has no MinHasher",
        ),
        (
            lambda: LSHIndex(1.5, family=Digits(), bands=2),
            ValueError,
            "threshold must be in (0, 1], not 1.5",
        ),
        (
            lambda: Bands(2, 2).keys(SimHasher().sketch(SETS)),
            ValueError,
            "the words of codes are not slots; name their",
        ),
        (
            lambda: LSHIndex().query(SimHasher().sketch(SETS)),
            ValueError,
            "the words of codes are not slots; name their",
        ),
    ],
)
def test_arguments_that_are_refused(use, kind, said):
    with pytest.raises(kind, match=re.escape(said)):
        use()


SETS = TokenSets.from_sets([["a"]])


@pytest.mark.parametrize(
    ("family", "items", "kind", "said"),
    [
        (SimHashFamily(), SimHasher(128, seed=2).sketch(SETS), ValueError, "items are of SimHasher(bits=128, seed=2)"),
        (SimHashFamily(), MinHasher(2).sketch(SETS), ValueError, "items are of MinHasher(num_perm=2, "),
        (SimHashFamily(), SimHasher(64).sketch(SETS), ValueError, "items must be codes of at least 2 words"),
        (SimHashFamily(), None, TypeError, "items must be TokenSets or codes, uint64, not object"),
        (WeightedMinHashFamily(), MinHasher(128).sketch(SETS), ValueError, "items are of "),
        (WeightedMinHashFamily(), WeightedMinHasher(128, seed=2).sketch(WeightedSets.from_sets([{"a": 1}])), ValueError,
         "items are of seed 2; 1 is needed here"),
        (WeightedMinHashFamily(), SETS, TypeError, "items must be uint64, not TokenSets"),
        (Places(), SimHasher(512).sketch(SETS), ValueError, "items are of SimHasher(bits=512, seed=1), and Places("),
        (Places(), np.zeros((1, 3), np.uint64), ValueError, "must be (n, 8), not (1, 3)"),
        (Places(), np.zeros((1, 8), np.int64), TypeError, "must be uint64, not int64"),
    ],
)  # fmt: skip
def test_items_that_are_refused(family, items, kind, said):
    rows = {Places(): 1, SimHashFamily(): 12}.get(family)
    index = LSHIndex(
        family=family, bands=None if rows is None else 8, rows_per_band=rows
    )
    for use in (lambda: index.insert([1], items), lambda: index.query(items)):
        with pytest.raises(kind, match=re.escape(said)):
            use()
    assert len(index) == 0


def test_keys_and_items_of_different_numbers():
    sets = TokenSets.from_sets([["a"]] * 242)
    index = LSHIndex(family=SimHashFamily(), bands=8, rows_per_band=12)
    with pytest.raises(
        ValueError, match=r"^there must be a key for each item, not 2 for 242$"
    ):
        index.insert([1, 2], sets)
    with pytest.raises(
        ValueError, match=r"^there must be a key for each item, not 0 for 1$"
    ):
        index.insert([], SETS)
    index.insert("one", SETS)
    assert list(index) == ["one"]


@needs_redis
def test_another_family_is_refused_by_name(tmp_path, redis_server):
    pytest.importorskip("lmdb", reason=NO_LMDB)
    for store in (
        MemoryStore(),
        LmdbStore(tmp_path / "lmdb"),
        RedisStore(redis_server.url, "another family"),
    ):
        LSHIndex(family=SimHashFamily(), bands=8, rows_per_band=12, store=store)
        with pytest.raises(
            ValueError, match=r"^seed of simhash is 1 in this index, not 2$"
        ):
            LSHIndex(
                family=SimHashFamily(seed=2), bands=8, rows_per_band=12, store=store
            )
        with pytest.raises(
            ValueError, match=r"^steps of amplified is .*12.* in this index, not .*6"
        ):
            LSHIndex(family=SimHashFamily(), bands=8, rows_per_band=6, store=store)
        with pytest.raises(
            ValueError, match=r"^family is 'amplified' in this index, not 'minhash'$"
        ):
            LSHIndex(store=store)
        assert LSHIndex.on(store).family == SimHashFamily()
        store.close()
    one, other = (
        LSHIndex(family=SimHashFamily(seed=seed), bands=8, rows_per_band=12)
        for seed in (1, 2)
    )
    with pytest.raises(
        ValueError, match=r"^seed of simhash is 1 in this index, not 2$"
    ):
        one.merge(other)


def test_a_family_that_is_not_known(tmp_path):
    described = '{"family":"of nobody"}'
    store = MemoryStore()
    store.bind(Parameters(4, 4, 1, "", 0, None, family=described))
    store.insert(np.array([1]), np.ones((1, 4), np.uint64), "error")
    save_store(tmp_path / "index", store.parameters, store)
    with pytest.raises(
        ValueError,
        match=rf"^{re.escape(str(tmp_path / 'index'))}: no family is called 'of nobody'",
    ):
        LSHIndex.open(tmp_path / "index")
    with pytest.raises(ValueError, match=r"^no family is called 'of nobody'"):
        LSHIndex.on(store)


def test_parameters_that_are_not_those_of_the_family():
    for parameters, said in [
        (
            Parameters(8, 8, 1, "", 0, None, "", Digits().describe()),
            "payload is 1 in this index, not 0",
        ),
        (
            Parameters(8, 4, 1, "", 0, None, "", Places().describe()),
            "num_perm is 4 in this index, not 8",
        ),
        (
            Parameters(4, 2, 2, "", 0, None, "", Places().describe()),
            "num_perm is 2 in this index, not 4",
        ),
        (
            Parameters(
                4, 4, 1, "", 0, None, "", Places().describe(), 2, "euclidean:float32:3"
            ),
            "open it with NearNeighbors",
        ),
    ]:
        store = MemoryStore()
        store.bind(parameters)
        with pytest.raises(ValueError, match=re.escape(said)):
            LSHIndex.on(store)


def test_the_command_line_refuses_families(tmp_path):
    index = LSHIndex(
        family=SimHashFamily(), bands=8, rows_per_band=12, shingles="word:2"
    )
    index.insert(["a"], ["the cat sat"])
    index.save(tmp_path / "index")
    with pytest.raises(
        ValueError,
        match=r"this index is of the family .*simhash.*, and a run needs MinHash signatures",
    ):
        plan_of_index(index.parameters)
    assert "simhash" in index_table("index", index, "str")


# Damage in Redis and in LMDB


@needs_redis
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("family", None),
        ("family", ""),
        ("payload", None),
        ("payload", "2"),
        ("payload", "-1"),
        ("payload", "1.0"),
        ("payload", "65536"),
        ("measure", None),
        ("measure", ""),
        ("measure", "hamming:bits:65"),
        ("measure", "hamming:bits:8:9"),
        ("measure", "hamming:float32:8"),
        ("scheme", "fast"),
        ("format", "1"),
        ("more", "1"),
    ],
)
def test_damaged_parameters_in_redis(redis_server, field, value):
    name = f"damaged {field} {value}"
    index = LSHIndex(store=RedisStore(redis_server.url, name), **DigitsStage.options)
    index.insert([1, 2], np.ones((2, 8), np.uint64))
    client = redis_server.client()
    if value is None:
        client.hdel(f"{{{name}}}:parameters", field)
    else:
        client.hset(f"{{{name}}}:parameters", field, value)
    if field != "more":  # an open store looks at the fields that it knows
        with pytest.raises(
            FormatError,
            match="parameters: deleted, or not those that this store was opened with",
        ):
            index.query(np.ones((1, 8), np.uint64))
    if (field, value) == (
        "measure",
        "",
    ):  # then the payload is only kept, which the family does not do
        with pytest.raises(
            ValueError, match=r"^measure is 'hamming:bits:8' in this index, not ''"
        ):
            LSHIndex.on(RedisStore(redis_server.url, name))
    else:
        with pytest.raises(FormatError, match="parameters: "):
            RedisStore(redis_server.url, name)
    client.close()


def test_a_damaged_directory_in_lmdb(tmp_path):
    lmdb = pytest.importorskip("lmdb", reason=NO_LMDB)
    index = LSHIndex(store=LmdbStore(tmp_path, map_size=1 << 24), **DigitsStage.options)
    index.insert([1, 2], np.ones((2, 8), np.uint64))
    index.close()
    for place, byte in [(96, 2), (97, 1), (104, 0), (108, 2), (112, 0xFF), (8, 1)]:
        with (
            lmdb.open(str(tmp_path), map_size=1 << 24) as environment,
            environment.begin(write=True) as transaction,
        ):
            whole = transaction.get(b"directory")
            damaged = bytearray(whole)
            damaged[place] = byte
            damaged[-8:] = struct.pack("<Q", checksum(bytes(damaged[:-8])))
            transaction.put(b"directory", bytes(damaged))
        with pytest.raises(FormatError, match="directory: "):
            LmdbStore(tmp_path, map_size=1 << 24)
        with (
            lmdb.open(str(tmp_path), map_size=1 << 24) as environment,
            environment.begin(write=True) as transaction,
        ):
            transaction.put(b"directory", whole)
    with LSHIndex.on(LmdbStore(tmp_path, map_size=1 << 24)) as index:
        assert index.query(np.ones((1, 8), np.uint64))[0] == [1, 2]
