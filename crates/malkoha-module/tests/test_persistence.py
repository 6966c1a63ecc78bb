"""Filters after restarts, in copies, on replicas, and under memory limits."""

import time

import pytest

KEYS = ["cf", "empty", "bf", "fixed", "engine", "grown", "values", "keys", "seconds", "partial", "begun"]


def fill(call):
    """One filter of every sort."""
    call("CF.RESERVE", "cf", 64, "EXPANSION", 2)
    call("CF.INSERT", "cf", "ITEMS", *range(1000))
    for number in range(50):
        call("CF.DEL", "cf", number)
    call("CF.RESERVE", "empty", 5000)
    call("BF.MADD", "bf", *range(1000))
    call("BF.RESERVE", "fixed", 0.01, 2000, "NONSCALING")
    call("BF.MADD", "fixed", *range(1000))
    call("CF.RESERVE", "engine", 2000, "ERROR", 0.001, "EXPANSION", 0)
    call("CF.INSERT", "engine", "ITEMS", *range(1000))
    call("MK.RESERVE", "grown", 0.01, "CAPACITY", 10)
    call("MK.ADD", "grown", *range(1000))
    call("MK.RESERVE", "values", 0.0001, "CAPACITY", 2000, "FIXED", "VALUES", 5)
    call("MK.SET", "values", *[part for number in range(1000) for part in (number, number % 32)])
    call("MK.RESERVE", "keys", 0.01, "WINDOW", "KEYS", 1000)
    call("MK.ADDNX", "keys", *range(1000))
    call("MK.RESERVE", "seconds", 0.01, "WINDOW", "SECONDS", 1000)
    call("MK.ADDNX", "seconds", *range(1000))
    total, data = call("MK.EXPORT", "engine", 0)
    assert call("MK.IMPORT", "partial", 0, total, data[:1000]) == "OK"
    assert call("CF.LOADCHUNK", "begun", 1001, data[:1000]) == "OK"
    return contents(call)


def contents(call):
    """Everything that is known of all filters."""
    return {key: call("DUMP", key) for key in KEYS}


def check(call, before):
    assert contents(call) == before
    assert call("CF.MEXISTS", "cf", *range(50, 1000)) == [1] * 950
    assert call("BF.MEXISTS", "bf", *range(1000)) == [1] * 1000
    for key in ("engine", "grown", "keys", "seconds"):
        assert call("MK.EXISTS", key, *range(1000)) == [1] * 1000 or key == "keys"
    assert all(number % 32 in values for number, values in enumerate(call("MK.GET", "values", *range(1000))))
    for key in ("partial", "begun"):
        assert call("MK.EXISTS", key, "x") == "ERR the filter is still being imported"
    # What was begun can be ended.
    position, data = call("CF.SCANDUMP", "engine", 0)
    assert call("COPY", "begun", "ended") == 1
    assert call("CF.LOADCHUNK", "ended", position, data[1000:]) == "OK"
    assert call("DUMP", "ended") == before["engine"] and call("DEL", "ended") == 1


def test_a_restart_from_rdb(start):
    server = start()
    before = fill(server.client())
    assert server.client()("SAVE") == "OK"
    server.restart()
    check(server.client(), before)


def test_a_restart_from_aof(start):
    server = start("--appendonly", "yes")
    before = fill(server.client())
    server.restart()
    check(server.client(), before)


def rewrite(call):
    call("BGREWRITEAOF")
    while b"aof_rewrite_in_progress:1" in call("INFO", "persistence"):
        time.sleep(0.02)
    assert b"aof_last_bgrewrite_status:ok" in call("INFO", "persistence")


def test_a_restart_from_a_rewritten_aof(start):
    for preamble in ("no", "yes"):
        server = start("--appendonly", "yes", "--aof-use-rdb-preamble", preamble)
        before = fill(server.client())
        rewrite(server.client())
        server.client()("CF.ADD", "new", "x")
        server.restart()
        check(server.client(), before)
        assert server.client()("CF.EXISTS", "new", "x") == 1


