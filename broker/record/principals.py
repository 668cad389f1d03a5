"""Small numbers for users and connections, as Kinova's notifications want them."""

from broker.store.store import Store
from schema.enums import Permission
from schema.envelope import Author
from schema.messages import Connection, UserProfileHandle

FOREIGN_USER = "@arm"
"""The author of what an arm, or another writer of it, changed."""
SERVICE = Author("@service", "", proven=True)
"""The author of what the service does by itself."""
_PERMISSIONS = int(Permission.READ | Permission.UPDATE)


class Principals:
    """Users and connections by number; a new one is stored with the transaction that needs it."""

    def __init__(self, store: Store, numbers: dict[str, int]) -> None:
        self._store = store
        self._numbers = numbers
        self._next = max(numbers.values(), default=0) + 1
        self.known: dict[tuple[str, str], tuple[UserProfileHandle, Connection]] = {}
        """Those that were asked for, by user and connection."""

    def of(self, author: Author) -> tuple[UserProfileHandle, Connection]:
        """The user handle and connection of a notification; user 0 (nobody) for what an arm did by itself."""
        key = (author.user, author.connection)
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = self._make(author)
        return known

    def _make(self, author: Author) -> tuple[UserProfileHandle, Connection]:
        if author.user == FOREIGN_USER:
            nobody = UserProfileHandle()
            return nobody, Connection(nobody, author.connection, 0)
        user = UserProfileHandle(self._number(f"user:{author.user}"), _PERMISSIONS)
        text = f"{author.user}/{author.connection}"
        return user, Connection(user, text, self._number(f"conn:{text}"))

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = self._next
            self._next += 1
            self._store.batch.put_principal(name, number)
        return number
