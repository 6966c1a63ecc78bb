"""Measurements of the module; docs/MODULE.md has the results.

    scripts/module bench                    everything but the large ones
    scripts/module bench commands           CF.EXISTS and CF.ADD beside GET and SET
    scripts/module bench batches            commands of 1,000 items beside one that does nothing
    scripts/module bench growth             latencies while a filter grows from 1,000 to 10 million items
    scripts/module bench beside             how long others wait while a large filter is merged, exported, compacted
    scripts/module bench replica            how long clients of a replica wait while it repeats a large merge
    scripts/module bench windows            how long the turn of a large window takes
    scripts/module bench memory             memory beside SET of the same items
    scripts/module bench large [ROW ...]    filters of 10^8 items: memory, save and load; only rows that begin so

redis-benchmark sends the commands. It runs beside the server, each on a core of its own if there are two. Everything that
is compared is measured in turns, several times; the medians are printed.
"""

import os
import pathlib
import re
import select
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests"))

from resp import Error  # noqa: E402
from servers import MODULE, Server, binaries  # noqa: E402

ITEMS = 1_000_000
ROUNDS = 5
NOOP = pathlib.Path(MODULE).parent / "examples" / "libnoop.so"


def pinned(server):
    """Leaves the last core to the client."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) > 1:
        os.sched_setaffinity(server.process.pid, cores[:-1])
        return ["taskset", "-c", str(cores[-1])]
    return []


def benchmark(server, prefix, arguments, *command, requests):
    """Requests per second."""
    line = [*prefix, "redis-benchmark", "-p", str(server.port), "-n", str(requests), "--csv", *arguments, *command]
    output = subprocess.run(line, capture_output=True, text=True, check=True).stdout
    return float(output.splitlines()[-1].split('","')[1])


def compare(server, arguments, commands, requests):
    """Medians of requests per second, the commands taking turns."""
    prefix = pinned(server)
    results = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            results[name].append(benchmark(server, prefix, arguments, *command, requests=requests))
    return {name: statistics.median(values) for name, values in results.items()}


def table(title, header, rows):
    print(f"\n{title}\n")
    print("| " + " | ".join(header) + " |")
    print("| --- |" + " --: |" * (len(header) - 1))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


def prepare(server):
    """Filters and plain keys with the same items: numbers of twelve digits."""
    call = server.client()
    call("CF.RESERVE", "engine", ITEMS, "ERROR", 0.001)
    call("CF.RESERVE", "cuckoo", ITEMS)
    call("BF.RESERVE", "bloom", 0.01, ITEMS)
    call("CF.RESERVE", "seen by cuckoo", ITEMS)
    call("BF.RESERVE", "seen by bloom", 0.01, ITEMS)
    # Room for all items that are stored while it is measured, nearly all of them new.
    room = 2 * ROUNDS * 1_100_000
    call("CF.RESERVE", "fresh", room, "ERROR", 0.001)
    call("CF.RESERVE", "cuckoo of room", room // 2)
    call("BF.RESERVE", "bloom of room", 0.01, room // 2)
    for begin in range(0, ITEMS, 10_000):
        items = [f"{number:012d}" for number in range(begin, begin + 10_000, 2)]
        call("CF.INSERT", "engine", "ITEMS", *items)
        call("CF.INSERT", "cuckoo", "ITEMS", *items)
        call("BF.MADD", "bloom", *items)
        call("MSET", *[part for item in items for part in (f"key:{item}", "x")])


def commands(name, program):
    server = Server(program)
    try:
        prepare(server)
        rows = []
        for pipeline, requests in ((1, 100_000), (64, 1_000_000)):
            arguments = ["-r", str(ITEMS), "-P", str(pipeline), "-c", "50"]
            reads = compare(server, arguments, {
                "GET": ["GET", "key:__rand_int__"],
                "CF.EXISTS, a rate of 0.1 %": ["CF.EXISTS", "engine", "__rand_int__"],
                "CF.EXISTS, RedisBloom's layout": ["CF.EXISTS", "cuckoo", "__rand_int__"],
            }, requests)
            arguments[1] = str(1000 * ITEMS)
            writes = compare(server, arguments, {
                "SET": ["SET", "key:__rand_int__", "x"],
                "CF.ADD, a rate of 0.1 %": ["CF.ADD", "fresh", "__rand_int__"],
                "CF.ADDNX, a rate of 0.1 %": ["CF.ADDNX", "fresh", "__rand_int__"],
            }, requests)
            for base, results in (("GET", reads), ("SET", writes)):
                for command, rate in results.items():
                    rows.append([command, pipeline, f"{rate / 1000:.0f}", f"{rate / results[base]:.2f}"])
        table(f"{name}: thousand requests per second, and beside GET or SET", ["command", "pipeline", "thousand/s", "ratio"], rows)
    finally:
        server.remove()


def batches(name, program):
    server = Server(program, "--loadmodule", str(NOOP))
    try:
        prepare(server)
        many, rows = ["__rand_int__"] * 1000, []

        def rate(span, requests, commands):
            commands = {"nothing": ["NOOP.MEXISTS", "engine", *many], **commands}
            results = compare(server, ["-r", str(span), "-c", "4"], commands, requests)
            base = results.pop("nothing")
            if not rows:
                rows.append(["nothing", f"{base / 1000:.2f}", "1.00"])
            rows.extend([label, f"{value / 1000:.2f}", f"{value / base:.2f}"] for label, value in results.items())

        rate(ITEMS, 5_000, {
            "CF.MEXISTS, a rate of 0.1 %": ["CF.MEXISTS", "engine", *many],
            "CF.MEXISTS, RedisBloom's layout": ["CF.MEXISTS", "cuckoo", *many],
            "BF.MEXISTS": ["BF.MEXISTS", "bloom", *many],
            "MK.EXISTS": ["MK.EXISTS", "engine", *many],
            "MK.ADDNX": ["MK.ADDNX", "engine", *many],
            "CF.INSERTNX, RedisBloom's layout": ["CF.INSERTNX", "seen by cuckoo", "ITEMS", *many],
            "BF.MADD": ["BF.MADD", "seen by bloom", *many],
        })
        # Nearly all of these are new, and there is room for them.
        rate(1000 * ITEMS, 1_000, {
            "CF.INSERT, a rate of 0.1 %, all new": ["CF.INSERT", "fresh", "ITEMS", *many],
            "CF.INSERT, RedisBloom's layout, all new": ["CF.INSERT", "cuckoo of room", "ITEMS", *many],
            "BF.MADD, all new": ["BF.MADD", "bloom of room", *many],
        })
        table(f"{name}: commands of 1,000 items, million items per second", ["command", "million/s", "ratio"], rows)
    finally:
        server.remove()


def growth(name, program):
    """Single commands by twenty clients; redis-benchmark's own percentiles, in milliseconds."""
    total = int(os.environ.get("MALKOHA_GROWTH", "10000000"))
    server = Server(program)
    try:
        prefix = pinned(server)
        server.client()("CF.RESERVE", "f", 1000, "ERROR", 0.001)
        rows = []
        for command in (["SET", "key:__rand_int__", "x"], ["CF.ADD", "f", "__rand_int__"]):
            line = [*prefix, "redis-benchmark", "-p", str(server.port), "-n", str(total), "-c", "20", "-r", "1000000000",
                    "--precision", "3", *command]
            output = subprocess.run(line, capture_output=True, text=True, check=True).stdout
            percentiles = [(float(share), float(ms)) for share, ms in re.findall(r"([\d.]+)% <= ([\d.]+) milliseconds", output)]
            at = [next(ms for share, ms in percentiles if share >= wanted) for wanted in (50, 99, 99.9, 100)]
            rows.append([command[0], *[f"{ms:.3f}" for ms in at]])
        stored = server.client()("CF.INFO", "f")[7]
        table(f"{name}: milliseconds while {stored} items are stored one by one", ["command", "p50", "p99", "p99.9", "max"], rows)
    finally:
        server.remove()


