"""Protocol buffer definitions and the code generated from them (`scripts/generate`); only `schema.codecs` imports it."""
