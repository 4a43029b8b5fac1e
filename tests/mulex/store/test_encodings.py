"""How columns are encoded: what is read is what was written, bit for bit, and in fewer bytes."""

import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from mulex.store.checksum import is_whole, parquet_of_groups

ROWS = 2000
SCHEMA = pa.schema({"iteration": pa.int32(), "loss": pa.float64(), "return": pa.float64(), "seconds": pa.float64()})


def group(seed: int) -> pa.Table:
    """A piece of a table: losses and times that all differ, some of them missing, and returns of few values."""
    random = np.random.default_rng(seed)
    loss = pa.array(random.lognormal(-8, 1, ROWS), mask=random.random(ROWS) < 0.7)
    returns = random.integers(0, 5, ROWS).astype(float)
    return pa.table([np.arange(ROWS, dtype="i4"), loss, returns, random.gamma(9, 0.01, ROWS)], schema=SCHEMA)


def encodings(content: bytes) -> dict[str, set[str]]:
    groups = pq.ParquetFile(io.BytesIO(content)).metadata
    columns = [groups.row_group(g).column(c) for g in range(groups.num_row_groups) for c in range(groups.num_columns)]
    found: dict[str, set[str]] = {}
    for column in columns:
        found.setdefault(column.path_in_schema, set()).update(column.encodings)
    return found


def test_numbers_that_all_differ_are_split_by_bytes_and_the_others_have_a_dictionary() -> None:
    content = parquet_of_groups(iter([group(0), group(1)]), SCHEMA, {b"key": b"value"})
    assert is_whole(content)
    found = encodings(content)
    split = {name for name, used in found.items() if "BYTE_STREAM_SPLIT" in used}
    assert split == {"loss", "seconds"}
    assert {name for name, used in found.items() if "RLE_DICTIONARY" in used} == found.keys() - split


def test_split_columns_take_fewer_bytes() -> None:
    usual = io.BytesIO()
    pq.write_table(group(0), usual, compression="zstd")
    assert len(parquet_of_groups([group(0)], SCHEMA, {})) < 0.9 * len(usual.getvalue())


def test_every_bit_of_a_number_is_kept() -> None:
    """A zero keeps its sign, a NaN its payload, and what is missing stays missing."""
    odd = np.array([-0.0, 5e-324, np.inf, -np.inf, 1.1], dtype="f8")
    nan = np.array([0x7FF8_0000_0000_0001, 0xFFF8_0000_0000_0002], dtype="u8").view("f8")
    values = np.concatenate([odd, nan])
    missing = np.arange(len(values) + 1) == len(values)
    column = pa.array(np.append(values, 0.0), mask=missing)
    content = parquet_of_groups([pa.table({"x": column})], pa.schema({"x": pa.float64()}), {})
    read = pq.read_table(io.BytesIO(content))["x"].combine_chunks()
    assert "BYTE_STREAM_SPLIT" in encodings(content)["x"]
    assert read.null_count == 1
    assert read[: len(values)].to_numpy().tobytes() == values.tobytes()


def test_pieces_after_the_first_may_look_different() -> None:
    """The first piece decides: later ones are only larger than they could be."""
    same = group(1).set_column(1, "loss", pa.array(np.full(ROWS, 0.5)))
    for pieces in ([group(0), same], [same, group(0)], [SCHEMA.empty_table(), group(0)], []):
        content = parquet_of_groups(pieces, SCHEMA, {})
        whole = pa.concat_tables(pieces) if pieces else SCHEMA.empty_table()
        assert pq.read_table(io.BytesIO(content)).equals(whole)