def test_a_rewritten_aof_with_only_cf(start):
    server = start("--appendonly", "yes", "--aof-use-rdb-preamble", "no", module=["only", "cf"])
    call = server.client()
    call("CF.RESERVE", "f", 1000, "ERROR", 0.001)
    call("CF.INSERT", "f", "ITEMS", *range(5000))
    before = call("DUMP", "f")
    rewrite(call)
    server.restart()
    assert server.client()("DUMP", "f") == before


def test_a_rewritten_aof_with_only_mk(start):
    """Nothing can load a filter there that CF.LOADCHUNK has begun elsewhere. The server starts without it."""
    maker = start().client()
    fill(maker)
    server = start("--appendonly", "yes", "--aof-use-rdb-preamble", "no", module=["only", "mk"])
    call = server.client()
    for key in ("begun", "engine"):
        assert call("RESTORE", key, 0, maker("DUMP", key)) == "OK"
    rewrite(call)
    assert server.restart().client()("KEYS", "*") == [b"engine"]


def test_debug_reload_and_digest(start):
    server = start()
    call = server.client()
    before = fill(call)
    digests = [call("DEBUG", "DIGEST-VALUE", key) for key in KEYS]
    assert call("DEBUG", "RELOAD") == "OK"
    check(call, before)
    assert [call("DEBUG", "DIGEST-VALUE", key) for key in KEYS] == digests


def test_copy_dump_restore_and_unlink(call):
    before = fill(call)
    for key in KEYS:
        assert call("COPY", key, f"{key} copy") == 1
        assert call("DUMP", f"{key} copy") == before[key]
        assert call("RESTORE", f"{key} again", 0, before[key]) == "OK"
        assert call("DUMP", f"{key} again") == before[key]
    call("CF.ADD", "cf copy", "new")
    assert call("DUMP", "cf") == before["cf"], "a copy is separate"
    assert call("UNLINK", *KEYS) == len(KEYS)


def follow(master, replica):
    call = replica.client()
    call("REPLICAOF", "127.0.0.1", master.port)
    while b"master_link_status:up" not in call("INFO", "replication"):
        time.sleep(0.05)
    return call


def in_step(master, replica):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        texts = [call("INFO", "replication").decode() for call in (master, replica)]
        offsets = [next(line for line in text.splitlines() if line.startswith("master_repl_offset")) for text in texts]
        if offsets[0] == offsets[1]:
            return
        time.sleep(0.02)
    raise AssertionError("the replica does not catch up")


def test_a_replica_agrees_byte_for_byte(start):
    """Also where its settings are different, for filters made before and after it began to follow."""
    master = start()
    replica = start(module=["cf-bucket-size", "4", "cf-initial-size", "128", "cf-max-expansions", "2", "cf-expansion-factor",
                            "2", "bf-initial-size", "7", "bf-error-rate", "0.2", "seed", "99", "cf-error-rate", "0.5"])
    call = master.client()
    fill(call)
    copy = follow(master, replica)
    call("CONFIG", "SET", "malkoha.seed", "12345")
    for step in range(40):
        call("CF.ADD", "made on the way", step)
        call("CF.INSERT", "also", "CAPACITY", 50, "ITEMS", *range(20 * step, 20 * step + 20))
        call("CF.INSERTNX", "also", "ITEMS", *range(20 * step, 20 * step + 30))
        call("CF.DEL", "also", step)
        call("BF.ADD", "bloom on the way", step)
        call("BF.INSERT", "bloom", "CAPACITY", 10, "ERROR", 0.1, "ITEMS", *range(20 * step, 20 * step + 20))
        call("MK.ADDNX", "keys", *range(30 * step, 30 * step + 40))
        call("MK.ADDNX", "seconds", *range(30 * step, 30 * step + 40))
        call("MK.ADD", "grown", *range(30 * step, 30 * step + 40))
        call("MK.SET", "values", f"new {step}", step % 32)
        call("MK.UNSET", "values", step, step % 32)
    call("CF.COMPACT", "also")
    call("CF.RESERVE", "full", 8, "EXPANSION", 0)
    call("CF.INSERT", "full", "ITEMS", *range(50))
    call("BF.RESERVE", "bloom full", 0.1, 20, "NONSCALING")
    call("BF.MADD", "bloom full", *range(50))
    call("CF.RESERVE", "engine full", 20, "ERROR", 0.1, "EXPANSION", 0)
    call("CF.INSERT", "engine full", "ITEMS", *range(500))
    call("MK.RESERVE", "mine", 0.01)
    call("MK.ADD", "mine", *range(100))
    call("MK.MERGE", "merged", "engine", "engine")
    position = 0
    while True:
        position, chunk = call("CF.SCANDUMP", "cf", position)
        if position == 0:
            break
        call("CF.LOADCHUNK", "loaded", position, chunk)
    in_step(call, copy)
    names = call("KEYS", "*")
    assert sorted(names) == sorted(copy("KEYS", "*")) and len(names) > 17
    for name in names:
        assert copy("DUMP", name) == call("DUMP", name), name
    assert copy("CF.ADD", "cf", "x").startswith("READONLY")


