"""CF.* on filters with a chosen rate, and MK.*."""

import hashlib
import time

import pytest

from resp import Error, key_of

WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
NOT_FOUND = "ERR not found: there is no filter at this key; MK.RESERVE makes one"


def facts(call, command, key):
    flat = call(command, key)
    return {key_of(name): value for name, value in zip(flat[::2], flat[1::2])}


def numbered(begin, end):
    return [f"item {number}" for number in range(begin, end)]


def fill(call, key, begin, end, command="MK.ADD"):
    for at in range(begin, end, 1000):
        items = numbered(at, min(at + 1000, end))
        assert call(command, key, *items) == [1] * len(items)


def found(call, key, begin, end, command="MK.EXISTS"):
    return sum(sum(call(command, key, *numbered(at, min(at + 1000, end)))) for at in range(begin, end, 1000))


def test_a_chosen_rate(call, call3):
    assert call("CF.RESERVE", "f", 1000, "ERROR", 0.001) == "OK"
    assert call("TYPE", "f") == "mk-filter"
    assert call("CF.ADD", "f", "x") == 1 and call3("CF.ADD", "f", "x") is True
    assert call("CF.ADDNX", "f", "x") == 0 and call("CF.ADDNX", "f", "y") == 1
    assert call("CF.COUNT", "f", "x") == 2
    assert call("CF.MEXISTS", "f", "x", "y", "z") == [1, 1, 0]
    assert call("CF.DEL", "f", "x") == 1 and call("CF.DEL", "f", "z") == 0
    assert call("CF.INSERT", "f", "ITEMS", "a", "b") == [1, 1]
    assert call("CF.INSERTNX", "f", "ITEMS", "a", "c") == [0, 1]
    info = facts(call, "CF.INFO", "f")
    assert list(info) == ["Size", "Number of buckets", "Number of filters", "Number of items inserted",
                          "Number of items deleted", "Bucket size", "Expansion rate", "Max iterations"]
    assert info["Number of items inserted"] == 5 and info["Number of filters"] == 1
    assert call("CF.DEBUG", "f").startswith(b"bktsize:")
    assert call("CF.COMPACT", "f") == "OK"


def test_it_grows_and_keeps_its_rate(call):
    call("CF.RESERVE", "f", 1000, "ERROR", 0.001)
    for at in range(0, 50_000, 1000):
        assert call("CF.INSERT", "f", "ITEMS", *numbered(at, at + 1000)) == [1] * 1000
    assert found(call, "f", 0, 50_000, "CF.MEXISTS") == 50_000
    wrong = found(call, "f", 1_000_000, 1_200_000, "CF.MEXISTS")
    assert wrong < 200 + 4 * 200**0.5, "0.1 % of 200000, and four standard deviations"
    for number in range(0, 50_000, 50):
        assert call("CF.DEL", "f", f"item {number}") == 1
    kept = [f"item {number}" for number in range(50_000) if number % 50]
    assert call("CF.MEXISTS", "f", *kept) == [1] * len(kept)


def test_a_fixed_size(call):
    assert call("CF.RESERVE", "f", 100, "ERROR", 0.01, "EXPANSION", 0) == "OK"
    outcomes = [call("CF.ADD", "f", number) for number in range(300)]
    stored = outcomes.count(1)
    assert 100 <= stored < 300 and set(outcomes) == {1, "Filter is full"}
    before = call("DUMP", "f")
    refused = [number for number, outcome in enumerate(outcomes) if outcome != 1]
    assert call("CF.INSERT", "f", "ITEMS", *refused[:5]) == [-1] * 5
    assert call("DUMP", "f") == before


