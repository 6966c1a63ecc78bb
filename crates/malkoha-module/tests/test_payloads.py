"""RedisBloom's values in RESTORE, and payloads that are damaged."""

import random
import struct

import pytest

from models import MASK, M, murmur
from payload import crc64, fields, payload, resealed

def cuckoo_table(items, buckets, size):
    """A table in which every item found a slot at once."""
    table = bytearray(buckets * size)
    for item in items:
        value = murmur(item, 0)
        tag = value % 255 + 1
        for place in (value % buckets, (value ^ tag * 0x5BD1E995) % buckets):
            free = table.find(0, place * size, place * size + size)
            if free >= 0:
                table[free] = tag
                break
        else:
            raise ValueError("no slot")
    return bytes(table)


def test_the_checksum():
    assert crc64(b"123456789") == 0xE9C6D914C4B8D9CA


def test_a_cuckoo_filter_of_redisbloom(call):
    items = [b"%d" % number for number in range(20)]
    table = cuckoo_table(items, 256, 2)
    content = fields(1, 256, 20, 0, 2, 20, 1, 256, table)
    assert call("RESTORE", "f", 0, payload("MBbloomCF", 4, content)) == "OK"
    assert call("CF.MEXISTS", "f", *items) == [1] * 20
    assert call("CF.INFO", "f")[1::2] == [40 + 16 + 512, 256, 1, 20, 0, 2, 1, 20]
    call("CF.RESERVE", "g", 512)
    call("CF.INSERT", "g", "ITEMS", *items)
    assert call("DUMP", "g") == call("DUMP", "f"), "commands make the same bytes"


