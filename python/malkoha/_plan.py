"""The planner: what each kind of filter would need, as objects, as text, and as a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import overload

from malkoha._malkoha import Offer, offers

_COLUMNS = ("kind", "keys", "rate", "bytes", "bits per key", "load", "lines per lookup", "does")


def plan(
    keys: float | None = None,
    rate: float | None = None,
    memory: float | None = None,
    *,
    needs: str | Sequence[str] = (),
    seed: int = 0,
) -> Plan:
    """Compares the usual kinds for two of keys, rate and memory (in bytes). Nothing is built.

    ``needs`` are what the filter must do besides storing and finding keys: one or some of ``"delete"``, ``"grow"``,
    ``"overfill"`` and ``"values"``.

    >>> import malkoha
    >>> plan = malkoha.plan(keys=1_000_000, rate=0.001)
    >>> plan.best.kind, plan.reason
    ('sorted', 'the fewest bits per key')
    >>> malkoha.plan(keys=1_000_000, rate=0.001, needs=["overfill"]).best.kind
    'blocked:2'
    >>> birds = plan.best.build()
    """
    if (keys is None) + (rate is None) + (memory is None) != 1:
        raise TypeError("give two of keys, rate and memory; the third follows")
    names = [needs] if isinstance(needs, str) else list(needs)
    return Plan(*offers(keys, rate, memory, names, seed))


class Plan(Sequence[Offer]):
    """The filters that could be built, with the one to take.

    A sequence of ``Offer``, in the order of the kinds. ``best`` is the one to take, or None if no kind meets the needs;
    ``reason`` says why.
    """

    def __init__(self, offers: list[Offer], best: Offer | None, reason: str) -> None:
        self._offers = offers
        self.best = best
        self.reason = reason

    @overload
    def __getitem__(self, index: int) -> Offer: ...
    @overload
    def __getitem__(self, index: slice) -> list[Offer]: ...
    def __getitem__(self, index: int | slice) -> Offer | list[Offer]:
        return self._offers[index]

    def __len__(self) -> int:
        return len(self._offers)

    def __repr__(self) -> str:
        rows = [_COLUMNS, *self._rows()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([*lines, f"take {self._advice()}"])

    def _repr_html_(self) -> str:
        best = self.best
        head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
        body = "".join(
            "<tr{}>{}</tr>".format(
                ' style="font-weight:bold"' if offer == best else "",
                "".join(f"<td>{escape(cell)}</td>" for cell in row),
            )
            for offer, row in zip(self, self._rows(), strict=True)
        )
        return f"<table><tr>{head}</tr>{body}</table><p>take {escape(self._advice())}</p>"

    def _advice(self) -> str:
        return f"{self.best.kind}: {self.reason}" if self.best else f"none: {self.reason}"

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for offer in self:
            yield (
                offer.kind,
                f"{offer.keys:,}",
                f"{offer.rate:.3g}",
                f"{offer.nbytes:,}",
                f"{offer.bits_per_key:.2f}",
                f"{offer.load:.3f}",
                f"{offer.lines_per_lookup:.2f}",
                ", ".join(offer.does),
            )
