"""BF.*: every command, every error text, RESP2 and RESP3."""

import math
import struct

import pytest

WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
INFO_NAMES = ["Capacity", "Size", "Number of filters", "Number of items inserted", "Expansion rate"]


def arity(command):
    return f"ERR wrong number of arguments for 'BF.{command}' command"


def size(*links):
    """What BF.INFO says for links of (capacity, rate): 32 bytes, and for each link 64 and its whole words of bits."""
    words = [math.ceil(int(capacity * abs(math.log(rate) / 0.480453013918201)) / 64) for capacity, rate in links]
    return 32 + sum(64 + 8 * count for count in words)


def test_reserve_and_info(call, call3):
    assert call("BF.RESERVE", "f", 0.01, 100) == "OK"
    flat = call("BF.INFO", "f")
    assert flat[::2] == INFO_NAMES, "simple strings"
    assert flat[1::2] == [100, 240, 1, 0, 2]
    assert size((100, 0.005)) == 240
    assert call3("BF.INFO", "f") == dict(zip(INFO_NAMES, flat[1::2]))
    for selector, name in zip(["CAPACITY", "size", "FILTERS", "ITEMS", "EXPANSION"], INFO_NAMES):
        value = flat[1::2][INFO_NAMES.index(name)]
        assert call("BF.INFO", "f", selector) == [value]
        assert call3("BF.INFO", "f", selector) == {name: value}
    assert call("BF.INFO", "f", "COLOUR") == "Invalid information value"
    assert call("TYPE", "f") == "MBbloom--"
    assert call("BF.DEBUG", "f") == [
        "size:0", "bytes:144 bits:1152 hashes:8 hashwidth:64 capacity:100 size:0 ratio:0.005"
    ]


def test_filters_that_do_not_grow(call, call3):
    assert call("BF.RESERVE", "f", 0.01, 10, "NONSCALING") == "OK"
    assert call("BF.RESERVE", "g", 0.01, 10, "EXPANSION", 0) == "OK"
    for key in ("f", "g"):
        assert call("BF.INFO", key, "EXPANSION") == [None]
        assert call3("BF.INFO", key, "EXPANSION") == {"Expansion rate": None}
        assert call("BF.INFO", key, "SIZE") == [size((10, 0.01))]
        assert call("BF.MADD", key, *range(10)) == [1] * 10
        before = call("DUMP", key)
        assert call("BF.ADD", key, "one more") == "ERR non scaling filter is full"
        assert call("BF.MADD", key, 0, "one more", "another") == [0, "ERR non scaling filter is full"]
        assert call3("BF.MADD", key, 0, "one more", "another") == [False, "ERR non scaling filter is full"]
        assert call("BF.INSERT", key, "ITEMS", "one more") == ["ERR non scaling filter is full"]
        assert call("DUMP", key) == before, "what is refused changes nothing"


@pytest.mark.parametrize("arguments, error", [
    (["f", "0.01"], arity("RESERVE")),
    (["f", "x", 100], "ERR bad error rate"),
    (["f", 0, 100], "ERR error rate must be in the range (0.000000, 1.000000)"),
    (["f", 1, 100], "ERR error rate must be in the range (0.000000, 1.000000)"),
    (["f", -0.1, 100], "ERR error rate must be in the range (0.000000, 1.000000)"),
    (["f", 0.01, "x"], "ERR bad capacity"),
    (["f", 0.01, 0], "ERR capacity must be in the range [1, 1073741824]"),
    (["f", 0.01, 2**30 + 1], "ERR capacity must be in the range [1, 1073741824]"),
    (["f", 0.01, 100, "EXPANSION"], "ERR no expansion"),
    (["f", 0.01, 100, "EXPANSION", "x"], "ERR bad expansion"),
    (["f", 0.01, 100, "EXPANSION", -1], "ERR expansion must be in the range [0, 32768]"),
    (["f", 0.01, 100, "EXPANSION", 32769], "ERR expansion must be in the range [0, 32768]"),
    (["f", 0.01, 100, "EXPANSION", 2, "NONSCALING"], "Nonscaling filters cannot expand"),
    (["f", 0.01, 100, "SCALING"], "ERR unknown argument 'SCALING'"),
    (["f", 0.01, 100, 1, 2, 3, 4], arity("RESERVE")),
])
def test_reserve_refuses(call, arguments, error):
    assert call("BF.RESERVE", *arguments) == error
    assert call("EXISTS", "f") == 0


