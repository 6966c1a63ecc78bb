"""What filters must answer: RedisBloom's layouts computed a second time, and the engine's filters as exact multisets."""

import math
from collections import Counter

M = 0xC6A4A7935BD1E995
MASK = 2**64 - 1


def murmur(data, seed):
    """MurmurHash64A."""
    state = seed ^ len(data) * M & MASK
    whole = len(data) // 8 * 8
    for at in range(0, whole, 8):
        word = int.from_bytes(data[at:at + 8], "little") * M & MASK
        state = (state ^ (word ^ word >> 47) * M & MASK) * M & MASK
    if whole < len(data):
        state = (state ^ int.from_bytes(data[whole:], "little")) * M & MASK
    state = (state ^ state >> 47) * M & MASK
    return state ^ state >> 47


def power_of_two(number):
    return 1 << (number - 1).bit_length() if number > 1 else 1


class Cuckoo:
    """RedisBloom's cuckoo filter; buckets are lists of tags."""

    def __init__(self, capacity, size=2, iterations=20, expansion=1):
        self.size, self.iterations = size, iterations
        self.expansion = power_of_two(expansion) if expansion else 0
        self.first = power_of_two(max(capacity // size, 1))
        self.tables = [bytearray(self.first * size)]
        self.items = self.deletes = 0

    @staticmethod
    def hash(item):
        value = murmur(item, 0)
        tag = value % 255 + 1
        return tag, value, value ^ tag * 0x5BD1E995

    def begin(self, table, bucket):
        return bucket % (len(table) // self.size) * self.size

    def slot(self, table, buckets, tag):
        for bucket in buckets:
            begin = self.begin(table, bucket)
            found = table.find(tag, begin, begin + self.size)
            if found >= 0:
                return found
        return None

    def exists(self, item):
        tag, *buckets = self.hash(item)
        return any(self.slot(table, buckets, tag) is not None for table in self.tables)

    def count(self, item):
        tag, *buckets = self.hash(item)
        total = 0
        for table in self.tables:
            for begin in {self.begin(table, bucket) for bucket in buckets}:
                total += table.count(tag, begin, begin + self.size)
        return total

    def add(self, item):
        """1 if stored, -1 if there is no room."""
        tag, *buckets = self.hash(item)
        for table in reversed(self.tables):
            free = self.slot(table, buckets, 0)
            if free is not None:
                table[free] = tag
                break
        else:
            if not self.push_around(tag, buckets[0]):
                if self.expansion == 0:
                    return -1
                self.tables.append(bytearray(self.first * self.expansion ** len(self.tables) * self.size))
                self.tables[-1][self.begin(self.tables[-1], buckets[0])] = tag
        self.items += 1
        return 1

    def push_around(self, tag, bucket):
        table = self.tables[-1]
        before = bytes(table)
        for step in range(self.iterations):
            slot = self.begin(table, bucket) + step % self.size
            table[slot], tag = tag, table[slot]
            bucket ^= tag * 0x5BD1E995
            free = self.slot(table, [bucket], 0)
            if free is not None:
                table[free] = tag
                return True
        table[:] = before
        return False

    def delete(self, item):
        tag, *buckets = self.hash(item)
        for table in reversed(self.tables):
            slot = self.slot(table, buckets, tag)
            if slot is not None:
                table[slot] = 0
                self.items -= 1
                self.deletes += 1
                if len(self.tables) > 1 and self.deletes > self.items * 0.1:
                    self.compact(stop=True)
                return 1
        return 0

    def compact(self, stop=False):
        for index in range(len(self.tables) - 1, 0, -1):
            empty = True
            table = self.tables[index]
            for slot, tag in enumerate(table):
                if not tag:
                    continue
                bucket = slot // self.size
                for older in self.tables[:index]:
                    free = self.slot(older, [bucket, bucket ^ tag * 0x5BD1E995], 0)
                    if free is not None:
                        older[free], table[slot] = tag, 0
                        break
                else:
                    empty = False
                    if stop:
                        break
            if not empty and stop:
                break
            if empty and index == len(self.tables) - 1:
                self.tables.pop()
        self.deletes = 0

    def info(self):
        size = 40 + sum(16 + len(table) for table in self.tables)
        return [size, self.first, len(self.tables), self.items, self.deletes, self.size, self.expansion, self.iterations]


class Bloom:
    """RedisBloom's Bloom filter."""

    def __init__(self, error, capacity, expansion=2):
        self.expansion, self.links, self.items = expansion, [], 0
        self.add_link(capacity, error / 2 if expansion else error)

    def add_link(self, capacity, error):
        per_entry = abs(math.log(error) / 0.480453013918201)
        bits = max(int(capacity * per_entry), 1) + 63 & ~63
        hashes = math.ceil(math.log(2) * per_entry)
        self.links.append({"capacity": capacity, "error": error, "bits": bits, "hashes": hashes, "items": 0, "set": set()})

    def places(self, item, link):
        start = murmur(item, M)
        step = murmur(item, start)
        return [(start + index * step & MASK) % link["bits"] for index in range(link["hashes"])]

    def exists(self, item):
        return any(link["set"].issuperset(self.places(item, link)) for link in self.links)

    def add(self, item):
        """1 if stored, 0 if found, -1 if there is no room."""
        if self.exists(item):
            return 0
        newest = self.links[-1]
        if newest["items"] >= newest["capacity"]:
            if not self.expansion:
                return -1
            self.add_link(newest["capacity"] * self.expansion, newest["error"] / 2)
            newest = self.links[-1]
        newest["set"].update(self.places(item, newest))
        newest["items"] += 1
        self.items += 1
        return 1

    def info(self):
        size = 32 + sum(64 + link["bits"] // 8 for link in self.links)
        capacity = sum(link["capacity"] for link in self.links)
        return [capacity, size, len(self.links), self.items, self.expansion or None]


class Exact:
    """A filter of the engine at a rate so low that no test meets a false positive."""

    def __init__(self):
        self.counts = Counter()

    def exists(self, item):
        return self.counts[item] > 0

    def count(self, item):
        return self.counts[item]

    def add(self, item):
        self.counts[item] += 1
        return 1

    def delete(self, item):
        if not self.counts[item]:
            return 0
        self.counts[item] -= 1
        return 1
