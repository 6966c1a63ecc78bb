"""Measures malkoha.dask on a local cluster of two processes, beside drop_duplicates; prints Markdown.

    python bench/dask_scale.py [KEYS [PARTITIONS]] [build grown killed dedup drop_duplicates text]

KEYS is 10^8 and PARTITIONS 64 unless given. `text` makes the keys of dedup and drop_duplicates URLs instead of int64.
The memory is the largest sum of what both worker processes had resident, sampled ten times a second, above what they
had before.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import dask
import dask.dataframe
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from distributed import Client, LocalCluster

from malkoha import Filter
from malkoha.dask import build, dedup

RATE = 0.001
CHECKED = 10_000_000


def spread(numbers: np.ndarray) -> np.ndarray:
    """Different numbers of 64 bits for different numbers."""
    return (numbers.astype("u8") * np.uint64(0x9E3779B97F4A7C15)).view("i8")


def rows(part: int, each: int, distinct: int, text: bool) -> pd.DataFrame:
    """A part of the table: the keys run through `distinct` numbers again and again."""
    numbers = np.arange(part * each, (part + 1) * each) % distinct
    if not text:
        return pd.DataFrame({"key": spread(numbers)})
    urls = pc.binary_join_element_wise("https://example.org/item/", pc.cast(pa.array(numbers), pa.string()), "")
    return pd.DataFrame({"key": pd.Series(urls, dtype=pd.ArrowDtype(pa.string()))})


def table(keys: int, parts: int, distinct: int, text: bool = False) -> Any:
    return dask.dataframe.from_map(
        rows, range(parts), each=keys // parts, distinct=distinct, text=text, meta=rows(0, 0, 1, text)
    )


class Memory:
    """The largest resident memory of some processes while it is watched."""

    def __init__(self, client: Client) -> None:
        self.pids = list(client.run(os.getpid).values())

    def resident(self) -> int:
        total = 0
        for pid in self.pids:
            try:
                with open(f"/proc/{pid}/statm") as statm:
                    total += int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
            except FileNotFoundError:
                pass
        return total

    def __enter__(self) -> Memory:
        self.before = self.peak = self.resident()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self) -> None:
        while not self.stop.wait(0.1):
            self.peak = max(self.peak, self.resident())

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.thread.join()


def check(whole: Filter, keys: int) -> str:
    """Every key is found, and strangers at the promised rate."""
    assert len(whole) == keys
    for start in range(0, keys, CHECKED):
        assert whole.contains_many(spread(np.arange(start, min(start + CHECKED, keys)))).all(), "no key is lost"
    strangers = whole.contains_many(spread(np.arange(keys, keys + CHECKED))).mean()
    assert strangers <= 1.05 * RATE
    return f"rate {strangers:.2e}, {8 * whole.nbytes / keys:.2f} bits a key"


def killing_one(client: Client, delayed: Any) -> Filter:
    """The result, though a worker is killed in the middle of the work."""
    future = client.compute(delayed)
    victim = next(iter(client.run(os.getpid).values()))
    time.sleep(3)
    assert not future.done(), "too few keys: the work was done before the worker was killed"
    os.kill(victim, signal.SIGKILL)
    return future.result()


def main() -> None:
    numbers = [int(float(word)) for word in sys.argv[1:] if word[0].isdigit()]
    keys, parts = (numbers + [10**8, 64][len(numbers) :])[:2]
    keys -= keys % parts
    whole, half = table(keys, parts, keys), table(keys, parts, keys // 2, text="text" in sys.argv)

    def check_rows(rows: int) -> str:
        assert keys // 2 * (1 - 2e-6) <= rows <= keys // 2
        return f"{rows:,} rows left"

    def check_filter(filter: Filter) -> str:
        return check(filter, keys)

    planned, grown = build(whole["key"], RATE, keys=keys), build(whole["key"], RATE)
    cases: dict[str, tuple[Callable[[Client], Any], Callable[[Any], str]]] = {
        "build": (lambda client: client.compute(planned).result(), check_filter),
        "grown": (lambda client: client.compute(grown).result(), check_filter),
        "killed": (lambda client: killing_one(client, planned), check_filter),
        "dedup": (lambda _: len(dedup(half, "key")), check_rows),
        "drop_duplicates": (lambda _: len(half.drop_duplicates(split_out=parts)), check_rows),
    }
    print(f"{keys:,} rows in {parts} partitions{', keys are URLs' if 'text' in sys.argv else ''}\n")
    print("| | seconds | MB in both workers | |\n| --- | --: | --: | --- |")
    options = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
    for name in [word for word in sys.argv[1:] if word in cases] or cases:
        act, verify = cases[name]
        # Each with workers of its own, which have kept no memory.
        with LocalCluster(host="127.0.0.1", **options) as cluster, Client(cluster) as client:
            with Memory(client) as memory:
                start = time.perf_counter()
                result = act(client)
                took = time.perf_counter() - start
            megabytes = (memory.peak - memory.before) / 1e6
            print(f"| {name} | {took:.1f} | {megabytes:.0f} | {verify(result)} |", flush=True)


if __name__ == "__main__":
    main()
