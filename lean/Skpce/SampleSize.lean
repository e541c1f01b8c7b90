import Mathlib.MeasureTheory.Measure.MeasureSpaceDef
import Skpce.Sobol

/-!
# How wrong estimated Sobol indices can be

The deterministic steps of the sample-size bound, and the one probabilistic step as a named
hypothesis.

## Main definitions

* `Skpce.CoefficientTail`: with probability at least `1 - δ` the squared error of the estimated
  coefficients is at most `β`. For Gaussian noise of known variance and least squares a χ²
  quantile gives it (`skpce.sample_size.coefficient_error_bound`). It is a hypothesis here: the χ²
  law is not proved in Lean.

## Main results

* `Skpce.sum_sq_fitted_error`: least squares fits the projection of the noise.
* `Skpce.coefficientTail_of_fitted`: a tail bound of the fitted noise gives one of the
  coefficients, with the smallest eigenvalue of the design.
* `Skpce.CoefficientTail.comp_injective`: the same bound holds without the constant term.
* `Skpce.measure_share_error_le` (A): under `CoefficientTail` all Sobol indices at once are
  within `√β / √D`, with probability at least `1 - δ`.
-/

namespace Skpce

open MeasureTheory

section LeastSquares

variable {N J : Type*} [Fintype N] [Fintype J]

/-- Least squares fits the projection of the noise. With responses `Ψ c + ε` and the normal
equations for `d`, the fitted error `Ψ (d - c)` has squared norm `⟨ε, Ψ (d - c)⟩`. -/
theorem sum_sq_fitted_error {Ψ : N → J → ℝ} {c d : J → ℝ} {ε : N → ℝ}
    (hnormal : ∀ j, ∑ n, Ψ n j * ((∑ l, Ψ n l * c l) + ε n - ∑ l, Ψ n l * d l) = 0) :
    ∑ n, (∑ j, Ψ n j * (d j - c j)) ^ 2 = ∑ n, ε n * ∑ j, Ψ n j * (d j - c j) := by
  have hres : ∀ n, (∑ l, Ψ n l * c l) + ε n - ∑ l, Ψ n l * d l
      = ε n - ∑ j, Ψ n j * (d j - c j) := by
    intro n
    have h : ∑ j, Ψ n j * (d j - c j) = (∑ l, Ψ n l * d l) - ∑ l, Ψ n l * c l := by
      rw [← Finset.sum_sub_distrib]
      exact Finset.sum_congr rfl (fun j _ => mul_sub _ _ _)
    rw [h]
    ring
  have hzero : ∑ n, (∑ j, Ψ n j * (d j - c j)) * (ε n - ∑ j, Ψ n j * (d j - c j)) = 0 := by
    calc ∑ n, (∑ j, Ψ n j * (d j - c j)) * (ε n - ∑ j, Ψ n j * (d j - c j))
        = ∑ n, ∑ j, (d j - c j)
          * (Ψ n j * ((∑ l, Ψ n l * c l) + ε n - ∑ l, Ψ n l * d l)) := by
          refine Finset.sum_congr rfl (fun n _ => ?_)
          rw [hres n, Finset.sum_mul]
          exact Finset.sum_congr rfl (fun j _ => by ring)
      _ = ∑ j, ∑ n, (d j - c j)
          * (Ψ n j * ((∑ l, Ψ n l * c l) + ε n - ∑ l, Ψ n l * d l)) := Finset.sum_comm
      _ = 0 := by
          refine Finset.sum_eq_zero (fun j _ => ?_)
          rw [← Finset.mul_sum, hnormal j, mul_zero]
  have hdiff : (∑ n, ε n * ∑ j, Ψ n j * (d j - c j))
      - ∑ n, (∑ j, Ψ n j * (d j - c j)) ^ 2
      = ∑ n, (∑ j, Ψ n j * (d j - c j)) * (ε n - ∑ j, Ψ n j * (d j - c j)) := by
    rw [← Finset.sum_sub_distrib]
    exact Finset.sum_congr rfl (fun n _ => by ring)
  rw [hzero] at hdiff
  linarith

end LeastSquares

section Tail

variable {Ω J : Type*} [MeasurableSpace Ω] [Fintype J]

/-- **Hypothesis, not a theorem.** The squared error of the estimate `d` of the coefficients `c`
exceeds `β` with probability at most `δ`. -/
def CoefficientTail (P : Measure Ω) (d : Ω → J → ℝ) (c : J → ℝ) (β : ℝ) (δ : ENNReal) : Prop :=
  P {ω : Ω | β < ∑ j, (d ω j - c j) ^ 2} ≤ δ

