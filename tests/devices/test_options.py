from typing import Annotated, Literal

import pytest
from msgspec import Meta

from devices.adapter import AdapterSettingError, Setting
from devices.adapter_class import AdapterOptions
from devices.options import OptionRow, option_faults, option_rows, read_options
from devices.registry import BUILT_IN, adapter_class


class AcmeOptions(AdapterOptions, frozen=True):
    host: Annotated[str, Meta(min_length=1, max_length=253, description="name or address of its controller")]
    port: Annotated[int, Meta(ge=1, le=65_535, description="TCP port")] = 4_000
    poll_s: Annotated[float, Meta(gt=0, description="how often it is read")] = 1.0
    line: Annotated[Literal["\n", "\r\n"], Meta(description="end of a line")] = "\n"
    quiet: bool = False


class NestedOptions(AdapterOptions, frozen=True):
    ports: tuple[int, ...] = ()


def test_options_not_given_are_as_the_table_says() -> None:
    assert read_options("r1", {"host": "a", "poll_s": 2}, AcmeOptions) == AcmeOptions(host="a", poll_s=2.0)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({}, "arm r1: option host: missing"),
        ({"host": ""}, "arm r1: option host: '': expected `str` of length >= 1"),
        ({"host": "a", "port": 0}, "arm r1: option port: 0: expected `int` >= 1"),
        ({"host": "a", "port": True}, "arm r1: option port: True: expected `int`, got `bool`"),
        ({"host": "a", "poll_s": float("inf")}, "arm r1: option poll_s: inf: not finite"),
        ({"host": "a", "line": ";"}, "arm r1: option line: ';': invalid enum value ';'"),
        ({"host": "a", "pot": 1}, "arm r1: option pot: unknown; known: host, port, poll_s, line, quiet"),
    ],
)
def test_what_is_wrong_is_named(options: dict[str, Setting], why: str) -> None:
    with pytest.raises(AdapterSettingError) as caught:
        read_options("r1", options, AcmeOptions)
    assert str(caught.value) == why
    assert caught.value.option == why.split()[3].rstrip(":")


def test_everything_that_is_wrong_is_told() -> None:
    faults = option_faults({"port": "x", "speed": 1, "quiet": 1}, AcmeOptions)
    assert [fault.option for fault in faults] == ["port", "speed", "quiet", "host"]
    assert [fault.text for fault in option_faults({"x": 1}, AdapterOptions)] == ["unknown; known: none"]


def test_options_are_shown_with_types_defaults_and_bounds() -> None:
    assert option_rows(AcmeOptions) == [
        OptionRow(
            "host", "text", None, "at least 1 characters, at most 253 characters", "name or address of its controller"
        ),
        OptionRow("port", "integer", 4_000, ">= 1, <= 65535", "TCP port"),
        OptionRow("poll_s", "number", 1.0, "> 0", "how often it is read"),
        OptionRow("line", "text", "\n", "\n | \r\n", "end of a line"),
        OptionRow("quiet", "boolean", False, "", ""),
    ]
    assert option_rows(AdapterOptions) == []


def test_an_option_is_a_single_value() -> None:
    with pytest.raises(TypeError, match="option ports"):
        option_rows(NestedOptions)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_adapter_says_what_it_is(name: str) -> None:
    about = adapter_class(name).about
    assert about.purpose
    assert "\n" not in about.purpose
    assert about.authority in ("observe", "advise", "control")
    assert about.items
    assert all(row.text for row in option_rows(about.options))