def test_what_a_replica_gets_it_also_restarts_with(start):
    master, replica = start(), start("--appendonly", "yes")
    copy = follow(master, replica)
    before = fill(master.client())
    in_step(master.client(), copy)
    replica.restart()
    assert contents(replica.client()) == before, "from its own append-only file, without the master"


def insert(call):
    assert call("CF.INSERT", "f", "CAPACITY", 50, "ITEMS", *range(10)) == [1] * 10
    assert call("CF.INSERTNX", "f", "NOCREATE", "CAPACITY", 4, "ITEMS", *range(10, 20)).count(1) > 5
    assert call("BF.INSERT", "b", "CAPACITY", 1, "ERROR", 0.2, "NONSCALING", "ITEMS", "x") == [1]
    return [call("DUMP", key) for key in "fb"]


LARGER = ["cf-bucket-size", "255", "bf-expansion-factor", "0", "bf-error-rate", "0.001"]


def test_a_replica_with_larger_buckets(start):
    """It takes capacities that it would refuse to its own clients."""
    master, replica = start(), start(module=LARGER)
    call, copy = master.client(), follow(master, replica)
    before = insert(call)
    in_step(call, copy)
    assert [copy("DUMP", key) for key in "fb"] == before


def test_an_aof_of_a_server_that_had_smaller_buckets(start):
    server = start("--appendonly", "yes")
    before = insert(server.client())
    server.module = LARGER
    call = server.restart().client()
    assert [call("DUMP", key) for key in "fb"] == before
    assert call("CF.INSERT", "f", "CAPACITY", 50, "ITEMS", "x").startswith("Capacity must be in the range")


@pytest.mark.parametrize("only", [[], ["only", "cf"]])
def test_windows_of_seconds_in_which_cf_stores(start, only):
    """Replicas are told the time; without MK.ADVANCE they go by their own clocks."""
    maker = start().client()
    maker("MK.RESERVE", "w", 0.001, "WINDOW", "SECONDS", 1)
    position, data = maker("CF.SCANDUMP", "w", 0)
    master, replica = start("--appendonly", "yes", module=only), start(module=only)
    call, copy = master.client(), follow(master, replica)
    assert call("CF.LOADCHUNK", "w", position, data) == "OK"
    for item in "ab":
        assert call("CF.ADD", "w", item) == 1 and call("CF.EXISTS", "w", item) == 1
        time.sleep(3)
    assert call("CF.INSERTNX", "w", "ITEMS", "c") == [1]
    in_step(call, copy)
    assert [client("CF.MEXISTS", "w", *"abc") for client in (call, copy)] == [[0, 0, 1]] * 2
    if not only:
        before = call("DUMP", "w")
        assert copy("DUMP", "w") == before
        assert master.restart().client()("DUMP", "w") == before


