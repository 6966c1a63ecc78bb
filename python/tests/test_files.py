"""Files, bytes and pickles: the same in Python, in Rust and in the program, in every process."""

import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import malkoha
from malkoha import Filter, Map, Window

HERE = Path(__file__).parent
# scripts/python runs the tests elsewhere.
REPOSITORY = Path(os.environ.get("MALKOHA_REPOSITORY", HERE.parent.parent))
GOLDEN = REPOSITORY / "crates" / "malkoha-cli" / "tests" / "golden"

# What exchange/src/main.rs stores.
TEXTS = ["", "cuckoo", "Kuckuck", "杜鹃", "a longer key, which has more than sixty-four bytes, as some keys in files have"]
BYTES = [b"\x00", b"\xff\xfe", b"cuckoo again"]
SMALL = [0, 1, -1, 127, -128, 65_535, -(2**31), 2**63 - 1, -(2**63)]
WIDE = [2**63, 2**64 - 1, 2**64, 2**128 - 1, -(2**63) - 1, -(2**127)]
KEYS = [*TEXTS, *BYTES, *SMALL, *WIDE]
STRANGERS = ["owl", b"owl", 2, -2, 2**65, -(2**65)]


def test_saved_and_opened(tmp_path):
    birds, shelves, hour = Filter(1000, 1e-9), Map(1000, 1e-9, bits=4), Window(1000, 1e-9, ticks=60)
    growing, sharded = Filter(rate=1e-9), Filter(1000, 1e-9, shards=4)
    for one in (birds, growing, sharded):
        one.add_many(KEYS)
    shelves.add_many(KEYS, [7] * len(KEYS))
    hour.add_unique_many(KEYS, now=5)
    for whole in (birds, growing, sharded, shelves, hour):
        whole.save(tmp_path / "birds")
        again = malkoha.open(str(tmp_path / "birds"))
        assert type(again) is type(whole) and again == whole
        assert again.contains_many(KEYS).all() and not again.contains_many(STRANGERS).any()
        assert (tmp_path / "birds").read_bytes() == whole.to_bytes()
        for other in (bytearray, memoryview, bytes):
            assert type(whole).from_bytes(other(whole.to_bytes())) == whole
    assert malkoha.from_bytes(hour.to_bytes()).ticks == 60


def test_mapped(tmp_path):
    birds = Filter(1000, 1e-9, kind="windowed:2")
    birds.add_many(KEYS)
    birds.save(tmp_path / "birds")
    mapped = malkoha.map(tmp_path / "birds")
    mapped.verify()
    assert all(key in mapped for key in KEYS) and not any(key in mapped for key in STRANGERS)
    assert mapped.contains_many(pa.array([*TEXTS, None]), nulls="skip", threads=2).tolist() == [True] * 5 + [False]
    assert (len(mapped), mapped.count("cuckoo"), mapped.kind, mapped.seed) == (len(KEYS), 1, "windowed:2", 0)
    assert mapped.load() == birds and mapped.path == tmp_path / "birds" and mapped.stats().items == len(KEYS)
    assert pickle.loads(pickle.dumps(mapped)).contains_many(KEYS).all(), "a pickle holds the path"
    assert "Mapped" in repr(mapped) and "<svg" in mapped._repr_html_()
    other = Filter(10, 0.1)
    other.save(tmp_path / "birds")
    assert all(key in mapped for key in KEYS), "a saved file replaces a mapped one and does not change it"


def test_mapped_maps(tmp_path):
    """Values are read from the file, and a copy in memory is a map again."""
    for shelves in (Map(1000, 1e-9), Map(rate=1e-9)):
        shelves.add_many(KEYS, range(len(KEYS)))
        shelves.add("cuckoo", 99)
        shelves.save(tmp_path / "shelves")
        mapped = malkoha.map(tmp_path / "shelves")
        assert [mapped.get(key) for key in KEYS] == [shelves.get(key) for key in KEYS]
        assert mapped.get("cuckoo") == [1, 99] and mapped.get("owl") == []
        for ours, theirs in zip(mapped.get_many(KEYS), shelves.get_many(KEYS), strict=True):
            assert (ours == theirs).all() and ours.dtype == theirs.dtype
        assert mapped.get_many(["owl", None, "cuckoo"], nulls="skip")[1].tolist() == [0, 0, 2]
        assert mapped.count_many(["owl", "cuckoo", None], nulls="skip", threads=2).tolist() == [0, 2, 0]
        loaded = mapped.load()
        assert type(loaded) is Map and loaded == shelves
    Filter(10, 0.1).save(tmp_path / "plain")
    with pytest.raises(TypeError, match=r"malkoha\.Map"):
        malkoha.map(tmp_path / "plain").get("cuckoo")
    with pytest.raises(TypeError, match=r"malkoha\.Map"):
        malkoha.map(tmp_path / "plain").get_many(["cuckoo"])


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_hold_the_bytes_of_files(protocol):
    for whole in (Filter(100, 1e-9), Filter(rate=1e-9), Filter(100, 1e-9, shards=2), Map(100, 1e-9), Window(100, 1e-9)):
        if isinstance(whole, Filter):
            whole.add_many(KEYS)
        data = pickle.dumps(whole, protocol)
        again = pickle.loads(data)
        assert type(again) is type(whole) and again == whole
        if protocol >= 3:
            assert whole.to_bytes() in data


