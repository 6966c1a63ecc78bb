"""The whole interface as typed code uses it: checked by mypy and pyright in strict mode, and never run."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

import malkoha
from malkoha import Filter, Map, Mapped, Offer, Plan, Stats, Window


def filters(numbers: NDArray[np.int64], words: Iterable[str]) -> None:
    birds = Filter(1_000_000, 0.001, kind="windowed:2", seed=7, shards=16)
    birds.add("koel")
    birds.add(b"koel")
    birds.add(7)
    birds.add(np.int64(7))
    birds.add(1.5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    birds.add(None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type("koel" in birds, bool)
    assert_type(birds.add_unique("koel"), bool)
    assert_type(birds.count("koel"), int)
    birds.update(numbers, ["koel", None], words, threads=2)
    birds.add_many(numbers, nulls="maybe")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(birds.add_unique_many(numbers), NDArray[np.bool_])
    assert_type(birds.contains_many(pl.Series(["a"]), nulls="skip"), NDArray[np.bool_])
    assert_type(birds.contains_many(pl.DataFrame({"a": ["a"]})), NDArray[np.bool_])
    assert_type(birds.remove_many(numbers), NDArray[np.bool_])
    assert_type(birds.count_many(numbers), NDArray[np.uint32])
    assert_type(birds | birds.copy(), Filter)
    birds |= birds
    assert_type(birds, Filter)
    assert_type(malkoha.merge([birds]), Filter)
    assert_type(malkoha.merge(Filter(10, 0.1) for _ in words), Filter)
    assert_type(birds == birds, bool)
    assert_type(birds.stats(), Stats)
    assert_type(birds.stats().predicted_rate, float)
    birds.save(Path("birds"))
    assert_type(malkoha.open("birds"), Filter | Map | Window)
    mapped = malkoha.map("birds")
    assert_type(mapped, Mapped)
    assert_type((mapped.get("koel"), mapped.load()), tuple[list[int], Filter | Map])
    assert_type(mapped.get_many(numbers), tuple[NDArray[np.uint16], NDArray[np.uint32]])
    assert_type(mapped.count_many(numbers), NDArray[np.uint32])
    assert_type(Filter.from_bytes(birds.to_bytes()), Filter)
    assert_type((birds.keys, birds.rate, birds.shards), tuple[int, float, int | None])


def untyped_libraries(table: Any) -> None:
    birds = Filter(rate=0.001)
    column: pd.Series[str] = table["key"]
    birds.add_many(column)
    chunks = pa.chunked_array([["a"]])
    birds.add_many(chunks)


def others(numbers: NDArray[np.int64]) -> None:
    shelves = Map(1000, 1e-6, bits=4)
    shelves.add("koel", 7)
    assert_type((Map(rate=0.001).growing, shelves.nbytes, shelves.compact()), tuple[bool, int, int])
    assert_type(shelves.get("koel"), list[int])
    shelves.add_many(numbers, [1, 2])
    shelves.add_many(numbers, range(2))
    shelves.add_many(["a"], {"a": 1}.values())  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_type(shelves.get_many(numbers), tuple[NDArray[np.uint16], NDArray[np.uint32]])
    window = Window(1000, 0.001, ticks=60)
    assert_type(window.add_unique("koel", now=7), bool)
    assert_type(window.add_unique_many(["koel"], now=7), NDArray[np.bool_])
    assert_type(window.add_many(["koel"], now=7), None)
    assert_type((window.kind, window.nbytes, malkoha.__version__), tuple[str, int, str])
    assert_type(malkoha.plan(keys=1e6, rate=0.001, needs="delete"), Plan)
    plan = malkoha.plan(keys=1e6, rate=0.001, needs=["delete"])
    assert_type(plan, Plan)
    assert_type(plan.best, Offer | None)
    assert_type(plan[0].build(), Filter)
    assert_type([offer.kind for offer in plan], list[str])
