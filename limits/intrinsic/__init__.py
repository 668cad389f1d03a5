"""The semantics of `intrinsic_proto`: joint limits, their updates, skeletons, dependencies and the mathematics of them.

Every function is strict: doubtful input is refused with a `LimitsError` that names place, value and bound. Where the
reference behaves otherwise the function takes `compat=True`, which reproduces it exactly.
"""
