"""Input that is none: a clear error, and the filter as it was."""

import datetime
import decimal
import io
import math
import pickle
import subprocess
import sys
import textwrap
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import malkoha
from malkoha import Filter, FormatError, Map, Window


@pytest.fixture
def birds():
    birds = Filter(1000, 1e-6)
    birds.update(["koel", "owl"])
    return birds


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        (None, "skip"),
        (float("nan"), "skip"),
        (1.0, "int"),
        (decimal.Decimal(1), "str"),
        (True, "int"),
        (np.bool_(True), "int"),
        (np.float32(1), "int"),
        (("a", 1), "repr"),
        (["a"], "add_many"),
        (np.array([1, 2]), "add_many"),
        (object(), "repr"),
        (uuid.UUID(int=1), "bytes"),
        (datetime.date(2026, 1, 1), "isoformat"),
        (pd.NA, "skip"),
        (1j, "repr"),
    ],
    ids=str,
)
def test_objects_that_are_no_keys(birds, key, advice):
    before = birds.copy()
    for operation in (birds.add, birds.add_unique, birds.__contains__, birds.remove, birds.discard, birds.count):
        with pytest.raises(TypeError, match=f"a key is a str, bytes or an int.*{advice}"):
            operation(key)
    for operation in (birds.add_many, birds.add_unique_many, birds.contains_many, birds.remove_many):
        with pytest.raises(TypeError, match=f"row 2: a key is.*{advice}"):
            operation(["koel", 7, key, "owl"])
    assert birds == before


@pytest.mark.parametrize("key", [2**128, -(2**127) - 1, 10**100])
def test_huge_integers(birds, key):
    for operation in (birds.add, birds.__contains__):
        with pytest.raises(OverflowError, match=r"below 2\*\*128.*str\(key\)"):
            operation(key)
    for operation in (birds.add_many, birds.add_unique_many, birds.contains_many, birds.remove_many):
        with pytest.raises(OverflowError, match=r"^row 1: .*below 2\*\*128.*str\(key\)"):
            operation([1, key])
    assert len(birds) == 2


@pytest.mark.parametrize("number", [-1, 2**64, 1.5, "7"])
def test_seeds_and_shards_out_of_range(number):
    for make in (Filter, Map, Window):
        with pytest.raises(ValueError, match=f"a seed must be .* and not {number!r}"):
            make(100, 0.01, seed=number)
    with pytest.raises(ValueError, match="a seed must be"):
        malkoha.plan(keys=100, rate=0.01, seed=number)
    with pytest.raises(ValueError, match="a seed must be"):
        malkoha.hash_many([1], seed=number)
    with pytest.raises(ValueError, match=f"shards must be .* and not {number!r}"):
        Filter(100, 0.01, shards=number)
    assert Filter(100, 0.01, shards=None, seed=2**64 - 1).seed == 2**64 - 1
    with pytest.raises(ValueError, match="4096"):
        Filter(100, 0.01, shards=4097)


@pytest.mark.parametrize(("name", "what"), [("seed", "a seed"), ("shards", "shards"), ("keys", "keys")])
def test_numbers_that_python_does_not_write(name, what):
    with pytest.raises(ValueError, match=f"{what} .*must be a whole number from [^,]*$"):
        Filter(**{"keys": 100, "rate": 0.01, name: 10**5000})


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
@pytest.mark.parametrize("name", ["seed", "shards", "keys"])
def test_numbers_that_raise_something_else(name, error):
    class Number:
        def __index__(self):
            raise error

    with pytest.raises(error):
        Filter(**{"keys": 100, "rate": 0.01, name: Number()})


def test_keys_may_be_interrupted(birds):
    class Number:
        def __index__(self):
            raise KeyboardInterrupt

    for operation in (birds.add, birds.__contains__, lambda key: birds.add_many(["crow", key])):
        with pytest.raises(KeyboardInterrupt):
            operation(Number())
    assert len(birds) == 2


def test_text_that_has_no_utf8(birds):
    for operation in (birds.add, lambda key: birds.add_many([key]), lambda key: birds.add_many(np.array([key]))):
        with pytest.raises(UnicodeError, match="surrogate"):
            operation("\ud800")
    with pytest.raises(UnicodeError, match="surrogate") as caught:
        birds.add_many(["koel", "owl", "\ud800"])
    assert caught.value.__notes__ == ["while hashing the key in row 2"]
    assert len(birds) == 2


@pytest.mark.parametrize(
    ("column", "advice"),
    [
        (np.array([1.0, math.nan]), "astype"),
        (np.array([1.0, 2.0], dtype="f4"), "astype"),
        (np.array([True]), "astype"),
        (np.array(["2026-01-01"], dtype="M8[D]"), "view"),
        (np.array([1j]), "astype"),
        (np.array([(1, 2)], dtype="i4,i4"), "integers, strings or bytes"),
        (np.ma.masked_array([1, 2], mask=[0, 1]), "compressed"),
        (pa.array([1.0]), "cast it"),
        (pa.array([True]), "cast it"),
        (pa.array([datetime.date(2026, 1, 1)]), "cast it"),
        (pa.array([[1]]), "one column"),
        (pa.table({"a": [1], "b": [2]}), "2 columns"),
        (pl.Series([1.5]), "cast it"),
        (pl.Series([[1]]), "one column"),
        (pd.Series([1.5]), "cast it"),
        (pa.array([1, 1, 2]).dictionary_encode().cast(pa.float64()), "cast it"),
        ("koel", "one key"),
        (b"koel", "one key"),
        (7, "iterable"),
        (None, "iterable"),
    ],
    ids=lambda value: type(value).__module__.split(".")[0] if not isinstance(value, str) else value,
)
def test_columns_without_keys(birds, column, advice):
    before = birds.copy()
    for operation in (birds.add_many, birds.update, birds.add_unique_many, birds.contains_many, birds.remove_many):
        with pytest.raises(TypeError, match=advice):
            operation(column)
    assert birds == before


