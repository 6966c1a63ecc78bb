"""Commands that run beside the server: MK.MERGE, MK.IMPORT, MK.EXPORT and CF.COMPACT of large filters. MK.BESIDE, which only
modules for tests have, makes work with small filters run so too, and take longer."""

import signal
import time

import pytest

from resp import Client, Error
from test_persistence import follow, in_step

NOT_FOUND = "ERR not found: there is no filter at this key; MK.RESERVE makes one"
WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"


def beside(call):
    """How many commands have run beside the server."""
    lines = call("INFO", "malkoha").decode().splitlines()
    return int(next(line for line in lines if line.startswith("malkoha_commands_beside")).split(":")[1])


def fill(call):
    for key, items in (("a", range(100)), ("b", range(100, 200)), ("d", range(200, 300))):
        assert call("MK.RESERVE", key, 1e-9, "CAPACITY", 1000, "FIXED") == "OK"
        assert call("MK.ADD", key, *items) == [1] * 100


def until_waiting(call, count=1):
    """Until so many clients are blocked, and the first of them has begun to work."""
    while f"blocked_clients:{count}".encode() not in call("INFO", "clients"):
        time.sleep(0.001)
    time.sleep(0.02)


@pytest.fixture
def slow(server, call):
    """A server with three filters, on which all work takes until it is released."""
    fill(call)
    call("MK.BESIDE", 20_000)
    yield server
    call("MK.BESIDE")


def release(call):
    assert call("MK.BESIDE", 0) == "OK"


def found(call, key, begin, end):
    return sum(call("MK.EXISTS", key, *range(begin, end)))


def test_others_are_served_meanwhile(slow, call):
    client, before = slow.client(), beside(call)
    client.send("MK.MERGE", "d", "a", "b")
    until_waiting(call)
    assert found(call, "a", 0, 100) == 100 and found(call, "d", 0, 100) == 0, "lent, and so read"
    assert call("SET", "x", "y") == "OK" and call("CF.ADD", "other", "y") == 1
    assert call("DUMP", "d") and call("COPY", "a", "copy") == 1 and call("MEMORY", "USAGE", "d") > 1000
    assert b"blocked_clients:1" in call("INFO", "clients"), "all that before the merge has ended"
    release(call)
    assert client.read() == "OK"
    assert found(call, "d", 0, 300) == 300 and beside(call) == before + 1


def test_changes_of_lent_filters_wait(slow, call):
    clients = [slow.client() for _ in range(4)] + [slow.client(protocol=3)]
    commands = [("MK.MERGE", "d", "a", "b"), ("MK.ADD", "d", "new", "newer"), ("MK.DEL", "a", 7), ("CF.ADD", "b", "new"),
                ("CF.ADD", "d", "newest")]
    for count, (client, command) in enumerate(zip(clients, commands)):
        client.send(*command)
        until_waiting(call, count + 1)
    assert call("MK.EXISTS", "d", "new") == [0] and call("MK.EXISTS", "a", 7) == [1]
    release(call)
    assert [client.read() for client in clients] == ["OK", [1, 1], [1], 1, True]
    assert found(call, "d", 0, 300) == 300 and call("MK.EXISTS", "d", "new", "newer", "newest") == [1, 1, 1]
    assert call("MK.EXISTS", "a", 7) == [0] and call("MK.COUNT", "d", 7) == [1], "merged before it was removed"


def test_refusals_are_told_after_the_wait(slow, call):
    client, other = slow.client(), slow.client()
    client.send("MK.MERGE", "d", "a")
    until_waiting(call)
    other.send("MK.SET", "d", "x", 1)
    until_waiting(call, 2)
    release(call)
    assert client.read() == "OK"
    assert other.read() == "ERR this filter has no values; MK.RESERVE one with VALUES"


def test_work_on_the_same_keys_is_done_one_after_the_other(slow, call):
    clients = [slow.client() for _ in range(3)]
    for count, (client, source) in enumerate(zip(clients, ("a", "b", "a"))):
        client.send("MK.MERGE", "d", source)
        until_waiting(call, count + 1)
    release(call)
    assert [client.read() for client in clients] == ["OK"] * 3
    assert found(call, "d", 0, 300) == 300 and call("MK.COUNT", "d", 5, 105) == [2, 1]


