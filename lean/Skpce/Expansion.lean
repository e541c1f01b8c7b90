import Mathlib.Analysis.InnerProductSpace.l2Space
import Mathlib.Analysis.SpecialFunctions.Pow.Real
import Mathlib.Data.Fintype.Pi
import Skpce.SoftmaxLipschitz

/-!
# Expansions in an orthonormal basis

Truncation by total degree of the expansion of an element of a Hilbert space, for a Hilbert
basis indexed by multi-indices, and the policy whose logits are expansions.

## Main definitions

* `Skpce.degree`, `Skpce.multiIndices`: total degree, and the index set `multi_indices_` of
  `truncation="total_degree"`.
* `Skpce.coefficient`, `Skpce.truncation`: the coefficients of `g` and its expansion up to total
  degree `p`.
* `Skpce.expansion`: a finite expansion, part by part, at a point.

## Main results

* `Skpce.tendsto_truncation` (T1): the truncations converge to `g`.
* `Skpce.norm_sub_truncation_le` (T1): with `∑ (1 + |j|) ^ (2 r) c_j ^ 2 ≤ B ^ 2` the error is at
  most `B (1 + p) ^ (-r)`.
* `Skpce.sum_abs_policy_sub_le` (T4): the policy is Lipschitz in the inputs in ℓ₁.

Which `r` a Sobolev class gives for Legendre and Hermite polynomials is not proved here, nor
that these are Hilbert bases; the first is shown in words in `docs/mathematics.md`.

## References

* D. Xiu, G. E. Karniadakis, *The Wiener–Askey polynomial chaos*, SIAM J. Sci. Comput. 24 (2002).
-/

namespace Skpce

/-! ### Multi-indices -/

section MultiIndex

variable {σ : Type*} [Fintype σ]

/-- The total degree of a multi-index. -/
def degree (j : σ → ℕ) : ℕ :=
  ∑ i, j i

variable [DecidableEq σ]

variable (σ) in
/-- The multi-indices of total degree at most `p`. -/
def multiIndices (p : ℕ) : Finset (σ → ℕ) :=
  (Fintype.piFinset (fun _ : σ => Finset.range (p + 1))).filter (fun j => degree j ≤ p)

/-- A multi-index is kept when its total degree is at most `p`. -/
theorem mem_multiIndices {p : ℕ} {j : σ → ℕ} : j ∈ multiIndices σ p ↔ degree j ≤ p := by
  constructor
  · intro h
    exact (Finset.mem_filter.mp h).2
  · intro h
    -- `Fintype.mem_piFinset`: Mathlib.Data.Fintype.Pi
    -- `Finset.mem_range`: Mathlib.Data.Finset.Range
    refine Finset.mem_filter.mpr ⟨Fintype.mem_piFinset.mpr (fun i => ?_), h⟩
    -- `Finset.single_le_sum`: Mathlib.Algebra.Order.BigOperators.Group.Finset
    have hi : j i ≤ ∑ l, j l :=
      Finset.single_le_sum (f := j) (fun l _ => Nat.zero_le (j l)) (Finset.mem_univ i)
    exact Finset.mem_range.mpr (Nat.lt_succ_of_le (hi.trans h))

/-- Truncations of higher degree keep more terms. -/
theorem monotone_multiIndices : Monotone (multiIndices σ) := by
  intro p q hpq
  -- `Finset.le_iff_subset`: Mathlib.Data.Finset.Defs
  refine Finset.le_iff_subset.mpr (fun j hj => ?_)
  exact mem_multiIndices.mpr ((mem_multiIndices.mp hj).trans hpq)

/-- Every multi-index is kept in the end. -/
theorem tendsto_multiIndices : Filter.Tendsto (multiIndices σ) Filter.atTop Filter.atTop :=
  -- `Filter.tendsto_atTop_finset_of_monotone`: Mathlib.Order.Filter.AtTopBot.Finset
  Filter.tendsto_atTop_finset_of_monotone monotone_multiIndices
    (fun j => ⟨degree j, mem_multiIndices.mpr le_rfl⟩)

end MultiIndex

/-! ### Coefficients and truncation -/

section Hilbert

open scoped InnerProductSpace

variable {J E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]

/-- The coefficient of `g` on the basis function `b j`. -/
noncomputable def coefficient (b : HilbertBasis J ℝ E) (g : E) (j : J) : ℝ :=
  ⟪b j, g⟫_ℝ

/-- The expansion of `g` is the sum of its coefficients times the basis. -/
theorem hasSum_coefficient (b : HilbertBasis J ℝ E) (g : E) :
    HasSum (fun j => coefficient b g j • b j) g := by
  -- `HilbertBasis.repr_apply_apply`, `HilbertBasis.hasSum_repr`:
  -- Mathlib.Analysis.InnerProductSpace.l2Space
  have h : (fun j : J => b.repr g j • b j) = fun j : J => coefficient b g j • b j :=
    funext (fun j => congrArg (fun t : ℝ => t • b j) (b.repr_apply_apply g j))
  rw [← h]
  exact b.hasSum_repr g

