"""One key at a time, and what a filter is as an object."""

import copy
import importlib.metadata
import pickle
import sys

import numpy as np
import pytest

import malkoha
from malkoha import Filter, FullError, Map, Window

CUCKOOS = ["classic:4", "semisorted", "simplified:4", "flexible:4", "windowed:2", "sorted"]
BLOOMS = ["bloom", "blocked:1", "blocked:2"]


@pytest.mark.parametrize("kind", CUCKOOS + BLOOMS)
@pytest.mark.parametrize("shards", [None, 4])
def test_what_is_stored_is_found(kind, shards):
    birds = Filter(1000, 1e-4, kind=kind, shards=shards)
    for key in range(900):
        birds.add(key)
    assert all(key in birds for key in range(900))
    assert len(birds) == 900
    assert sum(key in birds for key in range(1000, 11000)) < 20, "10,000 keys at 1e-4"
    assert (birds.kind, birds.shards, birds.growing) == (kind, shards, False)


@pytest.mark.parametrize("kind", CUCKOOS)
def test_copies_are_counted_and_removed_one_by_one(kind):
    birds = Filter(1000, 1e-6, kind=kind)
    for _ in range(3):
        birds.add("koel")
    assert birds.count("koel") == 3
    birds.remove("koel")
    assert birds.discard("koel") and birds.discard("koel") and not birds.discard("koel")
    with pytest.raises(KeyError, match="koel"):
        birds.remove("koel")
    assert len(birds) == 0


@pytest.mark.parametrize("kind", BLOOMS)
def test_bloom_kinds_say_that_they_cannot_remove(kind):
    birds = Filter(1000, 0.001, kind=kind)
    birds.add("koel")
    for operation in (birds.remove, birds.discard, birds.count):
        with pytest.raises(TypeError, match="cuckoo kind"):
            operation("koel")
    for operation in (birds.remove_many, birds.count_many):
        with pytest.raises(TypeError, match="cuckoo kind"):
            operation(["koel", "owl"])


def test_equal_keys_in_all_types():
    numbers = Filter(1000, 1e-9)
    numbers.add(5)
    numbers.add("fünf")
    for five in (5, np.int8(5), np.uint64(5), np.int64(5)):
        assert five in numbers
    for five in ("fünf", "fünf".encode(), bytearray("fünf".encode()), memoryview("fünf".encode()), np.str_("fünf")):
        assert five in numbers
    assert "5" not in numbers and b"\x05" not in numbers


def test_wide_and_negative_integers_are_different_keys():
    edges = [0, -1, 2**31, 2**63 - 1, -(2**63), 2**63, 2**64 - 1, 2**64, -(2**63) - 1, 2**127, 2**128 - 1, -(2**127)]
    numbers = Filter(1000, 1e-9)
    for number, edge in enumerate(edges):
        assert edge not in numbers
        numbers.add(edge)
        assert len(numbers) == number + 1
    assert all(edge in numbers for edge in edges)


def test_a_full_filter_refuses_and_stays_as_it_was():
    birds = Filter(100, 0.01)
    stored = []
    with pytest.raises(FullError, match="no room for 1 more.*remove keys"):
        for key in range(1000):
            birds.add(key)
            stored.append(key)
    assert len(birds) == len(stored) >= 100 and all(key in birds for key in stored)
    before = birds.to_bytes()
    for refused in (lambda: birds.add_many(range(1000, 2000)), lambda: birds.add_unique_many(range(1000, 2000))):
        with pytest.raises(FullError):
            refused()
        assert len(birds) == len(stored) and all(key in birds for key in stored)
    assert len(birds.to_bytes()) == len(before)


def test_a_batch_too_large_is_told_so():
    with pytest.raises(FullError, match="no room for 1000 more in a filter that holds 0.*larger"):
        Filter(100, 0.01).add_many(range(1000))


def test_a_key_stored_too_often_is_told_so():
    birds = Filter(1000, 0.01)
    with pytest.raises(FullError, match="add_unique"):
        for _ in range(100):
            birds.add("koel")