@pytest.mark.parametrize("command, answer, d", [
    (["DEL", "a"], NOT_FOUND, 100),
    (["UNLINK", "b"], NOT_FOUND, 100),
    (["RENAME", "a", "c"], NOT_FOUND, 100),
    (["SET", "b", "x"], WRONG_TYPE, 100),
    (["SET", "d", "x"], WRONG_TYPE, 0),
    (["FLUSHALL"], NOT_FOUND, 0),
    (["FLUSHALL", "ASYNC"], NOT_FOUND, 0),
    (["SWAPDB", 0, 1], NOT_FOUND, 0),
    (["DEL", "d"], "OK", 200),
    (["RENAME", "a", "d"], NOT_FOUND, 100),
    (["COPY", "a", "b", "REPLACE"], "OK", 200),
    (["PEXPIRE", "a", 1], NOT_FOUND, 100),
])
def test_keys_that_change_meanwhile(slow, call, command, answer, d):
    """The merge takes place after the change, as if it had been sent then."""
    client = slow.client()
    client.send("MK.MERGE", "d", "a", "b")
    until_waiting(call)
    assert call(*command) in (1, "OK")
    if command[0] == "PEXPIRE":
        time.sleep(0.01)
    release(call)
    assert client.read() == answer
    if d:
        assert sum(call("MK.EXISTS", "d", *range(300))) == d
    call("SWAPDB", 0, 1) if command[0] == "SWAPDB" else None
    call("FLUSHALL", "SYNC")
    deadline = time.monotonic() + 60
    while "malkoha_engine_filters:0" not in call("INFO", "malkoha").decode():
        assert time.monotonic() < deadline, "and nothing is left behind, once other threads have freed it"
        time.sleep(0.01)


def test_a_destination_that_is_made_meanwhile(slow, call):
    client = slow.client()
    client.send("MK.MERGE", "e", "a", "b")
    until_waiting(call)
    assert call("COPY", "d", "e") == 1
    release(call)
    assert client.read() == "OK"
    assert found(call, "e", 0, 300) == 300


def test_keys_that_change_all_the_time(slow, call):
    """In the end the work is done in place."""
    client = slow.client()
    call("MK.BESIDE", 50)
    client.send("MK.MERGE", "d", "a", "b")
    until_waiting(call)
    while b"blocked_clients:0" not in call("INFO", "clients"):
        call("COPY", "a", "x"), call("COPY", "x", "a", "REPLACE")
    assert client.read() == "OK" and found(call, "d", 0, 300) == 300


def test_transactions_and_scripts_do_it_in_place(slow, call):
    before = beside(call)
    assert call("MULTI") == "OK"
    call("MK.ADD", "a", "new"), call("MK.MERGE", "d", "a", "b"), call("MK.EXISTS", "d", "new", 5)
    assert call("EXEC") == [[1], "OK", [1, 1]]
    script = "redis.call('MK.MERGE', KEYS[1], KEYS[2]); return redis.call('CF.COMPACT', KEYS[1])"
    assert call("EVAL", script, 2, "e", "b") in ("OK", b"OK")
    assert found(call, "e", 100, 200) == 100 and beside(call) == before


@pytest.mark.parametrize("kind", ["transaction", "script"])
def test_transactions_and_scripts_may_change_lent_filters(slow, call, kind):
    """They wait for the work, which is done once more then."""
    client = slow.client()
    call("MK.BESIDE", 500)
    client.send("MK.MERGE", "d", "a", "b")
    until_waiting(call)
    if kind == "script":
        assert call("EVAL", "return redis.call('MK.ADD', KEYS[1], 'new')", 1, "a") == [1]
    else:
        call("MULTI"), call("MK.ADD", "a", "new")
        assert call("EXEC") == [[1]]
    assert call("MK.EXISTS", "a", "new") == [1]
    assert client.read() == "OK"
    assert call("MK.COUNT", "d", "new", 0, 100, 200) == [1, 1, 1, 1]