/-- Parseval: the squares of the coefficients sum to the squared norm. -/
theorem hasSum_sq_coefficient (b : HilbertBasis J ℝ E) (g : E) :
    HasSum (fun j => coefficient b g j ^ 2) (‖g‖ ^ 2) := by
  -- `HilbertBasis.hasSum_inner_mul_inner`: Mathlib.Analysis.InnerProductSpace.l2Space
  have h : HasSum (fun j => ⟪g, b j⟫_ℝ * ⟪b j, g⟫_ℝ) ⟪g, g⟫_ℝ :=
    b.hasSum_inner_mul_inner g g
  -- `real_inner_comm`, `real_inner_self_eq_norm_sq`: Mathlib.Analysis.InnerProductSpace.Basic
  have hfun : (fun j => ⟪g, b j⟫_ℝ * ⟪b j, g⟫_ℝ) = fun j => coefficient b g j ^ 2 := by
    funext j
    show ⟪g, b j⟫_ℝ * ⟪b j, g⟫_ℝ = ⟪b j, g⟫_ℝ ^ 2
    rw [real_inner_comm (b j) g, sq]
  rw [hfun, real_inner_self_eq_norm_sq g] at h
  exact h

/-- The coefficients are linear in the function. -/
theorem coefficient_sub (b : HilbertBasis J ℝ E) (f g : E) (j : J) :
    coefficient b (f - g) j = coefficient b f j - coefficient b g j := by
  show ⟪b j, f - g⟫_ℝ = ⟪b j, f⟫_ℝ - ⟪b j, g⟫_ℝ
  -- `inner_sub_right`: Mathlib.Analysis.InnerProductSpace.Basic
  exact inner_sub_right (b j) f g

/-- The coefficients of the terms that are kept drop out of the error. -/
theorem coefficient_sub_sum_of_mem (b : HilbertBasis J ℝ E) (g : E) {s : Finset J} {j : J}
    (hj : j ∈ s) : coefficient b (g - ∑ i ∈ s, coefficient b g i • b i) j = 0 := by
  -- `Orthonormal.inner_right_sum`: Mathlib.Analysis.InnerProductSpace.Orthonormal
  -- `HilbertBasis.orthonormal`: Mathlib.Analysis.InnerProductSpace.l2Space
  have h : coefficient b (∑ i ∈ s, coefficient b g i • b i) j = coefficient b g j := by
    show ⟪b j, ∑ i ∈ s, coefficient b g i • b i⟫_ℝ = coefficient b g j
    exact b.orthonormal.inner_right_sum (coefficient b g) hj
  rw [coefficient_sub, h, sub_self]

/-- The coefficients of the other terms are those of the function. -/
theorem coefficient_sub_sum_of_notMem (b : HilbertBasis J ℝ E) (g : E) {s : Finset J} {j : J}
    (hj : j ∉ s) :
    coefficient b (g - ∑ i ∈ s, coefficient b g i • b i) j = coefficient b g j := by
  have h : coefficient b (∑ i ∈ s, coefficient b g i • b i) j = 0 := by
    show ⟪b j, ∑ i ∈ s, coefficient b g i • b i⟫_ℝ = 0
    -- `inner_sum`, `inner_smul_right`: Mathlib.Analysis.InnerProductSpace.Basic
    rw [inner_sum]
    refine Finset.sum_eq_zero (fun i hi => ?_)
    have hne : j ≠ i := by
      intro hji
      rw [hji] at hj
      exact hj hi
    have horth : ⟪b j, b i⟫_ℝ = 0 := b.orthonormal.2 hne
    rw [inner_smul_right, horth, mul_zero]
  rw [coefficient_sub, h, sub_zero]

