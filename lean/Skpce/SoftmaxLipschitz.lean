import Mathlib.Analysis.Calculus.Deriv.MeanValue
import Mathlib.Analysis.SpecialFunctions.ExpDeriv
import Mathlib.Tactic.Ring
import Skpce.Softmax

/-!
# How far the softmax moves

## Main results

* `Skpce.sum_abs_softmax_sub_mul_le`: with `v - w` of range at most `r`, the ℓ₁ distance of the
  policies is at most `2 (s - 1) / (s + 1)` with `s = exp (r / 2)`, that is `2 tanh (r / 4)`.
* `Skpce.sum_abs_softmax_sub_le`: it is at most `r / 2`.
* `Skpce.sum_abs_softmax_sub_le_norm` (T5): it is at most `‖v - w‖`, the largest difference, for
  all `v` and `w`. The constant is `1`, not `2`.
* `Skpce.abs_value_sub_le` (T7): the difference of two values is at most the range of the payoff
  times half the ℓ₁ distance; `Skpce.abs_softmax_value_sub_le` for two softmax policies.

The proof goes through the odds of one set of parts. It needs one fact of calculus,
`2 (exp t - 1) ≤ t (exp t + 1)`.
-/

namespace Skpce

variable {ι : Type*} [Fintype ι]