@pytest.mark.parametrize("arguments, error", [
    ([100, "ERROR", 1], "ERR ERROR: a rate above 0 and below 1 is expected, or 0 for RedisBloom's layout"),
    ([100, "ERROR", -1], "ERR ERROR: a rate above 0 and below 1 is expected, or 0 for RedisBloom's layout"),
    ([100, "ERROR", "nan"], "ERR ERROR: a rate above 0 and below 1 is expected, or 0 for RedisBloom's layout"),
    ([0, "ERROR", 0.1], "ERR capacity must be at least 1"),
    ([100, "ERROR", 0.1, "BUCKETSIZE", 2], "ERR BUCKETSIZE and MAXITERATIONS follow from ERROR; give one or the other"),
    ([100, "SEED", 1], "ERR SEED belongs to filters with ERROR"),
    ([100, "ERROR", 0.1, "SEED", -1], "ERR SEED: a number from 0 to 2^63 - 1 is expected"),
])
def test_reserve_refuses(call, arguments, error):
    assert call("CF.RESERVE", "f", *arguments) == error
    assert call("EXISTS", "f") == 0


def test_absurd_capacities_are_refused(call):
    for capacity in (2**40, 2**55, 2**63 - 1):
        assert call("CF.RESERVE", "f", capacity, "ERROR", 0.001).startswith("ERR ")
        assert call("MK.RESERVE", "f", 0.001, "CAPACITY", capacity).startswith("ERR ")
    assert call("EXISTS", "f") == 0


def test_a_default_rate(call):
    assert call("CONFIG", "SET", "malkoha.cf-error-rate", "0.001") == "OK"
    try:
        call("CF.ADD", "f", "x")
        call("CF.RESERVE", "g", 100)
        call("CF.RESERVE", "h", 100, "ERROR", 0)
        call("CF.RESERVE", "i", 100, "BUCKETSIZE", 2)
        assert [call("TYPE", key) for key in "fghi"] == ["mk-filter", "mk-filter", "MBbloomCF", "MBbloomCF"]
    finally:
        call("CONFIG", "SET", "malkoha.cf-error-rate", "0")


def test_settings_are_checked(call):
    for name, bad in [("cf-error-rate", "2"), ("bf-error-rate", "0"), ("cf-bucket-size", "256"),
                      ("cf-initial-size", "1"), ("seed", "-1"), ("cf-max-expansions", "0")]:
        assert call("CONFIG", "SET", f"malkoha.{name}", bad).startswith("ERR"), name
    assert call("CONFIG", "SET", "malkoha.bf-error-rate", "0.9") == "OK"
    assert call("CONFIG", "GET", "malkoha.bf-error-rate") == [b"malkoha.bf-error-rate", b"0.25"]
    call("CONFIG", "SET", "malkoha.bf-error-rate", "0.01")


def test_mk_items(call, call3):
    assert call("MK.RESERVE", "f", 0.001) == "OK"
    assert call("MK.RESERVE", "f", 0.001) == "ERR item exists"
    assert call("MK.ADD", "f", "a", "b", "a") == [1, 1, 1]
    assert call3("MK.ADDNX", "f", "a", "c") == [False, True]
    assert call("MK.EXISTS", "f", "a", "b", "c", "d") == [1, 1, 1, 0]
    assert call3("MK.EXISTS", "f", "a", "d") == [True, False]
    assert call("MK.COUNT", "f", "a", "b", "d") == [2, 1, 0]
    assert call("MK.DEL", "f", "a", "a", "a", "d") == [1, 1, 0, 0]
    assert call("CF.EXISTS", "f", "b") == 1, "commands of CF work on it too"
    info = facts(call, "MK.INFO", "f")
    assert info["items"] == 2 and info["layout"] == b"malkoha" and float(info["promised rate"]) == 0.001


def test_mk_missing_keys_and_other_types(call):
    call("SET", "s", "x")
    for arguments in (["MK.ADD"], ["MK.ADDNX"], ["MK.EXISTS"], ["MK.DEL"], ["MK.COUNT"], ["MK.GET"]):
        assert call(*arguments, "none", "x") == NOT_FOUND
        assert call(*arguments, "s", "x") == WRONG_TYPE
        assert call(*arguments, "s").startswith("ERR wrong number of arguments")
    for command in ("MK.SET", "MK.UNSET"):
        assert call(command, "none", "x", 1) == NOT_FOUND
        assert call(command, "s", "x", 1) == WRONG_TYPE
        assert call(command, "s", "x", 1, "y").startswith("ERR wrong number of arguments")
    assert call("MK.INFO", "none") == NOT_FOUND and call("MK.INFO", "s") == WRONG_TYPE
    assert call("MK.RESERVE", "s", 0.1) == WRONG_TYPE


