"""Who may: the authority over arms, locks on them, the policy that counts now."""
