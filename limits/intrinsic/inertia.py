"""Link.Parameters: mass, inertia and principal moments."""

import math

import numpy as np

from limits.errors import LimitsError
from limits.intrinsic.geometry import Array, matrix_from_message, pose_from_message
from schema.intrinsic import LinkParameters

SYMMETRY_TOLERANCE = 1e-6
"""Frobenius norm of the asymmetry over that of the matrix."""


def check_mass(mass: float, *, compat: bool = False) -> None:
    """Require a positive, finite mass in kg; `compat` refuses only numbers up to zero, so NaN and inf pass.

    Raises:
        LimitsError: the mass is none.
    """
    if mass <= 0 or not (compat or math.isfinite(mass)):
        raise LimitsError("not a positive mass", key="mass", value=mass, bound=0.0)


def inertia_fault(inertia: Array) -> str:
    """`ok`, `not_symmetric`, `not_positive_definite` or `triangle_inequality` of a 3x3 inertia in kg m².

    Moments are those of the lower triangle; their sum must be at least twice the largest.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        asymmetry = float(np.linalg.norm(inertia - inertia.T))
        size = float(np.linalg.norm(inertia))
    if not asymmetry <= SYMMETRY_TOLERANCE * size:
        return "not_symmetric"
    if not np.isfinite(inertia).all():
        return "not_positive_definite"
    moments = np.linalg.eigvalsh(inertia)
    if not (moments > 0).all():
        return "not_positive_definite"
    return "ok" if moments.sum() >= 2 * moments[-1] else "triangle_inequality"


def principal_moments(inertia: Array) -> Array:
    """The three principal moments in kg m², ascending.

    Raises:
        LimitsError: the matrix is no inertia of a body; the reason is that of `inertia_fault`.
    """
    fault = inertia_fault(inertia)
    if fault != "ok":
        raise LimitsError(fault, key="inertia", value=inertia.tolist())
    return np.asarray(np.linalg.eigvalsh(inertia), dtype=np.float64)


def symmetrized(inertia: Array) -> Array:
    """The symmetric matrix of the lower triangle, which is what the checks looked at."""
    lower = np.tril(inertia)
    return lower + np.tril(inertia, -1).T


def _matrix_fault(parameters: LinkParameters) -> str | None:
    if parameters.inertia is None:
        return "inertia_missing"
    try:
        inertia = matrix_from_message(parameters.inertia, key="inertia")
    except LimitsError:
        return "inertia_shape"
    if inertia.shape != (3, 3):
        return "inertia_shape"
    fault = inertia_fault(inertia)
    return None if fault == "ok" else f"inertia_{fault}"


def link_faults(parameters: LinkParameters, *, compat: bool = False) -> tuple[str, ...]:
    """What is wrong with a link's parameters, in the order mass, inertia, centre of gravity.

    An absent centre of gravity is the link's origin; absent parameters, which are no business of this function, are
    unset. One present with mass 0 or without inertia is at fault.
    """
    faults = []
    try:
        check_mass(parameters.mass, compat=compat)
    except LimitsError:
        faults.append("mass")
    fault = _matrix_fault(parameters)
    if fault is not None:
        faults.append(fault)
    if parameters.center_of_gravity is not None:
        try:
            pose_from_message(parameters.center_of_gravity, compat=compat)
        except LimitsError:
            faults.append("center_of_gravity")
    return tuple(faults)


def check_link_parameters(parameters: LinkParameters, *, link: str | None = None) -> None:
    """Require what `link_faults` finds no fault with.

    Raises:
        LimitsError: naming the faults.
    """
    faults = link_faults(parameters)
    if faults:
        raise LimitsError(f"unusable link parameters: {', '.join(faults)}", key=link)