def test_every_process_gives_the_same_answers(tmp_path):
    """Python's own hashes differ from process to process; filters do not use them."""
    program = """
        import pickle, sys
        import malkoha
        from test_files import KEYS, STRANGERS

        folder = sys.argv[1]
        for birds in (malkoha.open(folder + "/birds"), pickle.load(open(folder + "/pickle", "rb"))):
            assert birds.contains_many(KEYS).all() and all(key in birds for key in KEYS)
            assert not birds.contains_many(STRANGERS).any()
        again = malkoha.Filter(1000, 1e-9)
        again.add_many(KEYS)
        assert again == birds
        print(hash("cuckoo"))
    """
    birds = Filter(1000, 1e-9)
    birds.add_many(KEYS)
    birds.save(tmp_path / "birds")
    (tmp_path / "pickle").write_bytes(pickle.dumps(birds))
    hashes = set()
    for seed in ("0", "1", "4242"):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(HERE)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        hashes.add(done.stdout)
    assert len(hashes) == 3


@pytest.fixture(scope="module")
def exchange():
    """Runs the Rust side."""
    sources = REPOSITORY / "python"
    assert (sources / "exchange").exists(), "the Rust side is in the repository; set MALKOHA_REPOSITORY"

    def run(*arguments):
        command = ["cargo", "run", "--quiet", "--release", "-p", "malkoha-python-exchange", "--", *map(str, arguments)]
        done = subprocess.run(command, cwd=sources, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    return run


def test_rust_reads_what_python_writes(exchange, tmp_path):
    for name, one in [
        ("single", Filter(100, 1e-9, seed=2026)),
        ("growing", Filter(100, 1e-9, seed=2026, growing=True)),
        ("sharded", Filter(100, 1e-9, seed=2026, shards=4)),
    ]:
        # Each key in the form that arrays and columns have.
        one.add_many(np.array(TEXTS))
        one.add_many(pa.array(BYTES))
        one.add_many(np.array(SMALL))
        one.add_many(WIDE)
        one.save(tmp_path / name)
    shelves = Map(100, 1e-9, seed=2026)
    shelves.add_many(KEYS, range(len(KEYS)))
    shelves.save(tmp_path / "map")
    window = Window(100, 1e-9, seed=2026)
    window.add_unique_many(KEYS)
    window.save(tmp_path / "window")
    exchange("check", tmp_path)


def test_python_reads_what_rust_writes(exchange, tmp_path):
    exchange("write", tmp_path)
    for name in ("single", "growing", "sharded", "window", "map"):
        whole = malkoha.open(tmp_path / name)
        assert len(whole) == len(KEYS) and whole.seed == 2026
        assert whole.contains_many(KEYS).all() and all(key in whole for key in KEYS)
        assert whole.contains_many(np.array(TEXTS)).all() and whole.contains_many(pa.array(BYTES)).all()
        for dtype in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
            numbers = [key for key in KEYS if isinstance(key, int) and np.iinfo(dtype).min <= key <= np.iinfo(dtype).max]
            assert whole.contains_many(np.array(numbers, dtype=dtype)).all()
            assert all(np.dtype(dtype).type(number) in whole for number in numbers)
        assert not whole.contains_many(STRANGERS).any()
    shelves = malkoha.open(tmp_path / "map")
    assert [shelves.get(key) for key in KEYS] == [[value] for value in range(len(KEYS))]
    assert malkoha.open(tmp_path / "single") == malkoha.map(tmp_path / "single").load()


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_files_of_the_program(version):
    lines = malkoha.open(GOLDEN / version / "lines.malkoha")
    assert lines.contains_many((GOLDEN / "lines.txt").read_bytes().splitlines()).all()
    numbers = malkoha.open(GOLDEN / version / "numbers.malkoha")
    assert numbers.contains_many(np.fromfile(GOLDEN / "numbers.u64", dtype="<u8")).all()
    kmers = malkoha.open(GOLDEN / version / "kmers-31.malkoha")
    assert kmers.key_format == "kmers:31" or version == "v1"
