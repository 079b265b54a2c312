#!/usr/bin/env python3
"""Reads a safetensors file by nothing but the format's rules, and prints what is in it.

    safetensors_reference.py FILE

One line a text of the metadata (M, key, text as JSON), then one a tensor in the order of names (T,
name, dtype, shape, bytes in hexadecimal), with tabs between. Exits with 1 and a line on stderr if
the file breaks a rule.
"""

import json
import struct
import sys

ITEM_BYTES = {"F32": 4, "F64": 8, "I64": 8, "BOOL": 1, "F16": 2, "BF16": 2}


def require(condition, message):
    if not condition:
        sys.exit(f"refused: {message}")


def without_duplicates(pairs):
    names = [name for name, _ in pairs]
    require(len(names) == len(set(names)), f"a key comes twice among {names}")
    return dict(pairs)


def natural(value):
    return type(value) is int and value >= 0


def check_tensor(name, entry):
    require(type(entry) is dict, f"{name}: no object")
    require(set(entry) == {"dtype", "shape", "data_offsets"}, f"{name}: fields {set(entry)}")
    require(entry["dtype"] in ITEM_BYTES, f"{name}: dtype {entry['dtype']}")
    for field in ("shape", "data_offsets"):
        require(type(entry[field]) is list and all(map(natural, entry[field])), f"{name}: {field}")
    require(len(entry["data_offsets"]) == 2, f"{name}: data_offsets")
    expected = ITEM_BYTES[entry["dtype"]]
    for size in entry["shape"]:
        expected *= size
    begin, end = entry["data_offsets"]
    require(end - begin == expected, f"{name}: {expected} bytes expected, {end - begin} given")


def main(path):
    with open(path, "rb") as file:
        content = file.read()
    require(len(content) >= 8, "shorter than 8 bytes")
    (length,) = struct.unpack("<Q", content[:8])
    require(0 < length <= 100_000_000 and 8 + length <= len(content), f"header length {length}")
    require(length % 8 == 0, f"data begins at {8 + length}, which is no multiple of 8")
    text = content[8 : 8 + length].decode("utf-8")
    require(text.startswith("{") and text.rstrip(" ").endswith("}"), "the header is no object")
    header = json.loads(text, object_pairs_hook=without_duplicates)
    data = content[8 + length :]

    metadata = header.pop("__metadata__", {})
    for key, value in metadata.items():
        require(type(value) is str, f"metadata {key} is no text")
        print("M", key, json.dumps(value), sep="\t")

    at = 0
    for name, entry in header.items():  # data in the order of the header
        check_tensor(name, entry)
        begin, end = entry["data_offsets"]
        require(begin == at, f"{name} begins at {begin}, not at {at}")
        require(begin % ITEM_BYTES[entry["dtype"]] == 0, f"{name} is not aligned")
        at = end
    require(at == len(data), f"{at} bytes of data expected, {len(data)} given")
    for name, entry in sorted(header.items()):
        begin, end = entry["data_offsets"]
        shape = ",".join(map(str, entry["shape"]))
        print("T", name, entry["dtype"], shape, data[begin:end].hex(), sep="\t")


if __name__ == "__main__":
    main(sys.argv[1])
