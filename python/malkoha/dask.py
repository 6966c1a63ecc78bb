"""Filters of Dask collections, and deduplication across their partitions.

``build`` makes a filter of every partition and merges them in a tree. ``dedup`` keeps the first row of every key: it
routes the hashes of keys, 8 bytes each, to several filters, so no filter holds all keys, and rows stay where they are.
Partitions go through these filters in their order, a few at a time, so hashes and rows need not all be in memory.
All tasks are pure: if a worker is lost, Dask runs them again elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from malkoha._malkoha import Filter
from malkoha._parts import MOST_SHARDS, Parts, firsts, kept, merged, route
from malkoha._types import Nulls

__all__ = ["build", "dedup"]

# The number of filters that one task merges.
FAN_IN = 8

# Deduplication has a shard for this many partitions, so that there are not too many tasks, and at most so many shards.
PARTITIONS_PER_SHARD = 4
USUAL_SHARDS = 64

# The number of partitions whose hashes a shard takes in one task.
PARTITIONS_PER_STEP = 8


def build(
    column: Any,
    rate: float,
    *,
    keys: float | None = None,
    kind: str = "sorted",
    seed: int = 0,
    nulls: Nulls = "error",
) -> Delayed:
    """A filter of all keys of a Dask series, array of one dimension or bag, as a delayed ``Filter``.

    The rate is that of the whole. ``keys`` is the number of all keys, duplicates included, if you know it: then the
    filter is no larger than one built on a single machine. Otherwise it grows, and every partition has its share of the
    rate: 64 partitions cost 6 bits a key.

    >>> import dask.bag
    >>> from malkoha.dask import build
    >>> words = dask.bag.from_sequence(["cuckoo", "koel", "owl", "malkoha"], npartitions=2)
    >>> birds = build(words, 1e-6).compute(scheduler="sync")
    >>> "owl" in birds, len(birds)
    (True, 4)
    """
    partitions = _partitions(column)
    parts = Parts(rate, len(partitions), None if keys is None else int(keys), kind, seed, nulls)
    # A plan that cannot be is an error now, and not in a worker.
    parts.empty()
    level: list[Delayed] = [delayed(_build, pure=True)(parts, partition) for partition in partitions]
    while len(level) > 1:
        level = [delayed(merged, pure=True)(level[at : at + FAN_IN]) for at in range(0, len(level), FAN_IN)]
    return level[0]


def dedup(
    collection: Any,
    key: Any = None,
    *,
    rate: float = 1e-6,
    shards: int | None = None,
) -> Any:
    """The first row of every key, across all partitions, in the order of the collection.

    ``collection`` is a Dask frame, with the name of the column in ``key``; a series; or a bag, whose items are keys or
    become keys by the function ``key``. A row that is not the first of its key is never kept. A first row is lost with a
    chance of at most ``rate``. ``shards`` filters share the keys: one for four partitions, but at most 64, unless you say
    how many. The more there are, the less memory each needs, and the more tasks there are.

    >>> import dask.bag
    >>> from malkoha.dask import dedup
    >>> words = dask.bag.from_sequence(["koel", "owl", "koel", "crow", "owl"], npartitions=2)
    >>> dedup(words).compute(scheduler="sync")
    ['koel', 'owl', 'crow']
    """
    partitions = _partitions(collection)
    if not hasattr(collection, "map_partitions"):
        raise TypeError("an array has no rows to keep; give a frame, a series or a bag")
    usual = min(math.ceil(len(partitions) / PARTITIONS_PER_SHARD), USUAL_SHARDS)
    count = usual if shards is None else shards
    if not 1 <= count <= MOST_SHARDS:
        raise ValueError(f"{count} shards are not possible; ask for 1 to {MOST_SHARDS}")
    sources = partitions
    if key is not None and hasattr(collection, "columns"):
        # Only this column is read to route the keys.
        sources, key = _partitions(collection[key]), None
    routes = [delayed(_route, pure=True, nout=count + 1)(source, key, count) for source in sources]
    answers = zip(*(_answers(shard, routes, rate) for shard in range(count)), strict=True)
    rows = [
        delayed(_select, pure=True)(partition, pieces[0], list(of_shards))
        for partition, pieces, of_shards in zip(partitions, routes, answers, strict=True)
    ]
    return _like(collection, rows)


def _answers(shard: int, routes: list[Any], rate: float) -> list[Any]:
    """What one shard says of every partition. It takes the partitions in order, a few at a time, so that their hashes
    and rows need not wait in memory until all partitions were read."""
    seen: Any = None
    answers: list[Any] = []
    for at in range(0, len(routes), PARTITIONS_PER_STEP):
        pieces = [route[1 + shard] for route in routes[at : at + PARTITIONS_PER_STEP]]
        seen, *of_pieces = delayed(firsts, pure=True, nout=1 + len(pieces))(seen, pieces, rate)
        answers += of_pieces
    return answers


def _partitions(collection: Any) -> list[Delayed]:
    """The partitions of a collection, in order."""
    if not hasattr(collection, "to_delayed"):
        name = type(collection).__name__
        raise TypeError(f"{name} is no Dask collection; give a series, a frame, a bag or an array of one dimension")
    if getattr(collection, "ndim", 1) > 1 and not hasattr(collection, "columns"):
        raise ValueError(f"an array of {collection.ndim} dimensions; give one of 1 dimension, such as array.ravel()")
    return list(np.ravel(collection.to_delayed()))


def _like(collection: Any, rows: list[Delayed]) -> Any:
    """A collection of the same type with other partitions."""
    import dask.bag

    bag: Any = dask.bag
    if isinstance(collection, bag.Bag):
        return bag.from_delayed(rows)
    import dask.dataframe

    divisions = collection.divisions if collection.known_divisions else None
    return dask.dataframe.from_delayed(rows, meta=collection._meta, divisions=divisions, verify_meta=False)


def _build(parts: Parts, partition: Any) -> Filter:
    return parts.build(partition)


def _route(partition: Any, key: Callable[[Any], Any] | None, shards: int) -> tuple[NDArray[Any], ...]:
    rows = _rows(partition)
    shard, pieces = route(rows if key is None else [key(row) for row in rows], shards)
    return (shard, *pieces)


def _rows(partition: Any) -> Any:
    """The rows of a partition; those of a bag may come as an iterator."""
    return partition if hasattr(partition, "__len__") else list(partition)


def _select(partition: Any, shard: NDArray[Any], answers: list[NDArray[np.uint8]]) -> Any:
    rows, keep = _rows(partition), kept(shard, answers)
    if hasattr(rows, "loc"):
        return rows[keep]
    return [item for item, stays in zip(rows, keep.tolist(), strict=True) if stays]
