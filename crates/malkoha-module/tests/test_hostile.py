"""Random commands with hostile arguments. A model knows every answer about the filters that only sound commands change;
about the others it is enough that the server answers, and that it gives all memory back at the end.

MALKOHA_COMMANDS says how many commands, 250000 if it is not set: a million in four runs.
"""

import os
import random
import time

import pytest

import models
from payload import resealed
from resp import Error

COMMANDS = int(os.environ.get("MALKOHA_COMMANDS", "250000"))
WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"
ROUND = 200
# Of the 64 MB that the server may use.
FULL = 16_000_000


class Tame:
    """Sound commands on a few keys, each with the answer that it must get."""

    def __init__(self, generator):
        self.random, self.keys = generator, {}

    def item(self):
        return b"%d" % self.random.randrange(300)

    def items(self):
        return [self.item() for _ in range(self.random.randrange(1, 8))]

    def step(self):
        """A command and its answer."""
        key = f"tame {self.random.randrange(9)}"
        model = self.keys.get(key)
        if model is None or self.random.random() < 0.004:
            return self.create(key, model)
        if isinstance(model, str):
            return self.on_string(key)
        if isinstance(model, models.Cuckoo):
            return self.on_cuckoo(key, model)
        if isinstance(model, models.Bloom):
            return self.on_bloom(key, model)
        return self.on_engine(key, model)

    def create(self, key, model):
        if model is not None:
            del self.keys[key]
            return (self.random.choice(["DEL", "UNLINK"]), key), 1
        choice = self.random.randrange(5)
        if choice == 0:
            self.keys[key] = "string"
            return ("SET", key, "x"), "OK"
        if choice <= 2:
            size = self.random.choice([1, 2, 3, 4, 8])
            capacity = self.random.randrange(2 * size, 400)
            iterations, expansion = self.random.choice([1, 5, 20, 100]), self.random.choice([0, 1, 2, 4])
            self.keys[key] = models.Cuckoo(capacity, size, iterations, expansion)
            return ("CF.RESERVE", key, capacity, "BUCKETSIZE", size, "MAXITERATIONS", iterations, "EXPANSION", expansion), "OK"
        if choice == 3:
            error, capacity = self.random.choice([0.2, 0.01, 0.001]), self.random.randrange(1, 300)
            expansion = self.random.choice([0, 1, 2, 4])
            self.keys[key] = models.Bloom(error, capacity, expansion)
            return ("BF.RESERVE", key, error, capacity, "EXPANSION", expansion), "OK"
        self.keys[key] = models.Exact()
        command = self.random.choice([("CF.RESERVE", key, 10, "ERROR", 1e-12), ("MK.RESERVE", key, 1e-12)])
        return command, "OK"

    def on_string(self, key):
        item = self.item()
        return self.random.choice([
            (("CF.ADD", key, item), WRONG_TYPE), (("BF.ADD", key, item), WRONG_TYPE), (("MK.ADD", key, item), WRONG_TYPE),
            (("CF.EXISTS", key, item), 0), (("BF.EXISTS", key, item), 0), (("MK.EXISTS", key, item), WRONG_TYPE),
            (("CF.INFO", key), WRONG_TYPE), (("BF.INFO", key), WRONG_TYPE), (("CF.DEL", key, item), "Not found"),
            (("CF.RESERVE", key, 100), WRONG_TYPE), (("BF.CARD", key), WRONG_TYPE), (("CF.SCANDUMP", key, 0), WRONG_TYPE),
        ])

    def on_cuckoo(self, key, model):
        choice, item, items = self.random.randrange(12), self.item(), self.items()
        full = len(model.tables) >= 32
        if choice <= 2:
            return self.added("CF.ADD", key, item, model.add, full)
        if choice == 3:
            return self.added("CF.ADDNX", key, item, lambda item: 0 if model.exists(item) else model.add(item), full)
        if choice == 4:
            answer = "Maximum expansions reached" if full else [model.add(item) for item in items]
            return ("CF.INSERT", key, "ITEMS", *items), answer
        if choice == 5:
            add = lambda item: 0 if model.exists(item) else model.add(item)  # noqa: E731
            answer = "Maximum expansions reached" if full else [add(item) for item in items]
            return ("CF.INSERTNX", key, "NOCREATE", "ITEMS", *items), answer
        if choice == 6:
            return ("CF.MEXISTS", key, *items), [int(model.exists(item)) for item in items]
        if choice == 7:
            return ("CF.COUNT", key, item), model.count(item)
        if choice <= 9:
            return ("CF.DEL", key, item), model.delete(item)
        if choice == 10 and self.random.random() < 0.1:
            model.compact()
            return ("CF.COMPACT", key), "OK"
        names = ["Size", "Number of buckets", "Number of filters", "Number of items inserted",
                 "Number of items deleted", "Bucket size", "Expansion rate", "Max iterations"]
        return ("CF.INFO", key), [part for pair in zip(names, model.info()) for part in pair]

    @staticmethod
    def added(command, key, item, add, full):
        if full:
            return (command, key, item), "Maximum expansions reached"
        answer = add(item)
        return (command, key, item), "Filter is full" if answer < 0 else answer

    def on_bloom(self, key, model):
        choice, item, items = self.random.randrange(6), self.item(), self.items()
        full = "ERR non scaling filter is full"
        if choice <= 1:
            answer = model.add(item)
            return ("BF.ADD", key, item), full if answer < 0 else answer
        if choice == 2:
            answers = []
            for item in items:
                answer = model.add(item)
                answers.append(full if answer < 0 else answer)
                if answer < 0:
                    break
            return ("BF.MADD", key, *items), answers
        if choice == 3:
            return ("BF.MEXISTS", key, *items), [int(model.exists(item)) for item in items]
        if choice == 4:
            return ("BF.CARD", key), model.items
        names = ["Capacity", "Size", "Number of filters", "Number of items inserted", "Expansion rate"]
        return ("BF.INFO", key), [part for pair in zip(names, model.info()) for part in pair]

    def on_engine(self, key, model):
        choice, item, items = self.random.randrange(9), self.item(), self.items()
        if choice == 0:
            return ("CF.ADD", key, item), model.add(item)
        if choice == 1:
            return ("MK.ADD", key, *items), [model.add(item) for item in items]
        if choice == 2:
            return ("MK.ADDNX", key, *items), [0 if model.exists(item) else model.add(item) for item in items]
        if choice == 3:
            return ("MK.EXISTS", key, *items), [int(model.exists(item)) for item in items]
        if choice == 4:
            return ("CF.EXISTS", key, item), int(model.exists(item))
        if choice == 5:
            return ("MK.COUNT", key, *items), [model.count(item) for item in items]
        if choice == 6:
            return ("CF.DEL", key, item), model.delete(item)
        if choice == 7:
            return ("MK.DEL", key, *items), [model.delete(item) for item in items]
        return ("MK.SET", key, item, 1), "ERR this filter has no values; MK.RESERVE one with VALUES"


