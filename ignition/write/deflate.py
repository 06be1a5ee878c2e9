"""Text as gzip, byte for byte the same on every machine.

User data that changes replaces machines, and zlib's output differs between its versions and forks
(zlib-ng stands in for zlib in some distributions and in newer Pythons); so the compressor is our
own: LZ77 with the fixed Huffman codes of RFC 1951, which costs some size and no surprise.
"""

import binascii
import struct
from functools import cache

_WINDOW, _SHORTEST, _LONGEST, _TRIES = 32768, 3, 258, 64
_HEADER = b"\x1f\x8b\x08" + b"\x00" * 4 + b"\x00\x02\xff"  # no time, best compression, no OS


def compress(text: str) -> bytes:
    """The UTF-8 of the text as one gzip member."""
    data = text.encode()
    bits = _Bits()
    bits.add(0b011, 3)  # the last block, fixed codes
    _encode(data, bits)
    bits.literal(256)
    trailer = struct.pack("<II", binascii.crc32(data), len(data) & 0xFFFFFFFF)
    return _HEADER + bits.bytes() + trailer


class _Bits:
    """A stream of bits, lowest first."""

    def __init__(self) -> None:
        self._out = bytearray()
        self._buffer = 0
        self._held = 0

    def add(self, value: int, count: int) -> None:
        self._buffer |= value << self._held
        self._held += count
        while self._held >= 8:
            self._out.append(self._buffer & 0xFF)
            self._buffer >>= 8
            self._held -= 8

    def literal(self, symbol: int) -> None:
        """A symbol of the fixed literal and length code, whose highest bit goes first."""
        if symbol < 144:
            code, count = 0x30 + symbol, 8
        elif symbol < 256:
            code, count = 0x190 + symbol - 144, 9
        elif symbol < 280:
            code, count = symbol - 256, 7
        else:
            code, count = 0xC0 + symbol - 280, 8
        self.add(_reversed(code, count), count)

    def match(self, length: int, distance: int) -> None:
        symbol, base, extra = _code(length, _lengths())
        self.literal(257 + symbol)
        self.add(length - base, extra)
        symbol, base, extra = _code(distance, _distances())
        self.add(_reversed(symbol, 5), 5)
        self.add(distance - base, extra)

    def bytes(self) -> bytes:
        return bytes(self._out) + (bytes([self._buffer]) if self._held else b"")


@cache
def _reversed(code: int, count: int) -> int:
    return int(f"{code:0{count}b}"[::-1], 2)


@cache
def _lengths() -> tuple[tuple[int, int], ...]:
    """(first length, extra bits) of the symbols 257 to 285."""
    table, base = [], _SHORTEST
    for symbol in range(28):
        extra = max(0, symbol // 4 - 1)
        table.append((base, extra))
        base += 1 << extra
    return (*table, (_LONGEST, 0))


@cache
def _distances() -> tuple[tuple[int, int], ...]:
    """(first distance, extra bits) of the symbols 0 to 29."""
    table, base = [], 1
    for symbol in range(30):
        extra = max(0, symbol // 2 - 1)
        table.append((base, extra))
        base += 1 << extra
    return tuple(table)


@cache
def _code(value: int, table: tuple[tuple[int, int], ...]) -> tuple[int, int, int]:
    symbol = max(number for number, (base, _) in enumerate(table) if base <= value)
    return symbol, *table[symbol]


def _encode(data: bytes, bits: _Bits) -> None:
    seen: dict[bytes, list[int]] = {}
    position = 0
    while position < len(data):
        length, distance = _longest(data, position, seen)
        if length:
            bits.match(length, distance)
        else:
            bits.literal(data[position])
        for place in range(position, position + max(length, 1)):
            seen.setdefault(data[place : place + _SHORTEST], []).append(place)
        position += max(length, 1)


def _longest(data: bytes, position: int, seen: dict[bytes, list[int]]) -> tuple[int, int]:
    """The longest earlier match and its distance, the nearest of several; (0, 0) for none."""
    best, distance = 0, 0
    limit = min(_LONGEST, len(data) - position)
    if limit < _SHORTEST:
        return 0, 0
    for place in reversed(seen.get(data[position : position + _SHORTEST], [])[-_TRIES:]):
        if position - place > _WINDOW or best == limit:
            break
        if data[place + best] != data[position + best]:
            continue
        length = _SHORTEST
        while length < limit and data[place + length] == data[position + length]:
            length += 1
        if length > best:
            best, distance = length, position - place
    return best, distance