def beside(name, program):
    """The longest that another client waits while a large filter is worked on."""
    items, rows = int(os.environ.get("MALKOHA_ITEMS", "5000000")), []
    server = Server(program)
    try:
        call, other = server.client(), server.client()
        for key, first in (("a", 0), ("b", items)):
            call("MK.RESERVE", key, 0.001)
            for begin in range(first, first + items, 10_000):
                call("MK.ADD", key, *range(begin, begin + 10_000))
        call("CF.RESERVE", "cuckoo", 1_000_000)
        for begin in range(0, items, 10_000):
            call("CF.INSERT", "cuckoo", "ITEMS", *range(begin, begin + 10_000))
        data, total = b"", 1
        while len(data) < total:
            total, chunk = call("MK.EXPORT", "a", len(data))
            data += chunk
        begin = (total - 1) >> 20 << 20
        for at in range(0, begin, 1 << 20):
            call("MK.IMPORT", "copy", at, total, data[at:at + (1 << 20)])
        for command in (["MK.MERGE", "both", "a", "b"], ["MK.EXPORT", "both", 0], ["CF.COMPACT", "both"],
                        ["MK.IMPORT", "copy", begin, total, data[begin:]], ["CF.COMPACT", "cuckoo"]):
            other.send(*command)
            longest, start, last = 0.0, time.monotonic(), time.monotonic()
            while not select.select([other.socket], [], [], 0)[0]:
                call("PING")
                now = time.monotonic()
                longest, last = max(longest, now - last), now
            taken = time.monotonic() - start
            assert not isinstance(other.read(), Error)
            rows.append([" ".join(map(str, command[:2])), f"{1000 * taken:.0f}", f"{1000 * longest:.1f}"])
        table(f"{name}: filters of {items} items, milliseconds of the command, and the longest that PING takes meanwhile",
              ["command", "ms", "longest PING, ms"], rows)
    finally:
        server.remove()


