"""File formats of limits: text or bytes in, records out, and back; no file is opened here."""
