"""Many keys at once, in every form that they come in. Each form must give the answers of single keys."""

import array
import sys
import threading
import uuid

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from malkoha import Filter, hash_many

WORDS = ["cuckoo", "", "koel", "Kuckuck", "杜鹃", "a" * 12, "b" * 13, "long " * 40, "x\0y", "owl"]
NUMBERS = [0, 1, -1, 127, -128, 5, 77, 100]


def stored(keys):
    """A filter with these keys, stored one by one; at this rate no other key is found."""
    birds = Filter(10_000, 1e-12)
    for key in keys:
        birds.add(key)
    return birds


def check(column, keys):
    """Every operation on many keys agrees with the operation on single ones. None is a missing key."""
    present = [key for key in keys if key is not None]
    nulls = "skip" if len(present) < len(keys) else "error"
    birds = stored(present)
    expected = [key is not None for key in keys]
    for threads in (1, 3):
        assert birds.contains_many(column, nulls=nulls, threads=threads).tolist() == expected
        assert not Filter(10_000, 1e-12).contains_many(column, nulls=nulls, threads=threads).any()
    assert birds.count_many(column, nulls=nulls).tolist() == [0 if key is None else present.count(key) for key in keys]
    many = Filter(10_000, 1e-12)
    many.add_many(column, nulls=nulls)
    assert len(many) == len(present) and all(many.count(key) == present.count(key) for key in present)
    first = [key is not None and key not in keys[:row] for row, key in enumerate(keys)]
    assert Filter(10_000, 1e-12).add_unique_many(column, nulls=nulls).tolist() == first
    assert birds.remove_many(column, nulls=nulls).tolist() == expected and len(birds) == 0


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">u8", "intp", "longlong"])
def test_numpy_integers(dtype):
    numbers = [number for number in NUMBERS if number >= 0 or "u" not in dtype]
    whole = np.array(numbers, dtype=dtype)
    check(whole, numbers)
    check(np.array(numbers * 2, dtype=dtype)[::-2], (numbers * 2)[::-2])
    frozen = whole.copy()
    frozen.setflags(write=False)
    check(frozen, numbers)
    shifted = np.frombuffer(b"\0" + whole.tobytes(), dtype=dtype, offset=1)
    assert whole.itemsize == 1 or not shifted.flags.aligned
    check(shifted, numbers)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    check(np.array([least, most], dtype=dtype), [int(least), int(most)])
    check(np.array([], dtype=dtype), [])


@pytest.mark.parametrize("dtype", ["U", "S", "O", ">U40", np.dtypes.StringDType()], ids=str)
def test_numpy_text(dtype):
    words = [word for word in WORDS if word.isascii()] if dtype == "S" else WORDS
    words = words if dtype != ">U40" else [word[:40] for word in words]
    check(np.array(words, dtype=dtype), words)
    check(np.array(words * 2, dtype=dtype)[::2], (words * 2)[::2])


def test_text_of_fixed_width_has_no_zeros_at_its_end():
    check(np.array([b"ab\0\0", b"\0\0"], dtype="S4"), [b"ab", b""])
    check(np.array(["ab\0"], dtype="U9"), ["ab"])


def test_numpy_objects():
    check(np.array(["koel", b"owl", 7, -(2**100), None], dtype=object), ["koel", b"owl", 7, -(2**100), None])


@pytest.mark.parametrize("form", [list, tuple, iter, lambda keys: dict.fromkeys(keys).keys(), lambda keys: (k for k in keys)])
def test_iterables(form):
    keys = ["koel", b"owl", 7, -7, 2**64, "杜鹃"]
    birds = Filter(1000, 1e-12)
    birds.add_many(form(keys))
    assert len(birds) == len(keys) and birds.contains_many(form(keys)).all()


