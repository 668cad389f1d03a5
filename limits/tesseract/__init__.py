"""tesseract: JointSafety and its law, its archives, joint limits and the checks on them."""