def test_a_client_that_leaves(slow, call):
    """Its command is carried out, as it is if it runs in place."""
    client, other = slow.client(), slow.client()
    client.send("MK.MERGE", "d", "a", "b")
    until_waiting(call)
    other.send("MK.ADD", "d", "new")
    until_waiting(call, 2)
    client.close()
    slow.clients.remove(client)
    while b"blocked_clients:1" not in call("INFO", "clients"):
        time.sleep(0.001)
    release(call)
    assert other.read() == [1]
    assert found(call, "d", 0, 300) == 300
    call("MK.BESIDE", 20_000)
    other.send("MK.MERGE", "d", "a")
    until_waiting(call)
    assert call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") >= 1
    release(call)
    while call("MK.COUNT", "d", 5) != [2]:
        time.sleep(0.01)
    slow.clients = [client for client in slow.clients if client is call]


def test_windows_and_values_are_lent_too(slow, call):
    call("MK.RESERVE", "w", 0.001, "WINDOW", "KEYS", 1000), call("MK.ADD", "w", *range(500))
    client = slow.client()
    client.send("MK.EXPORT", "w", 0)
    until_waiting(call)
    other = slow.client()
    other.send("MK.ADD", "w", "new")
    until_waiting(call, 2)
    release(call)
    total, data = client.read()
    assert total == len(data) and other.read() == [1]
    assert call("MK.IMPORT", "copy", 0, total, data) == "OK"
    assert call("MK.EXISTS", "copy", 5, "new") == [1, 0]


def test_import_and_export(slow, call):
    release(call)
    before = beside(call)
    total, data = call("MK.EXPORT", "a", 0)
    assert call("MK.IMPORT", "n", 0, total, data[:700]) == "OK"
    damaged = data[700:-1] + bytes([data[-1] ^ 1])
    assert call("MK.IMPORT", "n", 700, total, damaged).startswith("ERR ")
    client, other = slow.client(), slow.client()
    call("MK.BESIDE", 20_000)
    client.send("MK.IMPORT", "n", 700, total, data[700:])
    until_waiting(call)
    assert call("MK.EXISTS", "n", 5) == "ERR the filter is still being imported"
    other.send("MK.IMPORT", "n", 700, total, data[700:])
    until_waiting(call, 2)
    release(call)
    assert client.read() == "OK"
    assert other.read() == "ERR the filter is complete; import into a key that does not exist"
    assert found(call, "n", 0, 100) == 100 and call("DUMP", "n") == call("DUMP", "a")
    assert beside(call) == before + 4
    call("MK.BESIDE", 20_000)
    client.send("MK.IMPORT", "m", 0, total, data)
    until_waiting(call)
    assert call("EXISTS", "m") == 0
    release(call)
    assert client.read() == "OK" and found(call, "m", 0, 100) == 100
    position, chunk = call("CF.SCANDUMP", "a", 0)
    assert call("CF.LOADCHUNK", "l", position, chunk) == "OK"
    assert call("DUMP", "l") == call("DUMP", "a")


def test_compaction(slow, call):
    call("CF.RESERVE", "cf", 64)
    call("CF.INSERT", "cf", "ITEMS", *range(1000))
    call("PEXPIRE", "cf", 1_000_000)
    before, client = call("CF.INFO", "cf"), slow.client()
    client.send("CF.COMPACT", "cf")
    until_waiting(call)
    assert call("CF.MEXISTS", "cf", *range(1000)) == [1] * 1000 and call("CF.INFO", "cf") == before
    release(call)
    assert client.read() == "OK"
    assert call("CF.MEXISTS", "cf", *range(1000)) == [1] * 1000
    assert call("PTTL", "cf") > 0, "the key keeps its time to live"
    answers = [call("CF.DEL", "cf", number) for number in range(900)]
    assert answers == [1] * 900 and beside(call) > 10
    assert call("CF.MEXISTS", "cf", *range(900, 1000)) == [1] * 100 and call("CF.INFO", "cf")[5] < before[5]
    assert call("CF.COMPACT", "d") == "OK" and found(call, "d", 200, 300) == 100