def test_existing_keys_and_other_types(call):
    call("BF.ADD", "f", "x")
    call("SET", "s", "x")
    assert call("BF.RESERVE", "f", 0.01, 100) == "ERR item exists"
    assert call("BF.RESERVE", "s", 0.01, 100) == WRONG_TYPE
    for key in ("none", "s"):
        assert call("BF.EXISTS", key, "x") == 0
        assert call("BF.MEXISTS", key, "x", "y") == [0, 0]
    assert call("BF.CARD", "none") == 0 and call("BF.CARD", "s") == WRONG_TYPE
    for command in (["BF.INFO"], ["BF.DEBUG"], ["BF.SCANDUMP"]):
        rest = ["0"] if command == ["BF.SCANDUMP"] else []
        assert call(*command, "none", *rest) == "ERR not found"
        assert call(*command, "s", *rest) == WRONG_TYPE
    for arguments in (["BF.ADD", "s", "x"], ["BF.MADD", "s", "x"], ["BF.INSERT", "s", "ITEMS", "x"],
                      ["BF.LOADCHUNK", "s", 1, "x"]):
        assert call(*arguments) == WRONG_TYPE


def test_add_and_exists(call, call3):
    assert call("BF.ADD", "f", "x") == 1 and call("BF.ADD", "f", "x") == 0
    assert call3("BF.ADD", "f", "y") is True and call3("BF.ADD", "f", "y") is False
    assert call("BF.MADD", "f", "x", "z") == [0, 1]
    assert call3("BF.MADD", "f", "x", "zz") == [False, True]
    assert call("BF.EXISTS", "f", "x") == 1 and call3("BF.EXISTS", "f", "x") is True
    assert call("BF.MEXISTS", "f", "x", "no") == [1, 0]
    assert call3("BF.MEXISTS", "f", "x", "no") == [True, False]
    assert call("BF.CARD", "f") == 4


def test_insert(call):
    assert call("BF.INSERT", "f", "CAPACITY", 1000, "ERROR", 0.001, "EXPANSION", 4, "ITEMS", "a", "b", "a") == [1, 1, 0]
    assert call("BF.INFO", "f") [1::2] == [1000, size((1000, 0.0005)), 1, 2, 4]
    assert call("BF.INSERT", "g", "NONSCALING", "c", 50, "i", "a") == [1]
    assert call("BF.INFO", "g", "EXPANSION") == [None]
    assert call("BF.INSERT", "g", "NOCREATE", "ITEMS", "b") == [1]
    assert call("BF.INSERT", "h", "e", 0.1, "ex", 1, "i", "b") == [1]
    assert call("BF.INFO", "h", "SIZE") == [size((100, 0.05))]


@pytest.mark.parametrize("arguments, error", [
    (["f", "ITEMS"], arity("INSERT")),
    (["f", "NOCREATE", "ITEMS"], arity("INSERT")),
    (["f", "ERROR", "x", "ITEMS", "a"], "Bad error rate"),
    (["f", "EXPANSION", "x", "ITEMS", "a"], "Bad expansion"),
    (["f", "CAPACITY", "x", "ITEMS", "a"], "Bad capacity"),
    (["f", "ERROR", 0, "ITEMS", "a"], "Bad error rate"),
    (["f", "ERROR", 1, "ITEMS", "a"], "Bad error rate"),
    (["f", "EXPANSION", 32769, "ITEMS", "a"], "Bad expansion"),
    (["f", "CAPACITY", 0, "ITEMS", "a"], "Bad capacity"),
    (["f", "CAPACITY", 2**30 + 1, "ITEMS", "a"], "Bad capacity"),
    (["f", "what", "x", "ITEMS", "a"], "Unknown argument received"),
    (["f", "NOCREATE", "ITEMS", "a"], "ERR not found"),
    (["f", "NONSCALING", "EXPANSION", 2, "ITEMS", "a"], "Nonscaling filters cannot expand"),
])
def test_insert_refuses(call, arguments, error):
    assert call("BF.INSERT", *arguments) == error
    assert call("EXISTS", "f") == 0