@pytest.mark.parametrize("arguments, error", [
    ([0], "ERR rate: a number above 0 and below 1 is expected"),
    ([1], "ERR rate: a number above 0 and below 1 is expected"),
    (["x"], "ERR rate: a number above 0 and below 1 is expected"),
    ([0.1, "CAPACITY"], "ERR CAPACITY: a whole number is expected"),
    ([0.1, "CAPACITY", "x"], "ERR CAPACITY: a whole number is expected"),
    ([0.1, "VALUES", -1], "ERR VALUES: a whole number is expected"),
    ([0.1, "WINDOW", "KEYS"], "ERR WINDOW: KEYS or SECONDS and a number above 0 are expected"),
    ([0.1, "WINDOW", "DAYS", 1], "ERR WINDOW: KEYS or SECONDS and a number above 0 are expected"),
    ([0.1, "WINDOW", "KEYS", 0], "ERR WINDOW: KEYS or SECONDS and a number above 0 are expected"),
    ([0.1, "WINDOW", "KEYS", 5, "VALUES", 3], "ERR a WINDOW has no VALUES and is not FIXED"),
    ([0.1, "FIXED"], "ERR FIXED needs a CAPACITY"),
    ([0.1, "BIG"], "ERR unknown argument 'BIG'"),
])
def test_mk_reserve_refuses(call, arguments, error):
    assert call("MK.RESERVE", "f", *arguments) == error
    assert call("EXISTS", "f") == 0


def test_values(call, call3):
    assert call("MK.RESERVE", "f", 0.0001, "CAPACITY", 1000, "FIXED", "VALUES", 6) == "OK"
    assert call("MK.SET", "f", "a", 1, "b", 63) == [1, 1]
    assert call("MK.GET", "f", "a", "b", "c") == [[1], [63], []]
    assert call("MK.SET", "f", "a", 2) == [1]
    assert sorted(call("MK.GET", "f", "a")[0]) == [1, 2]
    assert call3("MK.UNSET", "f", "a", 1, "a", 7) == [True, False]
    assert call("MK.GET", "f", "a") == [[2]]
    for value in ("64", "-1", "x", "65536"):
        assert call("MK.SET", "f", "c", 5, "d", value) == "ERR a value must be a whole number from 0 to 63"
    assert call("MK.GET", "f", "c") == [[]], "nothing of a refused command is stored"
    call("MK.RESERVE", "g", 0.01)
    assert call("MK.SET", "g", "a", 1).startswith("ERR ")
    assert call("MK.GET", "g", "a").startswith("ERR ")


def test_a_window_of_keys(call):
    assert call("MK.RESERVE", "w", 0.001, "WINDOW", "KEYS", 1000) == "OK"
    assert sum(call("MK.ADDNX", "w", *numbered(0, 5000))) > 4980
    assert found(call, "w", 4000, 5000) == 1000, "the last thousand"
    assert found(call, "w", 0, 3000) < 50, "long forgotten"
    for command in ("MK.DEL", "MK.COUNT", "MK.GET"):
        assert call(command, "w", "x") == "ERR a sliding window forgets by itself; it cannot do this"
    assert call("MK.ADVANCE", "w", 5) == "ERR only a WINDOW of SECONDS has a time"


def test_a_window_of_seconds(call):
    assert call("MK.RESERVE", "w", 0.001, "WINDOW", "SECONDS", 100) == "OK"
    assert call("MK.ADDNX", "w", "a", "a") == [1, 0]
    now = int(time.time())
    assert call("MK.ADVANCE", "w", now + 90) == "OK"
    assert call("MK.EXISTS", "w", "a") == [1]
    assert call("MK.ADVANCE", "w", now + 1000) == "OK"
    assert call("MK.EXISTS", "w", "a") == [0]
    assert facts(call, "MK.INFO", "w")["window"] == 100


