"""`armbroker export`, `import`, `diff`: values of arms and recipes in files, and what differs between any two."""

import enum
from pathlib import Path
from typing import Annotated

import typer

from armbroker.cli import completion
from armbroker.cli.options import (
    AsJson,
    CaFile,
    Cert,
    Conn,
    Key,
    Mqtt,
    PasswordFile,
    ProfileName,
    Root,
    User,
    account,
    end,
)


class Form(enum.StrEnum):
    """How a file is written."""

    TOML = "toml"
    JSON = "json"


Timeout = Annotated[float, typer.Option(min=0.1, help="Seconds to wait for each reply or document.")]
EXPORT_HELP = """Write what arms are to have, or all recipes, into DIR: a file each, NAME.toml. Values are those
without overrides; nothing in a file changes by itself, so that version control shows what was changed. A file that says
the same is left as it is; one of something else is not written over.

\b
examples:
  armbroker export r12 r13 --out cell-4
  armbroker export @cell-4 --out cell-4
  armbroker export --recipes --out recipes --format json
"""
IMPORT_HELP = """Send what files say: recipes become the next version of their name, unless it says the same; with --to
the values of a file go to an arm or to every arm of a group, as one change of each. Every file is read before anything
is sent; all that is wrong in one is told at once, with file, line and key (docs/config.schema.json is the form).

\b
examples:
  armbroker import recipes/weld.toml
  armbroker import cell-4/r12.toml --to r13 --dry-run
  armbroker import recipes/weld.toml --to @cell-4 --reason "new gripper"

Exit codes: 0 ok, 1 refused: the files behind it were not sent, 2 usage or a faulty file.
"""
DIFF_HELP = """Tell what B has otherwise than A: a file, ARM, ARM@REV (after that revision), recipe:NAME or
recipe:NAME@VERSION; B may be @GROUP, each arm of it. What a file or recipe does not name is not compared. Numbers are
the same within the arm's resolution.

\b
examples:
  armbroker diff r12 r13
  armbroker diff r12@41 r12
  armbroker diff recipe:weld@3 @cell-4
  armbroker diff cell-4/r12.toml r12

Exit codes: 0 the same, 1 something differs or was refused, 2 usage or a faulty file.
"""


def export(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ARM]... | @GROUP", help="Ids of arms, or one group.", autocompletion=completion.arms),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the files go.")] = Path(),
    recipes: Annotated[bool, typer.Option("--recipes", help="All recipes, instead of arms.")] = False,
    form: Annotated[Form, typer.Option("--format", help="What the files are.")] = Form.TOML,
    mqtt: Mqtt = None,
    user: User = None,
    password_file: PasswordFile = None,
    ca_file: CaFile = None,
    cert: Cert = None,
    key: Key = None,
    conn: Conn = None,
    root: Root = None,
    profile: ProfileName = None,
    timeout: Timeout = 15.0,
) -> None:
    """Export."""
    from armbroker.cli.export_work import Wanted, run  # noqa: PLC0415 - the MQTT client, only for what speaks to one

    who = account(profile, mqtt, root, ca_file, password_file, cert, key, user, conn)
    end(run(who, Wanted(tuple(names or ()), recipes, out, form.value, timeout)))


def import_files(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files as export writes them.")],
    to: Annotated[
        str, typer.Option(metavar="ARM|@GROUP", help="Who gets the values; without, recipes are stored.")
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check only, change nothing.")] = False,
    reason: Annotated[str | None, typer.Option(help="For the history; at most 200 characters.")] = None,
    mqtt: Mqtt = None,
    user: User = None,
    password_file: PasswordFile = None,
    ca_file: CaFile = None,
    cert: Cert = None,
    key: Key = None,
    conn: Conn = None,
    root: Root = None,
    profile: ProfileName = None,
    timeout: Timeout = 15.0,
    as_json: AsJson = False,
) -> None:
    """Import."""
    from armbroker.cli.import_work import Sent, run  # noqa: PLC0415 - the MQTT client, only for what speaks to one

    who = account(profile, mqtt, root, ca_file, password_file, cert, key, user, conn)
    end(run(who, tuple(files), Sent(to, dry_run, reason, timeout), as_json=as_json))


def diff(
    a: Annotated[
        str,
        typer.Argument(
            metavar="A", help="FILE, ARM, ARM@REV, recipe:NAME or recipe:NAME@VERSION.", autocompletion=completion.arms
        ),
    ],
    b: Annotated[str, typer.Argument(metavar="B", help="The same, or @GROUP.", autocompletion=completion.arms)],
    mqtt: Mqtt = None,
    user: User = None,
    password_file: PasswordFile = None,
    ca_file: CaFile = None,
    cert: Cert = None,
    key: Key = None,
    conn: Conn = None,
    root: Root = None,
    profile: ProfileName = None,
    timeout: Timeout = 15.0,
    as_json: AsJson = False,
) -> None:
    """Compare."""
    from armbroker.cli.diff_work import run  # noqa: PLC0415 - the MQTT client, only for what speaks to one

    who = account(profile, mqtt, root, ca_file, password_file, cert, key, user, conn)
    end(run(who, a, b, timeout, as_json=as_json))


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command(
        "export", short_help="Write arms or recipes into files: armbroker export r12 --out DIR", help=EXPORT_HELP
    )(export)
    app.command("import", short_help="Send what files say: armbroker import weld.toml", help=IMPORT_HELP)(import_files)
    app.command(
        "diff",
        short_help="Tell what two arms, files or recipes say differently: armbroker diff r12 r13",
        help=DIFF_HELP,
    )(diff)
