"""What the doctor looks at, and what it found. Pure."""

import enum
from collections.abc import Mapping
from typing import NamedTuple


class Outcome(enum.StrEnum):
    """How a check ended."""

    PASS = "pass"  # noqa: S105 - a word for people
    FAIL = "FAIL"
    NOT_CHECKED = "not checked"


class Check(NamedTuple):
    """What a failure means, and what to do about it."""

    means: str
    remedy: str


class Finding(NamedTuple):
    """One line of the report."""

    check: str
    outcome: Outcome
    text: str

    def as_document(self) -> dict[str, str]:
        """The same as a JSON object; `means` and `remedy` where it failed."""
        document = {"check": self.check, "outcome": self.outcome.value, "text": self.text}
        if self.outcome is Outcome.FAIL:
            document |= CHECKS[self.check]._asdict()
        return document


def passed(check: str, text: str) -> Finding:
    """It is as it should be."""
    return Finding(check, Outcome.PASS, text)


def failed(check: str, text: str) -> Finding:
    """It is not."""
    return Finding(check, Outcome.FAIL, text)


def unchecked(check: str, text: str) -> Finding:
    """Nobody knows."""
    return Finding(check, Outcome.NOT_CHECKED, text)


_RULES = "Install the rules of `armbroker acl --config fleet.toml`, and nothing beside them; docs/identity.md"
CHECKS: Mapping[str, Check] = {
    "settings": Check("the service would not start, or refuse a reload", "Mend the lines that are named"),
    "secret-files": Check(
        "other users of this computer can read what proves the service, or replace it",
        "chmod 640 and chgrp armbroker, or chmod 600",
    ),
    "disk": Check(
        "on a full disk changes are refused", "Make room, or give the store a partition of its own with an alarm"
    ),
    "connection": Check("the service cannot reach the MQTT server either", "Mend what is said, then run this again"),
    "encryption": Check(
        "who listens on the network reads passwords and requests", "Use mqtts:// and a listener with certificates"
    ),
    "certificate": Check(
        "nobody connects once it has ended", "Renew the MQTT server's certificate; deploy/README.md, Renewal"
    ),
    "nobody": Check(
        "whoever reaches the MQTT server can use it", "allow_anonymous false, a password_file or require_certificate"
    ),
    "foreign-certificate": Check(
        "a certificate of an authority that nobody chose lets in", "require_certificate true with a cafile of your own"
    ),
    "limits": Check("the service cannot work as it promises", "Allow QoS 1 and retained messages"),
    "packet-size": Check(
        "requests of the size that the protocol allows end the connection", "max_packet_size 70000 or more"
    ),
    "server-version": Check("faults of older versions lose messages", "Use Mosquitto 2.0.11 or later, best 2.0.22"),
    "service": Check(
        "nobody takes requests", "Look at the service: systemctl status armbroker; journalctl -u armbroker"
    ),
    "second-service": Check(
        "two services carry out and answer every request twice", "End one of them; docs/presence.md"
    ),
    "clock": Check(
        "requests end expired, and times are wrong in history and audit", "Let both computers follow a time server"
    ),
    "round-trip": Check("a user gets no answers", "Compare the rules for this user; look at the service's log"),
    "spoofed-user": Check("a user can act under another user's name", _RULES),
    "service-topics": Check("a user can pretend to be the service or an arm", _RULES),
    "foreign-replies": Check("a user reads replies and notices of others", _RULES),
    "wildcard-reader": Check("a user reads what others ask for, or commands for arms", _RULES),
    "client-ids": Check(
        "a user who knows the service's client id takes its session, and the requests that wait in it",
        "Use deploy/mosquitto/listener-bound.conf, or a client_id that ends with `openssl rand -hex 8`",
    ),
    "retained-ghosts": Check(
        "clients see what nobody stands behind", "Restart the service, which clears what is its own; clear the others"
    ),
}
"""Every check, in the order of the report."""