/-- `2 (exp t - 1) ≤ t (exp t + 1)` for `t ≥ 0`: the hyperbolic tangent is below its argument. -/
theorem two_mul_exp_sub_one_le {t : ℝ} (ht : 0 ≤ t) :
    2 * (Real.exp t - 1) ≤ t * (Real.exp t + 1) := by
  have hderiv : ∀ x : ℝ, HasDerivAt (fun y : ℝ => (y - 2) * Real.exp y + y)
      (1 * Real.exp x + (x - 2) * Real.exp x + 1) x := by
    intro x
    -- `hasDerivAt_id'`: Mathlib.Analysis.Calculus.Deriv.Basic
    -- `HasDerivAt.sub_const`, `HasDerivAt.add`: Mathlib.Analysis.Calculus.Deriv.Add
    have h1 : HasDerivAt (fun y : ℝ => y - 2) 1 x := (hasDerivAt_id' x).sub_const 2
    -- `HasDerivAt.mul`: Mathlib.Analysis.Calculus.Deriv.Mul
    -- `Real.hasDerivAt_exp`: Mathlib.Analysis.SpecialFunctions.ExpDeriv
    have h2 : HasDerivAt (fun y : ℝ => (y - 2) * Real.exp y)
        (1 * Real.exp x + (x - 2) * Real.exp x) x := h1.mul (Real.hasDerivAt_exp x)
    exact h2.add (hasDerivAt_id' x)
  have hmono : Monotone (fun y : ℝ => (y - 2) * Real.exp y + y) := by
    -- `monotone_of_deriv_nonneg`: Mathlib.Analysis.Calculus.Deriv.MeanValue
    -- `HasDerivAt.differentiableAt`, `HasDerivAt.deriv`: Mathlib.Analysis.Calculus.Deriv.Basic
    refine monotone_of_deriv_nonneg (fun x => (hderiv x).differentiableAt) (fun x => ?_)
    rw [(hderiv x).deriv]
    -- `Real.add_one_le_exp`: Mathlib.Data.Complex.Exponential
    have h1 : 1 - x ≤ Real.exp (-x) := by linarith [Real.add_one_le_exp (-x)]
    have h2 : Real.exp (-x) * Real.exp x = 1 := by
      -- `Real.exp_zero`: Mathlib.Data.Complex.Exponential
      rw [← Real.exp_add, neg_add_cancel, Real.exp_zero]
    have h3 : (1 - x) * Real.exp x ≤ Real.exp (-x) * Real.exp x :=
      -- `mul_le_mul_of_nonneg_right`: Mathlib.Algebra.Order.GroupWithZero.Unbundled.Defs
      mul_le_mul_of_nonneg_right h1 (Real.exp_pos x).le
    rw [h2] at h3
    linarith
  have h0 : ((0 : ℝ) - 2) * Real.exp 0 + 0 ≤ (t - 2) * Real.exp t + t := hmono ht
  rw [Real.exp_zero] at h0
  linarith

/-- If the odds of `b` are at most `s ^ 2` times the odds of `a`, then `b - a` is at most
`(s - 1) / (s + 1)`. -/
theorem sub_mul_le_of_odds {a b s : ℝ} (hs : 1 ≤ s) (ha : 0 ≤ a) (hb : b ≤ 1)
    (h : b * (1 - a) ≤ s ^ 2 * (a * (1 - b))) : (b - a) * (s + 1) ≤ s - 1 := by
  have hs2 : 0 ≤ (s - 1) * (s + 1) := mul_nonneg (by linarith) (by linarith)
  have hsq : 0 ≤ (s - 1) * (s + 1) * (1 - a - b) ^ 2 := mul_nonneg hs2 (sq_nonneg _)
  have key : (s * (1 - (b - a))) ^ 2 - (1 + (b - a)) ^ 2
      = 4 * (s ^ 2 * (a * (1 - b)) - b * (1 - a)) + (s - 1) * (s + 1) * (1 - a - b) ^ 2 := by
    ring
  have hle : (1 + (b - a)) ^ 2 ≤ (s * (1 - (b - a))) ^ 2 := by
    have h4 : 0 ≤ s ^ 2 * (a * (1 - b)) - b * (1 - a) := by linarith
    have h5 : 0 ≤ (s * (1 - (b - a))) ^ 2 - (1 + (b - a)) ^ 2 := by
      rw [key]
      linarith
    linarith
  have hpos : 0 ≤ s * (1 - (b - a)) := mul_nonneg (by linarith) (by linarith)
  -- `abs_le_of_sq_le_sq`: Mathlib.Algebra.Order.Ring.Abs
  have h6 : 1 + (b - a) ≤ s * (1 - (b - a)) :=
    (le_abs_self _).trans (abs_le_of_sq_le_sq hle hpos)
  linarith

/-- The parts fall into those where `q` is larger and the others. -/
theorem exists_split (p q : ι → ℝ) : ∃ A B : Finset ι,
    (∀ f : ι → ℝ, (∑ k ∈ A, f k) + ∑ k ∈ B, f k = ∑ k, f k) ∧
      (∀ k ∈ A, p k ≤ q k) ∧ ∀ k ∈ B, q k ≤ p k := by
  refine ⟨Finset.univ.filter (fun k => p k < q k), Finset.univ.filter (fun k => ¬p k < q k),
    fun f => ?_, fun k hk => ?_, fun k hk => ?_⟩
  -- `Finset.sum_filter_add_sum_filter_not`: Mathlib.Algebra.BigOperators.Group.Finset.Basic
  · exact Finset.sum_filter_add_sum_filter_not Finset.univ (fun k => p k < q k) f
  -- `Finset.mem_filter`: Mathlib.Data.Finset.Filter
  · exact le_of_lt (Finset.mem_filter.mp hk).2
  · exact not_lt.mp (Finset.mem_filter.mp hk).2

/-- Two compositions whose ratios differ by at most `s ^ 2` are close in ℓ₁. -/
theorem sum_abs_sub_mul_le_of_odds {p q : ι → ℝ} (hp : ∀ k, 0 ≤ p k) (hq : ∀ k, 0 ≤ q k)
    (hp1 : ∑ k, p k = 1) (hq1 : ∑ k, q k = 1) {s : ℝ} (hs : 1 ≤ s)
    (h : ∀ k l, q k * p l ≤ s ^ 2 * (p k * q l)) :
    (∑ k, |q k - p k|) * (s + 1) ≤ 2 * (s - 1) := by
  obtain ⟨A, B, hAB, hA, hB⟩ := exists_split p q
  have hpAB : (∑ k ∈ A, p k) + ∑ k ∈ B, p k = 1 := (hAB p).trans hp1
  have hqAB : (∑ k ∈ A, q k) + ∑ k ∈ B, q k = 1 := (hAB q).trans hq1
  have habs : (∑ k ∈ A, |q k - p k|) + ∑ k ∈ B, |q k - p k| = ∑ k, |q k - p k| :=
    hAB (fun k => |q k - p k|)
  have habsA : ∑ k ∈ A, |q k - p k| = (∑ k ∈ A, q k) - ∑ k ∈ A, p k := by
    -- `Finset.sum_sub_distrib`: Mathlib.Algebra.BigOperators.Group.Finset.Defs
    rw [← Finset.sum_sub_distrib]
    -- `abs_of_nonneg`, `abs_of_nonpos`: Mathlib.Algebra.Order.Group.Unbundled.Abs
    exact Finset.sum_congr rfl (fun k hk => abs_of_nonneg (sub_nonneg.mpr (hA k hk)))
  have habsB : ∑ k ∈ B, |q k - p k| = (∑ k ∈ B, p k) - ∑ k ∈ B, q k := by
    rw [← Finset.sum_sub_distrib]
    refine Finset.sum_congr rfl (fun k hk => ?_)
    rw [abs_of_nonpos (sub_nonpos.mpr (hB k hk)), neg_sub]
  have hodds : (∑ k ∈ A, q k) * (∑ l ∈ B, p l)
      ≤ s ^ 2 * ((∑ k ∈ A, p k) * ∑ l ∈ B, q l) := by
    -- `Finset.sum_mul_sum`, `Finset.mul_sum`: Mathlib.Algebra.BigOperators.Ring.Finset
    rw [Finset.sum_mul_sum, Finset.sum_mul_sum, Finset.mul_sum]
    -- `Finset.sum_le_sum`: Mathlib.Algebra.Order.BigOperators.Group.Finset
    refine Finset.sum_le_sum (fun k _ => ?_)
    rw [Finset.mul_sum]
    exact Finset.sum_le_sum (fun l _ => h k l)
  -- `Finset.sum_nonneg`: Mathlib.Algebra.Order.BigOperators.Group.Finset
  have hpA : 0 ≤ ∑ k ∈ A, p k := Finset.sum_nonneg (fun k _ => hp k)
  have hqB : 0 ≤ ∑ k ∈ B, q k := Finset.sum_nonneg (fun k _ => hq k)
  have hpB : ∑ l ∈ B, p l = 1 - ∑ k ∈ A, p k := by linarith
  have hqB' : ∑ l ∈ B, q l = 1 - ∑ k ∈ A, q k := by linarith
  have hqA : ∑ k ∈ A, q k ≤ 1 := by linarith
  rw [hpB, hqB'] at hodds
  have key := sub_mul_le_of_odds hs hpA hqA hodds
  have htotal : ∑ k, |q k - p k| = 2 * ((∑ k ∈ A, q k) - ∑ k ∈ A, p k) := by
    rw [← habs, habsA, habsB, hpB, hqB']
    ring
  rw [htotal]
  linarith

/-- The ratio of two parts of a softmax changes by the exponential of the change of the
difference of their inputs. -/
theorem softmax_mul_softmax_le [Nonempty ι] (v w : ι → ℝ) {r : ℝ} {k l : ι}
    (h : (v k - w k) - (v l - w l) ≤ r) :
    softmax v k * softmax w l ≤ Real.exp (r / 2) ^ 2 * (softmax w k * softmax v l) := by
  have hexp : Real.exp (v k) * Real.exp (w l)
      ≤ Real.exp (r / 2) ^ 2 * (Real.exp (w k) * Real.exp (v l)) := by
    calc Real.exp (v k) * Real.exp (w l) = Real.exp (v k + w l) := (Real.exp_add _ _).symm
      -- `Real.exp_le_exp`: Mathlib.Data.Complex.Exponential
      _ ≤ Real.exp (r / 2 + r / 2 + (w k + v l)) := Real.exp_le_exp.mpr (by linarith)
      _ = Real.exp (r / 2) ^ 2 * (Real.exp (w k) * Real.exp (v l)) := by
        rw [Real.exp_add (r / 2 + r / 2) (w k + v l), Real.exp_add (r / 2) (r / 2),
          Real.exp_add (w k) (v l), sq]
  have hZ : 0 ≤ (∑ i, Real.exp (v i)) * ∑ i, Real.exp (w i) :=
    (mul_pos (sum_exp_pos v) (sum_exp_pos w)).le
  -- `div_mul_div_comm`: Mathlib.Algebra.Group.Basic
  have hv : softmax v k * softmax w l = Real.exp (v k) * Real.exp (w l)
      / ((∑ i, Real.exp (v i)) * ∑ i, Real.exp (w i)) := div_mul_div_comm _ _ _ _
  have hw : softmax w k * softmax v l = Real.exp (w k) * Real.exp (v l)
      / ((∑ i, Real.exp (v i)) * ∑ i, Real.exp (w i)) := by
    rw [mul_comm (∑ i, Real.exp (v i))]
    exact div_mul_div_comm _ _ _ _
  -- `mul_div_assoc`: Mathlib.Algebra.Group.Defs
  -- `div_le_div_of_nonneg_right`: Mathlib.Algebra.Order.GroupWithZero.Unbundled.Basic
  rw [hv, hw, ← mul_div_assoc]
  exact div_le_div_of_nonneg_right hexp hZ

omit [Fintype ι] in
/-- The hypothesis of the next theorems holds for `k = l`, so `r` is not negative. -/
theorem range_nonneg [Nonempty ι] {v w : ι → ℝ} {r : ℝ}
    (h : ∀ k l, (v k - w k) - (v l - w l) ≤ r) : 0 ≤ r := by
  obtain ⟨k⟩ := ‹Nonempty ι›
  have hk := h k k
  rwa [sub_self] at hk

/-- **T5**, sharp form. If the entries of `v - w` differ by at most `r`, then
`‖softmax v - softmax w‖₁ ≤ 2 tanh (r / 4)`, written without division. Two parts with opposite
inputs attain it. -/
theorem sum_abs_softmax_sub_mul_le [Nonempty ι] (v w : ι → ℝ) {r : ℝ}
    (h : ∀ k l, (v k - w k) - (v l - w l) ≤ r) :
    (∑ k, |softmax v k - softmax w k|) * (Real.exp (r / 2) + 1)
      ≤ 2 * (Real.exp (r / 2) - 1) := by
  have hr : 0 ≤ r / 2 := by linarith [range_nonneg h]
  -- `Real.one_le_exp`: Mathlib.Data.Complex.Exponential
  exact sum_abs_sub_mul_le_of_odds (fun k => (softmax_pos w k).le)
    (fun k => (softmax_pos v k).le) (sum_softmax w) (sum_softmax v) (Real.one_le_exp hr)
    (fun k l => softmax_mul_softmax_le v w (h k l))

/-- **T5**, in the range of the difference: `‖softmax v - softmax w‖₁ ≤ r / 2`. -/
theorem sum_abs_softmax_sub_le [Nonempty ι] (v w : ι → ℝ) {r : ℝ}
    (h : ∀ k l, (v k - w k) - (v l - w l) ≤ r) :
    ∑ k, |softmax v k - softmax w k| ≤ r / 2 := by
  have hr : 0 ≤ r / 2 := by linarith [range_nonneg h]
  have hpos : 0 < Real.exp (r / 2) + 1 := by linarith [Real.exp_pos (r / 2)]
  -- `le_of_mul_le_mul_right`: Mathlib.Algebra.Order.GroupWithZero.Unbundled.Defs
  exact le_of_mul_le_mul_right
    ((sum_abs_softmax_sub_mul_le v w h).trans (two_mul_exp_sub_one_le hr)) hpos

/-- **T5.** The softmax is 1-Lipschitz from the largest difference to ℓ₁, for all `v`, `w`. -/
theorem sum_abs_softmax_sub_le_norm (v w : ι → ℝ) :
    ∑ k, |softmax v k - softmax w k| ≤ ‖v - w‖ := by
  rcases isEmpty_or_nonempty ι with hι | hι
  · -- `Finset.univ_eq_empty`: Mathlib.Data.Finset.BooleanAlgebra
    rw [Finset.univ_eq_empty, Finset.sum_empty]
    exact norm_nonneg _
  · have habs : ∀ k, |v k - w k| ≤ ‖v - w‖ := by
      intro k
      -- `norm_le_pi_norm`: Mathlib.Analysis.Normed.Group.Constructions
      have hk : ‖(v - w) k‖ ≤ ‖v - w‖ := norm_le_pi_norm (v - w) k
      -- `Real.norm_eq_abs`: Mathlib.Analysis.Normed.Group.Basic
      rwa [Pi.sub_apply, Real.norm_eq_abs] at hk
    have hrange : ∀ k l, (v k - w k) - (v l - w l) ≤ 2 * ‖v - w‖ := by
      intro k l
      have hk := (abs_le.mp (habs k)).2
      have hl := (abs_le.mp (habs l)).1
      linarith
    have hle := sum_abs_softmax_sub_le v w hrange
    linarith

/-- **T7.** With a payoff between `m` and `M`, the values of two policies `p`, `q` of equal mass
differ by at most the range of the payoff times half their ℓ₁ distance. -/
theorem abs_value_sub_le {p q u : ι → ℝ} {m M : ℝ} (hsum : ∑ k, p k = ∑ k, q k)
    (hm : ∀ k, m ≤ u k) (hM : ∀ k, u k ≤ M) :
    |(∑ k, p k * u k) - ∑ k, q k * u k| ≤ (M - m) * ((∑ k, |p k - q k|) / 2) := by
  have hid : (∑ k, p k * u k) - ∑ k, q k * u k
      = ∑ k, (p k - q k) * (u k - (m + M) / 2) := by
    have h1 : ∑ k, (p k - q k) * ((m + M) / 2) = 0 := by
      rw [← Finset.sum_mul, Finset.sum_sub_distrib, hsum, sub_self, zero_mul]
    have h2 : ∑ k, (p k - q k) * (u k - (m + M) / 2)
        = ∑ k, (p k * u k - q k * u k - (p k - q k) * ((m + M) / 2)) :=
      Finset.sum_congr rfl (fun k _ => by ring)
    rw [h2, Finset.sum_sub_distrib, h1, sub_zero, Finset.sum_sub_distrib]
  have hterm : ∀ k, |(p k - q k) * (u k - (m + M) / 2)| ≤ |p k - q k| * ((M - m) / 2) := by
    intro k
    have hu : |u k - (m + M) / 2| ≤ (M - m) / 2 :=
      abs_le.mpr ⟨by linarith [hm k], by linarith [hM k]⟩
    -- `abs_mul`: Mathlib.Algebra.Order.Ring.Abs
    rw [abs_mul]
    exact mul_le_mul_of_nonneg_left hu (abs_nonneg _)
  rw [hid]
  -- `Finset.abs_sum_le_sum_abs`: Mathlib.Algebra.Order.BigOperators.Group.Finset
  calc |∑ k, (p k - q k) * (u k - (m + M) / 2)|
      ≤ ∑ k, |(p k - q k) * (u k - (m + M) / 2)| := Finset.abs_sum_le_sum_abs _ _
    _ ≤ ∑ k, |p k - q k| * ((M - m) / 2) := Finset.sum_le_sum (fun k _ => hterm k)
    _ = (∑ k, |p k - q k|) * ((M - m) / 2) := (Finset.sum_mul _ _ _).symm
    _ = (M - m) * ((∑ k, |p k - q k|) / 2) := by ring

/-- **T7** for softmax policies: the value moves by at most half the range of the payoff times
the largest change of a logit. -/
theorem abs_softmax_value_sub_le [Nonempty ι] (v w : ι → ℝ) {u : ι → ℝ} {m M : ℝ}
    (hm : ∀ k, m ≤ u k) (hM : ∀ k, u k ≤ M) :
    |(∑ k, softmax v k * u k) - ∑ k, softmax w k * u k| ≤ (M - m) / 2 * ‖v - w‖ := by
  have hrange : 0 ≤ M - m := by
    obtain ⟨k⟩ := ‹Nonempty ι›
    linarith [hm k, hM k]
  have hsum : ∑ k, softmax v k = ∑ k, softmax w k := (sum_softmax v).trans (sum_softmax w).symm
  calc |(∑ k, softmax v k * u k) - ∑ k, softmax w k * u k|
      ≤ (M - m) * ((∑ k, |softmax v k - softmax w k|) / 2) := abs_value_sub_le hsum hm hM
    _ = (M - m) / 2 * ∑ k, |softmax v k - softmax w k| := by ring
    _ ≤ (M - m) / 2 * ‖v - w‖ :=
      mul_le_mul_of_nonneg_left (sum_abs_softmax_sub_le_norm v w) (by linarith)

end Skpce
