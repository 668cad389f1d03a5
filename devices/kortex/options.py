"""The options of a Kinova arm."""

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from devices.adapter import AdapterSettingError
from devices.adapter_class import AdapterOptions

ENVIRONMENT = "env"
"""The folder of the workers' environment below the adapter's directory, unless an arm names another."""


class KortexOptions(AdapterOptions, frozen=True):
    """The options of a Kinova arm."""

    host: Annotated[str, Meta(min_length=1, description="address of the arm")]
    user: Annotated[str, Meta(min_length=1, description="user of the arm, with as few rights as will do")]
    password_file: Annotated[str, Meta(description="file whose first line is the password; an absolute path")] = ""
    password_env: Annotated[str, Meta(description="variable that holds the password, instead of password_file")] = ""
    allow_default_login: Annotated[bool, Meta(description="let user admin log in with password admin")] = False
    port: Annotated[int, Meta(ge=1, le=65_535, description="TCP port of the arm")] = 10_000
    python: Annotated[
        str, Meta(description="Python with the vendor's wheel; absent: what `armbroker devices install-kortex` built")
    ] = ""
    connect_timeout_s: Annotated[float, Meta(ge=1, le=60, description="for a session and the first reading")] = 10.0
    call_timeout_s: Annotated[float, Meta(ge=0.1, le=10, description="for one call; the arm takes 0.025 s")] = 2.0
    write_timeout_s: Annotated[
        float, Meta(ge=0.1, le=60, description="for a write; 10 or more waits once for another client to let go")
    ] = 5.0
    session_timeout_s: Annotated[
        float, Meta(ge=1, le=3600, description="the arm drops a session that is silent for so long")
    ] = 60.0
    connection_timeout_s: Annotated[
        float, Meta(ge=0.5, le=60, description="the arm ends what a connection began that is silent for so long")
    ] = 2.0


def check(arm: str, options: KortexOptions) -> None:
    """Refuse options that do not go together.

    Raises:
        AdapterSettingError: naming the arm and the option.
    """
    if bool(options.password_file) == bool(options.password_env):
        raise AdapterSettingError(f"arm {arm}: give one of password_file and password_env", "password_file")
    if options.password_file and not Path(options.password_file).is_absolute():
        text = f"arm {arm}: option password_file: {options.password_file!r} is no absolute path"
        raise AdapterSettingError(text, "password_file")


def interpreter(options: KortexOptions, directory: Path) -> str:
    """The Python of an arm's worker, given the adapter's directory."""
    return options.python or str(directory / ENVIRONMENT / "bin" / "python")
