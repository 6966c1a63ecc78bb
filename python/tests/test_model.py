"""Random histories against the containers of Python: a filter must never miss what its model holds."""

from collections import Counter, OrderedDict

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import malkoha
from malkoha import Filter, FullError, Map, Window

integers = st.integers(-(2**127), 2**128 - 1) | st.integers(-300, 300)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
keys = texts | st.binary(max_size=20) | integers
# Few different ones, so that they meet again.
some_keys = st.sampled_from(["koel", "owl", "", b"\xff", "杜鹃", 0, -1, 7, 2**64, -(2**70)]) | keys
batches = st.lists(some_keys, max_size=40)
KINDS = ["sorted", "windowed:2", "windowed:4", "flexible:4", "classic:4", "semisorted", "simplified:4"]


def canonical(key):
    """Text and its bytes are one key."""
    return key.encode() if isinstance(key, str) else key


class Multiset(RuleBasedStateMachine):
    """A filter that removes, against a Counter. No key but those stored is ever removed, as the guarantee asks."""

    @initialize(
        kind=st.sampled_from(KINDS),
        capacity=st.sampled_from([20, 300, None]),
        shards=st.sampled_from([None, 3]),
        seed=st.integers(0, 2**64 - 1),
    )
    def start(self, kind, capacity, shards, seed):
        if capacity is None:
            kind = kind if kind == "sorted" else "elastic"
            self.filter = Filter(rate=1e-9, kind=kind, seed=seed)
        else:
            self.filter = Filter(capacity, 1e-9, kind=kind, shards=shards, seed=seed)
        self.model = Counter()

    def store(self, action, batch):
        """What is refused leaves no trace."""
        try:
            answer = action()
        except FullError:
            assert not self.filter.growing
            return None
        self.model.update(canonical(key) for key in batch)
        return answer

    @rule(key=some_keys)
    def add(self, key):
        self.store(lambda: self.filter.add(key), [key])

    @rule(batch=batches, threads=st.integers(1, 3))
    def add_many(self, batch, threads):
        self.store(lambda: self.filter.add_many(batch, threads=threads), batch)

    @rule(key=some_keys)
    def add_unique(self, key):
        known = canonical(key) in self.model
        try:
            new = self.filter.add_unique(key)
        except FullError:
            assert not known
            return
        assert not (known and new)
        self.model.update([canonical(key)] if new else [])

    @rule(batch=batches)
    def add_unique_many(self, batch):
        try:
            new = self.filter.add_unique_many(batch)
        except FullError:
            return
        for key, is_new in zip(batch, new.tolist(), strict=True):
            assert not (is_new and canonical(key) in self.model)
            self.model.update([canonical(key)] if is_new else [])

    @rule(data=st.data())
    def remove(self, data):
        if self.model:
            key = data.draw(st.sampled_from(sorted(self.model, key=repr)))
            self.filter.remove(key)
            self.model -= Counter([key])

    @rule(data=st.data())
    def remove_many(self, data):
        stored = sorted(self.model.elements(), key=repr)
        batch = data.draw(st.lists(st.sampled_from(stored), unique_by=id, max_size=20)) if stored else []
        batch = list((Counter(batch) & self.model).elements())
        assert self.filter.remove_many(batch).all()
        self.model -= Counter(batch)

    @rule()
    def clear(self):
        self.filter.clear()
        self.model.clear()

    @rule()
    def through_bytes(self):
        again = malkoha.from_bytes(self.filter.to_bytes())
        assert again == self.filter
        self.filter = again

    @rule(batch=batches)
    def merge(self, batch):
        other = self.filter.copy()
        other.clear()
        try:
            other.add_many(batch)
        except FullError:
            return

        def merged():
            self.filter |= other

        self.store(merged, batch)

    @invariant()
    def nothing_is_lost(self):
        if not hasattr(self, "filter"):
            return
        assert len(self.filter) == self.model.total()
        stored = list(self.model)
        assert self.filter.contains_many(stored).all()
        assert all(key in self.filter for key in stored)
        if stored:
            assert (self.filter.count_many(stored) >= np.array([self.model[key] for key in stored])).all()


TestMultiset = Multiset.TestCase


