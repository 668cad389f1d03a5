"""`armbroker home-assistant`: tell Home Assistant of the arms."""

import asyncio
import sys

from armbroker.cli.exits import Exit
from armbroker.cli.login import Account
from armbroker.cli.outcome import ended
from armbroker.home_assistant.teller import Teller


def run(account: Account, prefix: str, *, once: bool, remove: bool) -> Exit:
    """Tell until interrupted, or `once` what there is."""
    return ended(lambda: asyncio.run(_tell(account, prefix, once=once or remove, remove=remove)))


async def _tell(account: Account, prefix: str, *, once: bool, remove: bool) -> Exit:
    teller = Teller(account.login(), account.root, prefix, remove=remove)
    async for arm, told in teller.run(once=once):
        sys.stdout.write(f"{arm} {'told' if told else 'taken back'}\n")
        sys.stdout.flush()
    return Exit.OK
