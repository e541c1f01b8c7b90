import Mathlib.Algebra.Order.Field.Basic
import Skpce.QuadraticForms

/-!
# Variance shares of coefficients

Shares of the variance of a family of coefficients, finite or infinite, and how far they move with
the coefficients.

## Main definitions

* `Skpce.totalVariance`, `Skpce.share`: the variance `∑ c_j ^ 2` of the terms other than the
  constant, and the part `∑ θ_j c_j ^ 2` of it as a share. The share of a constant is `0`.

## Main results

* `Skpce.abs_share_sub_le`: `|S(d) - S(c)| ≤ ‖d - c‖ / √D`, for all weights in `[0, 1]`
  (the deterministic part of the sample-size bound, A).
* `Skpce.abs_share_sub_le_max`: with the larger of the two variances in place of `D`.
-/

namespace Skpce

variable {J : Type*}

/-- The variance of an expansion whose coefficients, without that of the constant, are `c`. -/
noncomputable def totalVariance (c : J → ℝ) : ℝ :=
  ∑' j, c j ^ 2

/-- The share of the variance that the weights `θ` choose. Weights 0 and 1 give first-order,
total, closed and interaction indices, other weights in `[0, 1]` Shapley effects. Without
variance the share is `0`, as division by `0` is in Lean and as the code defines it. -/
noncomputable def share (θ c : J → ℝ) : ℝ :=
  (∑' j, θ j * c j ^ 2) / totalVariance c

/-- From the inequalities between the sums to the shares. Here `A / X` and `B / Y` are the
shares, `C` is the inner product and `X + Y - 2 C` the squared distance of the coefficients. -/
theorem sq_div_sub_div_mul_le {A B X Y C : ℝ} (hA : 0 ≤ A) (hAX : A ≤ X) (hB : 0 ≤ B)
    (hBY : B ≤ Y) (hY : 0 < Y) (hC : C ^ 2 ≤ X * Y)
    (h : (A * Y - B * X) ^ 2 ≤ X * Y * (X * Y - C ^ 2)) :
    (A / X - B / Y) ^ 2 * Y ≤ X + Y - 2 * C := by
  have hX : 0 ≤ X := hA.trans hAX
  rcases hX.eq_or_lt with hX0 | hX0
  · -- Without estimated variance the share is `0`, and `B / Y` is at most `1`.
    have hC0 : C = 0 := by
      have hC1 : C ^ 2 ≤ 0 := by
        rw [← hX0, zero_mul] at hC
        exact hC
      -- `pow_eq_zero_iff`: Mathlib.Algebra.GroupWithZero.Basic
      exact (pow_eq_zero_iff two_ne_zero).mp (le_antisymm hC1 (sq_nonneg C))
    have hshare : ∀ t : ℝ, 0 ≤ t → t ≤ 1 → (0 - t) ^ 2 * Y ≤ 0 + Y - 2 * 0 := by
      intro t ht0 ht1
      have hprod : 0 ≤ (1 - t) * (1 + t) * Y :=
        mul_nonneg (mul_nonneg (by linarith) (by linarith)) hY.le
      have heq : (0 - t) ^ 2 * Y = Y - (1 - t) * (1 + t) * Y := by ring
      rw [heq]
      linarith
    -- `div_zero`: Mathlib.Algebra.GroupWithZero.Basic
    rw [← hX0, hC0, div_zero]
    -- `div_nonneg`: Mathlib.Algebra.Order.GroupWithZero.Unbundled.Basic
    -- `div_le_one`: Mathlib.Algebra.Order.Field.Basic
    exact hshare (B / Y) (div_nonneg hB hY.le) ((div_le_one hY).mpr hBY)
  · have hXY : 0 < X * Y := mul_pos hX0 hY
    have hd : (A / X - B / Y) * (X * Y) = A * Y - B * X := by
      -- `div_mul_cancel₀`: Mathlib.Algebra.GroupWithZero.Units.Basic
      have hAd : A / X * (X * Y) = A * Y := by
        rw [← mul_assoc, div_mul_cancel₀ A hX0.ne']
      have hBd : B / Y * (X * Y) = B * X := by
        rw [mul_comm X Y, ← mul_assoc, div_mul_cancel₀ B hY.ne']
      rw [sub_mul, hAd, hBd]
    obtain ⟨t, ht⟩ : ∃ t : ℝ, t = A / X - B / Y := ⟨_, rfl⟩
    rw [← ht] at hd ⊢
    have h1 : X * Y * (t ^ 2 * (X * Y)) ≤ X * Y * (X * Y - C ^ 2) := by
      calc X * Y * (t ^ 2 * (X * Y)) = (t * (X * Y)) ^ 2 := by ring
        _ = (A * Y - B * X) ^ 2 := by rw [hd]
        _ ≤ X * Y * (X * Y - C ^ 2) := h
    -- `le_of_mul_le_mul_left`: Mathlib.Algebra.Order.GroupWithZero.Unbundled.Defs
    have h2 : t ^ 2 * (X * Y) ≤ X * Y - C ^ 2 := le_of_mul_le_mul_left h1 hXY
    have h3 : X * (t ^ 2 * Y) ≤ X * (X + Y - 2 * C) := by
      calc X * (t ^ 2 * Y) = t ^ 2 * (X * Y) := by ring
        _ ≤ X * Y - C ^ 2 := h2
        _ ≤ X * Y - C ^ 2 + (X - C) ^ 2 := by linarith [sq_nonneg (X - C)]
        _ = X * (X + Y - 2 * C) := by ring
    exact le_of_mul_le_mul_left h3 hX0

/-- The weighted sum is between `0` and the variance. -/
theorem tsum_weight_mem {θ c : J → ℝ} (hθ0 : ∀ j, 0 ≤ θ j) (hθ1 : ∀ j, θ j ≤ 1)
    (hc : Summable (fun j => c j ^ 2)) :
    0 ≤ ∑' j, θ j * c j ^ 2 ∧ ∑' j, θ j * c j ^ 2 ≤ ∑' j, c j ^ 2 := by
  have hnonneg : ∀ j, 0 ≤ θ j * c j ^ 2 := fun j => mul_nonneg (hθ0 j) (sq_nonneg _)
  have hle : ∀ j, θ j * c j ^ 2 ≤ c j ^ 2 :=
    fun j => mul_le_of_le_one_left (sq_nonneg _) (hθ1 j)
  -- `tsum_nonneg`: Mathlib.Topology.Algebra.InfiniteSum.Order
  exact ⟨tsum_nonneg hnonneg, hasSum_le hle (summable_weight hθ0 hθ1 hc).hasSum hc.hasSum⟩

/-- **A**, deterministic part. For all weights in `[0, 1]`, with the variance `D` of `c`
positive, `|S(d) - S(c)| ≤ ‖d - c‖ / √D`. Nothing is asked of the variance of `d`. -/
theorem abs_share_sub_le {θ c d : J → ℝ} (hθ0 : ∀ j, 0 ≤ θ j) (hθ1 : ∀ j, θ j ≤ 1)
    (hc : Summable (fun j => c j ^ 2)) (hd : Summable (fun j => d j ^ 2))
    (hD : 0 < totalVariance c) :
    |share θ d - share θ c| ≤ √(∑' j, (d j - c j) ^ 2) / √(totalVariance c) := by
  have hsq : (share θ d - share θ c) ^ 2 * totalVariance c ≤ ∑' j, (d j - c j) ^ 2 := by
    -- `HasSum.tsum_eq`: Mathlib.Topology.Algebra.InfiniteSum.Defs
    rw [(hasSum_sq_sub hd hc).tsum_eq]
    exact sq_div_sub_div_mul_le (tsum_weight_mem hθ0 hθ1 hd).1 (tsum_weight_mem hθ0 hθ1 hd).2
      (tsum_weight_mem hθ0 hθ1 hc).1 (tsum_weight_mem hθ0 hθ1 hc).2 hD (sq_tsum_mul_le hd hc)
      (sq_cross_le_tsum hθ0 hθ1 hd hc)
  -- `Real.sqrt_pos`, `Real.sqrt_nonneg`: Mathlib.Data.Real.Sqrt
  have hroot : 0 < √(totalVariance c) := Real.sqrt_pos.mpr hD
  have hprod : (|share θ d - share θ c| * √(totalVariance c)) ^ 2
      ≤ √(∑' j, (d j - c j) ^ 2) ^ 2 := by
    rw [mul_pow, sq_abs, Real.sq_sqrt hD.le,
      Real.sq_sqrt (tsum_nonneg (fun j => sq_nonneg (d j - c j)))]
    exact hsq
  rw [le_div_iff₀ hroot]
  exact (le_abs_self _).trans (abs_le_of_sq_le_sq hprod (Real.sqrt_nonneg _))

/-- **A**, with the larger of the two variances. -/
theorem abs_share_sub_le_max {θ c d : J → ℝ} (hθ0 : ∀ j, 0 ≤ θ j) (hθ1 : ∀ j, θ j ≤ 1)
    (hc : Summable (fun j => c j ^ 2)) (hd : Summable (fun j => d j ^ 2))
    (hC : 0 < totalVariance c) (hD : 0 < totalVariance d) :
    |share θ d - share θ c|
      ≤ √(∑' j, (d j - c j) ^ 2) / √(max (totalVariance c) (totalVariance d)) := by
  rcases le_total (totalVariance d) (totalVariance c) with h | h
  · rw [max_eq_left h]
    exact abs_share_sub_le hθ0 hθ1 hc hd hC
  · have hswap : (fun j => (d j - c j) ^ 2) = fun j => (c j - d j) ^ 2 :=
      funext (fun j => by ring)
    -- `abs_sub_comm`: Mathlib.Algebra.Order.Group.Unbundled.Abs
    rw [max_eq_right h, abs_sub_comm, hswap]
    exact abs_share_sub_le hθ0 hθ1 hd hc hD

end Skpce