def test_growing_filters_take_any_number_of_keys():
    seen = Filter(rate=0.001)
    assert seen.growing and seen.rate == 0.001
    seen.add_many(range(100_000))
    assert seen.contains_many(range(100_000)).all() and len(seen) == 100_000
    assert seen.contains_many(range(200_000, 300_000)).mean() < 0.001
    assert seen.discard(77) and len(seen) == 99_999
    assert "growing" in repr(seen)


def test_two_of_keys_rate_and_memory_give_the_third():
    assert Filter(1000, memory=10_000).rate < 1e-15
    assert Filter(rate=0.001, memory=10_000).keys > 6000
    assert Filter(1e3, 0.001).keys == 1000
    for wrong in ({"keys": 10}, {"memory": 100}, {"keys": 10, "rate": 0.1, "memory": 100}, {}):
        with pytest.raises(TypeError, match="keys, rate and memory"):
            Filter(**wrong)
    with pytest.raises(TypeError, match="does not grow"):
        Filter(rate=0.1, growing=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"keys": 0, "rate": 0.1}, "0 keys"),
        ({"keys": -1, "rate": 0.1}, "whole number"),
        ({"keys": 1.5, "rate": 0.1}, "whole number"),
        ({"keys": float("nan"), "rate": 0.1}, "whole number"),
        ({"keys": 10, "rate": 0.0}, "rate of 0"),
        ({"keys": 10, "rate": float("nan")}, "rate of NaN"),
        ({"keys": 10, "rate": 0.1, "kind": "cuckoo"}, "unknown kind"),
        ({"keys": 10, "rate": 0.1, "shards": 0}, "0 shards"),
        ({"keys": 10, "rate": 0.1, "key_format": "text"}, "key format"),
        ({"keys": 10, "rate": 0.1, "load": 2.0}, "load of 2"),
        ({"keys": 2**63, "rate": 0.1}, "hash|slots"),
        ({"rate": 0.1, "kind": "classic:4"}, "grow"),
    ],
)
def test_impossible_filters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Filter(**arguments)


@pytest.mark.parametrize("keys", [["owl"] * 1000, np.arange(3), {"owl"}, b"owl"], ids=type)
def test_keys_in_place_of_their_number(keys):
    with pytest.raises(TypeError, match="is no number; give the number of keys first") as caught:
        Filter(keys, 0.01)
    assert len(str(caught.value)) < 100


def test_too_much_memory_is_a_memory_error():
    with pytest.raises(MemoryError, match="fewer keys"):
        Filter(2**48, 0.01)


def test_copies_and_equality():
    birds = Filter(1000, 0.001)
    birds.update(["koel", "owl"], [1, 2])
    for twin in (birds.copy(), copy.copy(birds), copy.deepcopy(birds)):
        assert twin == birds and not (twin != birds)
        twin.add("crow")
        assert twin != birds and "crow" not in birds
    assert birds == birds
    assert birds != Filter(1000, 0.001, shards=4) and birds != "koel" and (birds == {"koel"}) is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(birds)
    birds.clear()
    assert len(birds) == 0 and not birds and birds == Filter(1000, 0.001)


def test_merging():
    day, night = Filter(1000, 1e-6), Filter(1000, 1e-6)
    day.add("malkoha")
    night.update(["owl", "owl"])
    both = day | night
    assert "malkoha" in both and both.count("owl") == 2 and len(both) == 3 and "owl" not in day
    day |= night
    assert day == both
    day |= day
    assert day.count("malkoha") == 2 and len(day) == 6
    with pytest.raises(ValueError, match="seeds"):
        day | Filter(1000, 1e-6, seed=1)
    with pytest.raises(ValueError, match="places"):
        day | Filter(2000, 1e-6)
    with pytest.raises(TypeError):
        day | {"owl"}