NAMES = """CF.RESERVE CF.ADD CF.ADDNX CF.INSERT CF.INSERTNX CF.EXISTS CF.MEXISTS CF.COUNT CF.DEL CF.COMPACT CF.SCANDUMP
CF.LOADCHUNK CF.INFO CF.DEBUG CF.STATS BF.RESERVE BF.ADD BF.MADD BF.INSERT BF.EXISTS BF.MEXISTS BF.CARD BF.INFO BF.DEBUG
BF.SCANDUMP BF.LOADCHUNK MK.RESERVE MK.ADD MK.ADDNX MK.EXISTS MK.DEL MK.COUNT MK.SET MK.GET MK.UNSET MK.MERGE MK.EXPORT
MK.IMPORT MK.ADVANCE MK.INFO MK.HELP""".split()
WORDS = """CAPACITY NOCREATE ITEMS ERROR EXPANSION NONSCALING BUCKETSIZE MAXITERATIONS SEED FIXED VALUES WINDOW KEYS SECONDS
c i n e x SIZE FILTERS only""".split()
NUMBERS = [0, 1, -1, 2, 3, 7, 64, 100, 255, 256, 1000, 1024, 4096, 32768, 32769, 65535, 65536, 2**20, 2**30, 2**30 + 1,
           2**31, 2**32, 2**52, 2**52 + 1, 2**53, 2**62, 2**62 + 1, 2**63 - 1, 2**63, 2**64, -2**63, "0.5", "0.01", "1e-9", "1e-300",
           "1e400", "nan", "inf", "-inf", "0x10", "+1", "01", " 1", "1 ", "", "\x00"]