/-- The error of a finite part of the expansion, when the squares of the coefficients are
summable against the squares of the weights `ω`: if `ω j ≥ W` for all terms left out, then
`(W ‖error‖) ^ 2` is at most the weighted sum. -/
theorem sq_mul_norm_sub_sum_le (b : HilbertBasis J ℝ E) (g : E) (s : Finset J) {ω : J → ℝ}
    {W : ℝ} (hW : 0 ≤ W) (hω : ∀ j, j ∉ s → W ≤ ω j)
    (hsum : Summable (fun j => (ω j * coefficient b g j) ^ 2)) :
    (W * ‖g - ∑ i ∈ s, coefficient b g i • b i‖) ^ 2
      ≤ ∑' j, (ω j * coefficient b g j) ^ 2 := by
  have herror : HasSum
      (fun j => W ^ 2 * coefficient b (g - ∑ i ∈ s, coefficient b g i • b i) j ^ 2)
      (W ^ 2 * ‖g - ∑ i ∈ s, coefficient b g i • b i‖ ^ 2) :=
    -- `HasSum.mul_left`: Mathlib.Topology.Algebra.InfiniteSum.Ring
    (hasSum_sq_coefficient b (g - ∑ i ∈ s, coefficient b g i • b i)).mul_left (W ^ 2)
  have hterm : ∀ j, W ^ 2 * coefficient b (g - ∑ i ∈ s, coefficient b g i • b i) j ^ 2
      ≤ (ω j * coefficient b g j) ^ 2 := by
    intro j
    by_cases hj : j ∈ s
    · rw [coefficient_sub_sum_of_mem b g hj]
      have h0 : W ^ 2 * (0 : ℝ) ^ 2 = 0 := by ring
      rw [h0]
      exact sq_nonneg _
    · rw [coefficient_sub_sum_of_notMem b g hj, mul_pow]
      -- `pow_le_pow_left₀`: Mathlib.Algebra.Order.GroupWithZero.Unbundled.Basic
      exact mul_le_mul_of_nonneg_right (pow_le_pow_left₀ hW (hω j hj) 2) (sq_nonneg _)
  -- `hasSum_le`: Mathlib.Topology.Algebra.InfiniteSum.Order
  -- `Summable.hasSum`: Mathlib.Topology.Algebra.InfiniteSum.Defs
  have hle := hasSum_le hterm herror hsum.hasSum
  rw [mul_pow]
  exact hle

variable {σ : Type*} [Fintype σ] [DecidableEq σ]

/-- The expansion of `g` up to total degree `p`. -/
noncomputable def truncation (b : HilbertBasis (σ → ℕ) ℝ E) (p : ℕ) (g : E) : E :=
  ∑ j ∈ multiIndices σ p, coefficient b g j • b j

/-- **T1.** The truncations by total degree converge to `g`. -/
theorem tendsto_truncation (b : HilbertBasis (σ → ℕ) ℝ E) (g : E) :
    Filter.Tendsto (fun p => truncation b p g) Filter.atTop (nhds g) := by
  have h : Filter.Tendsto (fun s : Finset (σ → ℕ) => ∑ j ∈ s, coefficient b g j • b j)
      Filter.atTop (nhds g) := hasSum_coefficient b g
  -- `Filter.Tendsto.comp`: Mathlib.Order.Filter.Tendsto
  exact h.comp tendsto_multiIndices

