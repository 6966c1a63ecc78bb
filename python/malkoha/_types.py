"""What functions take, for type checkers."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol, SupportsIndex, TypeAlias

from numpy.typing import NDArray


class ArrowStream(Protocol):
    """A column in chunks, by the Arrow interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class ArrowArray(Protocol):
    """A column in one piece, by the Arrow interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


class Array(Protocol):
    """What numpy makes an array of."""

    def __array__(self) -> NDArray[Any]: ...


Key: TypeAlias = str | bytes | bytearray | memoryview | SupportsIndex
ManyKeys: TypeAlias = NDArray[Any] | ArrowStream | ArrowArray | Array | memoryview | Iterable[Key | None]
Values: TypeAlias = NDArray[Any] | Array | Sequence[int]
Nulls: TypeAlias = Literal["error", "skip"]
Path: TypeAlias = str | os.PathLike[str]
Bytes: TypeAlias = bytes | bytearray | memoryview
