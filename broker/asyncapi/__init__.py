"""What programs read of the protocol: JSON Schema of every payload, and the AsyncAPI document around them. Pure."""