def test_merging_more_than_fits():
    parts = [Filter(1000, 1e-6) for _ in range(3)]
    for number, part in enumerate(parts):
        part.add_many(range(1000 * number, 1000 * (number + 1)))
    before = parts[0].copy()
    with pytest.raises(FullError):
        parts[0] |= parts[1]
    assert parts[0] == before, "a refused merge changes nothing"
    whole = malkoha.merge(parts)
    assert len(whole) == 3000 and whole.contains_many(range(3000)).all() and whole.rate == pytest.approx(4e-6)
    assert whole == malkoha.merge(parts), "in the order given"
    with pytest.raises(TypeError, match="twice"):
        malkoha.merge([parts[0], parts[0]])
    assert whole == malkoha.merge(part for part in parts), "any iterable"
    with pytest.raises(TypeError, match="at least one"):
        malkoha.merge([])
    for wrong in (7, [7], [parts[0], None], parts[0]):
        with pytest.raises(TypeError):
            malkoha.merge(wrong)


def test_growing_filters_of_different_sizes_merge():
    parts = [Filter(rate=0.001) for _ in range(3)]
    for number, part in enumerate(parts):
        part.add_many(range(100_000 * number, 100_000 * number + 10 ** (number + 2)))
    whole = malkoha.merge(parts)
    assert len(whole) == 100 + 1000 + 10_000 and whole.growing
    assert all(whole.contains_many(range(100_000 * n, 100_000 * n + 10 ** (n + 2))).all() for n in range(3))
    parts[0] |= parts[2]
    assert len(parts[0]) == 10_100


def test_shards():
    birds, others = Filter(1000, 1e-6, shards=8), Filter(1000, 1e-6, shards=8)
    birds.add_many(range(500), threads=2)
    others.add_many(range(500, 900))
    birds |= others
    assert birds.contains_many(range(900), threads=2).all() and len(birds) == 900
    assert birds.remove_many(range(450, 950)).sum() == 450
    assert birds.add_unique("koel") and not birds.add_unique("koel") and birds.discard("koel")
    with pytest.raises(TypeError, match="shards"):
        birds | Filter(1000, 1e-6)
    with pytest.raises(FullError):
        birds.add_many(range(1000, 9000))
    assert len(birds) == 450


def test_views():
    birds = Filter(1_000_000, 0.001, key_format="bytes", shards=4)
    birds.add("koel")
    assert repr(birds) == (
        f"<malkoha.Filter sorted: 1 of 1,000,000 keys, rate 0.100 %, {birds.nbytes / 1e6:.3f} MB, 4 shards, keys bytes>"
    )
    page = birds._repr_html_()
    assert "<svg" in page and "1 of 1,000,000" in page and "0 % full" in page
    full = Filter(10_000, 0.01)
    full.add_many(range(full.capacity))
    assert ">full</td>" in full._repr_html_() and "98 % full" in full._repr_html_()
    stats = full.stats()
    assert (stats.items, stats.memory_bytes, stats.level) == (full.capacity, full.nbytes, "full")
    assert 0 < stats.predicted_rate <= 1.01 * stats.promised_rate == 0.0101
    assert f"items            {full.capacity}" in repr(stats)


def test_plan():
    plan = malkoha.plan(keys=1_000_000, rate=0.001)
    assert plan.best is not None and plan.best.kind == "sorted" and len(plan) == 12
    assert {offer.kind for offer in plan} >= {"bloom", "classic:4", "windowed:2"}
    assert min(plan, key=lambda offer: offer.bits_per_key) == plan.best
    assert plan.best.build() == Filter(1_000_000, 0.001)
    assert "take sorted: the fewest bits per key" in repr(plan)
    assert "<table>" in plan._repr_html_() and "font-weight:bold" in plan._repr_html_()
    assert malkoha.plan(rate=0.001, memory=2e6).best.keys > 1_200_000
    assert malkoha.plan(keys=1e6, memory=2e6).best.rate < 1e-3
    assert malkoha.plan(keys=1e6, rate=0.01, needs=["delete", "overfill"]).best is None
    assert len(plan[:2]) == 2 and "sorted" in repr(plan.best) and "delete" in plan.best.does
    for wrong in ({}, {"rate": 0.1}, {"keys": 1, "rate": 0.1, "memory": 1}):
        with pytest.raises(TypeError, match="two of"):
            malkoha.plan(**wrong)
    with pytest.raises(ValueError, match="10 bytes") as caught:
        malkoha.plan(keys=1e6, memory=10)
    assert "grow" not in str(caught.value)
    with pytest.raises(ValueError, match="needs: delete, grow"):
        malkoha.plan(keys=1, rate=0.1, needs=["fly"])