def test_removing_what_is_not_there_compacts_nothing(slow, call):
    call("CF.RESERVE", "cf", 64)
    call("CF.INSERT", "cf", "ITEMS", *range(1000))
    release(call)
    before = beside(call)
    assert [call("CF.DEL", "cf", number) for number in range(90)] == [1] * 90 and beside(call) == before
    absent = next(item for item in range(1000, 9000) if not call("CF.EXISTS", "cf", item))
    assert call("CF.DEL", "cf", absent) == 0 and beside(call) == before, "nothing is copied"
    assert call("CF.DEL", "cf", 90) == 1 and beside(call) == before + 1, "which compacts"


@pytest.mark.parametrize("command", [
    ["MK.RESERVE", "n", 0.01, "CAPACITY", 2_000_000], ["CF.RESERVE", "n", 2_000_000, "ERROR", 0.01], ["CF.ADD", "n", "x"],
    ["CF.INSERT", "n", "CAPACITY", 2_000_000, "ITEMS", "x"]])
def test_large_filters_are_made_beside(slow, call, command):
    call("CONFIG", "SET", "malkoha.cf-error-rate", "0.01"), call("CONFIG", "SET", "malkoha.cf-initial-size", 2_000_000)
    client, other = slow.client(), slow.client()
    try:
        for exists in (False, True):
            client.send(*command)
            until_waiting(call)
            assert call("EXISTS", "n") == 0
            if exists:
                assert call("SET", "n", "x") == "OK"
            release(call)
            answer = client.read()
            if exists:
                assert answer.startswith("WRONGTYPE")
                break
            assert answer in ("OK", 1, [1]) and call("MEMORY", "USAGE", "n") > 2_000_000
            assert call("CF.EXISTS", "n", "x") == (answer != "OK")
            again = other(*command)
            assert again == "ERR item exists" if answer == "OK" else again == answer
            call("DEL", "n"), call("MK.BESIDE", 20_000)
        assert call("CF.RESERVE", "n2", 2_000_000, "ERROR", 0.01, "EXPANSION", 0) == "OK", "made of zeros, in place"
    finally:
        call("CONFIG", "SET", "malkoha.cf-error-rate", 0), call("CONFIG", "SET", "malkoha.cf-initial-size", 1024)


def test_a_panic_beside_the_server(slow, call):
    release(call)
    before = call("DUMP", "a")
    assert call("MK.PANIC", "a").startswith("ERR malkoha failed: this is a bug")
    assert call("DUMP", "a") == before
    assert call("MK.MERGE", "d", "a") == "OK" and found(call, "d", 0, 100) == 100


def test_replicas_and_files_get_the_outcome(start):
    master, replica = start("--appendonly", "yes"), start()
    call = master.client()
    fill(call)
    copy = follow(master, replica)
    call("MK.BESIDE", 20)
    clients = [master.client() for _ in range(8)]
    made = set()
    for round_number in range(10):
        clients[0].send("MK.MERGE", "d", "a", "b")
        clients[1].send("MK.ADD", "d", *range(1000 + 20 * round_number, 1020 + 20 * round_number))
        clients[2].send("MK.DEL", "a", round_number)
        clients[3].send("CF.ADD", "b", f"b {round_number}")
        clients[4].send("MK.MERGE", f"e {round_number}", "b", "a")
        clients[5].send("CF.INSERT", "cf", "ITEMS", *range(200 * round_number, 200 * round_number + 200))
        clients[6].send("COPY", "d", "a", "REPLACE")
        clients[7].send("CF.COMPACT", "cf")
        answers = [client.read() for client in clients]
        # In another order of commands the filters hold more, and a merge may be refused for lack of room.
        if answers[4] == "OK":
            made.add(f"e {round_number}".encode())
    in_step(call, copy)
    dumps = {name: call("DUMP", name) for name in call("KEYS", "*")}
    assert {name: copy("DUMP", name) for name in copy("KEYS", "*")} == dumps
    assert made and {name for name in dumps if name.startswith(b"e ")} == made
    master.restart()
    call = master.client()
    assert {name: call("DUMP", name) for name in call("KEYS", "*")} == dumps