def make_large(call):
    """Filters, and the begins of dumps, of more than 64 MB, most of which nobody has written to yet."""
    assert call("CF.RESERVE", "cf", 100_000_000) == "OK"
    assert call("CF.RESERVE", "rate", 60_000_000, "ERROR", 0.001, "EXPANSION", 0) == "OK"
    assert call("BF.RESERVE", "bf", 0.01, 100_000_000) == "OK"
    assert call("MK.RESERVE", "mk", 0.001, "CAPACITY", 60_000_000, "FIXED") == "OK"
    for key in ("cf", "bf"):
        assert call(f"{key}.ADD", key, "x") == 1
        position, header = call(f"{key}.SCANDUMP", key, 0)
        assert call(f"{key}.LOADCHUNK", f"{key} loaded", position, header) == "OK"
    assert call("CF.ADD", "rate", "x") == 1 and call("MK.ADD", "mk", "x") == [1]
    total, data = call("MK.EXPORT", "mk", 0)
    assert call("MK.IMPORT", "imported", 0, total, data[:1000]) == "OK"


def check_large(call):
    for key, command in (("cf", "CF.EXISTS"), ("rate", "CF.EXISTS"), ("bf", "BF.EXISTS")):
        assert call("MEMORY", "USAGE", key) > 64 << 20 and call(command, key, "x") == 1, key
    assert call("MK.EXISTS", "mk", "x") == [1] and call("EXISTS", "cf loaded", "bf loaded", "imported") == 3


def test_a_replica_with_less_memory(start):
    """What the master holds, the replica holds too, whatever its own limit is."""
    master, replica = start(), start("--maxmemory", "64mb")
    call, copy = master.client(), follow(master, replica)
    make_large(call)
    in_step(call, copy)
    check_large(copy)


def test_an_aof_of_a_server_that_had_more_memory(start):
    server = start("--appendonly", "yes")
    make_large(server.client())
    server.stop()
    server.options += ["--maxmemory", "64mb"]
    check_large(server.start().client())


def used_memory(call):
    text = call("INFO", "memory").decode()
    return int(next(line for line in text.splitlines() if line.startswith("used_memory:")).split(":")[1])


def test_memory_is_counted(start):
    server = start("--lazyfree-lazy-user-flush", "no")
    call = server.client()

    def fill():
        for number in range(100):
            call("CF.RESERVE", f"cf {number}", 60_000)
            call("BF.RESERVE", f"bf {number}", 0.01, 50_000)
            call("MK.RESERVE", f"mk {number}", 0.001, "CAPACITY", 40_000, "FIXED")
            call("MK.RESERVE", f"grows {number}", 0.001, "CAPACITY", 10)
            call("MK.ADD", f"grows {number}", *range(2000))

    # Once before anything is measured, so that the server's own tables and buffers have grown.
    fill()
    call("FLUSHALL", "SYNC")
    empty = used_memory(call)
    fill()
    told = sum(call("MEMORY", "USAGE", key, "SAMPLES", 0) for key in call("KEYS", "*"))
    counted = used_memory(call) - empty
    assert abs(told - counted) < 0.005 * counted, (told, counted)
    call("FLUSHALL", "SYNC")
    assert used_memory(call) - empty < 0.005 * counted, "and given back"