def test_a_need_may_be_a_word():
    assert malkoha.plan(1000, 0.01, needs="overfill").best == malkoha.plan(1000, 0.01, needs=["overfill"]).best


def test_the_version_is_that_of_the_package():
    assert malkoha.__version__ == importlib.metadata.version("malkoha")


def test_map():
    shelves = Map(1000, 1e-6, bits=10)
    shelves.add("malkoha", 712)
    shelves.add("malkoha", 3)
    assert shelves.get("malkoha") == [3, 712] and shelves.get("owl") == []
    assert shelves.replace("malkoha", 712, 713) and not shelves.replace("malkoha", 712, 1)
    shelves.remove("malkoha", 713)
    with pytest.raises(KeyError):
        shelves.remove("malkoha", 713)
    assert shelves.discard("malkoha", 3) and "malkoha" not in shelves and len(shelves) == 0
    keys = np.arange(900)
    shelves.add_many(keys, keys % 1024, threads=2)
    values, counts = shelves.get_many(keys)
    assert (counts >= 1).all()
    starts = np.cumsum(counts) - counts
    assert all((values[start : start + count] == key % 1024).any() for key, start, count in zip(keys, starts, counts))
    assert shelves.contains_many(["koel", None], nulls="skip").tolist() == [False, False]
    for error, wrong in [
        (ValueError, lambda: shelves.add("owl", 1024)),
        (ValueError, lambda: shelves.add("owl", -1)),
        (ValueError, lambda: shelves.add_many(["owl"], [1, 2])),
        (ValueError, lambda: shelves.add_many(["owl"], [70_000])),
        (TypeError, lambda: shelves.add_many(["owl"], [0.5])),
        (FullError, lambda: shelves.add_many(range(1000, 2000), [0] * 1000)),
    ]:
        with pytest.raises(error):
            wrong()
        assert len(shelves) == 900 and (shelves.get_many(keys)[1] == counts).all()
    assert (shelves.get_many(keys)[0] == values).all()
    assert shelves.bits == 10 and "values of 10 bits" in repr(shelves) and "<svg" in shelves._repr_html_()
    shelves.add_many([], [])
    shelves.clear()
    assert not shelves


@pytest.mark.parametrize("value", [-1, 65536, 2**70])
def test_values_that_no_map_has(value):
    shelves = Map(100, 0.01, bits=16)
    for operation in (shelves.add, shelves.remove, shelves.discard):
        with pytest.raises(ValueError, match="is not in 0 to 65535"):
            operation("owl", value)
    with pytest.raises((ValueError, TypeError), match="values come as integers|is not in 0 to 65535"):
        shelves.add_many(["owl"], [value])
    with pytest.raises(TypeError, match="integer"):
        shelves.add("owl", "7")
    with pytest.raises(TypeError, match="masked array.*compressed"):
        shelves.add_many(["owl", "koel"], np.ma.masked_array([1, 2], mask=[0, 1]))
    assert len(shelves) == 0