def test_lists_of_usual_and_unusual_keys():
    """Runs of usual keys are read in another way than others; the hashes are those of single keys."""
    class Text(str):
        pass

    class Number(int):
        pass

    usual = ["koel", b"koel", 7, -7, 2**63 - 1, -(2**63), "", "杜鹃"]
    unusual = [Text("owl"), Number(8), np.int16(-9), 2**63, 2**127, -(2**100), bytearray(b"crow"), memoryview(b"jay")]
    for keys in (usual, unusual, [*usual, *unusual, *usual], usual * 20_000, [*unusual, *usual * 9000, *unusual]):
        one_by_one = Filter(len(keys), 1e-9, kind="blocked:2")
        for key in dict.fromkeys(bytes(key) if isinstance(key, bytearray) else key for key in keys):
            one_by_one.add(key)
        assert one_by_one.contains_many(keys).all()
        assert hash_many(keys).tolist() == hash_many(tuple(keys)).tolist()


def test_lists_that_change_while_they_are_read():
    class Thief:
        """An integer that takes away the rest of the list that it is in."""

        def __index__(self):
            del keys[4:]
            keys[2] = "owl"
            return 7

    keys = ["koel", "crow", Thief(), "jay", *map(str, range(100_000))]
    birds = Filter(1000, 1e-9)
    birds.add_many(keys)
    assert len(birds) == 4 and birds.contains_many(["koel", "crow", 7, "jay"]).all()


@pytest.mark.parametrize("missing", [None, pd.NA, float("nan")], ids=str)
def test_objects_of_pandas_with_gaps(missing):
    """What pandas writes for a missing key when it gives out objects."""
    keys = ["koel", missing, 7]
    for column in (keys, iter(keys), np.array(keys, dtype=object), pd.Series(keys, dtype=object), pd.Index(keys, dtype=object)):
        birds = Filter(100, 1e-9)
        assert birds.add_unique_many(column, nulls="skip").tolist() == [True, False, True]
        assert len(birds) == 2 and "koel" in birds and 7 in birds
    for column in (pd.Index(["koel", None], dtype="str"), pd.array(["koel", None], dtype="string"), pd.Categorical(["koel", None])):
        assert stored(["koel"]).contains_many(column, nulls="skip").tolist() == [True, False]
    for operation in (Filter(100, 0.01).add, lambda key: Filter(100, 0.01).add_many(["koel", key])):
        with pytest.raises(TypeError, match='leave missing keys out, or give many keys with nulls="skip"'):
            operation(missing)


def test_lists_with_gaps():
    check(["koel", None, "owl", None, "koel"], ["koel", None, "owl", None, "koel"])
    check([], [])
    check([None, None], [None, None])


def test_other_buffers():
    check(array.array("q", NUMBERS), NUMBERS)
    check(memoryview(array.array("i", NUMBERS)), NUMBERS)
    check(range(-50, 50), list(range(-50, 50)))


ARROW_STRINGS = [pa.string(), pa.large_string(), pa.string_view()]
ARROW_BYTES = [pa.binary(), pa.large_binary(), pa.binary_view()]


@pytest.mark.parametrize("kind", ARROW_STRINGS + ARROW_BYTES, ids=str)
def test_arrow_strings(kind):
    words = WORDS if kind in ARROW_STRINGS else [word.encode() for word in WORDS]
    check(pa.array(words, kind), words)
    gaps = [None, *words, None, words[0]]
    check(pa.array(gaps, kind), gaps)
    check(pa.array(gaps * 3, kind)[5:-5], (gaps * 3)[5:-5])
    check(pa.chunked_array([pa.array(words, kind), pa.array([], kind), pa.array(gaps, kind)]), words + gaps)
    check(pa.array([], kind), [])


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()], ids=str)
def test_arrow_integers(kind):
    numbers = [number for number in NUMBERS if number >= 0 or str(kind)[0] == "i"]
    check(pa.array(numbers, kind), numbers)
    gaps = [None, *numbers, None]
    check(pa.array(gaps, kind), gaps)
    check(pa.array(gaps, kind)[2:-2], gaps[2:-2])
    check(pa.chunked_array([pa.array(numbers, kind), pa.array(gaps, kind)]), numbers + gaps)


