"""Protocol Buffers' wire format, as far as SentencePiece's files need it."""

import struct
from collections.abc import Iterator

Value = int | bytes
LONGEST_VARINT = 10  # bytes
FIXED = {1: 8, 5: 4}  # sizes of numbers without a length


def read_fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Yield number and value of each field of a message. IndexError if it is damaged."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        field, wire = divmod(key, 8)
        if wire == 0:
            number, at = _read_varint(message, at)
            yield field, number
            continue
        if wire == 2:
            size, at = _read_varint(message, at)
        elif wire in FIXED:
            size = FIXED[wire]
        else:
            raise IndexError(wire)
        if size > len(message) - at:
            raise IndexError(size)
        yield field, message[at : at + size]
        at += size


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(LONGEST_VARINT):
        byte = message[at + place]
        value |= (byte & 127) << 7 * place
        if byte < 128:
            return value, at + place + 1
    raise IndexError("a number of more than 64 bits")


def take_bytes(value: Value) -> bytes:
    """Return a value that must be bytes. TypeError for a number."""
    if isinstance(value, int):
        raise TypeError("a number where bytes belong")
    return value


def write_field(number: int, value: Value) -> bytes:
    """Return a field with a whole number or with bytes."""
    if isinstance(value, int):
        return _write_varint(number << 3) + _write_varint(value)
    return _write_varint(number << 3 | 2) + _write_varint(len(value)) + value


def write_float(number: int, value: float) -> bytes:
    """Return a field with a number of 32 bits."""
    return _write_varint(number << 3 | 5) + struct.pack("<f", value)


def _write_varint(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])