@pytest.mark.parametrize("entries", [["crow"], ["crow", None]])
def test_dictionaries_without_the_entry(birds, entries):
    column = pa.DictionaryArray.from_arrays(pa.array([0, None, 7]), pa.array(entries), safe=False)
    for operation in (birds.add_many, birds.contains_many):
        with pytest.raises(ValueError, match="row 2 refers to no entry"):
            operation(column, nulls="skip")
    assert len(birds) == 2


@pytest.mark.parametrize("shape", [(), (2, 3)])
def test_arrays_of_other_dimensions(birds, shape):
    with pytest.raises(ValueError, match="1 dimension"):
        birds.add_many(np.zeros(shape, dtype=int))


def test_an_iterable_that_fails_changes_nothing(birds):
    def keys():
        yield "crow"
        raise RuntimeError("gone")

    for operation in (birds.add_many, birds.add_unique_many, birds.remove_many):
        with pytest.raises(RuntimeError, match="gone"):
            operation(keys())
    assert len(birds) == 2 and "crow" not in birds


def test_capsules_that_are_none(birds):
    class Liar:
        def __init__(self, answer):
            self.answer = answer

        def __arrow_c_stream__(self, requested_schema=None):
            return self.answer

    for answer in (None, 7, pa.array([1]).__arrow_c_array__()[0]):
        with pytest.raises((TypeError, ValueError)):
            birds.add_many(Liar(answer))
    used = pa.chunked_array([[1, 2]]).__arrow_c_stream__()
    assert Filter(100, 0.01).add_unique_many(Liar(used)).all()
    with pytest.raises(ValueError, match="cannot be read"):
        birds.add_many(Liar(used))
    assert len(birds) == 2


def test_files_that_are_not_there(birds, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        malkoha.open(tmp_path / "none")
    assert caught.value.filename == str(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        malkoha.map(tmp_path / "none")
    with pytest.raises(OSError):
        birds.save(tmp_path)
    with pytest.raises(FileNotFoundError):
        birds.save(tmp_path / "none" / "birds")
    with io.BytesIO() as closed:
        pass
    with pytest.raises(TypeError):
        malkoha.open(closed)
    with pytest.raises(ValueError, match="closed"):
        pickle.dump(birds, closed)


def test_damaged_bytes(birds, tmp_path):
    growing = Filter(rate=0.001)
    growing.add_many(range(5000))
    window, shelves, sharded = Window(100, 0.01), Map(100, 0.01), Filter(100, 0.01, shards=2)
    for whole in (birds, growing, window, shelves, sharded):
        good = whole.to_bytes()
        assert malkoha.from_bytes(good) == whole
        for at in range(0, len(good), 7):
            bad = bytearray(good)
            bad[at] ^= 4
            with pytest.raises(FormatError):
                malkoha.from_bytes(bad)
        for length in (0, 1, 7, 100, len(good) - 1):
            with pytest.raises(FormatError, match="byte|filter"):
                malkoha.from_bytes(good[:length])
        with pytest.raises(FormatError):
            malkoha.from_bytes(good + b"\0")
        (tmp_path / "bad").write_bytes(good[:-1])
        with pytest.raises(FormatError):
            malkoha.open(tmp_path / "bad")
    for junk in (b"", b"hello", bytes(4096)):
        with pytest.raises(FormatError, match="not a filter|too short|byte"):
            malkoha.from_bytes(junk)
    with pytest.raises(TypeError):
        malkoha.from_bytes("text")
    with pytest.raises(FormatError, match="a Window and not a filter"):
        Filter.from_bytes(window.to_bytes())
    with pytest.raises(FormatError, match="malkoha.from_bytes"):
        Map.from_bytes(birds.to_bytes())


def test_a_mapped_file_is_for_lookups_of_single_filters(tmp_path):
    Filter(rate=0.01, kind="bloom").save(tmp_path / "chain")
    with pytest.raises(FormatError):
        malkoha.map(tmp_path / "chain")


def test_a_growing_filter_can_be_mapped(tmp_path):
    birds = Filter(rate=0.01)
    birds.add_many(range(10_000))
    birds.save(tmp_path / "growing")
    assert malkoha.map(tmp_path / "growing").contains_many(range(10_000)).all()


def test_scarce_memory_is_a_memory_error():
    """In a process that may have 12 MB more: copies, bytes and batches that need more are refused, and all goes on."""
    program = """
        import resource
        import numpy as np
        from malkoha import Filter

        birds = Filter(10_000_000, 0.001)
        keys = np.arange(10_000_000)
        some = keys[:5_000_000].tolist()
        birds.add_many(keys)
        used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + 12_000_000, resource.RLIM_INFINITY))
        for action in (birds.copy, birds.to_bytes, lambda: birds | birds, lambda: Filter(100_000_000, 0.001),
                       lambda: Filter(100_000_000, 0.001, shards=2), lambda: birds.contains_many(keys.view("i4")),
                       lambda: birds.contains_many(some), lambda: birds.add_many(iter(some)),
                       lambda: birds.count_many(keys), lambda: birds.remove_many(some),
                       lambda: birds.add_unique_many(keys)):
            try:
                action()
            except MemoryError:
                continue
            raise SystemExit(f"{action} found memory")
        birds.add_many(range(10_000_000, 10_001_000))
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert birds.contains_many(keys).all() and len(birds) == 10_001_000
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