def test_arrow_dictionaries():
    entries = ["koel", None, "owl", "never"]
    for index in (pa.int8(), pa.uint16(), pa.int64()):
        rows = [0, 2, None, 1, 0, 2]
        column = pa.DictionaryArray.from_arrays(pa.array(rows, index), pa.array(entries))
        check(column, ["koel", "owl", None, None, "koel", "owl"])
        check(column[1:4], ["owl", None, None])
    numbers = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1], pa.int32()), pa.array([7, -7]))
    check(numbers, [-7, 7, -7])
    chunks = pa.chunked_array([pa.array(["a", "b"]).dictionary_encode(), pa.array(["b", "c"]).dictionary_encode()])
    check(chunks, ["a", "b", "b", "c"])


def test_other_arrow_columns():
    check(pa.array([b"abcd", None, b"\0\0\0\0"], pa.binary(4)), [b"abcd", None, b"\0\0\0\0"])
    check(pa.nulls(3), [None] * 3)
    check(pa.table({"key": WORDS}), WORDS)
    check(pa.table({"key": WORDS})[3:7], WORDS[3:7])
    check(pa.record_batch({"key": pa.array([1, None, 2])}), [1, None, 2])


def test_polars():
    check(pl.Series(WORDS), WORDS)
    check(pl.Series([None, *WORDS, None]), [None, *WORDS, None])
    check(pl.Series(WORDS * 3)[4:-4], (WORDS * 3)[4:-4])
    check(pl.concat([pl.Series(WORDS), pl.Series(["koel", None])], rechunk=False), [*WORDS, "koel", None])
    check(pl.Series(["koel", "owl", None, "koel"], dtype=pl.Categorical), ["koel", "owl", None, "koel"])
    check(pl.Series(["koel", "owl"], dtype=pl.Enum(["owl", "koel"])), ["koel", "owl"])
    check(pl.Series(NUMBERS), NUMBERS)
    check(pl.Series([1, None, 3], dtype=pl.UInt16), [1, None, 3])
    check(pl.DataFrame({"key": WORDS}), WORDS)
    check(pl.Series([b"a", None, b"bc"]), [b"a", None, b"bc"])


def test_polars_objects():
    """Their Arrow data are addresses."""
    check(pl.Series(["koel", b"owl", 7, None], dtype=pl.Object), ["koel", b"owl", 7, None])
    birds = Filter(100, 1e-9)
    with pytest.raises(TypeError, match=r"row 0: .* not UUID; write key\.bytes"):
        birds.add_many(pl.Series([uuid.UUID(int=number) for number in range(3)]))
    with pytest.raises((TypeError, ValueError)):
        birds.add_many(pl.DataFrame({"key": [uuid.UUID(int=1)]}))
    assert len(birds) == 0
    check(pa.array([b"12345678", None], pa.binary(8)), [b"12345678", None])


def test_tables_with_rows_that_are_missing():
    table = pa.StructArray.from_arrays([pa.array([1, 2, None, 4])], names=["key"], mask=pa.array([False, True, False, False]))
    check(table, [1, None, None, 4])
    check(table[1:], [None, None, 4])
    words = pa.StructArray.from_arrays([pa.array(["koel", "owl"])], names=["key"], mask=pa.array([True, False]))
    check(words, [None, "owl"])
    with pytest.raises(ValueError, match="row 1 is missing"):
        Filter(100, 0.01).add_many(table)


def test_pandas():
    check(pd.Series(NUMBERS), NUMBERS)
    check(pd.Series(WORDS), WORDS)
    check(pd.Series(["koel", None, "owl"], dtype="str"), ["koel", None, "owl"])
    check(pd.Series(["koel", None, "owl"], dtype=object), ["koel", None, "owl"])
    check(pd.Series(["koel", "owl", "koel"], dtype="category"), ["koel", "owl", "koel"])
    check(pd.Series(NUMBERS, index=range(20, 20 + len(NUMBERS))).iloc[::-1], NUMBERS[::-1])
    check(pd.Series([1, None, 3], dtype="Int64"), [1, None, 3])
    check(pd.Index(WORDS), WORDS)


