"""Plans at work: rows are decided and accepted beside all other requests, watched, told, taken up after a start."""
