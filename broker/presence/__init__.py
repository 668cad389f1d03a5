"""Who serves a root: the document `svc/<instance>`, its heartbeat, and other services on the same root."""