def test_merging(call):
    for key in "ab":
        call("MK.RESERVE", key, 0.001, "CAPACITY", 1000, "FIXED")
    call("MK.RESERVE", "other", 0.001, "CAPACITY", 1000, "FIXED", "SEED", 5)
    fill(call, "a", 0, 400)
    fill(call, "b", 400, 800)
    assert call("MK.MERGE", "c", "a", "b") == "OK"
    assert found(call, "c", 0, 800) == 800
    assert facts(call, "MK.INFO", "c")["items"] == 800
    before = call("DUMP", "a")
    assert call("MK.MERGE", "a", "b", "other").startswith("ERR ")
    assert call("DUMP", "a") == before, "all sources or none"
    assert call("MK.MERGE", "a", "none") == NOT_FOUND
    assert call("MK.MERGE", "a", "b") == "OK"
    assert call("MK.MERGE", "b", "b") == "OK", "into itself: every item once more"
    assert call("MK.COUNT", "b", "item 500") == [2]
    assert call("COMMAND", "GETKEYS", "MK.MERGE", "d", "s", "t") == [b"d", b"s", b"t"]


def export(call, key):
    data, total = b"", None
    while total is None or len(data) < total:
        total, chunk = call("MK.EXPORT", key, len(data))
        data += chunk
    return data


@pytest.mark.parametrize("options", [
    [], ["CAPACITY", 5000, "FIXED"], ["WINDOW", "KEYS", 5000], ["WINDOW", "SECONDS", 100],
    ["CAPACITY", 5000, "FIXED", "VALUES", 3],
])
def test_export_and_import(call, options):
    call("MK.RESERVE", "f", 0.001, *options)
    fill(call, "f", 0, 5000)
    data = export(call, "f")
    assert data.startswith(b"\x89malkoha") and len(data) % 64 == 0
    step = 700
    for at in range(0, len(data), step):
        assert call("MK.IMPORT", "g", at, len(data), data[at:at + step]) == "OK"
        if at == 0:
            assert call("MK.EXISTS", "g", "x") == "ERR the filter is still being imported"
            assert facts(call, "MK.INFO", "g")["bytes imported"] == step
    assert found(call, "g", 0, 5000) == 5000
    assert export(call, "g") == data
    assert call("MK.IMPORT", "g", 0, len(data), data).startswith("ERR the filter is complete")


def test_an_export_is_a_snapshot(call):
    call("MK.RESERVE", "f", 1e-9, "CAPACITY", 6_000_000, "FIXED")
    call("MK.ADD", "f", "before")
    total, data = call("MK.EXPORT", "f", 0)
    assert total > len(data) == 2 << 20
    call("MK.ADD", "f", "after")
    while len(data) < total:
        data += call("MK.EXPORT", "f", len(data))[1]
    at = 0
    while at < total:
        assert call("MK.IMPORT", "g", at, total, data[at:at + 5_000_000]) == "OK"
        at += 5_000_000
    assert call("MK.EXISTS", "g", "before", "after") == [1, 0]
    assert call("MK.EXPORT", "f", 64).startswith("ERR offset")


def test_exports_of_several_clients(call):
    """As long as the filter is the same, they read the same copy of it, which is kept until the last one has ended."""
    call("MK.RESERVE", "f", 1e-9, "CAPACITY", 6_000_000, "FIXED"), call("MK.ADD", "f", "before")
    empty = call("MEMORY", "USAGE", "f")
    total, data = call("MK.EXPORT", "f", 0)
    once = call("MEMORY", "USAGE", "f")
    assert once >= empty + total
    assert export(call, "f")[:len(data)] == data, "another one begins and ends"
    position, chunk = call("CF.SCANDUMP", "f", 0)
    assert chunk == data and call("MEMORY", "USAGE", "f") == once
    while len(data) < total:
        data += call("MK.EXPORT", "f", len(data))[1]
    call("MK.ADD", "f", "after")
    while len(chunk) < total:
        position, more = call("CF.SCANDUMP", "f", position)
        chunk += more
    assert chunk == data, "of what was there when it began"
    assert call("CF.SCANDUMP", "f", position) == [0, None] and call("MEMORY", "USAGE", "f") == empty


