"""Filters of Spark columns, and deduplication of frames, by Arrow batches in the Python workers.

``build`` makes a filter in every partition and merges them on the driver. ``dedup`` brings equal keys into one partition
by a hash, as ``dropDuplicates`` does, and keeps the first row of every key that a partition sees; it holds filters and
not keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from malkoha._malkoha import Filter
from malkoha._parts import Parts, merged
from malkoha._types import Nulls

__all__ = ["build", "dedup"]


def build(
    frame: DataFrame,
    column: str,
    rate: float,
    *,
    keys: float | None = None,
    kind: str = "sorted",
    seed: int = 0,
    nulls: Nulls = "error",
) -> Filter:
    """A filter of all keys in a column of strings, binary data or integers.

    The rate is that of the whole. ``keys`` is the number of all keys, duplicates included, if you know it: then the
    filter is no larger than one built on a single machine. Otherwise it grows, and every partition has its share of the
    rate: 64 partitions cost 6 bits a key.
    """
    narrow = frame.select(column)
    parts = Parts(rate, narrow.rdd.getNumPartitions(), None if keys is None else int(keys), kind, seed, nulls)
    # A plan that cannot be is an error now, and not in a worker.
    parts.empty()

    def one_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        columns = [batch.column(0) for batch in batches]
        if columns:
            yield pa.record_batch({"filter": [parts.build(pa.chunked_array(columns)).to_bytes()]})

    filters = [Filter.from_bytes(row.filter) for row in narrow.mapInArrow(one_partition, "filter binary").collect()]
    return merged(filters) if filters else parts.empty()


def dedup(frame: DataFrame, column: str, *, rate: float = 1e-6) -> DataFrame:
    """One row of every key. A row of a key that was seen is never kept; the only row of a key is lost with a chance of
    at most ``rate``. Rows without a key are left out."""

    def one_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        seen = Filter(rate=rate)
        for batch in batches:
            new: Any = seen.add_unique_many(batch.column(column), nulls="skip")
            yield batch.filter(pa.array(new))

    return frame.repartition(column).mapInArrow(one_partition, frame.schema)
