from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from xorec.core.errors import ModelFileError
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.recommender import model_file, storage

FACTS = {"model": "bpr", "representation": "vectors"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.xorec"
    tensors = {
        "floats": np.arange(6, dtype=np.float32).reshape(2, 3),
        "longs": np.array([5, -7]),
        "bytes": np.frombuffer(b"abc", dtype=np.uint8),
        "none": np.zeros((0, 4), dtype=np.int32),
    }
    storage.write(path, tensors, FACTS)
    return path


def test_round_trip_memory_mapped(file: Path) -> None:
    tensors, metadata = storage.read(file)
    np.testing.assert_array_equal(tensors["floats"], [[0, 1, 2], [3, 4, 5]])
    np.testing.assert_array_equal(tensors["longs"], [5, -7])
    assert tensors["bytes"].tobytes() == b"abc"
    assert tensors["none"].shape == (0, 4)
    assert metadata["model"] == "bpr"
    base = tensors["floats"]
    while isinstance(base.base, np.ndarray):
        base = base.base
    assert isinstance(base, np.memmap)
    assert not tensors["floats"].flags.writeable


def test_any_safetensors_reader_opens_it(file: Path) -> None:
    assert load_file(file)["longs"].tolist() == [5, -7]


def test_equal_input_equal_bytes(file: Path, tmp_path: Path) -> None:
    tensors, _ = storage.read(file)
    backwards = dict(reversed(tensors.items()))
    storage.write(tmp_path / "again", backwards, dict(reversed(FACTS.items())))
    assert (tmp_path / "again").read_bytes() == file.read_bytes()


def test_every_flipped_data_byte_is_noticed(file: Path) -> None:
    whole = bytearray(file.read_bytes())
    start = 8 + int.from_bytes(whole[:8], "little")
    for place in range(start, len(whole)):
        broken = whole.copy()
        broken[place] ^= 1
        file.write_bytes(broken)
        with pytest.raises(ModelFileError, match=r"model\.xorec is corrupt.*digest"):
            storage.read(file)
        storage.read(file, verify=False)


def test_every_truncation_is_noticed(file: Path) -> None:
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(ModelFileError, match=r"model\.xorec"):
            storage.read(file)


def test_bytes_added_at_the_end_are_noticed(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"x")
    with pytest.raises(ModelFileError, match="cut short or added to"):
        storage.read(file)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 a zip file", b"user,item\n1,2\n" * 50])
def test_another_kind_of_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(ModelFileError, match="not a xorec model, or is corrupt"):
        storage.read(tmp_path / "x")


def test_a_foreign_safetensors_file(tmp_path: Path) -> None:
    save_file({"a": np.zeros(2)}, tmp_path / "x")
    with pytest.raises(ModelFileError, match="a safetensors file but not a xorec model"):
        storage.read(tmp_path / "x")


def test_a_newer_format_asks_for_an_upgrade(tmp_path: Path) -> None:
    metadata = {"format": storage.FORMAT + 1, "digest": "", **FACTS}
    save_file({"a": np.zeros(2)}, tmp_path / "x", metadata={"xorec": json.dumps(metadata)})
    with pytest.raises(ModelFileError, match="has format 4, but this xorec reads up to 3: upgrade"):
        storage.read(tmp_path / "x")


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, file: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path, says in (
        (tmp_path / "nothing", "there is no model file"),
        (tmp_path / "pipe", "it is not a file"),
        *((path, "cannot read") for path in (tmp_path, tmp_path / "loop", file / "x")),
    ):
        with pytest.raises(ModelFileError, match=says):
            storage.read(path)


@pytest.mark.parametrize("raw", [[3, 1, 2], ["b", "ä", ""], [1.5, 2.0], [True, False]])
def test_ids_and_text_round_trip_in_their_type(tmp_path: Path, raw: list[object]) -> None:
    ids, text = Ids.of(raw), Text.pack(["Star Wars", "", "Amélie"])
    packed = {**model_file.pack_ids("ids", ids), **model_file.pack_text("names", text)}
    storage.write(tmp_path / "x", packed, FACTS)
    tensors, _ = storage.read(tmp_path / "x")
    assert list(model_file.check_text("names", tensors, values=True)) == list(text)
    back = model_file.check_ids("ids", ids.kind, tensors, values=True)
    assert list(back) == raw
    assert [type(one) for one in back] == [type(one) for one in raw]
    assert [back.find(one) for one in raw] == list(range(len(raw)))


def rewritten(file: Path, change: Any) -> Path:
    """The file with another header."""
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    text = change(header)
    text = (text if isinstance(text, str) else json.dumps(header)).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])
    return file


def about(text: str) -> Any:
    return lambda header: header["__metadata__"].update(xorec=text)


def facts(**changed: Any) -> Any:
    return about(json.dumps({"format": 1, "digest": "", **FACTS, **changed}))