def test_clients_that_the_server_does_not_let_wait(slow, call):
    """Valkey lets no client wait that is subscribed to a channel: then the work is done in place."""
    client = slow.client(protocol=3)
    assert client("SUBSCRIBE", "news")[0] == b"subscribe"
    client.send("MK.MERGE", "d", "a", "b")
    time.sleep(0.1)
    release(call)
    assert client.read() == "OK" and found(call, "d", 0, 300) == 300


def links_wait(call):
    """Whether the server lets a module block the link to its master: Valkey 9.1 does not."""
    return b"server_name:valkey" not in call("INFO", "server")


@pytest.fixture
def followed(start):
    """A master with three filters, and a replica on which all work takes until it is released."""
    master, replica = start("--repl-diskless-sync-delay", "0"), start("--appendonly", "yes")
    call = master.client()
    fill(call)
    copy = follow(master, replica)
    if not links_wait(copy):
        pytest.skip("this server lets no module block the link to its master")
    call("MK.BESIDE", 0), copy("MK.BESIDE", 20_000)
    return master, replica


def test_replicas_serve_others_meanwhile(start, followed):
    master, replica = followed
    third, call, copy = start(), master.client(), replica.client()
    copy("CONFIG", "SET", "repl-diskless-sync-delay", 0)
    copy_of_copy, before = follow(replica, third), beside(copy)
    assert call("MK.MERGE", "d", "a", "b") == "OK" and call("SET", "x", "y") == "OK" and call("MK.ADD", "a", "new") == [1]
    until_waiting(copy)
    assert found(copy, "d", 0, 300) == 100 and copy("GET", "x") is None, "what follows waits in its order"
    assert copy("DUMP", "a") and copy("CONFIG", "SET", "maxmemory", 0) == "OK"
    release(copy)
    assert call("WAIT", 1, 60_000) == 1
    assert found(copy, "d", 0, 300) == 300 and copy("GET", "x") == b"y" and beside(copy) == before + 1
    copy("MK.BESIDE", 20_000)
    call("CONFIG", "SET", "repl-ping-replica-period", 3600)
    assert call("CF.COMPACT", "d") == "OK"
    until_waiting(copy)
    release(copy)
    # The server itself sends nothing for an hour: the module does not leave it at the command that has waited.
    in_step(call, copy)
    in_step(call, copy_of_copy)
    dumps = {name: call("DUMP", name) for name in call("KEYS", "*")}
    for other in (copy, copy_of_copy):
        assert {name: other("DUMP", name) for name in other("KEYS", "*")} == dumps
    assert call("MULTI") == "OK" and call("MK.MERGE", "d", "a", "b") and call("SET", "x", "z")
    assert call("EXEC") == ["OK", "OK"]
    in_step(call, copy)
    assert beside(copy) == before + 2, "transactions do not wait"
    dumps = {name: call("DUMP", name) for name in call("KEYS", "*")}
    third.stop()
    replica.stop()
    replica.options += ["--replicaof", "no one"]
    copy = replica.start().client()
    assert {name: copy("DUMP", name) for name in copy("KEYS", "*")} == dumps, "from its own append-only file"


def test_replicas_do_it_in_place_if_a_key_expires(followed):
    """The worker would not find what the master has not deleted yet."""
    master, replica = followed
    call, copy = master.client(), replica.client()
    before = beside(copy)
    call("PEXPIRE", "b", 100_000_000)
    assert call("MK.MERGE", "d", "a", "b") == "OK"
    in_step(call, copy)
    assert found(copy, "d", 0, 300) == 300 and beside(copy) == before
    assert copy("DUMP", "d") == call("DUMP", "d")
    replica.process.send_signal(signal.SIGSTOP)
    call("PEXPIRE", "b", 3000)
    assert call("MK.MERGE", "e", "a", "b") == "OK"
    while call("EXISTS", "b"):
        time.sleep(0.01)
    replica.process.send_signal(signal.SIGCONT)
    in_step(call, copy)
    assert copy("DUMP", "e") == call("DUMP", "e") and found(copy, "e", 0, 200) == 200