def replica(name, program):
    """The longest that a client of a replica waits while the replica repeats a merge of two grown filters: without and with a
    time to live, for which replicas merge in place."""
    items, rows = int(os.environ.get("MALKOHA_ITEMS", "20000000")), []
    server, follower = Server(program, "--repl-diskless-sync-delay", "0"), Server(program)
    try:
        call, copy = server.client(), follower.client()
        for key, first in (("a", 0), ("b", items)):
            call("MK.RESERVE", key, 0.001)
            for begin in range(first, first + items, 10_000):
                call("MK.ADD", key, *range(begin, begin + 10_000))
        copy("REPLICAOF", "127.0.0.1", server.port)
        while b"master_link_status:up" not in copy("INFO", "replication"):
            time.sleep(0.05)
        for label, key in (("MK.MERGE", "both"), ("MK.MERGE, a key expires", "again")):
            if key == "again":
                call("EXPIRE", "a", 1_000_000)
            assert call("MK.MERGE", key, "a", "b") == "OK"
            longest, begin, last, there = 0.0, time.monotonic(), time.monotonic(), 0
            while not there:
                there = copy("EXISTS", key)
                now = time.monotonic()
                longest, last = max(longest, now - last), now
            rows.append([label, f"{1000 * (last - begin):.0f}", f"{1000 * longest:.1f}"])
        size = call("MEMORY", "USAGE", "both") / 1e6
        table(f"{name}: merged filters of {size:.0f} MB, milliseconds until the replica has it, and the longest that its client waits",
              ["command", "ms", "longest wait, ms"], rows)
    finally:
        follower.remove()
        server.remove()