/-- **T1.** If `∑ ((1 + |j|) ^ r c_j) ^ 2 ≤ B ^ 2`, the truncation at total degree `p` has an
error of at most `B (1 + p) ^ (-r)`. -/
theorem norm_sub_truncation_le (b : HilbertBasis (σ → ℕ) ℝ E) (g : E) {r B : ℝ} (hr : 0 ≤ r)
    (hB : 0 ≤ B)
    (hsum : Summable (fun j : σ → ℕ => ((1 + (degree j : ℝ)) ^ r * coefficient b g j) ^ 2))
    (hle : ∑' j : σ → ℕ, ((1 + (degree j : ℝ)) ^ r * coefficient b g j) ^ 2 ≤ B ^ 2) (p : ℕ) :
    ‖g - truncation b p g‖ ≤ B * (1 + (p : ℝ)) ^ (-r) := by
  have hp : (0 : ℝ) < 1 + (p : ℝ) := by
    -- `Nat.cast_nonneg`: Mathlib.Data.Nat.Cast.Order.Ring
    have h0 : (0 : ℝ) ≤ (p : ℝ) := Nat.cast_nonneg p
    linarith
  -- `Real.rpow_pos_of_pos`, `Real.rpow_le_rpow`, `Real.rpow_neg`:
  -- Mathlib.Analysis.SpecialFunctions.Pow.Real
  have hW : 0 < (1 + (p : ℝ)) ^ r := Real.rpow_pos_of_pos hp r
  have hω : ∀ j : σ → ℕ, j ∉ multiIndices σ p
      → (1 + (p : ℝ)) ^ r ≤ (1 + (degree j : ℝ)) ^ r := by
    intro j hj
    have hlt : p < degree j := not_le.mp (fun h => hj (mem_multiIndices.mpr h))
    -- `Nat.cast_le`: Mathlib.Data.Nat.Cast.Order.Basic
    have hcast : (p : ℝ) ≤ (degree j : ℝ) := Nat.cast_le.mpr hlt.le
    exact Real.rpow_le_rpow hp.le (by linarith) hr
  have hsq : ((1 + (p : ℝ)) ^ r * ‖g - truncation b p g‖) ^ 2 ≤ B ^ 2 :=
    (sq_mul_norm_sub_sum_le b g (multiIndices σ p) hW.le hω hsum).trans hle
  have hmul : (1 + (p : ℝ)) ^ r * ‖g - truncation b p g‖ ≤ B :=
    (le_abs_self _).trans (abs_le_of_sq_le_sq hsq hB)
  -- `le_div_iff₀`: Mathlib.Algebra.Order.GroupWithZero.Unbundled.Basic
  rw [Real.rpow_neg hp.le, ← div_eq_mul_inv, le_div_iff₀ hW, mul_comm]
  exact hmul

end Hilbert

/-! ### The policy whose logits are expansions -/

section Policy

variable {ι : Type*} [Fintype ι] {J X : Type*}

/-- The finite expansion with terms `s`, basis functions `ψ` and one row of coefficients for each
part `k`, at the input `x`. -/
noncomputable def expansion (s : Finset J) (ψ : J → X → ℝ) (c : ι → J → ℝ) (x : X) (k : ι) : ℝ :=
  ∑ j ∈ s, c k j * ψ j x

/-- **T4.** Let every basis function be Lipschitz on `U` with constant `L j`, and let
`∑ |c_kj - c_lj| L_j ≤ R` for all parts `k`, `l`. Then the softmax of the expansion is Lipschitz
on `U` from the inputs to ℓ₁, with constant `R / 2`. -/
theorem sum_abs_policy_sub_le [Nonempty ι] [PseudoMetricSpace X] {s : Finset J}
    {ψ : J → X → ℝ} {c : ι → J → ℝ} {U : Set X} {L : J → ℝ} {R : ℝ}
    (hψ : ∀ j ∈ s, ∀ x ∈ U, ∀ y ∈ U, |ψ j x - ψ j y| ≤ L j * dist x y)
    (hR : ∀ k l, ∑ j ∈ s, |c k j - c l j| * L j ≤ R) {x y : X} (hx : x ∈ U) (hy : y ∈ U) :
    ∑ k, |softmax (expansion s ψ c x) k - softmax (expansion s ψ c y) k|
      ≤ R / 2 * dist x y := by
  have hrange : ∀ k l, (expansion s ψ c x k - expansion s ψ c y k)
      - (expansion s ψ c x l - expansion s ψ c y l) ≤ R * dist x y := by
    intro k l
    have hdiff : ∀ i, expansion s ψ c x i - expansion s ψ c y i
        = ∑ j ∈ s, c i j * (ψ j x - ψ j y) := by
      intro i
      show (∑ j ∈ s, c i j * ψ j x) - ∑ j ∈ s, c i j * ψ j y
        = ∑ j ∈ s, c i j * (ψ j x - ψ j y)
      rw [← Finset.sum_sub_distrib]
      exact Finset.sum_congr rfl (fun j _ => (mul_sub _ _ _).symm)
    have hterm : ∀ j ∈ s, (c k j - c l j) * (ψ j x - ψ j y)
        ≤ |c k j - c l j| * L j * dist x y := by
      intro j hj
      calc (c k j - c l j) * (ψ j x - ψ j y) ≤ |(c k j - c l j) * (ψ j x - ψ j y)| :=
            le_abs_self _
        _ = |c k j - c l j| * |ψ j x - ψ j y| := abs_mul _ _
        _ ≤ |c k j - c l j| * (L j * dist x y) :=
            mul_le_mul_of_nonneg_left (hψ j hj x hx y hy) (abs_nonneg _)
        _ = |c k j - c l j| * L j * dist x y := (mul_assoc _ _ _).symm
    calc (expansion s ψ c x k - expansion s ψ c y k)
          - (expansion s ψ c x l - expansion s ψ c y l)
        = ∑ j ∈ s, (c k j - c l j) * (ψ j x - ψ j y) := by
          rw [hdiff k, hdiff l, ← Finset.sum_sub_distrib]
          exact Finset.sum_congr rfl (fun j _ => (sub_mul _ _ _).symm)
      _ ≤ ∑ j ∈ s, |c k j - c l j| * L j * dist x y := Finset.sum_le_sum hterm
      _ = (∑ j ∈ s, |c k j - c l j| * L j) * dist x y := (Finset.sum_mul _ _ _).symm
      _ ≤ R * dist x y :=
          -- `dist_nonneg`: Mathlib.Topology.MetricSpace.Pseudo.Defs
          mul_le_mul_of_nonneg_right (hR k l) dist_nonneg
  calc ∑ k, |softmax (expansion s ψ c x) k - softmax (expansion s ψ c y) k|
      ≤ R * dist x y / 2 := sum_abs_softmax_sub_le _ _ hrange
    _ = R / 2 * dist x y := by ring

end Policy

end Skpce
