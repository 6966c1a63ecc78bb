"""CF.* on filters in RedisBloom's layout: every command, every error text, RESP2 and RESP3."""

import struct

import pytest

WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
INFO_NAMES = [
    "Size", "Number of buckets", "Number of filters", "Number of items inserted",
    "Number of items deleted", "Bucket size", "Expansion rate", "Max iterations",
]


def info(call, key):
    flat = call("CF.INFO", key)
    return dict(zip(flat[::2], flat[1::2]))


def arity(command):
    return f"ERR wrong number of arguments for '{command}' command"


def test_reserve_and_info(call, call3):
    assert call("CF.RESERVE", "f", 1000) == "OK"
    flat = call("CF.INFO", "f")
    assert flat[::2] == INFO_NAMES, "simple strings"
    assert flat[1::2] == [1080, 512, 1, 0, 0, 2, 1, 20]
    assert call3("CF.INFO", "f") == dict(zip(INFO_NAMES, flat[1::2]))
    assert call("CF.DEBUG", "f") == b"bktsize:2 buckets:512 items:0 deletes:0 filters:1 max_iterations:20 expansion:1"
    assert call("TYPE", "f") == "MBbloomCF"


def test_reserve_options_in_any_order_and_case(call):
    assert call("CF.RESERVE", "f", 1000, "expansion", 3, "BucketSize", 4, "MAXITERATIONS", 500) == "OK"
    assert list(info(call, "f").values()) == [40 + 16 + 1024, 256, 1, 0, 0, 4, 4, 500]


@pytest.mark.parametrize("arguments, error", [
    (["f"], arity("CF.RESERVE")),
    (["f", 100, "EXPANSION"], arity("CF.RESERVE")),
    (["f", "many"], "Bad capacity"),
    (["f", "1e3"], "Bad capacity"),
    (["f", 100, "MAXITERATIONS", "x"], "Couldn't parse MAXITERATIONS"),
    (["f", 100, "BUCKETSIZE", "x"], "Couldn't parse BUCKETSIZE"),
    (["f", 100, "EXPANSION", "x"], "Couldn't parse EXPANSION"),
    (["f", 100, "MAXITERATIONS", 0], "MAXITERATIONS: value must be in the range [1, 65535]"),
    (["f", 100, "MAXITERATIONS", 65536], "MAXITERATIONS: value must be in the range [1, 65535]"),
    (["f", 1000, "BUCKETSIZE", 0], "BUCKETSIZE: value must be in the range [1, 255]"),
    (["f", 1000, "BUCKETSIZE", 256], "BUCKETSIZE: value must be in the range [1, 255]"),
    (["f", 100, "EXPANSION", -1], "EXPANSION: value must be in the range [0, 32768]"),
    (["f", 100, "EXPANSION", 32769], "EXPANSION: value must be in the range [0, 32768]"),
    (["f", 3], "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"),
    (["f", -1], "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"),
    (["f", 7, "BUCKETSIZE", 4], "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"),
    (["f", 2**30 + 1], "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"),
    (["f", 100, "BUCKETS", 4], "ERR unknown argument 'BUCKETS'"),
])
def test_reserve_refuses(call, arguments, error):
    assert call("CF.RESERVE", *arguments) == error
    assert call("EXISTS", "f") == 0


def test_reserve_existing_keys(call):
    call("CF.RESERVE", "f", 100)
    call("SET", "s", "x")
    assert call("CF.RESERVE", "f", 100) == "ERR item exists"
    assert call("CF.RESERVE", "s", 100) == WRONG_TYPE


def test_add_exists_count_del(call, call3):
    assert call("CF.ADD", "f", "x") == 1
    assert call3("CF.ADD", "f", "x") is True
    assert call("CF.ADDNX", "f", "x") == 0
    assert call3("CF.ADDNX", "f", "x") is False
    assert call("CF.ADDNX", "f", "y") == 1
    assert call("CF.EXISTS", "f", "x") == 1 and call3("CF.EXISTS", "f", "x") is True
    assert call("CF.EXISTS", "f", "z") == 0 and call3("CF.EXISTS", "f", "z") is False
    assert call("CF.MEXISTS", "f", "x", "y", "z") == [1, 1, 0]
    assert call3("CF.MEXISTS", "f", "x", "y", "z") == [True, True, False]
    assert call("CF.COUNT", "f", "x") == 2
    count = call3("CF.COUNT", "f", "x")
    assert count == 2 and count is not True
    assert call("CF.DEL", "f", "x") == 1 and call3("CF.DEL", "f", "x") is True
    assert call("CF.DEL", "f", "x") == 0 and call3("CF.DEL", "f", "x") is False
    assert call("CF.COUNT", "f", "x") == 0
    assert list(info(call, "f").values()) == [1080, 512, 1, 1, 2, 2, 1, 20]


