"""Texts that users see, whole: of refused commands in RESP2 and RESP3, of refused settings, and of what the log says about
values that cannot be read."""

import struct

import pytest

from payload import fields, payload
from test_engine import export
from test_payloads import BLOOM, CUCKOO, changed

OFFSET = "ERR offset: the end of the chunk before is expected, or 0 to begin"
EMPTY = "ERR the chunk is empty, or reaches beyond the total"
FIRST = "ERR the first chunk must come first, and begin like a file of malkoha"
MEMORY = "ERR Insufficient memory"


@pytest.fixture(params=[2, 3])
def ask(server, request):
    """A connection in each protocol."""
    return server.client(protocol=request.param)


def test_commands_that_are_refused(ask):
    ask("MK.RESERVE", "fixed", 0.01, "CAPACITY", 100, "FIXED")
    ask("MK.RESERVE", "window", 0.01, "WINDOW", "KEYS", 100)
    ask("MK.RESERVE", "clock", 0.01, "WINDOW", "SECONDS", 100)
    ask("MK.RESERVE", "seeded", 0.01, "CAPACITY", 100, "FIXED", "SEED", 5)
    ask("MK.ADD", "fixed", "x")
    data = export(ask, "fixed")
    total = len(data)
    none, values = "ERR this filter has no values; MK.RESERVE one with VALUES", "ERR a sliding window forgets by itself; it cannot do this"
    for command, text in [
        (["MK.ADVANCE", "clock", "soon"], "ERR seconds: a whole number is expected"),
        (["MK.ADVANCE", "window", 5], "ERR only a WINDOW of SECONDS has a time"),
        (["MK.ADVANCE", "fixed", 5], "ERR only a WINDOW of SECONDS has a time"),
        (["MK.EXPORT", "fixed", "x"], OFFSET),
        (["MK.EXPORT", "fixed", 64], OFFSET),
        (["MK.IMPORT", "new", "x", total, data], OFFSET),
        (["MK.IMPORT", "new", 0, 0, data], "ERR total: the number of bytes of the whole filter is expected"),
        (["MK.IMPORT", "new", 0, total, b""], EMPTY),
        (["MK.IMPORT", "new", 0, total - 1, data], EMPTY),
        (["MK.IMPORT", "new", 64, total, data[64:]], FIRST),
        (["MK.IMPORT", "new", 0, total, b"x" * total], FIRST),
        (["MK.IMPORT", "new", 0, 2**62, data], MEMORY),
        (["MK.IMPORT", "fixed", 0, total, data], "ERR the filter is complete; import into a key that does not exist"),
        (["CF.LOADCHUNK", "new", 2**40, data], "ERR the first chunk must come first"),
        (["MK.SET", "fixed", "x", 1], none),
        (["MK.GET", "fixed", "x"], none),
        (["MK.COUNT", "window", "x"], values),
        (["MK.DEL", "window", "x"], values),
        (["CF.RESERVE", "new", 1 << 30, "BUCKETSIZE", 0], "BUCKETSIZE: value must be in the range [1, 255]"),
        (["MK.RESERVE", "new", 0.1, "CAPACITY", "x"], "ERR CAPACITY: a whole number is expected"),
    ]:
        assert ask(*command) == text, command
    assert ask("EXISTS", "new") == 0
    assert ask("MK.IMPORT", "part", 0, total, data[:100]) == "OK"
    assert ask("MK.EXISTS", "part", "x") == "ERR the filter is still being imported"
    assert ask("MK.IMPORT", "part", 0, total, data[:100]) == f"ERR the chunk does not follow: 100 bytes have been imported, of {total}"


def test_items_that_had_no_room(ask):
    ask("MK.RESERVE", "f", 0.01, "CAPACITY", 100, "FIXED")
    answers = ask("MK.ADD", "f", *range(1000))
    assert answers[0] == 1 and answers[-1] == "ERR the filter is full"
    answers = ask("MK.ADDNX", "f", *range(2000, 2100))
    assert "ERR the filter is full" in answers


def test_memory(server, ask):
    limit = 20 << 20
    ask("CONFIG", "SET", "maxmemory", limit + server_memory(ask))
    assert ask("CF.RESERVE", "f", 1 << 30) == "ERR Insufficient memory to create filter"
    assert ask("BF.RESERVE", "f", 0.001, 1 << 30) == "ERR Insufficient memory to create filter"
    assert ask("CF.RESERVE", "f", 1 << 30, "ERROR", 0.001) == "ERR Insufficient memory to create filter"
    header = struct.pack("<4Q3H", 0, 1 << 30, 0, 1, 2, 20, 1)
    assert ask("CF.LOADCHUNK", "f", 1, header) == "Couldn't create filter!"
    assert ask("EXISTS", "f") == 0


def server_memory(call):
    text = call("INFO", "memory").decode()
    return int(next(line for line in text.splitlines() if line.startswith("used_memory:")).split(":")[1])