def test_what_a_replica_exports_may_change(followed):
    """Its own clients lend filters too. What the master sends waits for that."""
    master, replica = followed
    call, copy, client = master.client(), replica.client(), replica.client()
    client.send("MK.EXPORT", "a", 0)
    until_waiting(copy)
    assert call("MK.ADD", "a", "new") == [1]
    until_waiting(copy, 2)
    release(copy)
    total, data = client.read()
    assert total == len(data)
    assert call("SET", "x", "y") == "OK"
    in_step(call, copy)
    assert copy("DUMP", "a") == call("DUMP", "a")


@pytest.mark.parametrize("promoted", [False, True])
def test_a_replica_that_loses_its_master_meanwhile(followed, promoted):
    master, replica = followed
    call, copy = master.client(), replica.client()
    before = copy("DUMP", "d")
    assert call("MK.MERGE", "d", "a", "b") == "OK" and call("SET", "x", "y") == "OK"
    until_waiting(copy)
    if promoted:
        assert copy("REPLICAOF", "NO", "ONE") == "OK"
        release(copy)
        time.sleep(0.1)
        assert copy("DUMP", "d") == before and copy("GET", "x") is None, "it was not received"
        assert copy("MK.MERGE", "d", "a", "b") == "OK" and found(copy, "d", 0, 300) == 300
        return
    assert copy("CLIENT", "KILL", "TYPE", "master") == 1
    release(copy)
    deadline = time.monotonic() + 60
    while copy("GET", "x") != b"y":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    in_step(call, copy)
    for name in ("a", "b", "d"):
        assert copy("DUMP", name) == call("DUMP", name)
    assert call("MK.COUNT", "d", 5) == copy("MK.COUNT", "d", 5) == [1], "once"


def lose_link(call, copy):
    """Ends the link between a replica and its master, and waits until the replica has gone on where it was."""
    assert copy("CLIENT", "KILL", "TYPE", "master") == 1
    assert call("SET", "x", "y") == "OK"
    deadline = time.monotonic() + 60
    while copy("GET", "x") != b"y":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    in_step(call, copy)
    assert b"sync_full:1" in call("INFO", "stats") and b"sync_partial_ok:1" in call("INFO", "stats")


def test_what_has_waited_is_not_done_twice(start):
    """The server counts a command for which the link has waited only with the next one, and is sent it once more if the
    link is lost before that."""
    silent = ["--repl-ping-replica-period", "3600", "--repl-diskless-sync-delay", "0"]
    master, replica = start(*silent), start(*silent, "--appendonly", "yes")
    call = master.client()
    fill(call)
    copy = follow(master, replica)
    call("MK.BESIDE", 0), copy("MK.BESIDE", 0)
    # A script does it in place, and a replica beside: no other command follows.
    for command in ("'MK.MERGE', 'd', 'a', 'b'", "'CF.COMPACT', 'd'", "'MK.MERGE', 'e', 'd', 'b'"):
        assert call("EVAL", f"return redis.call({command})", 0) == "OK"
    while copy("EXISTS", "e") == 0:
        time.sleep(0.01)
    lose_link(call, copy)
    assert [client("MK.COUNT", "e", 5, 105, 205) for client in (call, copy)] == [[1, 2, 1]] * 2
    for name in "abde":
        assert copy("DUMP", name) == call("DUMP", name), name
    assert call("MK.MERGE", "d", "a") == "OK"
    in_step(call, copy)
    assert copy("DUMP", "d") == call("DUMP", "d"), "what follows is done"
    replica.stop()
    replica.options += ["--replicaof", "no one"]
    assert replica.start().client()("DUMP", "d") == call("DUMP", "d"), "from its own append-only file"


def test_removals_that_have_waited_are_not_done_twice(start):
    """An item that was stored twice, and removed once while a replica was writing its filter down, is found there."""
    silent = ["--repl-ping-replica-period", "3600", "--repl-diskless-sync-delay", "0"]
    master, replica = start(*silent), start(*silent)
    call = master.client()
    fill(call)
    copy = follow(master, replica)
    if not links_wait(copy):
        pytest.skip("this server lets no module block the link to its master")
    assert call("MK.ADD", "a", 5) == [1]
    in_step(call, copy)
    client = replica.client()
    copy("MK.BESIDE", 20_000)
    client.send("MK.EXPORT", "a", 0)
    until_waiting(copy)
    assert call("MK.DEL", "a", 5) == [1]
    until_waiting(copy, 2)
    release(copy)
    client.read()
    while copy("MK.COUNT", "a", 5) != [1]:
        time.sleep(0.01)
    lose_link(call, copy)
    assert [other("MK.COUNT", "a", 5) for other in (call, copy)] == [[1]] * 2
    assert copy("DUMP", "a") == call("DUMP", "a")


