r"""Claim. Each dynamic program over a chain or a rooted tree is the sum over all labellings it
stands for: best score and labels, max-marginals, log-partition and marginals (its gradient); on
chains also the best score with h errors, slack rescaling max_y' l (1 + score(y') - score(y)) and
decoding with one label fixed. Padding changes nothing; of labellings with equal scores the lowest
is found, read from the last position of a chain, from the root of a tree.
Lecture "Online solvers for convex risk minimization" (Franc), oracles.

Check. Brute force over all labellings: lengths 1 to 4, padded to 4 with scores of any kind; scores
of normal numbers, and of 0 and 1 for ties; chains with one table, trees with one for each edge.
False variant: the same programs with padding taken for real.
"""

from itertools import product

import jax
import numpy as np

from jaxopt_svm.oracles import chain, slack, tree
from proofs_checks.claims import Claim, Result, equal, smallest

K, T = 3, 4
LENGTHS = np.array([1, 1, 2, 2, 3, 3, 4, 4, 4])


def draw(rng, ties: bool, *shape):
    return rng.integers(0, 2, shape) * 1.0 if ties else rng.normal(size=shape)


@jax.jit
def chains(unary, table, mask, truth):
    def one(unary, table, mask, truth):
        errors = slack.best_by_errors(unary, table, mask, truth)
        rescaled = slack.slack_rescaled(unary, table, mask, truth)
        best, most = chain.decode(unary, table, mask), chain.max_marginals(unary, table, mask)
        return best, most, chain.marginals(unary, table, mask), (errors, rescaled)

    return jax.vmap(one)(unary, table, mask, truth)


@jax.jit
def trees(unary, tables, parent, mask, wanted):
    def one(unary, tables, parent, mask, wanted):
        at = (unary, tables, parent, mask)
        fixed = tree.labels_given(tree.given(*at), tables, parent, mask, wanted)
        return tree.decode(*at), tree.max_marginals(*at), tree.marginals(*at), fixed

    return jax.vmap(one)(unary, tables, parent, mask, wanted)


def labellings(unary, tables, parent, length):
    """All labellings (count, length) and their scores."""
    every = np.array(list(product(range(K), repeat=length)))
    scores = unary[np.arange(length), every].sum(1)
    for v in range(1, length):
        scores = scores + tables[v - 1, every[:, parent[v]], every[:, v]]
    return every, scores


def brute_force(unary, tables, parent, length, from_last: bool):
    """What the programs of chains and trees must answer, padded."""
    every, scores = labellings(unary, tables, parent, length)
    ties = every[scores >= scores.max() - 1e-12]
    first = min(ties.tolist(), key=lambda y: y[::-1] if from_last else y)
    p = np.exp(scores - scores.max())
    p, total = p / p.sum(), np.log(p.sum()) + scores.max()
    most, node, edge = np.full((T, K), scores.max()), np.zeros((T, K)), np.zeros((T - 1, K, K))
    for v, a in product(range(length), range(K)):
        chosen = every[:, v] == a
        most[v, a], node[v, a] = scores[chosen].max(), p[chosen].sum()
        for b in range(K if v else 0):
            edge[v - 1, b, a] = p[chosen & (every[:, parent[v]] == b)].sum()
    labels = np.array(first + [0] * (T - length))
    return (scores.max(), labels), most, (total, (node, edge)), (every, scores)


def agree(found, right, shared: bool):
    """The worst slack over the common programs."""
    (best, labels), most, (total, (node, edge)) = found
    (right_best, right_labels), right_most, (right_total, (right_node, right_edge)) = right
    right_edge = right_edge.sum(0) if shared else right_edge
    return smallest(
        equal(best, right_best),
        0.0 if np.array_equal(labels, right_labels) else -1.0,
        *(equal(a, b) for a, b in ((most, right_most), (total, right_total))),
        *(equal(a, b) for a, b in ((node, right_node), (edge, right_edge))),
    )


def agree_by_errors(found, every, scores, truth):
    """Best scores by number of errors, and slack rescaling."""
    errors, rescaled = found
    length = every.shape[1]
    wrong = np.sum(every != truth[:length], 1)
    best = np.array([scores[wrong == h].max() for h in range(length + 1)])
    beyond = -1e29 - errors[length + 1 :]  # no labelling has that many
    return smallest(
        equal(errors[: length + 1], best),
        *beyond,
        equal(rescaled, np.max(wrong * (1 + scores - best[0]))),
    )


def agree_fixed(found, every, scores, wanted):
    """Row v is a best labelling among those with label wanted[v] at v."""
    length, slacks = every.shape[1], []
    for v in range(length):
        own = scores[(every == found[v, :length]).all(1)][0]
        slacks.append(equal(own, scores[every[:, v] == wanted[v]].max()))
        slacks.append(0.0 if found[v, v] == wanted[v] else -1.0)
    return smallest(*slacks)


def case(rng, ties: bool):
    n, mask = len(LENGTHS), np.arange(T) < LENGTHS[:, None]
    unary, table, tables = (draw(rng, ties, n, *shape) for shape in ((T, K), (K, K), (T - 1, K, K)))
    line = np.arange(-1, T - 1)
    parent = np.concatenate([np.full((n, 1), -1), rng.integers(0, np.arange(1, T), (n, T - 1))], 1)
    truth, real = rng.integers(0, K, (n, T)), np.ones_like(mask)
    host = lambda found: jax.tree.map(np.asarray, found)
    answers = [
        (host(chains(unary, table, m, truth)), host(trees(unary, tables, parent, m, truth)))
        for m in (mask, real)
    ]
    slacks = []
    for i, length in enumerate(LENGTHS):
        one = lambda found, i=i: jax.tree.map(lambda a: a[i], found)
        everywhere = np.broadcast_to(table[i], (T - 1, K, K))
        *chain_right, listing = brute_force(unary[i], everywhere, line, length, True)
        *tree_right, of_all = brute_force(unary[i], tables[i], parent[i], length, False)
        for k, (of_chain, of_tree) in enumerate(answers):
            (*common, by_errors), (*same, fixed) = one(of_chain), one(of_tree)
            worst = [agree(common, chain_right, True), agree(same, tree_right, False)]
            if k == 0:
                worst.append(agree_fixed(fixed, *of_all, truth[i]))
                worst.append(agree_by_errors(by_errors, *listing, truth[i]))
            slacks.append((k, worst))
    false = [w for k, w in slacks if k == 1]
    return smallest(*(min(w) for k, w in slacks if k == 0)), np.min(false, 0)


def check() -> Result:
    rng = np.random.default_rng(41)
    found = [case(rng, ties) for ties in (False, True)]
    wrong = np.min([f for _, f in found], 0)  # chains, trees
    return Result(smallest(*(t for t, _ in found)), float(np.max(wrong)))


claim = Claim(
    name="structured_oracles",
    text="chain and tree programs equal brute force: ties, length 1, padding",
    lecture="Online solvers: oracles",
    check=check,
)
