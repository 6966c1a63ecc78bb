"""Deduplicates JSON lines by their text with Dask, on as many processes as wanted; order is kept.

    python dedup_json_lines.py [INPUT... OUTPUT_FOLDER]

Without arguments it makes files to try.
"""

import json
import sys
import tempfile
from pathlib import Path

import dask.bag
from distributed import Client, LocalCluster

from malkoha.dask import dedup


def text_of(line: str) -> str:
    """What makes two documents equal: the text, without space around it."""
    return str(json.loads(line)["text"]).strip()


def deduplicate(inputs: list[str], output: Path) -> None:
    lines = dask.bag.read_text(inputs, blocksize="64MB").map(str.rstrip)
    dedup(lines, text_of, rate=1e-6).to_textfiles(str(output / "*.jsonl"))


def something_to_try(folder: Path) -> list[str]:
    paths = []
    for part in range(4):
        path = folder / f"part-{part}.jsonl"
        documents = ({"id": f"{part}-{row}", "text": f"document {(part * 3000 + row) % 8000} "} for row in range(5000))
        path.write_text("".join(json.dumps(document) + "\n" for document in documents))
        paths.append(str(path))
    return paths


if __name__ == "__main__":
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None)
    with cluster, Client(cluster), tempfile.TemporaryDirectory() as scratch:
        if len(sys.argv) > 2:
            deduplicate(sys.argv[1:-1], Path(sys.argv[-1]))
        else:
            output = Path(scratch) / "out"
            paths = something_to_try(Path(scratch))
            deduplicate(paths, output)
            texts = [text_of(line) for path in sorted(output.glob("*")) for line in path.open()]
            print(f"20,000 lines, {len(texts):,} of them different")
            assert len(texts) == len(set(texts)) >= 7999