def test_a_promoted_replica_leaves_nothing_out(start):
    """It is not sent once more what it has not counted, also if it becomes a replica of its own replica."""
    silent = ["--repl-ping-replica-period", "3600", "--repl-diskless-sync-delay", "0"]
    master, replica, third = start(*silent), start(*silent), start(*silent)
    call = master.client()
    fill(call)
    copy = follow(master, replica)
    copy_of_copy = follow(replica, third)
    copy("MK.BESIDE", 0)
    assert call("EVAL", "return redis.call('MK.MERGE', 'd', 'a', 'b')", 0) == "OK"
    while found(copy, "d", 0, 300) < 300:
        time.sleep(0.01)
    assert copy("REPLICAOF", "NO", "ONE") == "OK" and copy("CF.ADD", "c", "x") == 1
    while copy_of_copy("CF.EXISTS", "c", "x") == 0:
        time.sleep(0.05)
    in_step(copy, copy_of_copy)
    assert copy_of_copy("REPLICAOF", "NO", "ONE") == "OK"
    assert copy("REPLICAOF", "127.0.0.1", third.port) == "OK"
    while b"master_link_status:up" not in copy("INFO", "replication"):
        time.sleep(0.05)
    for item in "yz":
        assert copy_of_copy("CF.ADD", "c", item) == 1
    in_step(copy_of_copy, copy)
    assert copy("CF.MEXISTS", "c", *"xyz") == [1, 1, 1]


def test_a_server_that_becomes_a_replica(start):
    master, server = start(), start()
    call = server.client()
    fill(call)
    call("MK.BESIDE", 20_000)
    clients = [server.client() for _ in range(2)]
    clients[0].send("MK.MERGE", "d", "a", "b")
    until_waiting(call)
    clients[1].send("MK.ADD", "d", "new")
    until_waiting(call, 2)
    follow(master, server)
    for client in clients:
        assert client.read().startswith("UNBLOCKED")
    release(call)
    while beside(call) < 2:
        time.sleep(0.01)
    time.sleep(0.1)
    assert call("KEYS", "*") == [] and server.is_alive(), "what was waiting has written nothing"


def test_a_pause_for_a_failover(start):
    """While clients are paused, so that a replica can catch up, nothing is written."""
    server = start()
    call = server.client()
    fill(call)
    call("MK.BESIDE", 20_000)
    client = server.client()
    client.send("MK.MERGE", "d", "a", "b")
    until_waiting(call)
    assert call("CLIENT", "PAUSE", 100_000, "WRITE") == "OK"
    release(call)
    time.sleep(0.3)
    assert found(call, "d", 0, 200) == 0
    assert call("CLIENT", "UNPAUSE") == "OK"
    assert client.read() == "OK" and found(call, "d", 0, 300) == 300


def test_saving_and_shutting_down_meanwhile(start):
    server = start("--appendonly", "yes")
    call = server.client()
    fill(call)
    before = call("DUMP", "d")
    call("MK.BESIDE", 20_000)
    client = server.client()
    client.send("MK.MERGE", "d", "a", "b")
    until_waiting(call)
    assert call("BGREWRITEAOF").startswith("Background")
    while b"aof_rewrite_in_progress:1" in call("INFO", "persistence"):
        time.sleep(0.01)
    assert call("SAVE") == "OK"
    call.send("SHUTDOWN", "NOW")
    server.process.wait(60)
    server.clients = []
    server.start()
    call = server.client()
    assert call("DUMP", "d") == before, "it was not acknowledged, and is not there"
    assert call("MK.MERGE", "d", "a", "b") == "OK" and found(call, "d", 0, 300) == 300


