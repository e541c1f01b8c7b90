import Skpce.Expansion
import Skpce.Share

/-!
# Sobol indices of a function

Sobol indices of an element of a Hilbert space with a basis indexed by multi-indices, and their
continuity in the norm.

## Main definitions

* `Skpce.slopes`: the coefficients of a function other than that of the constant.
* `Skpce.firstOrder`, `Skpce.totalOrder`, `Skpce.closedIndex`: the Sobol indices of a function.

## Main results

* `Skpce.abs_share_slopes_sub_le` (T2): a share moves by at most the distance of the functions
  over the standard deviation.
* `Skpce.tendsto_firstOrder_truncation`, `Skpce.tendsto_totalOrder_truncation`,
  `Skpce.tendsto_closedIndex_truncation` (T2): indices of the truncation converge.

That these shares are the variances of conditional expectations is not proved here.

## References

* B. Sudret, *Global sensitivity analysis using polynomial chaos expansions*, Reliability
  Engineering and System Safety 93 (2008).
-/

namespace Skpce

variable {σ E : Type*} [NormedAddCommGroup E] [InnerProductSpace ℝ E]

/-- The multi-indices other than that of the constant. -/
abbrev NonConstant (σ : Type*) : Type _ :=
  {j : σ → ℕ // j ≠ 0}

/-- The coefficients of `g` other than that of `b 0`, the constant. That `b 0` is constant gives
the indices their meaning; no theorem here needs it. -/
noncomputable def slopes (b : HilbertBasis (σ → ℕ) ℝ E) (g : E) (j : NonConstant σ) : ℝ :=
  coefficient b g j.1

/-- The weights of a set of terms: 1 on it, 0 elsewhere. -/
noncomputable def termWeight (T : Set (NonConstant σ)) : NonConstant σ → ℝ :=
  Set.indicator T (fun _ => 1)

/-- First-order index of input `i`: the terms in which no other input occurs. -/
noncomputable def firstOrder (b : HilbertBasis (σ → ℕ) ℝ E) (g : E) (i : σ) : ℝ :=
  share (termWeight {j : NonConstant σ | ∀ l, l ≠ i → j.1 l = 0}) (slopes b g)

/-- Total index of input `i`: the terms in which it occurs. -/
noncomputable def totalOrder (b : HilbertBasis (σ → ℕ) ℝ E) (g : E) (i : σ) : ℝ :=
  share (termWeight {j : NonConstant σ | j.1 i ≠ 0}) (slopes b g)

/-- Closed index of a set `u` of inputs: the terms in which no input outside `u` occurs. -/
noncomputable def closedIndex (b : HilbertBasis (σ → ℕ) ℝ E) (g : E) (u : Set σ) : ℝ :=
  share (termWeight {j : NonConstant σ | ∀ l, l ∉ u → j.1 l = 0}) (slopes b g)

/-- The weights of a set of terms are not negative. -/
theorem termWeight_nonneg (T : Set (NonConstant σ)) (j : NonConstant σ) :
    0 ≤ termWeight T j := by
  by_cases h : j ∈ T
  · -- `Set.indicator_of_mem`, `Set.indicator_of_notMem`: Mathlib.Algebra.Group.Indicator
    have h1 : termWeight T j = 1 := Set.indicator_of_mem h (fun _ => (1 : ℝ))
    rw [h1]
    exact zero_le_one
  · have h0 : termWeight T j = 0 := Set.indicator_of_notMem h (fun _ => (1 : ℝ))
    exact h0.ge

/-- The weights of a set of terms are at most 1. -/
theorem termWeight_le_one (T : Set (NonConstant σ)) (j : NonConstant σ) :
    termWeight T j ≤ 1 := by
  by_cases h : j ∈ T
  · have h1 : termWeight T j = 1 := Set.indicator_of_mem h (fun _ => (1 : ℝ))
    exact h1.le
  · have h0 : termWeight T j = 0 := Set.indicator_of_notMem h (fun _ => (1 : ℝ))
    rw [h0]
    exact zero_le_one

/-- The squared slopes are summable. -/
theorem summable_sq_slopes (b : HilbertBasis (σ → ℕ) ℝ E) (g : E) :
    Summable (fun j => slopes b g j ^ 2) := by
  -- `Summable.comp_injective`: Mathlib.Topology.Algebra.InfiniteSum.Group
  have h := (hasSum_sq_coefficient b g).summable.comp_injective
    (Subtype.val_injective : Function.Injective (fun j : NonConstant σ => j.1))
  exact h

/-- The slopes of `f` and `g` are no further apart than the functions. -/
theorem tsum_sq_slopes_sub_le (b : HilbertBasis (σ → ℕ) ℝ E) (f g : E) :
    ∑' j, (slopes b f j - slopes b g j) ^ 2 ≤ ‖f - g‖ ^ 2 := by
  have hfun : (fun j => (slopes b f j - slopes b g j) ^ 2)
      = fun j => slopes b (f - g) j ^ 2 :=
    funext (fun j => congrArg (fun t : ℝ => t ^ 2) (coefficient_sub b f g j.1).symm)
  rw [hfun]
  -- `hasSum_le_inj`: Mathlib.Topology.Algebra.InfiniteSum.Order
  exact hasSum_le_inj (f := fun j : NonConstant σ => slopes b (f - g) j ^ 2)
    (g := fun j : σ → ℕ => coefficient b (f - g) j ^ 2)
    (fun j : NonConstant σ => j.1) Subtype.val_injective
    (fun j _ => sq_nonneg (coefficient b (f - g) j))
    (fun j => le_refl (slopes b (f - g) j ^ 2)) (summable_sq_slopes b (f - g)).hasSum
    (hasSum_sq_coefficient b (f - g))

/-- **T2.** A variance share moves by at most the L² distance of the two functions over the
standard deviation of one of them. -/
theorem abs_share_slopes_sub_le (b : HilbertBasis (σ → ℕ) ℝ E) (f g : E)
    {θ : NonConstant σ → ℝ} (hθ0 : ∀ j, 0 ≤ θ j) (hθ1 : ∀ j, θ j ≤ 1)
    (hD : 0 < totalVariance (slopes b g)) :
    |share θ (slopes b f) - share θ (slopes b g)|
      ≤ ‖f - g‖ / √(totalVariance (slopes b g)) := by
  have hroot : √(∑' j, (slopes b f j - slopes b g j) ^ 2) ≤ ‖f - g‖ := by
    -- `Real.sqrt_le_sqrt`, `Real.sqrt_sq`: Mathlib.Data.Real.Sqrt
    have h := Real.sqrt_le_sqrt (tsum_sq_slopes_sub_le b f g)
    rwa [Real.sqrt_sq (norm_nonneg (f - g))] at h
  exact (abs_share_sub_le hθ0 hθ1 (summable_sq_slopes b g) (summable_sq_slopes b f) hD).trans
    (div_le_div_of_nonneg_right hroot (Real.sqrt_nonneg _))

variable [Fintype σ] [DecidableEq σ]

/-- **T2.** Every variance share of the truncation converges to that of the function. -/
theorem tendsto_share_truncation (b : HilbertBasis (σ → ℕ) ℝ E) (g : E)
    {θ : NonConstant σ → ℝ} (hθ0 : ∀ j, 0 ≤ θ j) (hθ1 : ∀ j, θ j ≤ 1)
    (hD : 0 < totalVariance (slopes b g)) :
    Filter.Tendsto (fun p => share θ (slopes b (truncation b p g))) Filter.atTop
      (nhds (share θ (slopes b g))) := by
  -- `tendsto_iff_norm_sub_tendsto_zero`: Mathlib.Analysis.Normed.Group.Continuity
  have hnorm : Filter.Tendsto (fun p => ‖truncation b p g - g‖) Filter.atTop (nhds 0) :=
    tendsto_iff_norm_sub_tendsto_zero.mp (tendsto_truncation b g)
  -- `Filter.Tendsto.div_const`: Mathlib.Topology.Algebra.GroupWithZero
  have hbound : Filter.Tendsto
      (fun p => ‖truncation b p g - g‖ / √(totalVariance (slopes b g))) Filter.atTop
      (nhds 0) := by
    have h := hnorm.div_const (√(totalVariance (slopes b g)))
    rwa [zero_div] at h
  have hle : ∀ p, ‖share θ (slopes b (truncation b p g)) - share θ (slopes b g)‖
      ≤ ‖truncation b p g - g‖ / √(totalVariance (slopes b g)) := by
    intro p
    rw [Real.norm_eq_abs]
    exact abs_share_slopes_sub_le b (truncation b p g) g hθ0 hθ1 hD
  -- `squeeze_zero`: Mathlib.Topology.MetricSpace.Pseudo.Lemmas
  exact tendsto_iff_norm_sub_tendsto_zero.mpr
    (squeeze_zero (fun p => norm_nonneg _) hle hbound)

/-- **T2.** First-order indices of the truncation converge. -/
theorem tendsto_firstOrder_truncation (b : HilbertBasis (σ → ℕ) ℝ E) (g : E) (i : σ)
    (hD : 0 < totalVariance (slopes b g)) :
    Filter.Tendsto (fun p => firstOrder b (truncation b p g) i) Filter.atTop
      (nhds (firstOrder b g i)) :=
  tendsto_share_truncation b g (termWeight_nonneg _) (termWeight_le_one _) hD

/-- **T2.** Total indices of the truncation converge. -/
theorem tendsto_totalOrder_truncation (b : HilbertBasis (σ → ℕ) ℝ E) (g : E) (i : σ)
    (hD : 0 < totalVariance (slopes b g)) :
    Filter.Tendsto (fun p => totalOrder b (truncation b p g) i) Filter.atTop
      (nhds (totalOrder b g i)) :=
  tendsto_share_truncation b g (termWeight_nonneg _) (termWeight_le_one _) hD

/-- **T2.** Closed indices of the truncation converge. -/
theorem tendsto_closedIndex_truncation (b : HilbertBasis (σ → ℕ) ℝ E) (g : E) (u : Set σ)
    (hD : 0 < totalVariance (slopes b g)) :
    Filter.Tendsto (fun p => closedIndex b (truncation b p g) u) Filter.atTop
      (nhds (closedIndex b g u)) :=
  tendsto_share_truncation b g (termWeight_nonneg _) (termWeight_le_one _) hD

end Skpce