def nested(levels: int) -> Any:
    return [nested(levels - 1)] if levels else []


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["longs"].pop("data_offsets"),
        lambda header: header["longs"].update(data_offsets=[0]),
        lambda header: header["longs"].update(data_offsets=["0", "8"]),
        lambda header: header["longs"].update(data_offsets=[-8, 0]),
        lambda header: header["longs"].update(data_offsets=[8, 0]),
        lambda header: header["longs"].update(shape=[-1]),
        lambda header: header["longs"].update(shape=[True]),
        lambda header: header["longs"].update(shape=3),
        lambda header: header["longs"].update(dtype="F128"),
        lambda header: header["longs"].update(dtype=[]),
        lambda header: header.update(longs=5),
        lambda header: header.update(longs=None),
        lambda header: header.update(__metadata__=[]),
        lambda header: header["__metadata__"].update(xorec=7),
        lambda header: "[" * 100_000,
        about('{"format": 1e400, "digest": "", "model": "", "representation": ""}'),
        about('{"format": [], "digest": "", "model": "", "representation": ""}'),
        about("[" * 100_000),
        about("[]"),
        about("null"),
        about('{"format": 1, "format": 1, "digest": "", "model": "m", "representation": "v"}'),
        about('{"format": true, "digest": "", "model": "m", "representation": "v"}'),
        about('{"format": 1, "digest": "", "model": "\\ud800", "representation": "v"}'),
        about('{"format": 1, "digest": "md5:00", "model": [], "representation": "v"}'),
        facts(config=[]),
        facts(config={"self": 1}),
        facts(seed=1e400),
        facts(seed=True),
        facts(updates=-1),
        facts(updates="2"),
        facts(data={}),
        facts(data={"users": 1, "items": 1, "pairs": 0.5, "digest": "x"}),
        facts(codes={"bits": 0, "digest": "x"}),
        facts(codes=None),
        facts(id_kinds={"user_ids": "str"}),
        facts(id_kinds={"user_ids": "str", "item_ids": ["str"]}),
        facts(more=nested(40)),
        lambda header: header["longs"].update(data_offsets=header["floats"]["data_offsets"]),
        lambda header: header["longs"].update(shape=[2**62, 4]),
        lambda header: header["longs"].update(shape=[2**64]),
        lambda header: header["none"].update(shape=[0, 2**62]),
        lambda header: header["none"].update(shape=[0] * 70),
        lambda header: json.dumps(header)[:-1] + ', "longs": {}}',
        lambda header: json.dumps(header)[:-1] + ', "\\ud800": {}}',
    ],
)
def test_a_header_of_nonsense_is_refused(file: Path, change: Any) -> None:
    rewritten(file, change)
    for verify in (True, False):
        with pytest.raises(ModelFileError, match=r"model\.xorec"):
            storage.read(file, verify=verify)


def test_metadata_that_nobody_knows_may_stand_beside(file: Path) -> None:
    tensors, metadata = storage.read(rewritten(file, facts(seed=-3, more=nested(5))), verify=False)
    assert metadata["seed"] == -3
    assert len(tensors) == 4


def test_a_changed_letter_in_the_metadata_is_noticed(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content.replace(b"bpr", b"als"))
    with pytest.raises(ModelFileError, match=r"is corrupt: it has the digest blake3:"):
        storage.read(file)


def test_bytes_beyond_any_size_are_verified(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By threads from `_LARGE` on; the digest is that of one thread."""
    said = storage.read(file)[1]["digest"]
    monkeypatch.setattr(storage, "_LARGE", 0)
    assert storage.read(file, threads=3)[1]["digest"] == said
    big = {"floats": np.zeros(2**20, dtype=np.float32)}
    storage.write(file, big, FACTS)
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    for threads in (1, 3):
        with pytest.raises(ModelFileError, match="is corrupt: it has the digest"):
            storage.read(file, threads=threads)


def test_an_unknown_digest(file: Path) -> None:
    with pytest.raises(ModelFileError, match="its digest is by 'md5', which this xorec does not"):
        storage.read(rewritten(file, facts(digest="md5:00")))


def test_a_tensor_at_an_odd_place_is_aligned(tmp_path: Path) -> None:
    """Another writer may put a number of eight bytes behind three of one."""
    facts = json.dumps({"format": 1, "digest": "", **FACTS})
    header = {
        "__metadata__": {"xorec": facts},
        "bytes": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
        "longs": {"dtype": "I64", "shape": [2], "data_offsets": [3, 19]},
    }
    text = json.dumps(header).encode()
    content = len(text).to_bytes(8, "little") + text + b"abc" + np.array([5, -7]).tobytes()
    (tmp_path / "odd.xorec").write_bytes(content)
    tensors, _ = storage.read(tmp_path / "odd.xorec", verify=False)
    assert tensors["longs"].tolist() == [5, -7]
    assert tensors["longs"].flags.aligned