def windows(name, program):
    """How long a window of seconds takes to forget a quarter, and all after a pause: medians of five windows."""
    rows = []
    for keys in (1_000_000, 10_000_000, 100_000_000):
        server = Server(program)
        try:
            call, turns, pauses = server.client(), [], []
            for _ in range(ROUNDS):
                call("MK.RESERVE", "w", 0.001, "CAPACITY", keys, "WINDOW", "SECONDS", 400)
                now = int(time.time()) + 10
                for turn in range(5):
                    # So many that every page of the generation is written to.
                    for begin in range(0, min(keys // 4, 200_000), 10_000):
                        call("MK.ADD", "w", *range(turn * keys + begin, turn * keys + begin + 10_000))
                    now += 100
                    turns.append(timed(lambda: call("MK.ADVANCE", "w", now)))
                pauses.append(timed(lambda: call("MK.ADVANCE", "w", now + 1000)))
                size = call("MEMORY", "USAGE", "w")
                call("DEL", "w")
            rows.append([f"{keys:,}", f"{size / 1e6:.0f}", f"{1000 * statistics.median(turns[-ROUNDS:]):.2f}",
                         f"{1000 * statistics.median(pauses):.2f}"])
        finally:
            server.remove()
    table(f"{name}: windows of seconds, milliseconds of a turn", ["keys", "MB", "a quarter, ms", "all, ms"], rows)


def used(server):
    text = server.client()("INFO", "memory").decode()
    return int(next(line for line in text.splitlines() if line.startswith("used_memory:")).split(":")[1])


def memory(name, program):
    items, rows = 10_000_000, []
    for label, reserve, command in (
        ("SET key:item x", None, "SET"),
        ("rate 0.1 %, planned", ["CF.RESERVE", "f", items, "ERROR", 0.001, "EXPANSION", 0], "CF.INSERT"),
        ("rate 0.1 %, grown from 1,000", ["CF.RESERVE", "f", 1000, "ERROR", 0.001], "CF.INSERT"),
        ("RedisBloom's layout, planned", ["CF.RESERVE", "f", items], "CF.INSERT"),
    ):
        server = Server(program)
        try:
            call, before = server.client(), used(server)
            if reserve:
                assert call(*reserve) == "OK"
            for begin in range(0, items, 10_000):
                numbers = [f"{number:012d}" for number in range(begin, begin + 10_000)]
                if command == "SET":
                    call("MSET", *[part for item in numbers for part in (f"key:{item}", "x")])
                else:
                    assert -1 not in call(command, "f", "ITEMS", *numbers)
            taken = call("MEMORY", "USAGE", "f") if reserve else used(server) - before
            others = [f"x{number}" for number in range(200_000)]
            wrong = sum(call("CF.MEXISTS", "f", *others)) / len(others) if reserve else 0
            rows.append([label, f"{taken / 1e6:.1f}", f"{8 * taken / items:.1f}", f"{100 * wrong:.3f} %"])
        finally:
            server.remove()
    table(f"{name}: ten million items", ["", "MB", "bits an item", "measured rate"], rows)


def timed(work):
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def save(call):
    call("BGSAVE")
    while b"rdb_bgsave_in_progress:1" in call("INFO", "persistence"):
        time.sleep(0.01)


def large(name, program):
    """Filters of 10^8 items, and how long it takes to save and load them: medians of three."""
    items, rows = int(os.environ.get("MALKOHA_ITEMS", "100000000")), []
    for label, reserve in (
        ("rate 0.1 %, planned", ["CF.RESERVE", "f", items, "ERROR", 0.001, "EXPANSION", 0]),
        ("rate 0.1 %, grown from 1,000", ["CF.RESERVE", "f", 1000, "ERROR", 0.001]),
        ("RedisBloom's layout, planned", ["CF.RESERVE", "f", items]),
    ):
        if not label.startswith(tuple(sys.argv[2:]) or ""):
            continue
        server = Server(program)
        try:
            call = server.client()
            assert call(*reserve) == "OK"
            for begin in range(0, items, 10_000):
                assert -1 not in call("CF.INSERT", "f", "ITEMS", *range(begin, begin + 10_000))
            taken = call("MEMORY", "USAGE", "f")
            others = [f"x{number}" for number in range(200_000)]
            wrong = sum(call("CF.MEXISTS", "f", *others)) / len(others)
            saved, loaded = [], []
            for _ in range(3):
                saved.append(timed(lambda: save(server.client())))
                loaded.append(timed(server.restart))
            file = (server.folder / "dump.rdb").stat().st_size
            rows.append([label, f"{taken / 1e6:.1f}", f"{8 * taken / items:.2f}", f"{100 * wrong:.3f} %", f"{file / 1e6:.1f}",
                         f"{statistics.median(saved):.2f}", f"{statistics.median(loaded):.2f}"])
        finally:
            server.remove()
    table(f"{name}: {items} items", ["", "MB", "bits an item", "measured rate", "RDB, MB", "BGSAVE s", "restart s"], rows)


def main():
    chosen = sys.argv[1] if len(sys.argv) > 1 else "small"
    parts = {"commands": commands, "batches": batches, "growth": growth, "beside": beside, "replica": replica,
             "windows": windows, "memory": memory, "large": large}
    small = ["commands", "batches"]
    for part in [chosen] if chosen in parts else small:
        for name, program in sorted(binaries().items()):
            if os.environ.get("MALKOHA_SERVER", name) == name:
                parts[part](name, program)


if __name__ == "__main__":
    main()
