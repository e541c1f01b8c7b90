import Mathlib.Algebra.BigOperators.Field
import Mathlib.Algebra.Order.BigOperators.Group.Finset
import Mathlib.Analysis.SpecialFunctions.Log.Basic
import Mathlib.Tactic.Linarith

/-!
# The softmax

The map from log-ratios to a policy, as `scipy.special.softmax` and
`LogRatioGeometry.compositions` compute it.

## Main definitions

* `Skpce.softmax`: `exp v_k / ∑ l, exp v_l`.

## Main results

* `Skpce.softmax_pos`, `Skpce.sum_softmax`: the softmax is a point of the open simplex (T3).

## References

* J. Aitchison, *The Statistical Analysis of Compositional Data*, JRSS B 44 (1982).
-/

namespace Skpce

section Softmax

variable {ι : Type*} [Fintype ι]

/-- The softmax of `v` at part `k`: `exp v_k` over the sum of the exponentials. There is no
part, hence nothing to say, when `ι` is empty. -/
noncomputable def softmax (v : ι → ℝ) (k : ι) : ℝ :=
  Real.exp (v k) / ∑ l, Real.exp (v l)

/-- The denominator of the softmax is positive. -/
theorem sum_exp_pos [Nonempty ι] (v : ι → ℝ) : 0 < ∑ l, Real.exp (v l) :=
  -- `Finset.sum_pos`: Mathlib.Algebra.Order.BigOperators.Group.Finset
  -- `Finset.univ_nonempty`: Mathlib.Data.Finset.BooleanAlgebra
  -- `Real.exp_pos`: Mathlib.Data.Complex.Exponential
  Finset.sum_pos (fun l _ => Real.exp_pos (v l)) Finset.univ_nonempty

/-- **T3.** Every entry of a softmax is positive. -/
theorem softmax_pos [Nonempty ι] (v : ι → ℝ) (k : ι) : 0 < softmax v k :=
  -- `div_pos`: Mathlib.Algebra.Order.GroupWithZero.Unbundled.Basic
  div_pos (Real.exp_pos (v k)) (sum_exp_pos v)

/-- **T3.** The entries of a softmax sum to one. -/
theorem sum_softmax [Nonempty ι] (v : ι → ℝ) : ∑ k, softmax v k = 1 := by
  calc ∑ k, softmax v k = ∑ k, Real.exp (v k) / ∑ l, Real.exp (v l) := rfl
    -- `Finset.sum_div`: Mathlib.Algebra.BigOperators.Field
    _ = (∑ k, Real.exp (v k)) / ∑ l, Real.exp (v l) := (Finset.sum_div _ _ _).symm
    -- `div_self`: Mathlib.Algebra.GroupWithZero.Units.Basic
    _ = 1 := div_self (sum_exp_pos v).ne'

end Softmax

end Skpce