def test_memory_of_large_filters_is_counted(start):
    """Also while they grow, in a sliding window, and after they were merged and compacted beside the server."""
    server = start()
    call = server.client()
    call("MK.RESERVE", "first", 0.1), call("MK.ADD", "first", *range(10_000)), call("DEL", "first")
    for key, reserve in (("fixed", [0.001, "CAPACITY", 20_000_000, "FIXED"]), ("grown", [0.001]),
                         ("window", [0.001, "WINDOW", "KEYS", 400_000])):
        empty = used_memory(call)
        assert call("MK.RESERVE", key, *reserve) == "OK"
        for at in range(0, 500_000, 10_000):
            call("MK.ADD", key, *range(at, at + 10_000))
        told, counted = call("MEMORY", "USAGE", key), used_memory(call) - empty
        assert abs(told - counted) < 0.005 * counted + 100_000, (key, told, counted)
    assert call("MEMORY", "USAGE", "fixed") > 20_000_000 and call("MEMORY", "USAGE", "grown") > 1_000_000
    for command in (["MK.MERGE", "merged", "fixed"], ["MK.MERGE", "double", "grown", "grown"]):
        empty = used_memory(call)
        assert call(*command) == "OK"
        told, counted = call("MEMORY", "USAGE", command[1]), used_memory(call) - empty
        assert abs(told - counted) < 0.005 * counted + 100_000, (command, told, counted)
    before = call("MEMORY", "USAGE", "grown")
    for at in range(0, 490_000, 10_000):
        call("MK.DEL", "grown", *range(at, at + 10_000))
    empty, untidy = used_memory(call), call("MEMORY", "USAGE", "grown")
    assert call("CF.COMPACT", "grown") == "OK"
    time.sleep(0.5)  # what was replaced is freed by another thread
    told, counted = untidy - call("MEMORY", "USAGE", "grown"), empty - used_memory(call)
    assert call("MEMORY", "USAGE", "grown") < before / 10 and abs(told - counted) < 100_000, (told, counted)


def lazily_freed(call):
    lines = call("INFO", "memory").decode().splitlines()
    return int(next(line for line in lines if line.startswith("lazyfreed_objects:")).split(":")[1])


def test_memory_of_restored_filters_is_counted(start):
    """Also of those that came in many pieces. UNLINK frees them on another thread."""
    server = start()
    call = server.client()
    for key, reserve in (("fixed", [0.001, "CAPACITY", 8_000_000, "FIXED"]), ("grown", [0.001]),
                         ("window", [0.001, "WINDOW", "KEYS", 2_000_000])):
        call("MK.RESERVE", key, *reserve)
        for at in range(0, 200_000, 10_000):
            call("MK.ADD", key, *range(at, at + 10_000))
        empty, other = used_memory(call), server.client()
        dump = other("DUMP", key)
        assert other("RESTORE", "again", 0, dump) == "OK" and other("DUMP", "again") == dump
        other.close()
        server.clients.remove(other)
        deadline = time.monotonic() + 30
        while True:  # until the buffers of that client are freed
            told, counted = call("MEMORY", "USAGE", "again"), used_memory(call) - empty
            if abs(told - counted) < 0.005 * counted + 100_000:
                break
            assert time.monotonic() < deadline, (key, told, counted)
            time.sleep(0.05)
        before = lazily_freed(call)
        assert told > 300_000 and call("UNLINK", "again") == 1
        while lazily_freed(call) == before:
            assert time.monotonic() < deadline, key
            time.sleep(0.05)


def test_a_memory_limit_stops_growth(start):
    server = start("--maxmemory", "12mb")
    call = server.client()
    call("MK.RESERVE", "f", 0.001)
    stored = 0
    while True:
        answer = call("MK.ADD", "f", *range(stored, stored + 10_000))
        if not isinstance(answer, list):
            break
        stored += 10_000
    assert answer.startswith("OOM") and 2_000_000 < stored < 8_000_000
    assert used_memory(call) < 14_000_000
    assert sum(call("MK.EXISTS", "f", *range(stored - 10_000, stored))) == 10_000


def test_a_memory_limit(start):
    server = start("--maxmemory", "20mb")
    call = server.client()
    assert call("CF.RESERVE", "f", 1 << 30).startswith("ERR Insufficient memory")
    assert call("BF.RESERVE", "f", 0.001, 1 << 30).startswith("ERR Insufficient memory")
    assert call("CF.RESERVE", "f", 1 << 30, "ERROR", 0.001).startswith("ERR Insufficient memory")
    number = 0
    while call("CF.RESERVE", number, 1 << 20) == "OK":
        number += 1
    assert 5 < number < 40
    assert call("CF.ADD", "0", "x").startswith("OOM")
    assert call("CF.EXISTS", "0", "x") == 0, "reading still works"
    assert call("CF.DEL", "0", "x") == 0, "and removing"
