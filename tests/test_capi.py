"""The places of fields that native code relies on: each is looked at before it does."""

import pytest

from numtape.compiler.backends.llvm import capi

OFFSETS = {
    "TYPE": 0, "FLOAT_VALUE": 8, "TUPLE_ITEMS": 16, "BYTES_DATA": 24, "SCALAR_VALUE": 8, "DATA": 24, "NDIM": 64,
    "LENGTHS": 40, "STRIDES": 32, "BASE": 56, "DESCR": 48, "FLAGS": 24, "MEM_HANDLER": 80, "DESCR_BYTEORDER": 25,
    "DESCR_NUMBER": 24, "C_CONTIGUOUS": 2, "OWNDATA": 8, "ALIGNED": 2048, "WRITEABLE": 2048, "ARRAY_TYPE": 3,
}  # fmt: skip


def test_this_machine_is_verified():
    assert capi.verified() == ""


@pytest.mark.parametrize("name", OFFSETS)
def test_every_place_is_looked_at(name, monkeypatch):
    assert getattr(capi, name) != OFFSETS[name]
    monkeypatch.setattr(capi, name, OFFSETS[name])
    assert capi.verified.__wrapped__()


@pytest.mark.parametrize(
    ("module", "name", "value", "reason"),
    [
        ("sys.platform", "platform", "darwin", "Linux"),
        ("platform.machine", "machine", lambda: "aarch64", "x86-64"),
        ("sysconfig.get_config_var", "get_config_var", lambda name: 1, "interpreter lock"),
    ],
)
def test_other_machines_are_refused(module, name, value, reason, monkeypatch):
    monkeypatch.setattr(module, value)
    assert reason in capi.verified.__wrapped__()