def test_a_node_of_a_cluster_that_loses_the_slot(start):
    server = start("--cluster-enabled", "yes", "--cluster-require-full-coverage", "no")
    call = server.client()
    assert call("CLUSTER", "ADDSLOTSRANGE", 0, 16383) == "OK"
    while b"cluster_state:ok" not in call("CLUSTER", "INFO"):
        time.sleep(0.05)
    for key in ("{t}a", "{t}b"):
        call("MK.RESERVE", key, 0.001), call("MK.ADD", key, "x")
    call("MK.BESIDE", 0)
    total, data = call("MK.EXPORT", "{t}a", 0)
    clients = [server.client() for _ in range(4)]
    commands = [("MK.IMPORT", "{t}new", 0, total, data), ("MK.MERGE", "{t}other", "{t}b"), ("MK.MERGE", "{t}a", "{t}b"),
                ("CF.ADD", "{t}b", "y")]
    for client, command in zip(clients[:2], commands):
        client.send(*command)
        assert client.read() == "OK", "keys that do not exist yet"
    call("MK.BESIDE", 20_000)
    for count, (client, command) in enumerate(zip(clients[2:], commands[2:])):
        client.send(*command)
        until_waiting(call, count + 1)
    assert call("DEL", "{t}a", "{t}b", "{t}new", "{t}other") == 4
    assert call("CLUSTER", "DELSLOTS", call("CLUSTER", "KEYSLOT", "{t}a")) == "OK"
    release(call)
    for client in clients[2:]:
        assert client.read() == "TRYAGAIN the slot was moved while the command waited"
    assert call("DBSIZE") == 0


def test_reading_from_a_replica_in_a_cluster(start):
    options = ["--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--repl-diskless-sync-delay", "0"]
    master, replica = start(*options), start(*options)
    call, copy = master.client(), replica.client()
    assert call("CLUSTER", "ADDSLOTSRANGE", 0, 16383) == "OK"
    assert copy("CLUSTER", "MEET", "127.0.0.1", master.port) == "OK"
    for node in (call, copy):
        while b"cluster_state:ok" not in node("CLUSTER", "INFO"):
            time.sleep(0.05)
    assert copy("CLUSTER", "REPLICATE", call("CLUSTER", "MYID")) == "OK"
    while b"master_link_status:up" not in copy("INFO", "replication"):
        time.sleep(0.05)
    fill_one = [("MK.RESERVE", "{t}f", 0.2, "CAPACITY", 1000, "FIXED"), ("MK.ADD", "{t}f", "x")]
    assert call.pipeline(fill_one) == ["OK", [1]]
    in_step(call, copy)
    copy("MK.BESIDE", 0)
    assert copy("MK.EXPORT", "{t}f", 0).startswith("MOVED")
    assert copy("READONLY") == "OK"
    before = beside(copy)
    total, data = copy("MK.EXPORT", "{t}f", 0)
    assert total == len(data)
    assert copy("CF.SCANDUMP", "{t}f", 0)[1] == data
    assert copy("MK.INFO", "{t}f") == call("MK.INFO", "{t}f") and copy("CF.INFO", "{t}f") == call("CF.INFO", "{t}f")
    assert beside(copy) == before + 4
    assert copy("MK.MERGE", "{t}f", "{t}f").startswith("MOVED")


def test_really_large_filters(start):
    """As users have them: the server answers others while it works, and all of it is there afterwards."""
    server = start()
    call = server.client()
    for key in "ab":
        assert call("MK.RESERVE", key, 0.001, "CAPACITY", 12_000_000, "FIXED") == "OK"
    call("MK.ADD", "a", *range(10_000)), call("MK.ADD", "b", *range(10_000, 20_000))
    before, client = beside(call), Client(server.port)
    for command in (("MK.MERGE", "c", "a", "b"), ("MK.EXPORT", "c", 0), ("CF.COMPACT", "c")):
        client.send(*command)
        until_waiting(call)
        assert call("MK.EXISTS", "a", 5) == [1]
        assert not isinstance(client.read(), Error)
    client.close()
    assert beside(call) == before + 3 and found(call, "c", 0, 20_000) == 20_000
