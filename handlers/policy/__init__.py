"""Who may do what with which arm, when and how far: rules that allow, and the verdict on a request."""
