"""Deduplicates a folder of Parquet files by one column, file by file, without the whole in memory.

    python dedup_parquet.py [FOLDER OUTPUT COLUMN]

Without arguments it makes a folder to try. The filter grows with the data; a set of the same keys would take some thirty
times the memory. One row in a million that is new is taken for a duplicate.
"""

import sys
import tempfile
from pathlib import Path

import polars as pl

from malkoha import Filter


def dedup(folder: Path, output: Path, column: str) -> Filter:
    output.mkdir(parents=True, exist_ok=True)
    seen = Filter(rate=1e-6)
    for path in sorted(folder.glob("*.parquet")):
        rows = pl.read_parquet(path)
        new = seen.add_unique_many(rows[column])
        kept = rows.filter(new)
        kept.write_parquet(output / path.name)
        print(f"{path.name}: {len(kept):,} of {len(rows):,} rows are new")
    return seen


def something_to_try(folder: Path) -> None:
    for part in range(4):
        urls = [f"https://example.org/{number % 150_000}" for number in range(part * 50_000, part * 50_000 + 100_000)]
        pl.DataFrame({"url": urls, "part": part}).write_parquet(folder / f"part-{part}.parquet")


if __name__ == "__main__":
    if len(sys.argv) == 4:
        print(dedup(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
    else:
        with tempfile.TemporaryDirectory() as scratch:
            source, target = Path(scratch) / "in", Path(scratch) / "out"
            source.mkdir()
            something_to_try(source)
            print(dedup(source, target, "url"))
            left = pl.read_parquet(target / "*.parquet")
            assert len(left) == left["url"].n_unique() and len(left) > 149_990, "no duplicates, next to nothing lost"
