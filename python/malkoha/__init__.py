"""Membership filters that never lose a key: cuckoo filters, which can delete, and Bloom filters.

>>> import malkoha
>>> birds = malkoha.Filter(1_000_000, 0.001)    # a million keys, one false positive in a thousand
>>> birds.add("cuckoo")
>>> "cuckoo" in birds
True

``Filter`` is a set of keys, ``Map`` stores a small number beside each, ``Window`` remembers the last keys or the last
hour. All of them take whole numpy arrays and Arrow columns: ``add_many``, ``contains_many``, ``add_unique_many``.
``malkoha.open`` reads what ``save`` wrote, here, in Rust or by the program; ``malkoha.map`` leaves it in its file.
``malkoha.plan`` says what each kind of filter would need. ``malkoha.dask`` and ``malkoha.spark`` build filters of
what does not fit into one machine.
"""

from malkoha._malkoha import (
    Filter,
    FormatError,
    FullError,
    Map,
    Mapped,
    Offer,
    Stats,
    Window,
    __version__,
    from_bytes,
    hash_many,
    merge,
)
from malkoha._malkoha import map as map
from malkoha._malkoha import open as open
from malkoha._plan import Plan, plan

# Not `open` and `map`: a star import must not hide Python's own.
__all__ = [
    "Filter",
    "FormatError",
    "FullError",
    "Map",
    "Mapped",
    "Offer",
    "Plan",
    "Stats",
    "Window",
    "__version__",
    "from_bytes",
    "hash_many",
    "merge",
    "plan",
]
