"""Writes plain data as YAML 1.2 that `read_yaml` reads back exactly, in the same order.

Ruamel's emitter leaves some words unquoted that its parser reads as something else. This one quotes all words except
the plainest.
"""

import re
from typing import Any

from sweeps.spec.yaml_reader import WORDS

_WIDTH = 100  # what fits stays on one line
_PLAIN_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")


def write_yaml(plain: Any) -> str:
    """Write sections and long values as blocks, and everything else on one line."""
    return "".join(_block(plain, 0)) if isinstance(plain, dict | list) and plain else f"{_flow(plain)}\n"


def _block(plain: dict[str, Any] | list[Any], indent: int) -> list[str]:
    pairs = [("-", value) for value in plain] if isinstance(plain, list) else _with_colons(plain)
    lines = []
    for start, value in pairs:
        line = f"{' ' * indent}{start} {_flow(value)}\n"
        section = indent == 0 and isinstance(value, dict)
        if isinstance(value, dict | list) and value and (section or len(line) > _WIDTH):
            lines += [f"{' ' * indent}{start}\n", *_block(value, indent + 2)]
        else:
            lines.append(line)
    return lines


def _with_colons(mapping: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(f"{_flow(key)}:", value) for key, value in mapping.items()]


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(inner) for inner in value) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _word(value) if isinstance(value, str) else repr(value)


def _word(text: str) -> str:
    if _PLAIN_WORD.fullmatch(text) and text not in WORDS:
        return text
    return '"' + "".join(_character(c) for c in text) + '"'


def _character(c: str) -> str:
    if c in '"\\':
        return f"\\{c}"
    if c.isascii() and c.isprintable():
        return c
    return f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}"
