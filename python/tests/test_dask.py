"""Dask: filters of partitions merged, rows deduplicated across partitions, and workers that die."""

import os
import signal

import numpy as np
import pandas as pd
import pytest

dask = pytest.importorskip("dask")
bag = pytest.importorskip("dask.bag")
frame = pytest.importorskip("dask.dataframe")

import dask.array  # noqa: E402

from malkoha import FullError  # noqa: E402
from malkoha._parts import firsts  # noqa: E402
from malkoha.dask import build, dedup  # noqa: E402

KEYS = 40_000
PARTITIONS = 13


@pytest.fixture(autouse=True, scope="module")
def one_process():
    with dask.config.set(scheduler="threads"):
        yield


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("form", ["series", "text", "bag", "array"])
def test_build(form, known):
    numbers = np.random.default_rng(1).permutation(KEYS)
    if form == "series":
        column, keys = frame.from_pandas(pd.Series(numbers), npartitions=PARTITIONS), numbers
    elif form == "text":
        keys = [f"key {number}" for number in numbers]
        column = frame.from_pandas(pd.DataFrame({"key": keys}), npartitions=PARTITIONS)["key"]
    elif form == "bag":
        column, keys = bag.from_sequence(numbers.tolist(), npartitions=PARTITIONS), numbers
    else:
        column, keys = dask.array.from_array(numbers, chunks=KEYS // PARTITIONS), numbers
    whole = build(column, 0.001, keys=KEYS if known else None, seed=7).compute()
    assert len(whole) == KEYS and whole.contains_many(keys).all()
    assert whole.stats().predicted_rate <= 0.001 and whole.seed == 7 and whole.growing is not known
    strangers = whole.contains_many(np.arange(10**9, 10**9 + 100_000))
    # 100 are expected; 4 standard deviations more.
    assert strangers.sum() <= 140
    if known:
        assert 8 * whole.nbytes / KEYS < 28, "no share of the rate is paid for: a plan for 2^n keys, at most doubled"


@pytest.mark.parametrize("known", [True, False])
def test_partitions_of_very_different_sizes(known):
    sizes = [1, 30_000, 0, 10, 5_000, 100]
    starts = np.cumsum([0, *sizes])
    parts = [dask.delayed(np.arange)(start, start + size) for start, size in zip(starts, sizes)]
    column = bag.from_delayed(parts)
    whole = build(column, 0.001, keys=sum(sizes) if known else None).compute()
    assert len(whole) == sum(sizes) and whole.contains_many(np.arange(sum(sizes))).all()


def test_missing_keys_and_impossible_plans():
    column = frame.from_pandas(pd.Series(["a", None, "b", "c"]), npartitions=2)
    assert len(build(column, 0.001, nulls="skip").compute()) == 3
    with pytest.raises(ValueError, match="missing"):
        build(column, 0.001).compute()
    with pytest.raises(ValueError, match="rate"):
        build(column, 2.0)
    with pytest.raises(ValueError, match="cannot be doubled"):
        build(column, 0.001, keys=4, kind="blocked:2")
    with pytest.raises(TypeError, match="no Dask collection"):
        build(["a"], 0.001)
    with pytest.raises(ValueError, match="1 dimension"):
        build(dask.array.zeros((3, 3), dtype=int), 0.001)


def test_too_few_keys_announced():
    column = frame.from_pandas(pd.Series(np.arange(10_000)), npartitions=4)
    whole = build(column, 0.001, keys=100).compute()
    assert whole.contains_many(np.arange(10_000)).all() and whole.rate > 0.001, "it is larger, and says its rate"
    with pytest.raises((FullError, ValueError)):
        build(column, 0.5, keys=1).compute()


@pytest.mark.parametrize("shards", [None, 1, 5])
def test_dedup_keeps_the_first_row_of_every_key(shards):
    random = np.random.default_rng(2)
    rows = pd.DataFrame({"key": random.integers(0, 3000, 20_000), "row": np.arange(20_000)})
    rows["word"] = "word " + rows["key"].astype(str)
    table = frame.from_pandas(rows, npartitions=PARTITIONS)
    rows = table.compute()
    for key in ("key", "word"):
        left = dedup(table, key, rate=1e-9, shards=shards)
        assert left.divisions == table.divisions and left.npartitions == table.npartitions
        pd.testing.assert_frame_equal(left.compute(), rows.drop_duplicates("key"))
    pd.testing.assert_series_equal(dedup(table["word"], rate=1e-9).compute(), rows["word"].drop_duplicates())


def test_what_a_shard_has_seen_stays_as_it_is():
    """Dask runs tasks again, with the same arguments."""
    pieces = [np.arange(start, start + 1000, dtype=np.uint64) for start in (0, 500, 0)]
    seen, *bits = firsts(None, pieces, 1e-9)
    assert [np.unpackbits(piece).sum() for piece in bits] == [1000, 500, 0]
    before = seen.copy()
    later = firsts(seen, [np.arange(1400, 1600, dtype=np.uint64)], 1e-9)
    assert seen == before and len(later[0]) == 1600
    again = firsts(seen, [np.arange(1400, 1600, dtype=np.uint64)], 1e-9)
    assert later[0] == again[0] and (later[1] == again[1]).all() and np.unpackbits(again[1]).sum() == 100


@pytest.mark.parametrize("shards", [0, -1, 5000])
def test_impossible_shards(shards):
    with pytest.raises(ValueError, match="1 to 4096"):
        dedup(bag.from_sequence(["a"]), shards=shards)


def test_dedup_of_bags():
    items = [{"id": number % 700, "text": f"text {number % 500}"} for number in range(3000)]
    rows = bag.from_sequence(items, npartitions=7)
    assert dedup(rows, lambda item: item["text"], rate=1e-9).compute() == items[:500]
    assert dedup(rows.pluck("id"), rate=1e-9).compute() == list(range(700))
    with pytest.raises(TypeError, match="a key is a str"):
        dedup(rows).compute()
    with pytest.raises(TypeError, match="a frame, a series or a bag"):
        dedup(dask.array.zeros(3, dtype=int))


def test_a_worker_that_dies_loses_nothing(tmp_path):
    """One of two processes is killed in the middle of a build and of a deduplication; Dask runs its tasks again."""
    distributed = pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10, "temporary-directory": str(tmp_path)}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, processes=True
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        killed = tmp_path / "killed"

        def keys_of(number):
            # The first process that gets to the middle dies there.
            if number == 6 and not killed.exists():
                killed.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return pd.DataFrame({"key": np.arange(1000 * number, 1000 * number + 2000)})

        meta = pd.DataFrame({"key": np.arange(0)})
        table = frame.from_delayed([dask.delayed(keys_of)(number) for number in range(12)], meta=meta)
        whole = client.compute(build(table["key"], 0.001)).result()
        assert killed.exists() and len(whole) == 24_000 and whole.contains_many(np.arange(13_000)).all()
        killed.unlink()
        left = client.compute(dedup(table, "key", rate=1e-9)).result()
        assert killed.exists() and left["key"].tolist() == list(range(13_000))