def test_a_map_that_grows(tmp_path):
    """A hundred thousand keys in ten batches, from one that planned for none: values, rate and memory as promised."""
    shelves, keys = Map(rate=0.001, bits=8), np.arange(100_000)
    for batch in np.split(keys, 10):
        shelves.add_many(batch, batch % 256)
    assert shelves.growing and len(shelves) == len(keys) and not Map(10, 0.01).growing
    values, counts = shelves.get_many(keys)
    starts = np.cumsum(counts) - counts
    assert all((values[start : start + count] == key % 256).any() for key, start, count in zip(keys, starts, counts))
    # 100 strangers in 100,000 are promised; 4 standard deviations more.
    assert shelves.get_many(keys + 10**9)[1].sum() <= 140
    shelves.save(tmp_path / "shelves")
    assert malkoha.open(tmp_path / "shelves") == shelves == pickle.loads(pickle.dumps(shelves)) == shelves.copy()
    before = shelves.nbytes
    for key in keys[:90_000].tolist():
        shelves.remove(key, key % 256)
    shelves.compact()
    assert shelves.nbytes < before / 2 and shelves.contains_many(keys[90_000:]).all()
    with pytest.raises(ValueError, match="16"):
        Map(rate=0.001, bits=17)
    with pytest.raises(TypeError, match="two of keys, rate and memory"):
        Map(bits=8)


def test_windows():
    window = Window(1000, 0.001)
    assert window.add_unique("event") and not window.add_unique("event") and "event" in window
    window.add_unique_many(range(2000))
    assert "event" not in window
    assert window.contains_many(range(1000, 2000)).all(), "the last thousand keys are found"
    hour = Window(1000, 0.001, ticks=3600, generations=5)
    assert hour.add_unique("event", now=100) and not hour.add_unique("event", now=3700)
    hour.advance(10_000)
    assert "event" not in hour and hour.add_unique_many(["event", None], now=10_000, nulls="skip").tolist() == [True, False]
    assert (hour.keys, hour.ticks, hour.generations, window.ticks) == (1000, 3600, 5, None)
    assert hour == hour.copy() and hour != window and "Window" in repr(hour) and "<svg" in hour._repr_html_()
    with pytest.raises(TypeError, match="no clock"):
        window.advance(7)
    with pytest.raises(ValueError, match="generations"):
        Window(1000, 0.001, generations=1)
    with pytest.raises(TypeError, match="two of"):
        Window(rate=0.001)
    hour.rotate()
    hour.add("event")
    hour.clear()
    assert len(hour) == 0 and hour.stats().items == 0


def test_windows_of_many_keys():
    day = Window(1000, 1e-9, ticks=24)
    day.add_many([f"bird {number}" for number in range(500)], now=0)
    day.add_many(np.array(["bird 3", "bird 4"]), now=20)
    day.add_many(["bird 5", None], nulls="skip")
    day.advance(40)
    found = day.contains_many(["bird 3", "bird 4", "bird 5", "bird 6"]).tolist()
    assert found == [True, True, True, False], "those that came again have their time again"
    before = day.copy()
    with pytest.raises(TypeError, match="row 1"):
        day.add_many(["owl", 1.0])
    assert day == before and "owl" not in day
    assert (day.kind, day.nbytes) == ("sorted", day.stats().memory_bytes)


def test_a_window_of_any_number_of_keys():
    hour = Window(rate=0.001, ticks=3600)
    assert hour.kind == "elastic" and "growing" in repr(hour)
    for minute in range(120):
        keys = np.arange(1000 * minute, 1000 * minute + 1000)
        hour.add_many(keys, now=60 * minute)
        assert hour.contains_many(np.arange(max(0, minute - 59) * 1000, 1000 * minute + 1000)).all()
    assert len(hour) < 90_000, "it forgets"
    hour.advance(60 * 300)
    assert len(hour) == 0
    window = Window(1000, 0.001)
    assert f"of {window.keys:,} keys" in repr(window), "a window for a known number of keys does not grow"


@pytest.mark.parametrize(
    "whole", [Filter(1000, 0.01), Filter(1000, 0.01, shards=2), Map(1000, 0.01), Window(1000, 0.01)], ids=repr
)
def test_the_system_is_told_the_size(whole):
    assert whole.nbytes <= sys.getsizeof(whole) <= whole.nbytes + 100