def test_growth(call):
    call("BF.RESERVE", "f", 0.01, 100)
    stored = sum(call("BF.MADD", "f", *range(1000)))
    capacities = [100, 200, 400, 800]
    links = [(capacity, 0.005 / 2**index) for index, capacity in enumerate(capacities)]
    assert call("BF.INFO", "f")[1::2] == [1500, size(*links), 4, stored, 2]
    assert call("BF.CARD", "f") == stored
    assert call("BF.MEXISTS", "f", *range(1000)) == [1] * 1000
    lines = call("BF.DEBUG", "f")
    assert lines[0] == f"size:{stored}" and len(lines) == 5


def dump(call, key):
    chunks, position = [], 0
    while True:
        position, chunk = call("BF.SCANDUMP", key, position)
        if position == 0:
            assert chunk == b""
            return chunks
        chunks.append((position, chunk))


def test_dump_and_load(call):
    call("BF.RESERVE", "f", 0.01, 100)
    call("BF.MADD", "f", *range(250))
    chunks = dump(call, "f")
    head = chunks[0][1]
    assert chunks[0][0] == 1 and len(head) == 20 + 53 * 2
    items, links, options, growth = struct.unpack_from("<Q3I", head)
    assert (items, links, options, growth) == (call("BF.CARD", "f"), 2, 5, 2)
    first = struct.unpack_from("<3Q2dIQB", head, 20)
    assert first[:3] == (144, 1152, 100) and first[3] == 0.005 and first[5:] == (8, 100, 0)
    assert [len(chunk) for _, chunk in chunks[1:]] == [144, struct.unpack_from("<Q", head, 73)[0]]
    for position, chunk in chunks:
        assert call("BF.LOADCHUNK", "g", position, chunk) == "OK"
    assert call("DUMP", "g") == call("DUMP", "f")
    assert call("BF.MEXISTS", "g", *range(250)) == [1] * 250
    assert call("BF.LOADCHUNK", "f", 1, head) == "ERR item exists"


def test_bad_dumps(call):
    call("BF.RESERVE", "f", 0.01, 100)
    before = call("DUMP", "f")
    assert call("BF.SCANDUMP", "f", "x") == "Second argument must be numeric"
    assert call("BF.SCANDUMP", "f", -1) == [0, b""]
    assert call("BF.LOADCHUNK", "f", "x", "y") == "ERR Second argument must be numeric"
    assert call("BF.LOADCHUNK", "f", 1000, "y") == "ERR invalid offset - no link found"
    assert call("BF.LOADCHUNK", "f", -5, "y") == "ERR invalid offset - no link found"
    assert call("BF.LOADCHUNK", "f", 2**63 - 1, "y") == "ERR invalid offset - no link found"
    assert call("BF.LOADCHUNK", "f", 147, "y" * 146) == "ERR invalid chunk - Too big for current filter"
    assert call("BF.LOADCHUNK", "g", 5, "y") == "ERR not found"
    head = call("BF.SCANDUMP", "f", 0)[1]
    for place in range(len(head)):
        for value in (0xFF, 0x00):
            data = head[:place] + bytes([value]) + head[place + 1:]
            assert call("BF.LOADCHUNK", "g", 1, data) in ("OK", "ERR received bad data", "ERR Insufficient memory to create filter")
            call("DEL", "g")
    for length in range(len(head)):
        assert call("BF.LOADCHUNK", "g", 1, head[:length]) == "ERR received bad data"
    assert call("DUMP", "f") == before


def test_wrong_numbers_of_arguments(call):
    for command, right in [("ADD", 2), ("EXISTS", 2), ("CARD", 1), ("DEBUG", 1), ("SCANDUMP", 2), ("LOADCHUNK", 3)]:
        for count in (right - 1, right + 1):
            assert call(f"BF.{command}", *["x"] * count) == arity(command)
    assert call("BF.MADD", "x") == arity("MADD")
    assert call("BF.INFO", "x", "y", "z") == arity("INFO")
