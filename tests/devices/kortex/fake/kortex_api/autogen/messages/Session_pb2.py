"""The messages of sessions."""

from kortex_api.autogen.messages.build import build

globals().update(
    build(
        "Fake.Session",
        {
            "CreateSessionInfo": {
                "username": "str",
                "password": "str",
                "session_inactivity_timeout": "u32",
                "connection_inactivity_timeout": "u32",
            },
            "SessionHandle": {"identifier": "u32"},
        },
    )
)
