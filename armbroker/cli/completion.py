"""What the shell offers for arms and methods: never a word of an error, and soon."""

import typer

WITHIN_S = 1.0
"""A shell waits no longer; what came until then is offered."""
LOGIN = {
    "mqtt": "url", "user": "user", "conn": "conn", "root": "root", "password_file": "password_file",
    "ca_file": "ca_file", "cert": "cert_file", "key": "key_file",
}  # fmt: skip
"""The setting of a profile that each option gives."""


def arms(context: typer.Context, incomplete: str) -> list[str]:
    """The arms of the service that the options, the environment and the profile name."""
    try:
        return [arm for arm in _asked(context) if arm.startswith(incomplete)]
    except Exception:  # noqa: BLE001 - whoever presses a key has no use for what is wrong
        return []


def _asked(context: typer.Context) -> list[str]:
    import asyncio  # noqa: PLC0415 - only for completion, as what follows
    import logging  # noqa: PLC0415

    from armbroker.cli.login import account_of  # noqa: PLC0415
    from armbroker.cli.profiles import chosen  # noqa: PLC0415
    from armbroker.client.names import arm_names  # noqa: PLC0415
    from broker.topics import Topics  # noqa: PLC0415

    logging.disable()
    given = {LOGIN[name]: value for name, value in context.params.items() if name in LOGIN}
    options = {name: None if value is None else str(value) for name, value in given.items()}
    profile = chosen(options, context.params.get("profile"))
    if profile.conn:
        return []  # a connection under that name may be at work: it is not taken over for a completion
    who = account_of(profile)
    return asyncio.run(arm_names(who.login(), Topics(who.root), WITHIN_S))


def methods(incomplete: str) -> list[str]:
    """The methods that begin so."""
    from handlers.rpc_table import RPC_TABLE  # noqa: PLC0415 - only for completion

    return [method for method in RPC_TABLE if method.startswith(incomplete)]


def items(incomplete: str) -> list[str]:
    """The items that begin so."""
    from schema.items import ITEMS  # noqa: PLC0415 - only for completion

    return [item for item in ITEMS if item.startswith(incomplete)]


def profiles(incomplete: str) -> list[str]:
    """The profiles that begin so."""
    from armbroker.cli.profiles import names  # noqa: PLC0415 - only for completion

    return [name for name in names() if name.startswith(incomplete)]
