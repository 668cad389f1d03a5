"""`armbroker doctor`: shows what the checks found."""

import asyncio
import json
import sys
from pathlib import Path

from armbroker.cli.exits import Exit
from armbroker.cli.outcome import ended
from armbroker.cli.profiles import Profile
from armbroker.doctor.examination import examine
from armbroker.doctor.findings import CHECKS, Finding, Outcome
from armbroker.doctor.links import Who
from broker import logs
from broker.settings import Settings
from broker.tls import TlsFiles


def run(config: Path, given: dict[str, str], *, as_json: bool) -> Exit:
    """Examine and tell; `given` is what options, environment and profile say of the ordinary user."""
    logs.set_up("error")
    return ended(lambda: asyncio.run(_run(config, given, as_json=as_json)))


async def _run(config: Path, given: dict[str, str], *, as_json: bool) -> Exit:
    failures = 0
    async for finding in examine(config, lambda settings: ordinary(settings, given)):
        failures += finding.outcome is Outcome.FAIL
        text = json.dumps(finding.as_document(), ensure_ascii=False) if as_json else lines(finding)
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    return Exit.REFUSED if failures else Exit.OK


def ordinary(settings: Settings, given: dict[str, str]) -> Who | None:
    """The user that the rules are tried with; None where none is named, or the service's own.

    Raises:
        OSError: the password file cannot be read.
    """
    user = given.get("user", "")
    if user in {"", settings.mqtt.user}:
        return None
    found = Profile(**given)
    password = ""
    if found.password_file:
        password = Path(found.password_file).read_text(encoding="utf-8").partition("\n")[0]
    own = (Path(name) if name else None for name in (found.cert_file, found.key_file))
    ca = Path(found.ca_file) if found.ca_file else settings.tls.ca
    return Who(given.get("url", settings.mqtt.url), user, password, TlsFiles(ca, *own))


def lines(finding: Finding) -> str:
    """A finding for people; a failure with what it means and what to do."""
    first = f"{finding.outcome.value:<11}  {finding.check}: {finding.text}"
    if finding.outcome is not Outcome.FAIL:
        return first
    check, indent = CHECKS[finding.check], " " * 13
    return f"{first}\n{indent}means: {check.means}\n{indent}do: {check.remedy}"