@given(batches, batches, st.sampled_from(["bloom", "blocked:1", "blocked:2", "sorted"]))
def test_deduplication_against_a_set(first, second, kind):
    seen, model = Filter(1000, 1e-9, kind=kind), set()
    for batch in (first, second):
        new = seen.add_unique_many(batch)
        expected = [canonical(key) not in model and not model.add(canonical(key)) for key in batch]
        # At this rate, a new key that looks known would be a one in a million chance per run of all examples.
        assert new.tolist() == expected
        assert seen.contains_many(batch).all()


@given(st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(texts), st.lists(st.none() | texts))
def test_columns_agree_with_single_keys(numbers, words, gaps):
    one, many = Filter(10_000, 1e-9), Filter(10_000, 1e-9)
    for key in [*numbers, *words, *(word for word in gaps if word is not None)]:
        one.add(key)
    many.update(np.array(numbers, dtype="i8"), pl.Series(words, dtype=pl.String))
    many.update(pl.Series(gaps, dtype=pl.String), nulls="skip")
    assert len(one) == len(many)
    for key in [*numbers, *words]:
        assert one.count(key) == many.count(key)


class Multimap(RuleBasedStateMachine):
    """A map, planned or growing, against a Counter of pairs of a key and a value."""

    @initialize(capacity=st.sampled_from([20, 300, None]), seed=st.integers(0, 2**64 - 1))
    def start(self, capacity, seed):
        self.map = Map(rate=1e-9, seed=seed) if capacity is None else Map(capacity, 1e-9, seed=seed)
        self.model = Counter()

    def store(self, action, pairs):
        """What is refused leaves no trace."""
        try:
            action()
        except FullError:
            assert not self.map.growing
            return
        self.model.update((canonical(key), value) for key, value in pairs)

    @rule(key=some_keys, value=st.integers(0, 255))
    def add(self, key, value):
        self.store(lambda: self.map.add(key, value), [(key, value)])

    @rule(pairs=st.lists(st.tuples(some_keys, st.integers(0, 255)), max_size=40), threads=st.integers(1, 3))
    def add_many(self, pairs, threads):
        given, values = [key for key, _ in pairs], [value for _, value in pairs]
        self.store(lambda: self.map.add_many(given, values, threads=threads), pairs)

    @rule(data=st.data())
    def remove(self, data):
        if self.model:
            key, value = data.draw(st.sampled_from(sorted(self.model, key=repr)))
            self.map.remove(key, value)
            self.model -= Counter([(key, value)])

    @rule(data=st.data(), new=st.integers(0, 255))
    def replace(self, data, new):
        if self.model:
            key, old = data.draw(st.sampled_from(sorted(self.model, key=repr)))
            assert self.map.replace(key, old, new)
            self.model -= Counter([(key, old)])
            self.model.update([(key, new)])

    @rule()
    def compact(self):
        if self.map.growing:
            self.map.compact()

    @rule()
    def through_bytes(self):
        again = malkoha.from_bytes(self.map.to_bytes())
        assert again == self.map
        self.map = again

    @rule()
    def clear(self):
        self.map.clear()
        self.model.clear()

    @invariant()
    def nothing_is_lost(self):
        if not hasattr(self, "map"):
            return
        assert len(self.map) == self.model.total()
        stored = {}
        for (key, value), copies in self.model.items():
            stored.setdefault(key, Counter())[value] = copies
        values, counts = self.map.get_many(list(stored))
        found = np.split(values, np.cumsum(counts)[:-1])
        for (key, expected), candidates in zip(stored.items(), found, strict=bool(stored)):
            assert not expected - Counter(candidates.tolist())
            assert self.map.get(key) == candidates.tolist()


TestMultimap = Multimap.TestCase


@given(st.lists(st.integers(0, 60), max_size=400), st.integers(5, 30), st.integers(2, 6))
def test_windows_remember_the_last_keys(stream, length, generations):
    window, order = Window(length, 1e-9, generations=generations), OrderedDict()
    for key in stream:
        new = window.add_unique(key)
        recent = list(order)[-length:] if order else []
        if key in recent[-(length - 1) :]:
            assert not new, "inside the window"
        if new:
            order.pop(key, None)
            order[key] = None
    assert window.contains_many(list(order)[-length:]).all()
