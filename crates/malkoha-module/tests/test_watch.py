"""What clients are told that watch keys, or cache what they have read: of changes, and of nothing else."""

import time

import pytest

UNCHANGED = [
    ("text", ["CF.ADD", "CF.INSERT", "BF.ADD", "MK.ADD", "MK.DEL", "CF.DEL"]),
    ("missing", ["CF.DEL", "MK.ADD", "MK.DEL"]),
]
NOTHING_NEW = [
    ["CF.ADDNX", "cf", "x"], ["CF.INSERTNX", "cf", "ITEMS", "x"], ["CF.DEL", "cf", "y"], ["CF.DEL", "engine", "y"],
    ["CF.ADDNX", "engine", "x"], ["CF.RESERVE", "cf", 100], ["CF.ADD", "full", "y"], ["CF.LOADCHUNK", "cf", 10_000, "y"],
    ["BF.ADD", "bf", "x"], ["BF.MADD", "bf", "x", "x"], ["BF.RESERVE", "bf", 0.1, 10], ["BF.LOADCHUNK", "bf", 10_000, "y"],
    ["MK.ADDNX", "mk", "x"], ["MK.DEL", "mk", "y"], ["MK.UNSET", "values", "x", 2], ["MK.RESERVE", "mk", 0.1],
    ["MK.ADVANCE", "mk", 1], ["MK.ADVANCE", "seconds", 1], ["MK.IMPORT", "mk", 0, 10, "y"], ["MK.MERGE", "mk", "cf"],
    ["MK.SET", "values", "x", 99], ["CF.EXISTS", "cf", "x"], ["MK.EXPORT", "mk", 0], ["CF.SCANDUMP", "engine", 0],
]
CHANGES = [
    ["CF.ADD", "cf", "x"], ["CF.INSERTNX", "cf", "ITEMS", "y"], ["CF.DEL", "cf", "x"], ["CF.COMPACT", "cf"],
    ["CF.ADD", "new", "x"], ["CF.RESERVE", "new", 100], ["CF.RESERVE", "new", 100, "ERROR", 0.1], ["CF.ADD", "engine", "x"],
    ["CF.DEL", "engine", "x"], ["BF.ADD", "bf", "y"], ["BF.ADD", "new", "y"], ["BF.RESERVE", "new", 0.1, 10],
    ["MK.ADD", "mk", "x"], ["MK.ADDNX", "mk", "y"], ["MK.DEL", "mk", "x"], ["MK.SET", "values", "y", 1],
    ["MK.UNSET", "values", "x", 1], ["MK.MERGE", "mk", "engine"], ["MK.MERGE", "new", "engine"], ["MK.RESERVE", "new", 0.1],
    ["MK.ADVANCE", "seconds", 1 << 40], ["MK.ADDNX", "seconds", "x"],
]


@pytest.fixture
def filled(call):
    call("SET", "text", "x")
    call("CF.ADD", "cf", "x"), call("BF.ADD", "bf", "x")
    call("CF.RESERVE", "engine", 1000, "ERROR", 0.03)
    call("CF.RESERVE", "full", 4, "EXPANSION", 0)
    call("CF.INSERT", "full", "ITEMS", *range(9))
    call("MK.RESERVE", "mk", 0.03), call("MK.RESERVE", "values", 0.001, "VALUES", 4)
    call("MK.RESERVE", "seconds", 0.03, "WINDOW", "SECONDS", 1000)
    call("MK.ADD", "mk", "x"), call("MK.SET", "values", "x", 1), call("CF.ADD", "engine", "x")
    call("MK.ADD", "seconds", "x"), call("MK.ADVANCE", "seconds", int(time.time()) + 3600)
    yield call
    call("MK.BESIDE")


def touches(call, other, command):
    """Whether a command ends the transaction of a client that watches its key."""
    assert call("WATCH", command[1]) == "OK"
    other(*command)
    assert call("MULTI") == "OK" and call("PING") == "QUEUED"
    return call("EXEC") is None


@pytest.mark.parametrize("beside", [False, True])
def test_what_changes_nothing_ends_no_transaction(server, filled, beside):
    other = server.client()
    if beside:
        other("MK.BESIDE", 0)
    commands = NOTHING_NEW + [
        [name, key, *(["ITEMS", "x"] if name == "CF.INSERT" else ["x"])] for key, names in UNCHANGED for name in names
    ]
    assert [command for command in commands if touches(filled, other, command)] == []


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("command", CHANGES, ids=lambda command: " ".join(map(str, command[:2])))
def test_what_changes_a_key_ends_transactions(server, filled, beside, command):
    other = server.client()
    if beside:
        other("MK.BESIDE", 0)
    before = filled("DUMP", command[1])
    assert touches(filled, other, command)
    assert filled("DUMP", command[1]) != before or command[0] in ("CF.COMPACT", "MK.ADDNX")


def test_chunks_end_transactions(server, filled):
    other = server.client()
    total, data = filled("MK.EXPORT", "mk", 0)
    for begin in (0, 100):
        assert touches(filled, other, ["MK.IMPORT", "imported", begin, total, data[begin : begin + 100]])
    assert touches(filled, other, ["MK.IMPORT", "imported", 200, total, data[200:]])
    for family, key in (("CF", "cf"), ("BF", "bf")):
        position = 0
        for _ in range(2):
            position, chunk = filled(f"{family}.SCANDUMP", key, position)
            assert touches(filled, other, [f"{family}.LOADCHUNK", f"loaded {key}", position, chunk])
        assert filled("DUMP", f"loaded {key}") == filled("DUMP", key)


def test_caches_keep_what_did_not_change(server, filled, call3):
    assert call3("CLIENT", "TRACKING", "ON") == "OK" and call3("CF.EXISTS", "cf", "x") is True
    filled("CF.ADDNX", "cf", "x"), filled("CF.DEL", "cf", "never stored")
    assert call3("PING") == "PONG", "nothing is pushed before the answer"
    filled("CF.ADD", "cf", "x")
    assert call3("PING") == [b"invalidate", [b"cf"]] and call3.read() == "PONG"
