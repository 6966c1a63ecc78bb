"""A filter of the small side of a join, applied to the large side while it is read: most rows never reach the join.

    python semi_join.py
"""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from malkoha import Filter

ORDERS = 1_000_000
CUSTOMERS = 2_000


def matching(orders: ds.Dataset, customers: Filter, column: str) -> pa.Table:
    """The rows of a data set whose keys may be in the filter, batch by batch."""
    batches = []
    for batch in orders.to_batches():
        batches.append(batch.filter(pa.array(customers.contains_many(batch[column]))))
    return pa.Table.from_batches(batches, orders.schema)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "orders.parquet"
        numbers = pa.array(range(ORDERS))
        names = pc.binary_join_element_wise("customer", pc.cast(pc.multiply(numbers, 7), pa.string()), " ")
        pq.write_table(pa.table({"order": numbers, "customer": names}), path)
        wanted = pa.table({"customer": [f"customer {7 * number * 400}" for number in range(CUSTOMERS)]})

        customers = Filter(len(wanted), 0.001)
        customers.add_many(wanted["customer"])
        candidates = matching(ds.dataset(path), customers, "customer")
        joined = candidates.join(wanted, "customer", join_type="inner")

        print(f"{ORDERS:,} orders, {len(candidates):,} after the filter of {customers.nbytes:,} bytes, {len(joined):,} match")
        assert len(joined) == CUSTOMERS, "no match is lost"
        assert len(candidates) < CUSTOMERS + 0.0015 * ORDERS, "one row in a thousand passes in vain"
