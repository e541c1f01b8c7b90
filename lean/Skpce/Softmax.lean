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
* `Skpce.maskedSoftmax`: the softmax over a set of possible parts, `0` on the others.

## Main results

* `Skpce.softmax_pos`, `Skpce.sum_softmax`: the softmax is a point of the open simplex (T3).
* `Skpce.softmax_eq_softmax_iff`: two inputs have one softmax exactly when they differ by a
  constant (T6 and its converse).
* `Skpce.maskedSoftmax_eq_softmax`: on the possible parts the masked softmax is the softmax of
  those parts alone (T3).

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

/-- **T6.** Adding one number to all inputs does not change the softmax. -/
theorem softmax_add_const (v : ι → ℝ) (c : ℝ) : softmax (fun k => v k + c) = softmax v := by
  funext k
  have h : ∑ l, Real.exp (v l + c) = (∑ l, Real.exp (v l)) * Real.exp c := by
    -- `Finset.sum_mul`: Mathlib.Algebra.BigOperators.Ring.Finset
    rw [Finset.sum_mul]
    -- `Finset.sum_congr`: Mathlib.Algebra.BigOperators.Group.Finset.Basic
    -- `Real.exp_add`: Mathlib.Data.Complex.Exponential
    exact Finset.sum_congr rfl (fun l _ => Real.exp_add (v l) c)
  show Real.exp (v k + c) / ∑ l, Real.exp (v l + c) = Real.exp (v k) / ∑ l, Real.exp (v l)
  -- `mul_div_mul_right`: Mathlib.Algebra.GroupWithZero.Units.Basic
  rw [h, Real.exp_add (v k) c, mul_div_mul_right _ _ (Real.exp_pos c).ne']

/-- The logarithm of a softmax is its input less the logarithm of the denominator. -/
theorem log_softmax [Nonempty ι] (v : ι → ℝ) (k : ι) :
    Real.log (softmax v k) = v k - Real.log (∑ l, Real.exp (v l)) := by
  show Real.log (Real.exp (v k) / ∑ l, Real.exp (v l))
    = v k - Real.log (∑ l, Real.exp (v l))
  -- `Real.log_div`, `Real.log_exp`: Mathlib.Analysis.SpecialFunctions.Log.Basic
  rw [Real.log_div (Real.exp_pos (v k)).ne' (sum_exp_pos v).ne', Real.log_exp]

/-- **T6.** Two inputs have the same softmax if and only if they differ by a constant. -/
theorem softmax_eq_softmax_iff [Nonempty ι] (v w : ι → ℝ) :
    softmax v = softmax w ↔ ∃ c : ℝ, ∀ k, v k = w k + c := by
  constructor
  · intro h
    refine ⟨Real.log (∑ l, Real.exp (v l)) - Real.log (∑ l, Real.exp (w l)), fun k => ?_⟩
    have hk : Real.log (softmax v k) = Real.log (softmax w k) := by rw [h]
    rw [log_softmax v k, log_softmax w k] at hk
    linarith
  · rintro ⟨c, hc⟩
    have hv : v = fun k => w k + c := funext hc
    rw [hv]
    exact softmax_add_const w c

/-- **T3.** The softmax of the logarithms of a composition is the composition. -/
theorem softmax_log {p : ι → ℝ} (hp : ∀ k, 0 < p k) (hp1 : ∑ k, p k = 1) :
    softmax (fun k => Real.log (p k)) = p := by
  funext k
  have h : ∑ l, Real.exp (Real.log (p l)) = ∑ l, p l :=
    -- `Real.exp_log`: Mathlib.Analysis.SpecialFunctions.Log.Basic
    Finset.sum_congr rfl (fun l _ => Real.exp_log (hp l))
  show Real.exp (Real.log (p k)) / ∑ l, Real.exp (Real.log (p l)) = p k
  -- `div_one`: Mathlib.Algebra.Group.Basic
  rw [h, hp1, Real.exp_log (hp k), div_one]

end Softmax

/-! ### Masks -/

section Mask

variable {ι : Type*} [DecidableEq ι]

/-- The softmax over the possible parts `m`: masked parts do not enter the denominator and are
exactly `0`. With no possible part it is `0` everywhere. -/
noncomputable def maskedSoftmax (m : Finset ι) (v : ι → ℝ) (k : ι) : ℝ :=
  if k ∈ m then Real.exp (v k) / ∑ l ∈ m, Real.exp (v l) else 0

/-- **T3.** Masked parts come back exactly `0`. -/
theorem maskedSoftmax_of_notMem {m : Finset ι} (v : ι → ℝ) {k : ι} (hk : k ∉ m) :
    maskedSoftmax m v k = 0 :=
  if_neg hk

/-- **T3.** On the possible parts the masked softmax is the softmax of those parts alone. -/
theorem maskedSoftmax_eq_softmax {m : Finset ι} (v : ι → ℝ) (k : m) :
    maskedSoftmax m v k = softmax (fun l : m => v l) k := by
  -- `Finset.sum_coe_sort`: Mathlib.Algebra.BigOperators.Group.Finset.Basic
  have h : ∑ l : m, Real.exp (v l) = ∑ l ∈ m, Real.exp (v l) :=
    Finset.sum_coe_sort m (fun l => Real.exp (v l))
  show (if (k : ι) ∈ m then Real.exp (v k) / ∑ l ∈ m, Real.exp (v l) else 0)
    = Real.exp (v k) / ∑ l : m, Real.exp (v l)
  rw [if_pos k.2, h]

/-- **T3.** The possible parts are positive. -/
theorem maskedSoftmax_pos {m : Finset ι} (v : ι → ℝ) {k : ι} (hk : k ∈ m) :
    0 < maskedSoftmax m v k := by
  haveI : Nonempty m := ⟨⟨k, hk⟩⟩
  have h := softmax_pos (fun l : m => v l) ⟨k, hk⟩
  rwa [← maskedSoftmax_eq_softmax (m := m) v ⟨k, hk⟩] at h

/-- **T3.** The masked softmax sums to one as soon as one part is possible. -/
theorem sum_maskedSoftmax [Fintype ι] {m : Finset ι} (hm : m.Nonempty) (v : ι → ℝ) :
    ∑ k, maskedSoftmax m v k = 1 := by
  have hZ : 0 < ∑ l ∈ m, Real.exp (v l) := Finset.sum_pos (fun l _ => Real.exp_pos (v l)) hm
  -- `Finset.sum_subset`: Mathlib.Algebra.BigOperators.Group.Finset.Basic
  -- `Finset.subset_univ`: Mathlib.Data.Fintype.Defs
  have h : ∑ k ∈ m, maskedSoftmax m v k = ∑ k, maskedSoftmax m v k :=
    Finset.sum_subset (Finset.subset_univ m)
      (fun k _ hk => maskedSoftmax_of_notMem v hk)
  calc ∑ k, maskedSoftmax m v k = ∑ k ∈ m, maskedSoftmax m v k := h.symm
    _ = ∑ k ∈ m, Real.exp (v k) / ∑ l ∈ m, Real.exp (v l) :=
      Finset.sum_congr rfl (fun k hk => if_pos hk)
    _ = (∑ k ∈ m, Real.exp (v k)) / ∑ l ∈ m, Real.exp (v l) := (Finset.sum_div _ _ _).symm
    _ = 1 := div_self hZ.ne'

end Mask

end Skpce
