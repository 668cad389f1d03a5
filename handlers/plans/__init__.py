"""Plans: one method for many arms, their states, rows and replies; nothing here knows a clock or a store."""
