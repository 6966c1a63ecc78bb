"""Lists: keys in any order and place, read with a look ahead."""

import random
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from malkoha import Filter, FullError, hash_many

KEYS = 100_000
WORDS = [f"word {number}" for number in range(KEYS)]
random.Random(1).shuffle(WORDS)
FORMS = [WORDS, [word.encode() for word in WORDS], list(range(-KEYS // 2, KEYS // 2))]
UNUSUAL = [np.int64(5), 2**70, bytearray(b"owl"), memoryview(b"crow")]


def one_hash(key):
    return hash_many([key])[0]


@pytest.mark.parametrize("length", [0, 1, 2, 15, 16, 17, 31, 32, 33, 100])
def test_lists_of_any_length_are_read_to_the_end(length):
    keys = WORDS[:length]
    assert hash_many(keys).tolist() == [one_hash(key) for key in keys]
    for at in range(length):
        for unusual in UNUSUAL:
            mixed = [*keys[:at], unusual, *keys[at:]]
            assert hash_many(mixed).tolist() == [one_hash(key) for key in mixed]
        with pytest.raises(TypeError, match=f"row {at}"):
            hash_many([*keys[:at], 0.5, *keys[at:]])


@pytest.mark.parametrize("kind", ["sorted", "windowed:2", "flexible:4", "blocked:1", "blocked:2", "bloom"])
def test_threads_do_not_change_what_is_stored(kind):
    for keys in FORMS:
        one, three = Filter(KEYS, 0.001, kind=kind), Filter(KEYS, 0.001, kind=kind)
        one.add_many(keys)
        three.add_many(keys, threads=3)
        assert one == three and len(three) == KEYS and three.contains_many(keys).all()


@pytest.mark.parametrize("at", [0, 17, KEYS // 2, KEYS])
def test_keys_that_end_the_reading(at):
    birds = Filter(KEYS + 1, 0.001)
    for bad in (None, 1.5, "\ud800"):
        with pytest.raises((TypeError, UnicodeError)):
            birds.add_many([*WORDS[:at], bad, *WORDS[at:]], threads=2)
        assert len(birds) == 0 and birds == Filter(KEYS + 1, 0.001)
    birds.add_many([*WORDS[:at], None, *WORDS[at:]], threads=2, nulls="skip")
    assert len(birds) == KEYS and birds.contains_many(WORDS).all()
    for unusual in UNUSUAL:
        birds = Filter(KEYS + 1, 0.001)
        birds.add_many([*WORDS[:at], unusual, *WORDS[at:]], threads=2)
        assert len(birds) == KEYS + 1 and unusual in birds and birds.contains_many(WORDS).all()


@pytest.mark.parametrize("keys", [WORDS, ["the same"] * KEYS], ids=["too many", "too many of one"])
def test_keys_without_room(keys):
    birds = Filter(KEYS // 2, 0.001) if keys is WORDS else Filter(KEYS, 0.001)
    empty = birds.copy()
    with pytest.raises(FullError):
        birds.add_many(keys, threads=2)
    assert birds == empty and len(birds) == 0


def test_a_filter_with_keys_keeps_them():
    birds = Filter(2 * KEYS, 0.001)
    birds.add("cuckoo")
    birds.add_many(WORDS, threads=2)
    birds.add_many(FORMS[2], threads=2)
    assert len(birds) == 2 * KEYS + 1
    assert "cuckoo" in birds and birds.contains_many(WORDS).all() and birds.contains_many(FORMS[2]).all()


def test_threads_that_find_the_same_filter_empty():
    for _ in range(10):
        birds = Filter(4 * KEYS, 0.001)
        ready = threading.Barrier(3)

        def store(keys, birds=birds, ready=ready):
            ready.wait()
            birds.add_many(keys, threads=2)

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(store, FORMS))
        assert len(birds) == 3 * KEYS
        assert all(birds.contains_many(keys).all() for keys in FORMS)


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("act", ["change the list", "use the filter", "raise"])
def test_signals_while_a_list_is_read(act):
    keys = WORDS * 10
    birds = Filter(len(keys) + 10, 0.001, kind="blocked:2")

    def handler(*_):
        if act == "change the list":
            keys.pop()
        elif act == "use the filter":
            birds.add("cuckoo")
        else:
            raise Interrupted

    before = signal.signal(signal.SIGALRM, handler)
    interrupted = 0
    try:
        # Reading takes longer than this.
        for delay in (0.0005, 0.001, 0.002):
            try:
                signal.setitimer(signal.ITIMER_REAL, delay)
                birds.add_many(keys, threads=2)
            except Interrupted:
                interrupted += 1
                assert len(birds) == 0
            else:
                assert birds.contains_many(keys).all()
            assert act != "use the filter" or "cuckoo" in birds
            birds.clear()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted == (3 if act == "raise" else 0)
    assert len(keys) == 10 * KEYS - (3 if act == "change the list" else 0)
