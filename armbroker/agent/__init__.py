"""A device agent: an arm behind MQTT, as `docs/agent_protocol.md` says; an example for writers of firmware.

Read it in this order: `session` (what an arm says and does in one session), `connection` (the life of sessions on one
connection after the other), `numbers` (what an agent has to remember), `process` (many arms in one process).
"""
