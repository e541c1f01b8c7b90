"""Theorems T3 to T8 as properties of the code, and the project in lean/ as text.

Names as in docs/theorems.md; T1, T2 and A are in test_theorem_rates.py.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import re
from pathlib import Path
from pydoc import locate

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.linalg import helmert

from skpce import LogRatioTransformer, PolynomialChaosFeatures
from skpce.metrics import total_variation_distance

ROOT = Path(__file__).resolve().parents[1]
LEAN = sorted((ROOT / "lean" / "Skpce").glob("*.lean"))
CORE = ROOT / "lean" / "Core"
_SPEC = importlib.util.spec_from_file_location("lean_core_check", CORE / "check.py")
check = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(check)
HEADLINES = check.headlines()

UNIFORM = stats.uniform(-1, 2)

LARGEST_STEP = 200

several = settings(max_examples=60, deadline=None, derandomize=True)
few = settings(max_examples=25, deadline=None, derandomize=True)
seeds = st.integers(0, 2**32 - 1)


def policy(logits):
    """Return the softmax as the code computes it, from clr coordinates."""
    logits = np.atleast_2d(logits)
    uniform = np.full((1, logits.shape[1]), 1.0 / logits.shape[1])
    transformer = LogRatioTransformer("clr", mask=np.ones(logits.shape[1], dtype=bool))
    return transformer.fit(uniform).inverse_transform(logits)


@st.composite
def logit_pairs(draw):
    """Draw two vectors of logits: apart, near, equal, nearly tied, of any width."""
    rng = np.random.default_rng(draw(seeds))
    n_parts = draw(st.integers(2, LARGEST_STEP))
    w = draw(st.sampled_from([0.0, 1e-9, 1.0, 30.0, 300.0])) * rng.normal(size=n_parts)
    change = rng.choice([-1.0, 0.0, 1.0], size=n_parts)
    if draw(st.booleans()):
        change = rng.normal(size=n_parts)
    step = draw(st.sampled_from([0.0, 1e-8, 1e-3, 0.1, 1.0, 10.0, 200.0]))
    return w + step * change + draw(st.floats(-50, 50)), w


def opposite_halves(n_parts, distance):
    """Return v and -v, with the distance on one half and its negative on the other."""
    sign = np.where(np.arange(n_parts) < n_parts // 2, 1.0, -1.0)
    return distance * sign, -distance * sign


# T3 and T6: the simplex


@several
@given(logit_pairs())
def test_t3_the_softmax_lies_on_the_simplex(pair):
    for logits in pair:
        p = policy(logits)[0]
        assert np.all(p >= 0.0)
        np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-12)
        if np.ptp(logits) < 700.0:  # below, floating point has no positive number
            assert np.all(p > 0.0)


@several
@given(
    st.sampled_from(["alr", "clr", "ilr"]),
    seeds,
    st.integers(2, LARGEST_STEP),
    st.sampled_from([1e-8, 1.0, 20.0]),
)
def test_t3_log_ratios_and_softmax_are_inverse(kind, seed, n_parts, spread):
    rng = np.random.default_rng(seed)
    p = policy(spread * rng.uniform(-1, 1, size=(3, n_parts)))
    transformer = LogRatioTransformer(kind, reference=int(rng.integers(n_parts))).fit(p)
    z = transformer.transform(p)
    np.testing.assert_allclose(transformer.inverse_transform(z), p, rtol=1e-9)
    z = spread * rng.uniform(-1, 1, size=z.shape)
    if kind == "clr":
        z -= z.mean(axis=1, keepdims=True)
    back = transformer.transform(transformer.inverse_transform(z))
    np.testing.assert_allclose(back, z, atol=1e-10 * max(spread, 1.0))


@several
@given(logit_pairs(), st.floats(-300, 300))
def test_t6_a_shift_of_all_logits_changes_nothing(pair, shift):
    logits = pair[0]
    slack = 1e-13 * (1.0 + np.abs(logits).max() + abs(shift))
    distance = np.abs(policy(logits + shift) - policy(logits)).sum()
    assert distance <= slack
    # The converse: equal policies have logits that differ by a constant.
    p = policy(np.clip(logits, -20, 20))
    recovered = LogRatioTransformer("clr").fit_transform(p)[0]
    assert np.ptp(recovered - np.clip(logits, -20, 20)) <= 1e-9


# T4, T5 and T7: how far a policy moves


@settings(several, max_examples=200)
@given(logit_pairs())
@example(opposite_halves(2, 0.0))
@example(opposite_halves(2, 1e-4))
@example(opposite_halves(LARGEST_STEP, 1e-4))
@example(opposite_halves(3, 50.0))
def test_t5_the_softmax_is_1_lipschitz(pair):
    v, w = pair
    distance = np.abs(policy(v) - policy(w)).sum()
    spread = np.ptp(v - w)
    slack = 1e-13 * (1.0 + np.abs(v).max() + np.abs(w).max())
    assert distance <= 2.0 * np.tanh(spread / 4.0) + slack
    assert distance <= np.abs(v - w).max() + slack


@pytest.mark.parametrize("n_parts", [2, 4, LARGEST_STEP])
@pytest.mark.parametrize("spread", [1e-3, 0.1, 1.0, 5.0, 40.0])
def test_t5_is_attained(n_parts, spread):
    v, w = opposite_halves(n_parts, spread / 4.0)
    distance = np.abs(policy(v) - policy(w)).sum()
    np.testing.assert_allclose(distance, 2.0 * np.tanh(spread / 4.0), rtol=1e-9)
    if spread == 1e-3:  # no constant below 1 would do
        assert distance / np.abs(v - w).max() > 1.0 - 1e-6


@several
@given(logit_pairs(), seeds, st.sampled_from([1e-3, 1.0, 1e4]), st.floats(-10, 10))
def test_t7_values_differ_by_half_the_distance_times_the_range(pair, seed, scale, at):
    p, q = policy(pair[0])[0], policy(pair[1])[0]
    distance = total_variation_distance(p[None], q[None])[0]
    np.testing.assert_allclose(distance, np.abs(p - q).sum() / 2, atol=1e-12)
    payoff = at + scale * np.random.default_rng(seed).normal(size=len(p))
    slack = 1e-12 * np.abs(payoff).max()
    assert abs(p @ payoff - q @ payoff) <= np.ptp(payoff) * distance + slack
    best = at + scale * (p > q)  # the payoff that attains it
    np.testing.assert_allclose(abs((p - q) @ best), scale * distance, atol=1e-9 * scale)


def legendre_constants(multi_indices):
    """Lipschitz constants of the Legendre products on the cube, in the sup norm.

    |P_k| is at most 1 and |P_k'| at most k(k+1)/2, both attained at 1.
    """
    size = np.sqrt(2.0 * multi_indices + 1.0)
    ratio = multi_indices * (multi_indices + 1.0) / 2.0
    return size.prod(axis=1) * ratio.sum(axis=1)


@few
@given(seeds, st.integers(2, 12), st.integers(1, 4), st.sampled_from([0.01, 1.0]))
def test_t4_the_policy_is_lipschitz_in_the_inputs(seed, n_parts, degree, scale):
    rng = np.random.default_rng(seed)
    features = PolynomialChaosFeatures(degree, distribution=UNIFORM)
    x, step = rng.uniform(-1, 1, size=(2, 40, 2))
    y = np.clip(x + rng.choice([1e-6, 0.1, 2.0], size=(40, 1)) * step, -1, 1)
    design = features.fit(x).transform(np.vstack([x, y]))
    constants = legendre_constants(features.multi_indices_)
    c = scale * rng.normal(size=(n_parts, len(constants)))
    apart = np.abs(c[:, None] - c[None]) @ constants
    p, q = np.split(policy(design @ c.T), 2)
    moved = np.abs(x - y).max(axis=1)
    assert np.all(np.abs(p - q).sum(axis=1) <= 0.5 * apart.max() * moved + 1e-12)


def test_t4_is_attained_by_two_actions_with_linear_logits():
    features = PolynomialChaosFeatures(1, distribution=UNIFORM).fit(np.zeros((1, 1)))
    constants = legendre_constants(features.multi_indices_)
    c = np.array([[0.0, 0.5], [0.0, -0.5]])
    p, q = policy(features.transform([[1e-4], [-1e-4]]) @ c.T)
    bound = 0.5 * (np.abs(c[0] - c[1]) @ constants) * 2e-4
    np.testing.assert_allclose(np.abs(p - q).sum(), bound, rtol=1e-6)


# T8: totals


def random_compositions(seed, n_parts, n_members=12):
    rng = np.random.default_rng(seed)
    y = policy(3 * rng.normal(size=(n_members, n_parts)))
    return y, rng.dirichlet(np.ones(n_members)), rng


def weighted_variance(z, weights):
    return weights @ np.square(z - weights @ z)


@few
@given(seeds, st.integers(2, LARGEST_STEP))
def test_t8_alr_total_is_the_aitchison_total_and_the_reference(seed, n_parts):
    y, weights, rng = random_compositions(seed, n_parts)
    reference = int(rng.integers(n_parts))
    alr = LogRatioTransformer("alr", reference=reference).fit_transform(y)
    clr = weighted_variance(LogRatioTransformer("clr").fit_transform(y), weights)
    np.testing.assert_allclose(
        weighted_variance(alr, weights).sum(),
        clr.sum() + n_parts * clr[reference],
        rtol=1e-9,
    )


@few
@given(seeds, st.integers(2, LARGEST_STEP))
def test_t8_aitchison_total_does_not_depend_on_the_basis(seed, n_parts):
    y, weights, rng = random_compositions(seed, n_parts)
    clr = LogRatioTransformer("clr").fit_transform(y)
    ilr = LogRatioTransformer("ilr").fit_transform(y)
    rotation = np.linalg.qr(rng.normal(size=(n_parts - 1, n_parts - 1)))[0]
    total = weighted_variance(clr, weights).sum()
    mirrored = LogRatioTransformer("ilr").fit_transform(y[:, ::-1])
    for z in (ilr, ilr @ rotation, mirrored):
        found = weighted_variance(z, weights).sum()
        np.testing.assert_allclose(found, total, rtol=1e-9)


@pytest.mark.parametrize("n_parts", [2, 3, 24, LARGEST_STEP])
def test_t8_the_helmert_matrix_is_a_contrast_matrix(n_parts):
    identity = np.eye(n_parts)
    transformer = LogRatioTransformer("ilr").fit(np.full((1, n_parts), 1.0 / n_parts))
    H = transformer.geometry_.to_coordinates(identity).T
    np.testing.assert_allclose(H, helmert(n_parts), atol=1e-12)


# The project in lean/


def code_of(path):
    """Return the text without comments and docstrings."""
    text = re.sub(r"/-.*?-/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"--.*", "", text)


@pytest.mark.parametrize("path", LEAN, ids=lambda path: path.stem)
def test_lean_files_leave_nothing_open(path):
    code = code_of(path)
    forbidden = r"\b(sorry|admit|axiom|native_decide|unsafe|implemented_by)\b"
    assert re.findall(forbidden, code.replace("#print axioms", "")) == []
    assert "import Mathlib\n" not in path.read_text(encoding="utf-8")
    assert max(map(len, path.read_text(encoding="utf-8").splitlines())) <= 100


def test_every_claim_is_guarded():
    text = (ROOT / "lean" / "Skpce" / "Claims.lean").read_text(encoding="utf-8")
    claims = re.findall(r"^theorem (\w+)", text, flags=re.MULTILINE)
    assert claims
    assert re.findall(r"^#print axioms (\w+)", text, flags=re.MULTILINE) == claims
    assert text.count("#guard_msgs in") == len(claims)


# The proofs that Lean's core has read, without Lean


def said_of(path):
    """Return the docstrings of what a dotted name stands for, and of its class."""
    owner = locate(path.rpartition(".")[0])
    found = [locate(path)] + [owner] * inspect.isclass(owner)
    return " ".join(inspect.getdoc(one) or "" for one in found)


def test_docstrings_say_checked_of_headlines_only():
    known = {theorem["name"] for theorem in HEADLINES}
    for package in ("skpce", "gflownet_envs"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for near in re.findall(r"[^.]*lean/Core[^.]*\.", text):
                named = set(re.findall(r"``([a-z0-9]+(?:_[a-z0-9]+)+)``", near))
                assert named <= known, (path, named - known)


def test_what_is_stated_is_pinned():
    pinned = (CORE / "statements.txt").read_text(encoding="utf-8")
    assert check.statements() == pinned
    assert pinned.count("\ntheorem ") > 80


@pytest.mark.parametrize(
    "path", sorted(CORE.glob("*.lean")), ids=lambda path: path.stem
)
def test_core_leaves_nothing_open(path):
    text = path.read_text(encoding="utf-8")
    assert check.forbidden_words(text) == []
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("theorem", HEADLINES, ids=lambda theorem: theorem["name"])
def test_a_headline_names_its_code_which_names_it_and_has_an_instance(theorem):
    for path in theorem["python"]:
        assert locate(path), path
        assert f"``{theorem['name']}``" in said_of(path), path
    text = (CORE / f"{theorem['file']}.lean").read_text(encoding="utf-8")
    before = text[: text.index(f"theorem {theorem['name']} ")]
    docstring = before[before.rindex("/--") :]
    assert theorem["python"][0].rpartition(".")[2] in docstring
    examples = text[text.rindex("section Examples") :]
    assert re.search(rf"\b{theorem['name']}\b", examples)


@pytest.mark.parametrize("theorem", HEADLINES, ids=lambda theorem: theorem["name"])
def test_a_false_variant_changes_one_place_of_one_statement(theorem):
    true = (CORE / f"{theorem['file']}.lean").read_text(encoding="utf-8")
    false, place = check.mutant_of(theorem)
    known = {item.text for item in check.items_of(true)}
    changed = [item for item in check.items_of(false) if item.text not in known]
    assert [item.name for item in changed] == [theorem["name"]]
    assert (changed[0].first, changed[0].last) == (place.first, place.last)
    assert len(false.splitlines()) == place.last  # nothing follows


@pytest.mark.parametrize(
    ("change", "seen"),
    [
        ("theorem new : 1 = 1 := by sorry", "Sum.lean: sorry is not allowed"),
        ("axiom new : 1 = 2", "Sum.lean: axiom is not allowed"),
        ("instance : Inhabited Nat := ⟨0⟩", "Sum.lean: instance is not allowed"),
        ("  theorem new : 1 = 1 := rfl", "Sum.lean: a statement does not begin"),
        ("theorem new : 1 = 1 := rfl", "statements.txt differs"),
    ],
)
def test_a_file_with_a_hole_or_a_new_statement_is_refused(
    change, seen, tmp_path, monkeypatch
):
    for path in CORE.glob("*.lean"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.setattr(check, "HERE", tmp_path)
    assert check.scan() == []
    with (tmp_path / "Sum.lean").open("a", encoding="utf-8") as file:
        file.write(f"\n{change}\n")
    monkeypatch.setattr("sys.argv", ["check.py"])
    with pytest.raises(SystemExit, match=seen):
        check.main()


def test_lean_is_pinned_by_hash_and_names_no_registry():
    text = (CORE / "package-lock.json").read_text(encoding="utf-8")
    packages = json.loads(text)["packages"]
    wanted = json.loads((CORE / "package.json").read_text())["dependencies"]
    assert {f"node_modules/{name}" for name in wanted} | {""} == set(packages)
    for name, version in wanted.items():
        locked = packages[f"node_modules/{name}"]
        assert locked["version"] == version
        assert re.fullmatch(r"sha512-[\w+/]{86}==", locked["integrity"])
    assert "http" not in text
    assert "resolved" not in text


def test_mathlib_is_pinned():
    manifest = json.loads((ROOT / "lean" / "lake-manifest.json").read_text())
    mathlib = {p["name"]: p for p in manifest["packages"]}["mathlib"]
    assert re.fullmatch(r"[0-9a-f]{40}", mathlib["rev"])
    lakefile = (ROOT / "lean" / "lakefile.toml").read_text(encoding="utf-8")
    assert f'rev = "{mathlib["inputRev"]}"' in lakefile
    toolchain = (ROOT / "lean" / "lean-toolchain").read_text().strip()
    assert toolchain == f"leanprover/lean4:{mathlib['inputRev']}"
    assert "autoImplicit = false" in lakefile