def test_a_dump_has_no_chunks_of_another(call):
    call("MK.RESERVE", "f", 1e-9, "CAPACITY", 6_000_000, "FIXED"), call("MK.ADD", "f", "before")
    older, _ = call("CF.SCANDUMP", "f", 0)
    call("MK.ADD", "f", "after")
    position, chunk = call("CF.SCANDUMP", "f", 0)
    assert call("CF.SCANDUMP", "f", older) == "Invalid position"
    while position:
        assert call("CF.LOADCHUNK", "g", position, chunk) == "OK"
        position, chunk = call("CF.SCANDUMP", "f", position)
    assert call("MK.EXISTS", "g", "before", "after") == [1, 1]


def test_imports_that_are_refused(call):
    call("MK.RESERVE", "f", 0.001, "CAPACITY", 100, "FIXED")
    call("MK.ADD", "f", "x")
    data = export(call, "f")
    total = len(data)
    assert call("MK.IMPORT", "g", 0, total, b"").startswith("ERR the chunk is empty")
    assert call("MK.IMPORT", "g", 0, total - 1, data).startswith("ERR the chunk is empty, or reaches")
    assert call("MK.IMPORT", "g", 64, total, data[64:]).startswith("ERR the first chunk")
    assert call("MK.IMPORT", "g", 0, total, b"x" * total).startswith("ERR the first chunk")
    assert call("MK.IMPORT", "g", "x", total, data).startswith("ERR offset")
    assert call("MK.IMPORT", "g", 0, 0, data).startswith("ERR total")
    assert call("MK.IMPORT", "g", 0, 2**62, data).startswith("ERR Insufficient memory")
    for place in range(0, total, 7):
        damaged = data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1:]
        assert call("MK.IMPORT", "g", 0, total, damaged).startswith("ERR "), place
    assert call("EXISTS", "g") == 0
    assert call("MK.IMPORT", "g", 0, total, data[:100]) == "OK"
    assert call("MK.IMPORT", "g", 0, total, data[:100]).startswith("ERR the chunk does not follow")
    assert call("MK.IMPORT", "g", 100, total, b"y" * (total - 100)).startswith("ERR ")
    assert call("MK.IMPORT", "g", 100, total, data[100:]) == "OK", "a refused chunk can be sent again"
    assert call("MK.EXISTS", "g", "x") == [1]


def test_scandump_and_loadchunk(call):
    call("CF.RESERVE", "f", 6_000_000, "ERROR", 1e-9, "EXPANSION", 0)
    call("CF.INSERT", "f", "ITEMS", *range(1000))
    position, chunks = 0, 0
    while True:
        position, chunk = call("CF.SCANDUMP", "f", position)
        if position == 0:
            break
        assert position == int(float(position)) < 2**53, "floating point holds it, as in Lua and JavaScript"
        assert call("CF.LOADCHUNK", "g", position, chunk) == "OK"
        chunks += 1
    assert chunks > 2
    assert call("CF.MEXISTS", "g", *range(1000)) == [1] * 1000
    assert hashlib.sha256(call("DUMP", "g")).digest() == hashlib.sha256(call("DUMP", "f")).digest()


def test_dumps_whose_end_is_marked_as_it_was_before(call):
    call("CF.RESERVE", "f", 100, "ERROR", 0.01), call("CF.ADD", "f", "x")
    position, chunk = call("CF.SCANDUMP", "f", 0)
    assert call("CF.LOADCHUNK", "g", 2**62 + len(chunk) + 1, chunk) == "OK"
    assert call("DUMP", "g") == call("DUMP", "f")
    assert call("CF.SCANDUMP", "f", position) == call("CF.SCANDUMP", "f", 2**62 + len(chunk) + 1) == [0, None]


def test_help_and_documentation(call):
    names = [line.split(b" ")[0].rstrip(b":") for line in call("MK.HELP")]
    assert len(names) == len(set(names)) == 15
    for family, count in (("CF", 15), ("BF", 11), ("MK", 15)):
        listed = call("COMMAND", "LIST", "FILTERBY", "PATTERN", f"{family}.*")
        listed = [name for name in listed if name.upper() not in (b"MK.PANIC", b"MK.BESIDE")]
        assert len(listed) == count
        for name in listed:
            documentation = call("COMMAND", "DOCS", name)[1]
            assert b"summary" in documentation and b"complexity" in documentation
            assert (b"arguments" in documentation) == (name.upper() != b"MK.HELP"), name