/-- A bound for all coefficients is one for some of them, such as those of the terms other than
the constant, which make up the variance. -/
theorem CoefficientTail.comp_injective {K : Type*} [Fintype K] {P : Measure Ω}
    {d : Ω → J → ℝ} {c : J → ℝ} {β : ℝ} {δ : ENNReal} (htail : CoefficientTail P d c β δ)
    {e : K → J} (he : Function.Injective e) :
    CoefficientTail P (fun ω k => d ω (e k)) (fun k => c (e k)) β δ := by
  -- `hasSum_le_inj`: Mathlib.Topology.Algebra.InfiniteSum.Order
  -- `hasSum_fintype`: Mathlib.Topology.Algebra.InfiniteSum.Defs
  have hle : ∀ ω, ∑ k, (d ω (e k) - c (e k)) ^ 2 ≤ ∑ j, (d ω j - c j) ^ 2 := fun ω =>
    hasSum_le_inj (f := fun k : K => (d ω (e k) - c (e k)) ^ 2)
      (g := fun j : J => (d ω j - c j) ^ 2) e he (fun j _ => sq_nonneg (d ω j - c j))
      (fun k => le_refl ((d ω (e k) - c (e k)) ^ 2))
      (hasSum_fintype (fun k : K => (d ω (e k) - c (e k)) ^ 2))
      (hasSum_fintype (fun j : J => (d ω j - c j) ^ 2))
  have hsub : {ω : Ω | β < ∑ k, (d ω (e k) - c (e k)) ^ 2}
      ⊆ {ω : Ω | β < ∑ j, (d ω j - c j) ^ 2} := by
    intro ω hω
    have hlt : β < ∑ k, (d ω (e k) - c (e k)) ^ 2 := hω
    show β < ∑ j, (d ω j - c j) ^ 2
    exact hlt.trans_le (hle ω)
  -- `MeasureTheory.measure_mono`: Mathlib.MeasureTheory.OuterMeasure.Basic
  exact (measure_mono (μ := P) hsub).trans htail

/-- From the fitted noise to the coefficients. If `lam` is at most the smallest eigenvalue of
`Ψᵀ Ψ`, which is what `hΨ` says, and the squared norm of `Ψ (d - c)` exceeds `χ` with probability
at most `δ`, then the squared error of the coefficients exceeds `χ / lam` with probability at
most `δ`. -/
theorem coefficientTail_of_fitted {N : Type*} [Fintype N] {P : Measure Ω} {Ψ : N → J → ℝ}
    {d : Ω → J → ℝ} {c : J → ℝ} {lam χ : ℝ} {δ : ENNReal} (hlam : 0 < lam)
    (hΨ : ∀ v : J → ℝ, lam * ∑ j, v j ^ 2 ≤ ∑ n, (∑ j, Ψ n j * v j) ^ 2)
    (htail : P {ω : Ω | χ < ∑ n, (∑ j, Ψ n j * (d ω j - c j)) ^ 2} ≤ δ) :
    CoefficientTail P d c (χ / lam) δ := by
  have hsub : {ω : Ω | χ / lam < ∑ j, (d ω j - c j) ^ 2}
      ⊆ {ω : Ω | χ < ∑ n, (∑ j, Ψ n j * (d ω j - c j)) ^ 2} := by
    intro ω hω
    have h1 : χ / lam < ∑ j, (d ω j - c j) ^ 2 := hω
    -- `div_lt_iff₀`: Mathlib.Algebra.Order.GroupWithZero.Unbundled.Basic
    have h2 : χ < (∑ j, (d ω j - c j) ^ 2) * lam := (div_lt_iff₀ hlam).mp h1
    have h3 : lam * ∑ j, (d ω j - c j) ^ 2 ≤ ∑ n, (∑ j, Ψ n j * (d ω j - c j)) ^ 2 :=
      hΨ (fun j => d ω j - c j)
    show χ < ∑ n, (∑ j, Ψ n j * (d ω j - c j)) ^ 2
    linarith
  exact (measure_mono (μ := P) hsub).trans htail

/-- **A.** Under the tail hypothesis, with probability at least `1 - δ` every share with weights
in `[0, 1]` is within `√β / √D` of the truth, all at once. `D` is the variance of the true
coefficients. -/
theorem measure_share_error_le {P : Measure Ω} {d : Ω → J → ℝ} {c : J → ℝ} {β : ℝ}
    {δ : ENNReal} (htail : CoefficientTail P d c β δ) (hD : 0 < totalVariance c) :
    P {ω : Ω | ∃ θ : J → ℝ, (∀ j, 0 ≤ θ j) ∧ (∀ j, θ j ≤ 1)
      ∧ √β / √(totalVariance c) < |share θ (d ω) - share θ c|} ≤ δ := by
  have hsub : {ω : Ω | ∃ θ : J → ℝ, (∀ j, 0 ≤ θ j) ∧ (∀ j, θ j ≤ 1)
      ∧ √β / √(totalVariance c) < |share θ (d ω) - share θ c|}
      ⊆ {ω : Ω | β < ∑ j, (d ω j - c j) ^ 2} := by
    intro ω hω
    obtain ⟨θ, hθ0, hθ1, hlt⟩ := hω
    show β < ∑ j, (d ω j - c j) ^ 2
    refine not_le.mp (fun hle => ?_)
    -- `HasSum.summable`: Mathlib.Topology.Algebra.InfiniteSum.Defs
    have hbound := abs_share_sub_le hθ0 hθ1 (hasSum_fintype (fun j => c j ^ 2)).summable
      (hasSum_fintype (fun j => d ω j ^ 2)).summable hD
    -- `tsum_fintype`: Mathlib.Topology.Algebra.InfiniteSum.Basic
    rw [tsum_fintype] at hbound
    have hroot : √(∑ j, (d ω j - c j) ^ 2) / √(totalVariance c) ≤ √β / √(totalVariance c) :=
      div_le_div_of_nonneg_right (Real.sqrt_le_sqrt hle) (Real.sqrt_nonneg _)
    exact absurd (hbound.trans hroot) (not_le.mpr hlt)
  exact (measure_mono (μ := P) hsub).trans htail

end Tail

end Skpce