def test_missing_keys_and_other_types(call):
    call("SET", "s", "x")
    for key in ("none", "s"):
        assert call("CF.EXISTS", key, "x") == 0
        assert call("CF.MEXISTS", key, "x", "y") == [0, 0]
        assert call("CF.COUNT", key, "x") == 0
        assert call("CF.DEL", key, "x") == "Not found"
        assert call("CF.COMPACT", key) == "Cuckoo filter was not found"
    for command in (["CF.INFO"], ["CF.DEBUG"], ["CF.STATS"], ["CF.SCANDUMP"]):
        rest = ["0"] if command == ["CF.SCANDUMP"] else []
        assert call(*command, "none", *rest) == "ERR not found"
        assert call(*command, "s", *rest) == WRONG_TYPE
    for command in ("CF.ADD", "CF.ADDNX"):
        assert call(command, "s", "x") == WRONG_TYPE
    assert call("CF.INSERT", "s", "ITEMS", "x") == WRONG_TYPE
    assert call("CF.LOADCHUNK", "s", 1, "x" * 38) == WRONG_TYPE
    assert call("CF.LOADCHUNK", "none", 2, "x") == "ERR not found"


def test_insert(call, call3):
    assert call("CF.INSERT", "f", "ITEMS", "a", "b", "a") == [1, 1, 1]
    assert call3("CF.INSERT", "f", "ITEMS", "a") == [True]
    assert call("CF.INSERTNX", "f", "ITEMS", "a", "c") == [0, 1]
    answers = call3("CF.INSERTNX", "f", "ITEMS", "a", "d")
    assert answers == [0, 1] and not any(isinstance(answer, bool) for answer in answers)
    assert call("CF.COUNT", "f", "a") == 3
    assert call("CF.INSERT", "g", "CAPACITY", 500, "ITEMS", "a") == [1]
    assert info(call, "g")["Size"] == 40 + 16 + 512
    assert call("CF.INSERT", "h", "c", 500, "i", "a") == [1]
    assert call("CF.INSERT", "h", "n", "i", "b") == [1]
    assert call("CF.INSERT", "h", "NOCREATE", "CAPACITY", 500, "ITEMS", "c") == [1]


@pytest.mark.parametrize("arguments, error", [
    (["f", "ITEMS"], arity("CF.INSERT")),
    (["f", "NOCREATE", "ITEMS"], arity("CF.INSERT")),
    (["f", "NOCREATE", "NOCREATE"], arity("CF.INSERT")),
    (["f", "CAPACITY", "x", "ITEMS", "a"], "Bad capacity"),
    (["f", "CAPACITY", 3, "ITEMS", "a"], "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"),
    (["f", "CAPACITY", 2**30 + 1, "ITEMS", "a"], "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"),
    (["f", "NOCREATE", "CAPACITY", 3, "ITEMS", "a"], "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"),
    (["f", "what", "ITEMS", "a"], "Unknown argument received"),
    (["f", "", "ITEMS", "a"], "Unknown argument received"),
    (["f", "NOCREATE", "ITEMS", "a"], "ERR not found"),
])
def test_insert_refuses(call, arguments, error):
    assert call("CF.INSERT", *arguments) == error
    assert call("EXISTS", "f") == 0


def test_a_full_filter(call, call3):
    call("CF.RESERVE", "f", 4, "EXPANSION", 0)
    added = 0
    while call("CF.ADD", "f", added) == 1:
        added += 1
    assert 0 < added <= 4
    before = call("DUMP", "f")
    assert call("CF.ADD", "f", 1000) == "Filter is full"
    assert call("CF.ADDNX", "f", 1001) == "Filter is full"
    assert call("CF.INSERT", "f", "ITEMS", 1002, 1003) == [-1, -1]
    assert call3("CF.INSERT", "f", "ITEMS", 1002, 1003) == [False, False]
    assert call3("CF.INSERTNX", "f", "ITEMS", 0, 1003) == [0, -1]
    assert call("DUMP", "f") == before, "what is refused changes nothing"
    assert call("CF.MEXISTS", "f", *range(added)) == [1] * added


