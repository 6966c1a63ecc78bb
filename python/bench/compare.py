"""Measures the package beside the engine in Rust, beside other packages and beside a set; prints Markdown.

    python bench/compare.py              all tables
    python bench/compare.py rust         one of: rust, single, many, lists, memory

Needs cargo, polars, pyarrow, rbloom, pybloom-live, pyprobables and cuckoopy. Every figure is the median of several
runs, and what is compared takes turns in one process.
"""

from __future__ import annotations

import importlib.util
import platform
import random
import statistics
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from malkoha import Filter

HERE = Path(__file__).parent
RATE = 0.001
MANY = 10_000_000
SOME = 1_000_000
FEW = 100_000
ROUNDS = 5


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def medians(actions: dict[str, Callable[[], float]], rounds: int = ROUNDS) -> dict[str, float]:
    """The median time of each action, in turns."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            times[name].append(action())
    return {name: statistics.median(measured) for name, measured in times.items()}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    head = list(head)
    print("| " + " | ".join(head) + " |")
    print("| --- |" + " --: |" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


def texts(count: int) -> list[str]:
    return [f"https://example.org/item/{number * 7919 % count}" for number in range(count)]


def shuffled(keys: list[Any]) -> list[Any]:
    """The same objects, no longer next to each other in memory."""
    keys = keys.copy()
    random.Random(1).shuffle(keys)
    return keys


def slices() -> Any:
    """The Rust side, built with the same profile."""
    command = ["cargo", "build", "--quiet", "--release", "-p", "malkoha-python-slices"]
    subprocess.run(command, cwd=HERE.parent, check=True)
    library = HERE.parent / "target" / "release" / "libslices.so"
    spec = importlib.util.spec_from_file_location("slices", library)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of_views(column: pl.Series) -> tuple[np.ndarray, list[np.ndarray]]:
    """The buffers of a polars column, shared with it."""
    chunked = column.to_arrow(compat_level=pl.CompatLevel.newest())
    array = chunked.combine_chunks() if isinstance(chunked, pa.ChunkedArray) else chunked
    _, views, *data = array.buffers()
    return np.frombuffer(views, "u1")[: 16 * len(array)], [np.frombuffer(buffer, "u1") for buffer in data]


def beside_rust() -> None:
    rust = slices()
    random = np.random.default_rng(1)
    ids = random.permutation(MANY).astype("i8")
    signed = random.integers(-(2**63), 2**63 - 1, MANY, dtype="i8")
    column = pl.Series(texts(MANY))
    views, buffers = of_views(column)
    cases: list[tuple[str, Any, Callable[[str], tuple[float, float]]]] = [
        ("int64, 0 to 10^7", ids, lambda kind: rust.integers(ids, kind, RATE)),
        ("int64 of both signs", signed, lambda kind: rust.integers(signed, kind, RATE)),
        ("polars strings of 31 bytes", column, lambda kind: rust.views(views, buffers, kind, RATE)),
    ]
    rows = []
    for name, keys, in_rust in cases:
        for kind in ("sorted", "windowed:2", "blocked:2"):
            times: dict[str, list[float]] = {"add": [], "find": [], "rust add": [], "rust find": []}
            for _ in range(ROUNDS):
                birds = Filter(MANY, RATE, kind=kind)
                times["add"].append(seconds(lambda: birds.add_many(keys)))
                times["find"].append(seconds(lambda: birds.contains_many(keys)))
                stored, found = in_rust(kind)
                times["rust add"].append(stored)
                times["rust find"].append(found)
            add, find, rust_add, rust_find = (MANY / statistics.median(times[what]) / 1e6 for what in times)
            rows.append(
                [name, f"`{kind}`", f"{add:.1f}", f"{rust_add:.1f}", f"{add / rust_add:.2f}"]
                + [f"{find:.1f}", f"{rust_find:.1f}", f"{find / rust_find:.2f}"]
            )
    print("10 million keys, one thread, million keys per second: the package beside the engine in Rust\n")
    table(["keys", "kind", "`add_many`", "`extend`", "ratio", "`contains_many`", "`contains_slice`", "ratio"], rows)


def loop_add(add: Callable[[Any], object], keys: list[Any]) -> None:
    for key in keys:
        add(key)


def loop_find(container: Any, keys: list[Any]) -> None:
    for key in keys:
        key in container  # noqa: B015


def one_by_one() -> None:
    import rbloom

    rows = []
    for name, keys in (("str", texts(SOME)), ("int", list(range(SOME)))):
        makers: dict[str, Callable[[], Any]] = {
            "`Filter`": lambda: Filter(SOME, RATE),
            '`Filter(kind="blocked:2")`': lambda: Filter(SOME, RATE, kind="blocked:2"),
            "`rbloom.Bloom`": lambda: rbloom.Bloom(SOME, RATE),
            "`set`": set,
        }
        filled: dict[str, Any] = {}

        def add(what: str, make: Callable[[], Any], keys: list[Any] = keys, filled: dict[str, Any] = filled) -> float:
            container = filled[what] = make()
            return seconds(lambda: loop_add(container.add, keys))

        added = medians({what: lambda w=what, m=make: add(w, m) for what, make in makers.items()})
        found = medians({what: lambda w=what: seconds(lambda: loop_find(filled[w], keys)) for what in makers})
        rows += [[name, what, f"{SOME / added[what] / 1e6:.1f}", f"{SOME / found[what] / 1e6:.1f}"] for what in makers]
    print("A million keys, one by one in a Python loop, million keys per second\n")
    table(["keys", "container", "`add`", "`in`"], rows)


def many_at_once() -> None:
    import cuckoopy
    import probables
    import pybloom_live
    import rbloom

    warnings.simplefilter("ignore")
    words = texts(SOME)
    numbers = np.arange(SOME)
    forms: list[tuple[str, Any, list[Any]]] = [
        ("polars column of str", pl.Series(words), words),
        ("list of str", words, words),
        ("list of str, shuffled", shuffled(words), shuffled(words)),
        ("numpy int64", numbers, numbers.tolist()),
        ("list of int", numbers.tolist(), numbers.tolist()),
        ("list of int, shuffled", shuffled(numbers.tolist()), shuffled(numbers.tolist())),
    ]
    rows = []
    for name, column, objects in forms:
        cells: dict[str, tuple[float, float | None]] = {}
        for kind in ("sorted", "blocked:1", "blocked:2"):
            filled = Filter(SOME, RATE, kind=kind)
            filled.add_many(column)

            def add(kind: str = kind, column: Any = column) -> float:
                empty = Filter(SOME, RATE, kind=kind)
                return seconds(lambda: empty.add_many(column))

            measured = medians({"add": add, "find": lambda f=filled: seconds(lambda: f.contains_many(column))})
            cells[f"`Filter`, `{kind}`"] = (SOME / measured["add"], SOME / measured["find"])

        bloom = rbloom.Bloom(SOME, RATE)
        bloom.update(column)

        def update(column: Any = column) -> float:
            empty = rbloom.Bloom(SOME, RATE)
            return seconds(lambda: empty.update(column))

        def loop(objects: list[Any] = objects) -> float:
            empty = rbloom.Bloom(SOME, RATE)
            return seconds(lambda: loop_add(empty.add, objects))

        measured = medians({"update": update, "loop": loop, "find": lambda: seconds(lambda: loop_find(bloom, objects))})
        cells["rbloom `update`, loop of `in`"] = (SOME / measured["update"], SOME / measured["find"])
        cells["rbloom, loop of `add`, `in`"] = (SOME / measured["loop"], SOME / measured["find"])
        # The others are far slower: fewer keys and one run, and the order does not matter to them.
        few = [] if "shuffled" in name else objects[:FEW]
        strings = [str(key) for key in few]
        peers: list[tuple[str, Any, str, Any, list[Any]]] = []
        live = pybloom_live.BloomFilter(FEW, RATE)
        peers.append(("pybloom-live", live, "add", live, few))
        pure = probables.BloomFilter(est_elements=FEW, false_positive_rate=RATE)
        peers.append(("pyprobables", pure, "add", pure, strings))
        cuckoo = cuckoopy.CuckooFilter(capacity=FEW // 2, bucket_size=4, fingerprint_size=12)
        peers.append(("cuckoopy", cuckoo, "insert", cuckoo, strings))
        for peer, container, method, asked, keys in peers if few else []:
            added = seconds(lambda: loop_add(getattr(container, method), keys))
            ask = asked.contains if peer == "cuckoopy" else asked.__contains__
            found = seconds(lambda: loop_add(ask, keys))
            cells[peer] = (FEW / added, FEW / found)
        for what, (added, found) in cells.items():
            assert found is not None
            rows.append([name, what, f"{added / 1e6:.2f}", f"{found / 1e6:.2f}"])
    print("A million keys in one call, or in a loop where there is none, million keys per second\n")
    table(["keys", "container", "add", "find"], rows)


def lists() -> None:
    """`update` with lists in the order of their objects, of several lengths."""
    import rbloom

    rows = []
    for count in (100_000, SOME, 3_000_000, MANY):
        for name, keys in (("str", texts(count)), ("int", list(range(count)))):
            makers: dict[str, tuple[Callable[[], Any], dict[str, int]]] = {
                "`Filter`": (lambda: Filter(count, RATE), {}),
                "`Filter`, `threads=2`": (lambda: Filter(count, RATE), {"threads": 2}),
                "rbloom": (lambda: rbloom.Bloom(count, RATE), {}),
            }

            def update(make: Callable[[], Any], options: dict[str, int], keys: list[Any] = keys) -> float:
                container = make()
                return seconds(lambda: container.update(keys, **options))

            actions = {what: lambda m=make, o=options: update(m, o) for what, (make, options) in makers.items()}
            measured = medians(actions, 25 if count <= SOME else ROUNDS)
            speeds = [f"{count / measured[what] / 1e6:.1f}" for what in makers]
            ratio = measured["rbloom"] / measured["`Filter`"]
            rows.append([f"{count:,}", name, *speeds, f"{ratio:.2f}"])
    print("`update` with a list in order, million keys per second\n")
    table(["keys", "of", "`Filter`", "`threads=2`", "rbloom", "ratio, one thread"], rows)


def memory() -> None:
    words = texts(SOME)
    rows = []
    tracemalloc.start()
    numbers = list(range(2**20, 2**20 + SOME))
    before = tracemalloc.get_traced_memory()[0]
    whole = set(words)
    after = tracemalloc.get_traced_memory()[0]
    strings = sum(sys.getsizeof(word) for word in words)
    rows.append(["`set` of str, without the strings", f"{(after - before) / 1e6:.1f}"])
    rows.append(["`set` of str, with the strings", f"{(after - before + strings) / 1e6:.1f}"])
    tracemalloc.stop()
    assert len(whole) == SOME and len(numbers) == SOME
    for rate in (0.01, 0.001, 1e-6):
        birds = Filter(SOME, rate)
        birds.add_many(words)
        rows.append([f"`Filter`, rate {rate:g}", f"{birds.nbytes / 1e6:.2f}"])
    print("Memory for a million URLs of 31 bytes, MB\n")
    table(["container", "MB"], rows)


TABLES = {"rust": beside_rust, "single": one_by_one, "many": many_at_once, "lists": lists, "memory": memory}

if __name__ == "__main__":
    print(f"{platform.machine()}, CPython {platform.python_version()}, numpy {np.__version__}, polars {pl.__version__}\n")
    for wanted in sys.argv[1:] or TABLES:
        TABLES[wanted]()