def test_pandas_columns_of_several_types():
    """They have no Arrow type, so their objects are read one by one."""
    keys = pd.Series(["owl", b"koel", 7, np.int64(8)], dtype=object)
    birds = Filter(100, 1e-9)
    birds.add_many(keys)
    assert birds.contains_many(["owl", "koel", 7, 8]).all() and len(birds) == 4
    with pytest.raises(TypeError, match="row 1.*float"):
        birds.add_many(pd.Series(["owl", 1.5], dtype=object))
    birds.add_many(pd.Series(["crow", None, 5], dtype=object), nulls="skip")
    assert len(birds) == 6


def test_duckdb():
    numbers = duckdb.sql("select range::bigint as key from range(5000)")
    check(numbers, list(range(5000)))
    words = duckdb.sql("select case when range % 3 = 0 then null else 'w' || range end as key from range(5000) order by range")
    check(words, [None if number % 3 == 0 else f"w{number}" for number in range(5000)])


def test_missing_keys_are_an_error_unless_they_are_to_be_skipped():
    birds = stored(["koel"])
    for column in (pa.array(["koel", None]), pl.Series(["koel", None]), pa.array([1, None])):
        for operation in (birds.contains_many, birds.add_many, birds.add_unique_many, birds.remove_many):
            with pytest.raises(ValueError, match="row 1 is missing.*skip"):
                operation(column)
    with pytest.raises(TypeError, match="row 1.*skip"):
        birds.add_many(["koel", None])
    with pytest.raises(ValueError, match='"error" or "skip"'):
        birds.add_many(["koel"], nulls="maybe")
    assert len(birds) == 1


def test_large_columns_on_several_threads():
    numbers = np.random.default_rng(1).permutation(1_000_000)
    text = pl.Series([f"key {number}" for number in range(300_000)])
    for shards in (None, 8):
        for threads in (1, 2, 5):
            one = Filter(1_000_000, 0.001, shards=shards)
            one.add_many(numbers, threads=threads)
            assert one.contains_many(numbers, threads=threads).all()
            assert one.remove_many(numbers[:1000]).all() and len(one) == 999_000
            words = Filter(300_000, 0.001, shards=shards)
            assert words.add_unique_many(text, threads=threads).mean() > 0.999
            assert words.contains_many(text, threads=threads).all()
    with pytest.raises(ValueError, match="at least 1"):
        one.contains_many(numbers, threads=0)


def test_the_content_does_not_depend_on_threads():
    numbers = np.arange(500_000)
    filters = [Filter(500_000, 0.001) for _ in range(2)]
    for threads, one in zip((1, 3), filters):
        one.add_many(numbers, threads=threads)
    assert filters[0] == filters[1]


def test_small_batches_into_a_large_filter_are_all_or_nothing():
    birds = Filter(100_000, 0.001)
    for start in range(0, 100_000, 1000):
        birds.add_many(range(start, start + 1000))
    assert birds.contains_many(range(100_000)).all()
    with pytest.raises(Exception, match="no room"):
        for start in range(100_000, 200_000, 1000):
            birds.add_many(range(start, start + 1000))
    assert len(birds) % 1000 == 0 and birds.contains_many(range(len(birds))).all()
    assert birds.remove_many(range(len(birds))).all() and len(birds) == 0


def test_others_run_while_a_column_is_stored():
    """The interpreter's lock is free while a call is inside the engine: otherwise, with no switches forced, this thread
    would wake up only after the call."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)
    try:
        birds, numbers = Filter(4_000_000, 0.001), np.arange(4_000_000)
        begun, ended = threading.Event(), []

        def store():
            begun.set()
            birds.add_many(numbers)
            ended.append(True)

        thread = threading.Thread(target=store)
        thread.start()
        begun.wait()
        assert not ended
    finally:
        sys.setswitchinterval(interval)
    thread.join()
    assert ended and len(birds) == 4_000_000
