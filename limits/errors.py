"""Errors of the limits engine: always the place, the value and the bound."""

from collections.abc import Iterator
from contextlib import contextmanager


class LimitsError(Exception):
    """A limit, file or command that cannot be accepted; nothing was changed.

    Attributes:
        reason: what is wrong, in words.
        file: name of the file it stands in, if any.
        joint: name of the joint, if any.
        key: name of the field, if any.
        value: what was found.
        bound: what it had to respect.
    """

    def __init__(
        self,
        reason: str,
        *,
        file: str | None = None,
        joint: str | None = None,
        key: str | None = None,
        value: object = None,
        bound: object = None,
    ) -> None:
        self.reason = reason
        self.file = file
        self.joint = joint
        self.key = key
        self.value = value
        self.bound = bound
        places = [("", file), ("joint ", joint), ("", key)]
        where = ", ".join(f"{label}{place}" for label, place in places if place is not None)
        text = f"{where}: {reason}" if where else reason
        if value is not None:
            text += f" (got {value!r}" + (f", bound {bound!r})" if bound is not None else ")")
        super().__init__(text)


@contextmanager
def naming(file: str | None) -> Iterator[None]:
    """Add the name of a file to errors that name none.

    Raises:
        LimitsError: what was raised inside, with the file.
    """
    try:
        yield
    except LimitsError as error:
        if error.file is not None or file is None:
            raise
        raise LimitsError(
            error.reason, file=file, joint=error.joint, key=error.key, value=error.value, bound=error.bound
        ) from error