def test_a_bloom_filter_of_redisbloom(call):
    items = [b"%d" % number for number in range(50)]
    bits = 1152
    table = bytearray(bits // 8)
    for item in items:
        start = murmur(item, M)
        step = murmur(item, start)
        for index in range(8):
            bit = (start + index * step & MASK) % bits
            table[bit // 8] |= 1 << bit % 8
    bits_per_entry = 11.027754410363846
    link = [100, 0.005, 8, bits_per_entry, bits, 0, bytes(table), 50]
    assert call("RESTORE", "f", 0, payload("MBbloom--", 4, fields(50, 1, 5, 2, *link))) == "OK"
    assert call("BF.MEXISTS", "f", *items) == [1] * 50
    assert call("BF.INFO", "f")[1::2] == [100, 240, 1, 50, 2]
    call("BF.MADD", "g", *items)
    assert call("BF.SCANDUMP", "g", 1)[1] == call("BF.SCANDUMP", "f", 1)[1], "commands make the same bits"


CUCKOO = [1, 32, 0, 0, 2, 20, 1, 32, bytes(64)]
BLOOM = [0, 1, 5, 2, 100, 0.005, 8, 11.03, 1152, 0, bytes(144), 0]


def changed(values, place, value):
    return values[:place] + [value] + values[place + 1:]


@pytest.mark.parametrize("name, values", [
    ("MBbloomCF", changed(CUCKOO, 0, 2)), ("MBbloomCF", changed(CUCKOO, 0, 0)),
    ("MBbloomCF", changed(CUCKOO, 0, 2**60)), ("MBbloomCF", changed(CUCKOO, 1, 33)),
    ("MBbloomCF", changed(CUCKOO, 1, 0)), ("MBbloomCF", changed(CUCKOO, 2, 65)),
    ("MBbloomCF", changed(CUCKOO, 3, 2**63)), ("MBbloomCF", changed(CUCKOO, 4, 0)),
    ("MBbloomCF", changed(CUCKOO, 4, 65538)), ("MBbloomCF", changed(CUCKOO, 5, 0)),
    ("MBbloomCF", changed(CUCKOO, 6, 3)), ("MBbloomCF", changed(CUCKOO, 7, 31)),
    ("MBbloomCF", changed(CUCKOO, 8, bytes(63))), ("MBbloomCF", changed(CUCKOO, 8, b"")),
    ("MBbloomCF", CUCKOO[:-1]), ("MBbloomCF", []), ("MBbloomCF", [*CUCKOO, 1]),
    ("MBbloom--", changed(BLOOM, 1, 2)), ("MBbloom--", changed(BLOOM, 1, 0)),
    ("MBbloom--", changed(BLOOM, 1, 2**40)), ("MBbloom--", changed(BLOOM, 2, 0)),
    ("MBbloom--", changed(BLOOM, 2, 2**33)), ("MBbloom--", changed(BLOOM, 3, 0)),
    ("MBbloom--", changed(BLOOM, 4, 0)), ("MBbloom--", changed(BLOOM, 5, 0.0)),
    ("MBbloom--", changed(BLOOM, 5, float("nan"))), ("MBbloom--", changed(BLOOM, 6, 0)),
    ("MBbloom--", changed(BLOOM, 6, 2**32 - 1)), ("MBbloom--", changed(BLOOM, 8, 1151)),
    ("MBbloom--", changed(BLOOM, 8, 0)), ("MBbloom--", changed(BLOOM, 9, 10)),
    ("MBbloom--", changed(BLOOM, 10, bytes(143))), ("MBbloom--", changed(BLOOM, 11, 7)),
    ("mk-filter", [1, 0, b"\x89malkoha", b""]), ("mk-filter", [3, 0, b""]), ("mk-filter", [1, 0, b""]),
    ("mk-filter", [1, 0]), ("mk-filter", []),
])
def test_impossible_values_are_refused(server, call, name, values):
    version = 1 if name == "mk-filter" else 4
    assert call("RESTORE", "f", 0, payload(name, version, fields(*values))) == "ERR Bad data format"
    assert call("EXISTS", "f") == 0
    for other in (0, 2, 3, 5, 1023):
        answer = call("RESTORE", "f", 0, payload(name, other, fields(*values)))
        assert answer == "ERR Bad data format"


def test_flipped_payloads(server, call):
    """A payload with any damage is refused or makes a filter that works."""
    call("CF.INSERT", "cf", "CAPACITY", 64, "ITEMS", *range(100))
    call("BF.MADD", "bf", *range(100))
    call("CF.RESERVE", "mk", 100, "ERROR", 0.01)
    call("CF.INSERT", "mk", "ITEMS", *range(300))
    call("MK.RESERVE", "w", 0.01, "WINDOW", "KEYS", 100)
    call("MK.ADD", "w", *range(300))
    generator = random.Random(1)
    accepted = refused = 0
    for key, probe in [("cf", "CF.MEXISTS"), ("bf", "BF.MEXISTS"), ("mk", "CF.MEXISTS"), ("w", "MK.EXISTS")]:
        original = call("DUMP", key)
        for _ in range(400):
            damaged = bytearray(original)
            for _ in range(generator.choice([1, 1, 2, 8])):
                damaged[generator.randrange(len(damaged) - 10)] = generator.randrange(256)
            if generator.random() < 0.1:
                del damaged[generator.randrange(len(damaged) - 10):-10]
            if call("RESTORE", "x", 0, resealed(bytes(damaged)), "REPLACE") == "OK":
                accepted += 1
                assert not isinstance(call("EXISTS", "x"), str)
                call(probe, "x", *range(20))
                call("CF.ADD", "x", "y")
                call("BF.ADD", "x", "y")
                call("CF.DEL", "x", "y")
                call("CF.COMPACT", "x")
                call("DUMP", "x")
            else:
                refused += 1
    assert server.is_alive()
    assert accepted > 0 and refused > 800


def test_unknown_versions_do_not_stop_the_server(server, call):
    data = payload("MBbloomCF", 3, fields(1, 32, 0, 32, bytes(64)))
    assert call("RESTORE", "f", 0, data) == "ERR Bad data format"
    assert "version 3 of MBbloomCF is not read" in server.log()
    assert struct.calcsize("<4Q3H") == 38