def test_maximum_expansions(call):
    call("CF.RESERVE", "f", 4)
    outcomes = [call("CF.ADD", "f", number) for number in range(125)]
    assert outcomes == [1] * 124 + ["Maximum expansions reached"]
    assert call("CF.INSERT", "f", "ITEMS", "a", "b") == "Maximum expansions reached"
    assert info(call, "f")["Number of filters"] == 32
    assert call("CONFIG", "SET", "malkoha.cf-max-expansions", "33") == "OK"
    assert call("CF.ADD", "f", "a") == 1
    call("CONFIG", "SET", "malkoha.cf-max-expansions", "1")
    assert call("CF.ADD", "g", "a") == "Maximum expansions reached"
    assert call("EXISTS", "g") == 0, "what is refused changes nothing"
    call("CONFIG", "SET", "malkoha.cf-max-expansions", "32")


@pytest.mark.parametrize("options, filters", [
    ([64, "BUCKETSIZE", 1], 18),
    ([64, "BUCKETSIZE", 2], 17),
    ([256, "BUCKETSIZE", 4, "MAXITERATIONS", 500], 4),
    ([64, "EXPANSION", 2], 5),
    ([64, "EXPANSION", 4, "MAXITERATIONS", 500], 3),
])
def test_as_many_filters_as_redisbloom_makes(call, options, filters):
    call("CF.RESERVE", "f", *options)
    assert call.pipeline([("CF.ADD", "f", number) for number in range(1000)]) == [1] * 1000
    assert info(call, "f")["Number of filters"] == filters
    assert call("CF.MEXISTS", "f", *range(1000)) == [1] * 1000


def test_compaction(call):
    call("CF.RESERVE", "f", 64)
    call("CF.INSERT", "f", "ITEMS", *range(1000))
    assert info(call, "f")["Number of filters"] == 17
    assert all(call("CF.DEL", "f", number) == 1 for number in range(800))
    assert call("CF.COMPACT", "f") == "OK"
    facts = info(call, "f")
    assert facts["Number of filters"] < 8
    assert facts["Number of items deleted"] == 0 and facts["Number of items inserted"] == 200
    assert call("CF.MEXISTS", "f", *range(800, 1000)) == [1] * 200


def dump(call, key):
    chunks, position = [], 0
    while True:
        position, chunk = call("CF.SCANDUMP", key, position)
        if position == 0:
            assert chunk is None
            return chunks
        chunks.append((position, chunk))


def test_dump_and_load(call):
    call("CF.RESERVE", "f", 64, "EXPANSION", 2)
    call("CF.INSERT", "f", "ITEMS", *range(1000))
    chunks = dump(call, "f")
    numbers = struct.unpack("<4Q3H", chunks[0][1])
    assert chunks[0][0] == 1 and numbers == (1000, 32, 0, 5, 2, 20, 2)
    assert [len(chunk) for _, chunk in chunks[1:]] == [64, 128, 256, 512, 1024]
    assert [position for position, _ in chunks[1:]] == [65, 193, 449, 961, 1985]
    for position, chunk in chunks:
        assert call("CF.LOADCHUNK", "g", position, chunk) == "OK"
    assert call("CF.MEXISTS", "g", *range(1000)) == [1] * 1000
    assert call("DUMP", "g") == call("DUMP", "f")
    old = chunks[0][1] + struct.pack("<Q", 0x7F00DEADBEEF)
    assert call("CF.LOADCHUNK", "h", 1, old) == "OK", "the header of 2019 to 2022"
    assert call("CF.LOADCHUNK", "f", 1, chunks[0][1]) == "ERR item exists"


def test_dump_of_an_empty_filter(call, call3):
    call("CF.RESERVE", "f", 64)
    assert call("CF.SCANDUMP", "f", 0) == [0, None]
    assert call3("CF.SCANDUMP", "f", 0) == [0, None]


