"""lam in other people's letters.

    here               lam/2 ||w||^2 + mean loss                     (l1 strength lam kappa)
    liblinear, SVC     1/2 ||w||^2 + C sum loss                      C = 1/(lam n)
    SGDClassifier      alpha ((1-r)/2 ||w||^2 + r |w|_1) + mean loss
    Ridge              ||y - Xw||^2 + alpha ||w||^2                  alpha = lam n mu, Squared(mu)

With sample weights, n is their sum.
"""

__all__ = [
    "C_from_lam",
    "lam_from_C",
    "lam_from_ridge_alpha",
    "lam_from_sgd_alpha",
    "ridge_alpha_from_lam",
    "sgd_alpha_from_lam",
]


def lam_from_C(C, n):
    """lam of LinearSVC / SVC / LogisticRegression(C=C) on n examples."""
    return 1.0 / (C * n)


def C_from_lam(lam, n):
    """C of LinearSVC / SVC / LogisticRegression for this lam."""
    return 1.0 / (lam * n)


def lam_from_sgd_alpha(alpha, l1_ratio=0.0):
    """(lam, kappa) of SGDClassifier(alpha=alpha, l1_ratio=l1_ratio), l1_ratio < 1."""
    if not 0.0 <= l1_ratio < 1.0:
        raise ValueError(f"l1_ratio: expected 0 <= l1_ratio < 1; got {l1_ratio}")
    return alpha * (1.0 - l1_ratio), l1_ratio / (1.0 - l1_ratio)


def sgd_alpha_from_lam(lam, kappa=0.0):
    """(alpha, l1_ratio) of SGDClassifier for this lam and kappa."""
    return lam * (1.0 + kappa), kappa / (1.0 + kappa)


def lam_from_ridge_alpha(alpha, n, mu=1.0):
    """lam of Ridge(alpha=alpha) with the loss Squared(mu)."""
    return alpha / (n * mu)


def ridge_alpha_from_lam(lam, n, mu=1.0):
    """alpha of Ridge for this lam with the loss Squared(mu)."""
    return lam * n * mu