class Wild:
    """Anything at all, on other keys."""

    def __init__(self, generator):
        self.random, self.blobs = generator, [b"", b"\x89malkoha", bytes(38), bytes(46), bytes(73)]

    def key(self):
        return f"wild {self.random.randrange(6)}"

    def argument(self):
        choice = self.random.randrange(10)
        if choice <= 3:
            return str(self.random.choice(NUMBERS))
        if choice <= 5:
            return self.random.choice(WORDS)
        if choice == 6:
            return self.blob()
        if choice == 7:
            return self.random.randbytes(self.random.randrange(80))
        return str(self.random.randrange(50))

    def blob(self):
        """Bytes that the server has sent before, perhaps damaged."""
        data = bytearray(self.random.choice(self.blobs))
        for _ in range(self.random.choice([0, 0, 1, 2, 10])):
            if data:
                data[self.random.randrange(len(data))] = self.random.randrange(256)
        if self.random.random() < 0.1:
            del data[self.random.randrange(len(data) + 1):]
        return bytes(data)

    def step(self):
        choice = self.random.randrange(20)
        key = self.key()
        if choice == 0:
            return (self.random.choice(["DEL", "UNLINK", "DUMP", "TYPE", "PERSIST"]), key)
        if choice == 1:
            data = self.blob()
            return ("RESTORE", key, 0, resealed(data) if len(data) > 10 else data, "REPLACE")
        if choice == 2:
            return (self.random.choice(["COPY", "RENAME"]), key, self.key())
        if choice == 3:
            return (f"{self.random.choice('CB')}F.LOADCHUNK", key, self.position(), self.blob())
        if choice == 4:
            data = self.blob()
            return ("MK.IMPORT", key, self.random.choice([0, 64, len(data)]), self.random.choice([len(data), 4096]), data)
        if choice == 5:
            name = self.random.choice(["CF.SCANDUMP", "BF.SCANDUMP", "MK.EXPORT"])
            return (name, key, self.random.choice([0, 0, 1, self.position()]))
        if choice == 6:
            return ("MEMORY", "USAGE", key)
        return (self.random.choice(NAMES), key, *[self.argument() for _ in range(self.random.randrange(7))])

    def position(self):
        return self.random.choice([1, 1, 2, 65, 145, 1025, 2**52 + 577, 2**62 + 577, self.random.choice(NUMBERS)])

    def learn(self, command, reply):
        """Keeps some of what the server sends, to send it back."""
        data = reply[1] if isinstance(reply, list) and len(reply) == 2 else reply
        if isinstance(data, bytes) and 8 < len(data) < 20_000 and command[0] in ("DUMP", "CF.SCANDUMP", "BF.SCANDUMP", "MK.EXPORT"):
            self.blobs.append(data)
            if len(self.blobs) > 60:
                self.blobs.pop(5 + self.random.randrange(55))


def used_memory(call):
    text = call("INFO", "memory").decode()
    return int(next(line for line in text.splitlines() if line.startswith("used_memory:")).split(":")[1])


def settled(call):
    """The memory in use when nothing is stored, and the server does not remember commands and errors either."""
    assert call("FLUSHALL", "SYNC") == call("SLOWLOG", "RESET") == call("CONFIG", "RESETSTAT") == "OK"
    readings = []
    for _ in range(20):
        # Other threads free some of it, and buffers of clients shrink in time.
        time.sleep(0.1)
        readings.append(used_memory(call))
    return min(readings)


def run(server, call, generator, commands):
    """Sends random commands, and compares what the model knows. Returns how many were refused, of those that it does not
    know, and the longest that the server has taken for a round."""
    tame, wild = Tame(generator), Wild(generator)
    refused, slowest = 0, 0.0
    for count in range(0, commands, ROUND):
        steps = [tame.step() if generator.random() < 0.5 else (wild.step(), ...) for _ in range(ROUND)]
        begin = time.monotonic()
        replies = call.pipeline([command for command, _ in steps])
        slowest = max(slowest, time.monotonic() - begin)
        for (command, expected), reply in zip(steps, replies):
            if expected is ...:
                wild.learn(command, reply)
                refused += isinstance(reply, Error)
            else:
                assert reply == expected, (count, command)
        # Keys of wild commands must not fill the memory that the others need: one alone may be nearly as large as it.
        if used_memory(call) > FULL:
            call("UNLINK", *[f"wild {number}" for number in range(6)])
        if count % 20_000 == 0:
            call("UNLINK", *[f"wild {number}" for number in range(6)])
            assert "panicked" not in server.log()
    return refused, slowest


@pytest.mark.parametrize("seed, beside", [(1, False), (2, True)])
def test_random_commands(start, seed, beside):
    """Once as users have it, and once with everything beside the server that can be. The client waits a minute at most."""
    server = start("--maxmemory", "64mb")
    call = server.client()
    if beside:
        assert call("MK.BESIDE", 0) == "OK"
    # What a server allocates once and keeps is there before it is measured.
    run(server, call, random.Random(1000 + seed), 10 * ROUND)
    before, begin = settled(call), time.monotonic()
    refused, slowest = run(server, call, random.Random(seed), COMMANDS)
    seconds, after = time.monotonic() - begin, settled(call)
    print(f"\n{COMMANDS} commands in {seconds:.0f} s, {refused} hostile ones refused, {ROUND} took {1000 * slowest:.0f} ms at "
          f"most; used_memory {before} before, {after} after")
    assert refused > COMMANDS // 8
    assert "panicked" not in server.log()
    assert after - before < 100_000, "all memory is given back"
    text = call("INFO", "malkoha").decode()
    for kind in ("cuckoo", "bloom", "engine"):
        assert f"malkoha_{kind}_filters:0" in text
