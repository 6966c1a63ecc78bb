"""Threads that share one filter."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from malkoha import Filter, Map, Window

THREADS = 8
EACH = 20_000


@pytest.mark.parametrize("make", [lambda: Filter(THREADS * EACH, 0.001), lambda: Filter(rate=0.001),
                                  lambda: Filter(THREADS * EACH, 0.001, shards=16),
                                  lambda: Filter(rate=0.001, shards=16),
                                  lambda: Filter(THREADS * EACH, 0.001, kind="blocked:2")])
def test_no_key_of_any_thread_is_lost(make):
    birds = make()

    def work(thread):
        own = np.arange(thread * EACH, (thread + 1) * EACH)
        birds.add_many(own[: EACH // 2])
        for key in own[EACH // 2 : -1000].tolist():
            birds.add(key)
        new = birds.add_unique_many(own[-1000:])
        assert birds.contains_many(own).all() and len(birds) > 0 and repr(birds)
        return int(new.sum())

    with ThreadPoolExecutor(THREADS) as pool:
        unique = list(pool.map(work, range(THREADS)))
    assert len(birds) == THREADS * (EACH - 1000) + sum(unique)
    assert sum(unique) > 0.99 * THREADS * 1000
    assert birds.contains_many(np.arange(THREADS * EACH), threads=2).all()


@pytest.mark.parametrize("shards", [None, 16])
@pytest.mark.parametrize("keys", [None, 100_000])
def test_of_equal_keys_one_thread_stores_the_first(shards, keys):
    seen = Filter(keys, 1e-9, shards=shards)
    own = np.arange(50_000)
    with ThreadPoolExecutor(THREADS) as pool:
        new = list(pool.map(lambda thread: seen.add_unique_many(np.roll(own, 999 * thread)), range(THREADS)))
    assert sum(answers.sum() for answers in new) == len(own) == len(seen)


def test_shards_grow_and_travel():
    birds = Filter(rate=0.001, shards=4)
    assert birds.growing and birds.shards == 4
    small = birds.nbytes
    birds.add_many(np.arange(100_000))
    assert birds.nbytes > 100_000 and birds.nbytes > 5 * small
    copy = Filter.from_bytes(birds.to_bytes())
    assert copy == birds and copy.growing and copy.shards == 4 and copy.contains_many(np.arange(100_000)).all()
    copy |= birds
    assert len(copy) == 200_000 and copy.rate == pytest.approx(0.002)


def test_threads_that_add_remove_save_compare_and_merge_do_not_wait_for_each_other_for_ever():
    birds, others = Filter(400_000, 0.001), Filter(400_000, 0.001)
    shelves, window = Map(100_000, 0.001), Window(100_000, 0.001)

    def work(thread):
        own = np.arange(thread * 1000, (thread + 1) * 1000)
        mine, theirs = (birds, others) if thread % 2 else (others, birds)
        for turn in range(5):
            mine.add_many(own)
            assert mine.contains_many(own).all()
            mine == theirs
            mine | theirs
            mine.to_bytes()
            mine.copy()
            assert mine.remove_many(own).all()
            fresh = own + 1_000_000 * turn
            shelves.add_many(fresh, own % 256)
            window.add_unique_many(fresh)
            assert shelves.contains_many(fresh).all()
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        assert all(pool.map(work, range(THREADS)))
    assert len(birds) == len(others) == 0 and len(shelves) == 5 * 1000 * THREADS
