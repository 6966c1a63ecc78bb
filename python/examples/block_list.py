"""A block list in a service: one process builds the file, many map it, and look up in microseconds.

    python block_list.py

The file is replaced atomically, so a reader that maps it again gets the old list or the new one, and never half of one.
What the filter reports is checked against the database; nearly all requests are answered without it.
"""

import tempfile
from pathlib import Path

import malkoha
from malkoha import Filter, Mapped


def publish(path: Path, blocked: list[str]) -> None:
    """Builds the list and puts it in place of the old one."""
    addresses = Filter(max(len(blocked), 1), 1e-4, kind="windowed:2")
    addresses.add_many(blocked)
    addresses.save(path)


class BlockList:
    """Answers from the file; asks the database only about what the file reports."""

    def __init__(self, path: Path, database: set[str]) -> None:
        self.path, self.database = path, database
        self.changed, self.addresses = self._load()
        self.asked = 0

    def _load(self) -> tuple[int, Mapped]:
        return self.path.stat().st_mtime_ns, malkoha.map(self.path)

    def reload(self) -> None:
        if self.path.stat().st_mtime_ns != self.changed:
            self.changed, self.addresses = self._load()

    def is_blocked(self, address: str) -> bool:
        if address not in self.addresses:
            return False
        self.asked += 1
        return address in self.database


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "blocked.malkoha"
        database = {f"10.0.{number // 256}.{number % 256}" for number in range(0, 60_000, 3)}
        publish(path, sorted(database))
        blocked = BlockList(path, database)
        requests = [f"10.0.{number // 256}.{number % 256}" for number in range(60_000)]
        answers = [blocked.is_blocked(address) for address in requests]
        assert answers == [address in database for address in requests], "the answers of the database"
        print(f"{len(requests):,} requests, {sum(answers):,} blocked, the database was asked {blocked.asked:,} times")
        assert blocked.asked < len(database) + 0.001 * len(requests)
        database.add("192.168.1.1")
        publish(path, sorted(database))
        blocked.reload()
        assert blocked.is_blocked("192.168.1.1")