def header(items=1, buckets=32, deletes=0, filters=1, size=2, iterations=20, expansion=1):
    return struct.pack("<4Q3H", items, buckets, deletes, filters, size, iterations, expansion)


@pytest.mark.parametrize("data, error", [
    (b"", "Invalid header"),
    (header()[:-1], "Invalid header"),
    (header() + b"1234567", "Invalid header"),
    (header(buckets=0), "Couldn't create filter!"),
    (header(buckets=33), "Couldn't create filter!"),
    (header(buckets=2**40), "Couldn't create filter!"),
    (header(filters=0), "Couldn't create filter!"),
    (header(filters=2**40), "Couldn't create filter!"),
    (header(filters=60000, expansion=2), "Couldn't create filter!"),
    (header(filters=2, expansion=0), "Couldn't create filter!"),
    (header(size=0), "Couldn't create filter!"),
    (header(size=256), "Couldn't create filter!"),
    (header(iterations=0), "Couldn't create filter!"),
    (header(expansion=3), "Couldn't create filter!"),
    (header(items=65), "Couldn't create filter!"),
    (header(items=2**64 - 1), "Couldn't create filter!"),
    (header(buckets=2**30, filters=60000), "Couldn't create filter!"),
])
def test_headers_that_are_refused(call, data, error):
    assert call("CF.LOADCHUNK", "f", 1, data) == error
    assert call("EXISTS", "f") == 0


def test_chunks_that_are_refused(call):
    assert call("CF.LOADCHUNK", "f", 1, header()) == "OK"
    before = call("DUMP", "f")
    for position, size in [(2, 5), (65, 65), (66, 64), (70, 1), (2**62, 1), (2**63 - 1, 64), (64, 64)]:
        assert call("CF.LOADCHUNK", "f", position, b"x" * size) == "Couldn't load chunk!", (position, size)
    for position in ("x", "-1", "0", "1.5", str(2**63)):
        assert call("CF.LOADCHUNK", "f", position, b"x") == "Invalid position"
    for position in ("x", "-1"):
        assert call("CF.SCANDUMP", "f", position) == "Invalid position"
    assert call("CF.SCANDUMP", "f", 2**63 - 1) == [0, None]
    assert call("DUMP", "f") == before


def test_wrong_numbers_of_arguments(call):
    for command, right in [("ADD", 2), ("ADDNX", 2), ("EXISTS", 2), ("COUNT", 2), ("DEL", 2), ("INFO", 1),
                           ("DEBUG", 1), ("STATS", 1), ("COMPACT", 1), ("SCANDUMP", 2), ("LOADCHUNK", 3)]:
        for count in (right - 1, right + 1):
            assert call(f"CF.{command}", *["x"] * count) == arity(f"CF.{command}")


def test_stats(call):
    call("CF.RESERVE", "f", 1000)
    call("CF.INSERT", "f", "ITEMS", *range(500))
    flat = call("CF.STATS", "f")
    facts = {name.decode(): value for name, value in zip(flat[::2], flat[1::2])}
    assert facts["layout"] == b"redisbloom" and facts["items"] == 500 and facts["slots"] == 1024
    others = [f"other {number}" for number in range(50_000)]
    measured = sum(call("CF.MEXISTS", "f", *others)) / len(others)
    assert abs(measured - float(facts["predicted rate"])) < 0.002, "four standard deviations"


def test_keyspace_events(server, call):
    call("CONFIG", "SET", "notify-keyspace-events", "KEA")
    listener = server.client()
    listener("PSUBSCRIBE", "__keyevent@0__:cuckoo.*")
    call("CF.RESERVE", "f", 100)
    call("CF.ADD", "f", "x")
    call("CF.DEL", "f", "x")
    call("CF.DEL", "f", "x")
    events = [listener.read()[2:] for _ in range(3)]
    assert [channel.split(b":")[1] for channel, _ in events] == [b"cuckoo.reserve", b"cuckoo.add", b"cuckoo.del"]
    call("CONFIG", "SET", "notify-keyspace-events", "")


def test_removing_what_was_never_stored_is_harmless_to_the_server(call):
    call("CF.ADD", "f", "x")
    assert all(call("CF.DEL", "f", number) in (0, 1) for number in range(2000))
    assert info(call, "f")["Number of items inserted"] >= 0
