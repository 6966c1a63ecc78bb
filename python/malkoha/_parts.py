"""Filters of parts that are merged, and keys that are routed: what Dask and Spark have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from malkoha._malkoha import Filter, hash_many, merge
from malkoha._types import Nulls

# The seed of the hashes by which keys are routed. Filters hash what they get once more.
ROUTE_SEED = 0x6D616C6B6F6861
# The most shards that keys are routed to.
MOST_SHARDS = 4096


@dataclass(frozen=True)
class Parts:
    """How to build the filters of ``count`` parts, so that all of them merge into one of this rate.

    With the number of all keys, a part is a small table with long fingerprints. Merging doubles tables, and each doubling
    takes one bit of every fingerprint: the whole is as large as if it had been planned for all keys. Without it, a part
    grows, and has its share of the rate, because the rates of growing filters add up.
    """

    rate: float
    count: int
    keys: int | None = None
    kind: str = "sorted"
    seed: int = 0
    nulls: Nulls = "error"

    def empty(self) -> Filter:
        """The filter of a part, before its keys."""
        if self.keys is None:
            return Filter(rate=self.rate / self.count, kind=self.kind, seed=self.seed)
        if self.kind.split(":")[0] not in ("sorted", "windowed", "flexible"):
            raise ValueError(f"tables of kind {self.kind} cannot be doubled; take sorted, windowed or flexible")
        doublings = math.ceil(math.log2(self.count))
        each = max(math.ceil(self.keys / 2**doublings), 1)
        return Filter(each, self.rate / 2**doublings, kind=self.kind, seed=self.seed)

    def build(self, keys: Any) -> Filter:
        """The filter of one part, larger than others if it has more keys."""
        part = self.empty()
        if not part.growing:
            keys = keys if hasattr(keys, "__len__") else list(keys)
            while part.capacity < len(keys):
                part.double()
        part.add_many(keys, nulls=self.nulls)
        return part


def merged(filters: Sequence[Filter]) -> Filter:
    """One filter that holds everything in these. All merging of parts goes through here."""
    return merge(filters)


def route(keys: Any, shards: int) -> tuple[NDArray[Any], list[NDArray[np.uint64]]]:
    """The shard of every key, and the hashes of the keys of each shard, in the order of the keys.

    Each of these arrays has memory of its own, so that it is free as soon as its shard is done.
    """
    hashes = hash_many(keys, seed=ROUTE_SEED)
    shard = (hashes % np.uint64(shards)).astype(np.min_scalar_type(shards - 1))
    ends = np.cumsum(np.bincount(shard, minlength=shards))
    return shard, [piece.copy() for piece in np.split(hashes[_order(shard)], ends[:-1])]


def _order(shard: NDArray[Any]) -> NDArray[np.intp]:
    """The rows in the order of their shards. Numbers of 16 bits are sorted by their digits, in linear time."""
    return np.argsort(shard, kind="stable")


def firsts(
    seen: Filter | None, pieces: Sequence[NDArray[np.uint64]], rate: float
) -> tuple[Filter | NDArray[np.uint8], ...]:
    """A filter of the hashes of one shard, those of these pieces included, and which of these are the first of their
    kind: a bit for each, in the order of the pieces. The filter of the pieces before stays as it is, so that a task can
    run again."""
    seen = Filter(rate=rate) if seen is None else seen.copy()
    return (seen, *(np.packbits(seen.add_unique_many(piece)) for piece in pieces))


def kept(shard: NDArray[Any], answers: Sequence[NDArray[np.uint8]]) -> NDArray[np.bool_]:
    """Which rows of a part are kept, from the shards of its keys and the answers of those."""
    rows = np.empty(len(shard), dtype=np.bool_)
    counts = np.bincount(shard, minlength=len(answers)).tolist()
    bits = [np.unpackbits(answer, count=count) for answer, count in zip(answers, counts, strict=True)]
    rows[_order(shard)] = np.concatenate(bits)
    return rows