@pytest.mark.parametrize("name, value, text", [
    ("cf-bucket-size", 200, "cf-bucket-size: at most half of cf-initial-size, 64"),
    ("cf-initial-size", 3, "cf-initial-size: at least twice cf-bucket-size, 4"),
    ("cf-error-rate", "2", "cf-error-rate: a rate above 0 and below 1, or 0 for none, is expected"),
    ("bf-error-rate", "0", "bf-error-rate: a rate above 0 and below 1 is expected"),
])
def test_settings_that_are_refused(ask, name, value, text):
    before = ask("CONFIG", "GET", f"malkoha.{name}")
    assert ask("CONFIG", "SET", "malkoha.cf-initial-size", 128) == "OK"
    try:
        answer = ask("CONFIG", "SET", f"malkoha.{name}", value)
        assert answer == f"ERR CONFIG SET failed (possibly related to argument 'malkoha.{name}') - {text}"
    finally:
        ask("CONFIG", "SET", "malkoha.cf-initial-size", 1024)
    assert ask("CONFIG", "GET", f"malkoha.{name}") == before


ENDS = "the value ends early, or is not what this type saves"
LENGTH = "a table is not as long as the numbers of the filter say"


@pytest.mark.parametrize("name, values, reason", [
    ("MBbloomCF", changed(CUCKOO, 0, 0), "the number of tables is not between 1 and 65535"),
    ("MBbloomCF", changed(CUCKOO, 1, 33), "the number of buckets is not a power of two up to 2^30"),
    ("MBbloomCF", changed(CUCKOO, 2, 65), "there are more items than slots"),
    ("MBbloomCF", changed(CUCKOO, 4, 0), "the bucket size is not between 1 and 255"),
    ("MBbloomCF", changed(CUCKOO, 4, 65538), "a number has more than 16 bits"),
    ("MBbloomCF", changed(CUCKOO, 5, 0), "the number of iterations is 0"),
    ("MBbloomCF", changed(CUCKOO, 6, 3), "the expansion is not a power of two"),
    ("MBbloomCF", [2, *CUCKOO[1:6], 0, *CUCKOO[7:]], "a filter that does not grow has one table"),
    ("MBbloomCF", [65535, *CUCKOO[1:6], 32768, *CUCKOO[7:]], "the tables are larger than any memory"),
    ("MBbloomCF", changed(CUCKOO, 8, bytes(63)), LENGTH),
    ("MBbloomCF", [], ENDS),
    ("MBbloomCF", CUCKOO[:-1], "the value ends early, or there is no memory for it"),
    ("MBbloom--", changed(BLOOM, 1, 0), "the number of links is not between 1 and 65535"),
    ("MBbloom--", changed(BLOOM, 1, 2**31), "there are too many links"),
    ("MBbloom--", changed(BLOOM, 2, 0), "the options are not those of a filter with 64-bit hashes"),
    ("MBbloom--", changed(BLOOM, 2, 2**33), "a number is larger than it can be"),
    ("MBbloom--", changed(BLOOM, 3, 0), "the expansion is not between 1 and 32768"),
    ("MBbloom--", [0, 2, 13, 2, *BLOOM[4:], *BLOOM[4:]], "a filter that does not grow has one link"),
    ("MBbloom--", changed(BLOOM, 4, 0), "the capacity of a link is impossible"),
    ("MBbloom--", changed(BLOOM, 5, 0.0), "a rate is not above 0 and below 1"),
    ("MBbloom--", changed(BLOOM, 6, 0), "the number of hashes is impossible"),
    ("MBbloom--", changed(BLOOM, 7, 0.0), "the bits per entry are not a positive number"),
    ("MBbloom--", changed(BLOOM, 8, 1151), "the bits of a link are not whole words"),
    ("MBbloom--", changed(BLOOM, 9, 10), "the bits of a link are not the power of two that it says"),
    ("MBbloom--", changed(BLOOM, 10, bytes(143)), LENGTH),
    ("MBbloom--", changed(BLOOM, 11, 7), "the numbers of items do not add up"),
    ("mk-filter", [3, 0, b""], "a value of a type that a newer module has written"),
])
def test_the_log_says_why_a_value_is_refused(server, call, name, values, reason):
    before = server.log().count(reason)
    assert call("RESTORE", "f", 0, payload(name, 1 if name == "mk-filter" else 4, fields(*values))) == "ERR Bad data format"
    assert server.log().count(reason) == before + 1


@pytest.mark.parametrize("name, version, reason", [
    ("MBbloomCF", 3, "version 3 of MBbloomCF is not read, only 4"),
    ("MBbloom--", 5, "version 5 of MBbloom-- is not read, only 4"),
    ("mk-filter", 9, "version 9 of mk-filter is newer than this module"),
])
def test_the_log_says_which_version_is_refused(server, call, name, version, reason):
    assert call("RESTORE", "f", 0, payload(name, version, fields(1))) == "ERR Bad data format"
    assert reason in server.log()


def test_a_replica_refuses(start):
    master, replica = start("--repl-diskless-sync-delay", "0"), start()
    copy = replica.client()
    master.client()("CF.ADD", "f", "x")
    assert copy("REPLICAOF", "127.0.0.1", master.port) == "OK"
    while b"master_link_status:up" not in copy("INFO", "replication"):
        pass
    assert copy("CF.ADD", "f", "y") == "READONLY You can't write against a read only replica."
    assert copy("CF.EXISTS", "f", "x") == 1
