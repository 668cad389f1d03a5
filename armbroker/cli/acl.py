"""The command `armbroker acl`, and its help."""

from pathlib import Path
from typing import Annotated

import typer

from armbroker.cli.exits import Exit

ACL, USERS = "armbroker.acl", "armbroker.users"


def acl(
    config: Annotated[Path, typer.Option(metavar="FILE", help="The settings, a fleet.toml.")],
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help=f"Where {ACL} and {USERS} go; without, the rules are shown.")
    ] = None,
    more: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rules of the site for other topics, to stand behind these."),
    ] = None,
    users: Annotated[bool, typer.Option("--users", help="Show the users instead of the rules.")] = False,
) -> None:
    """Read, write."""
    from armbroker.cli import acl_rules as rules  # noqa: PLC0415 - the settings, only for this command
    from broker.settings import SettingsError, read  # noqa: PLC0415 - likewise

    try:
        found = read(config)
        if faults := rules.rule_faults(found.settings):
            raise found.places.error(faults)
        listed = "".join(f"{user} {what}\n" for user, what in rules.accounts(found.settings))
        text = rules.text(found.settings, config.name) + _of_site(more, found.settings.root)
        if out is None:
            typer.echo(listed if users else text, nl=False)
            return
        for name, content in ((ACL, text), (USERS, listed)):
            fresh = out / f"{name}.new"
            fresh.write_text(content, encoding="utf-8")
            fresh.replace(out / name)
            typer.echo(str(out / name))
    except (SettingsError, OSError) as error:
        typer.echo(f"armbroker acl: {error}", err=True)
        raise typer.Exit(Exit.USAGE) from None


def _of_site(path: Path | None, root: str) -> str:
    """The rules of the site, checked.

    Raises:
        SettingsError: one cannot stand there.
        OSError: the file cannot be read.
    """
    from armbroker.cli.acl_site import site_faults  # noqa: PLC0415 - only for this command
    from broker.settings import SettingsError  # noqa: PLC0415 - likewise

    if path is None:
        return ""
    text = path.read_text(encoding="utf-8")
    if faults := site_faults(text, root):
        raise SettingsError("\n".join(f"{path}:{number}: {why}" for number, why in faults))
    return f"\n# Of the site: {path.name}.\n{text.rstrip()}\n"