def arguments(call, name):
    """The arguments of a command as COMMAND DOCS has them: names, types, words and flags."""
    def read(listed):
        all_facts = [dict(zip(facts[::2], facts[1::2])) for facts in listed]
        return [(facts[b"name"].decode(), facts[b"type"].decode(), facts.get(b"token", b"").decode(),
                 [str(flag) for flag in facts.get(b"flags", [])], read(facts.get(b"arguments", []))) for facts in all_facts]

    documentation = call("COMMAND", "DOCS", name)[1]
    return read(dict(zip(documentation[::2], documentation[1::2]))[b"arguments"])


def test_documented_arguments(call):
    assert arguments(call, "CF.INSERT") == [
        ("key", "key", "", [], []), ("capacity", "integer", "CAPACITY", ["optional"], []),
        ("NOCREATE", "pure-token", "NOCREATE", ["optional"], []), ("item", "string", "ITEMS", ["multiple"], [])]
    names = [name for name, *_ in arguments(call, "MK.RESERVE")]
    assert names == ["key", "rate", "capacity", "FIXED", "bits", "window", "seed"]
    assert arguments(call, "MK.RESERVE")[5][4][0][:2] == ("unit", "oneof")
    assert arguments(call, "MK.MERGE") == [("destination", "key", "", [], []), ("source", "key", "", ["multiple"], [])]
    lines = [line.decode() for line in call("MK.HELP")]
    assert "MK.MERGE destination source [source ...]: Adds the items of the sources; seeds must be equal" in lines
    assert any(line.startswith("MK.RESERVE key rate [CAPACITY capacity] [FIXED] [VALUES bits] "
                               "[WINDOW KEYS|SECONDS length] [SEED seed]: ") for line in lines)


@pytest.mark.parametrize("family, commands, events", [
    ("bloom", [["BF.RESERVE", "f", 0.01, 100], ["BF.ADD", "f", "x"], ["BF.ADD", "f", "x"], ["BF.MADD", "f", "y", "z"]],
     ["reserve", "add", "add"]),
    ("malkoha", [["MK.RESERVE", "f", 0.01, "CAPACITY", 100, "FIXED", "VALUES", 4], ["MK.SET", "f", "x", 3],
                 ["MK.UNSET", "f", "x", 3], ["MK.UNSET", "f", "x", 3], ["MK.RESERVE", "g", 0.01], ["MK.ADD", "g", "x"],
                 ["MK.ADDNX", "g", "x"], ["MK.DEL", "g", "x"], ["MK.MERGE", "h", "g"]],
     ["reserve", "set", "del", "reserve", "add", "del", "merge"]),
])
def test_keyspace_events(server, call, family, commands, events):
    call("CONFIG", "SET", "notify-keyspace-events", "KEA")
    listener = server.client()
    listener("PSUBSCRIBE", f"__keyevent@0__:{family}.*")
    for command in commands:
        assert not isinstance(call(*command), Error), command
    seen = [listener.read()[2].split(b":")[1].decode() for _ in events]
    assert seen == [f"{family}.{event}" for event in events]
    call("CONFIG", "SET", "notify-keyspace-events", "")


def test_info_section(call):
    call("CF.ADD", "a", "x")
    call("BF.ADD", "b", "x")
    call("MK.RESERVE", "c", 0.1)
    call("CF.EXISTS", "a", "x")

    def values():
        text = call("INFO", "malkoha").decode()
        return dict(line.split(":") for line in text.splitlines() if ":" in line)

    def filters():
        return [values()[f"malkoha_{kind}_filters"] for kind in ("cuckoo", "bloom", "engine")]

    def eventually(counts):
        """Waits while the server frees in the background what is no longer used."""
        end = time.monotonic() + 30
        while filters() != counts and time.monotonic() < end:
            time.sleep(0.01)
        assert filters() == counts

    eventually(["1", "1", "1"])
    counts = values()
    assert int(counts["malkoha_items_stored"]) >= 2 and int(counts["malkoha_items_looked_up"]) >= 1
    call("FLUSHALL")
    eventually(["0", "0", "0"])
