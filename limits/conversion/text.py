"""Text of files."""

from limits.errors import LimitsError


def utf8_text(data: bytes, file: str | None) -> str:
    """The text of a file.

    Raises:
        LimitsError: it is no UTF-8.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise LimitsError(f"is no UTF-8 at byte {error.start}", file=file) from error
