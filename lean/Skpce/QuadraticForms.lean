import Mathlib.Algebra.Order.BigOperators.Ring.Finset
import Mathlib.Analysis.Normed.Group.InfiniteSum
import Mathlib.Data.Real.Sqrt
import Mathlib.Tactic.Linarith
import Mathlib.Tactic.Ring
import Mathlib.Topology.Algebra.InfiniteSum.Order
import Mathlib.Topology.Algebra.InfiniteSum.Ring
import Mathlib.Topology.Instances.ENNReal.Lemmas

/-!
# Weighted sums of squares of two families

The inequality behind the bound on Sobol indices: with weights `θ` in `[0, 1]` and
`A = ∑ θ x²`, `B = ∑ θ y²`, `X = ∑ x²`, `Y = ∑ y²`, `C = ∑ x y`,
`(A Y - B X)² ≤ X Y (X Y - C²)`.

## Main results

* `Skpce.sq_cross_le_of_mem_unit`: for finite sums.
* `Skpce.sq_cross_le_tsum`: for square-summable families, by passing to the limit.
* `Skpce.hasSum_sq_sub`: the squared distance is `X + Y - 2 C`.
-/

namespace Skpce

variable {J : Type*}

/-! ### The inequality for finite sums -/

/-- Cauchy–Schwarz for two quadratic forms with weights between -1 and 1. -/
theorem sq_cross_le (s : Finset J) {τ : J → ℝ} (hτ : ∀ j, |τ j| ≤ 1) (x y : J → ℝ) :
    ((∑ j ∈ s, τ j * x j ^ 2) * (∑ j ∈ s, y j ^ 2)
        - (∑ j ∈ s, τ j * y j ^ 2) * ∑ j ∈ s, x j ^ 2) ^ 2
      ≤ 4 * ((∑ j ∈ s, x j ^ 2) * ∑ j ∈ s, y j ^ 2)
        * ((∑ j ∈ s, x j ^ 2) * (∑ j ∈ s, y j ^ 2) - (∑ j ∈ s, x j * y j) ^ 2) := by
  have hX : 0 ≤ ∑ j ∈ s, x j ^ 2 := Finset.sum_nonneg (fun j _ => sq_nonneg (x j))
  have hY : 0 ≤ ∑ j ∈ s, y j ^ 2 := Finset.sum_nonneg (fun j _ => sq_nonneg (y j))
  -- `Real.sq_sqrt`: Mathlib.Data.Real.Sqrt
  obtain ⟨α, hα⟩ : ∃ α : ℝ, α ^ 2 = ∑ j ∈ s, y j ^ 2 := ⟨_, Real.sq_sqrt hY⟩
  obtain ⟨β, hβ⟩ : ∃ β : ℝ, β ^ 2 = ∑ j ∈ s, x j ^ 2 := ⟨_, Real.sq_sqrt hX⟩
  have h1 : ∑ j ∈ s, (τ j * (α * x j - β * y j)) * (α * x j + β * y j)
      = α ^ 2 * (∑ j ∈ s, τ j * x j ^ 2) - β ^ 2 * ∑ j ∈ s, τ j * y j ^ 2 := by
    rw [Finset.mul_sum, Finset.mul_sum, ← Finset.sum_sub_distrib]
    exact Finset.sum_congr rfl (fun j _ => by ring)
  have h2 : ∑ j ∈ s, (α * x j - β * y j) ^ 2
      = α ^ 2 * (∑ j ∈ s, x j ^ 2) - 2 * (α * β) * (∑ j ∈ s, x j * y j)
        + β ^ 2 * ∑ j ∈ s, y j ^ 2 := by
    rw [Finset.mul_sum, Finset.mul_sum, Finset.mul_sum, ← Finset.sum_sub_distrib,
      ← Finset.sum_add_distrib]
    exact Finset.sum_congr rfl (fun j _ => by ring)
  have h3 : ∑ j ∈ s, (α * x j + β * y j) ^ 2
      = α ^ 2 * (∑ j ∈ s, x j ^ 2) + 2 * (α * β) * (∑ j ∈ s, x j * y j)
        + β ^ 2 * ∑ j ∈ s, y j ^ 2 := by
    rw [Finset.mul_sum, Finset.mul_sum, Finset.mul_sum, ← Finset.sum_add_distrib,
      ← Finset.sum_add_distrib]
    exact Finset.sum_congr rfl (fun j _ => by ring)
  have h4 : ∑ j ∈ s, (τ j * (α * x j - β * y j)) ^ 2 ≤ ∑ j ∈ s, (α * x j - β * y j) ^ 2 := by
    refine Finset.sum_le_sum (fun j _ => ?_)
    rw [mul_pow]
    -- `sq_le_one_iff_abs_le_one`: Mathlib.Algebra.Order.Ring.Abs
    -- `mul_le_of_le_one_left`: Mathlib.Algebra.Order.GroupWithZero.Unbundled.Basic
    exact mul_le_of_le_one_left (sq_nonneg _) ((sq_le_one_iff_abs_le_one (τ j)).mpr (hτ j))
  have h5 : (∑ j ∈ s, (τ j * (α * x j - β * y j)) * (α * x j + β * y j)) ^ 2
      ≤ (∑ j ∈ s, (τ j * (α * x j - β * y j)) ^ 2) * ∑ j ∈ s, (α * x j + β * y j) ^ 2 :=
    -- `Finset.sum_mul_sq_le_sq_mul_sq`: Mathlib.Algebra.Order.BigOperators.Ring.Finset
    Finset.sum_mul_sq_le_sq_mul_sq s (fun j => τ j * (α * x j - β * y j))
      (fun j => α * x j + β * y j)
  have h6 : 0 ≤ ∑ j ∈ s, (α * x j + β * y j) ^ 2 :=
    Finset.sum_nonneg (fun j _ => sq_nonneg _)
  calc ((∑ j ∈ s, τ j * x j ^ 2) * (∑ j ∈ s, y j ^ 2)
        - (∑ j ∈ s, τ j * y j ^ 2) * ∑ j ∈ s, x j ^ 2) ^ 2
      = (∑ j ∈ s, (τ j * (α * x j - β * y j)) * (α * x j + β * y j)) ^ 2 := by
        rw [h1, hα, hβ]
        ring
    _ ≤ (∑ j ∈ s, (α * x j - β * y j) ^ 2) * ∑ j ∈ s, (α * x j + β * y j) ^ 2 :=
        h5.trans (mul_le_mul_of_nonneg_right h4 h6)
    _ = 4 * ((∑ j ∈ s, x j ^ 2) * ∑ j ∈ s, y j ^ 2)
        * ((∑ j ∈ s, x j ^ 2) * (∑ j ∈ s, y j ^ 2) - (∑ j ∈ s, x j * y j) ^ 2) := by
        rw [h2, h3, ← hα, ← hβ]
        ring

/-- The same with weights between 0 and 1. -/
theorem sq_cross_le_of_mem_unit (s : Finset J) {θ : J → ℝ} (hθ0 : ∀ j, 0 ≤ θ j)
    (hθ1 : ∀ j, θ j ≤ 1) (x y : J → ℝ) :
    ((∑ j ∈ s, θ j * x j ^ 2) * (∑ j ∈ s, y j ^ 2)
        - (∑ j ∈ s, θ j * y j ^ 2) * ∑ j ∈ s, x j ^ 2) ^ 2
      ≤ ((∑ j ∈ s, x j ^ 2) * ∑ j ∈ s, y j ^ 2)
        * ((∑ j ∈ s, x j ^ 2) * (∑ j ∈ s, y j ^ 2) - (∑ j ∈ s, x j * y j) ^ 2) := by
  have hτ : ∀ j, |2 * θ j - 1| ≤ 1 := fun j =>
    abs_le.mpr ⟨by linarith [hθ0 j], by linarith [hθ1 j]⟩
  have hsum : ∀ z : J → ℝ, ∑ j ∈ s, (2 * θ j - 1) * z j ^ 2
      = 2 * (∑ j ∈ s, θ j * z j ^ 2) - ∑ j ∈ s, z j ^ 2 := by
    intro z
    rw [Finset.mul_sum, ← Finset.sum_sub_distrib]
    exact Finset.sum_congr rfl (fun j _ => by ring)
  have h := sq_cross_le s hτ x y
  rw [hsum x, hsum y] at h
  linarith

/-! ### The inequality for infinite sums -/

/-- A weight between 0 and 1 keeps a nonnegative sum summable. -/
theorem summable_weight {θ c : J → ℝ} (hθ0 : ∀ j, 0 ≤ θ j) (hθ1 : ∀ j, θ j ≤ 1)
    (hc : Summable (fun j => c j ^ 2)) : Summable (fun j => θ j * c j ^ 2) := by
  -- `mul_nonneg`: Mathlib.Algebra.Order.GroupWithZero.Unbundled.Basic
  have hnonneg : ∀ j, 0 ≤ θ j * c j ^ 2 := fun j => mul_nonneg (hθ0 j) (sq_nonneg _)
  have hle : ∀ j, θ j * c j ^ 2 ≤ c j ^ 2 :=
    fun j => mul_le_of_le_one_left (sq_nonneg _) (hθ1 j)
  -- `Summable.of_nonneg_of_le`: Mathlib.Topology.Instances.ENNReal.Lemmas
  exact Summable.of_nonneg_of_le hnonneg hle hc

/-- The products of two square-summable families are summable. -/
theorem summable_mul {x y : J → ℝ} (hx : Summable (fun j => x j ^ 2))
    (hy : Summable (fun j => y j ^ 2)) : Summable (fun j => x j * y j) := by
  have hle : ∀ j, ‖x j * y j‖ ≤ x j ^ 2 + y j ^ 2 := by
    intro j
    rw [Real.norm_eq_abs]
    refine abs_le.mpr ⟨?_, ?_⟩
    · linarith [sq_nonneg (x j + y j), sq_nonneg (x j), sq_nonneg (y j)]
    · linarith [sq_nonneg (x j - y j), sq_nonneg (x j), sq_nonneg (y j)]
  -- `Summable.of_norm_bounded`: Mathlib.Analysis.Normed.Group.InfiniteSum
  -- `Summable.add`: Mathlib.Topology.Algebra.InfiniteSum.Basic
  exact Summable.of_norm_bounded (fun j => x j ^ 2 + y j ^ 2) (hx.add hy) hle

/-- The squared distance of two square-summable families. -/
theorem hasSum_sq_sub {x y : J → ℝ} (hx : Summable (fun j => x j ^ 2))
    (hy : Summable (fun j => y j ^ 2)) :
    HasSum (fun j => (x j - y j) ^ 2)
      ((∑' j, x j ^ 2) + (∑' j, y j ^ 2) - 2 * ∑' j, x j * y j) := by
  -- `HasSum.add`: Mathlib.Topology.Algebra.InfiniteSum.Basic
  -- `HasSum.sub`: Mathlib.Topology.Algebra.InfiniteSum.Group
  have h : HasSum (fun j => x j ^ 2 + y j ^ 2 - 2 * (x j * y j))
      ((∑' j, x j ^ 2) + (∑' j, y j ^ 2) - 2 * ∑' j, x j * y j) :=
    (hx.hasSum.add hy.hasSum).sub ((summable_mul hx hy).hasSum.mul_left 2)
  have hfun : (fun j => x j ^ 2 + y j ^ 2 - 2 * (x j * y j)) = fun j => (x j - y j) ^ 2 :=
    funext (fun j => by ring)
  rw [hfun] at h
  exact h

/-- `sq_cross_le_of_mem_unit` in the limit. -/
theorem sq_cross_le_tsum {θ x y : J → ℝ} (hθ0 : ∀ j, 0 ≤ θ j) (hθ1 : ∀ j, θ j ≤ 1)
    (hx : Summable (fun j => x j ^ 2)) (hy : Summable (fun j => y j ^ 2)) :
    ((∑' j, θ j * x j ^ 2) * (∑' j, y j ^ 2)
        - (∑' j, θ j * y j ^ 2) * ∑' j, x j ^ 2) ^ 2
      ≤ ((∑' j, x j ^ 2) * ∑' j, y j ^ 2)
        * ((∑' j, x j ^ 2) * (∑' j, y j ^ 2) - (∑' j, x j * y j) ^ 2) := by
  have hA : Filter.Tendsto (fun s : Finset J => ∑ j ∈ s, θ j * x j ^ 2) Filter.atTop
      (nhds (∑' j, θ j * x j ^ 2)) := (summable_weight hθ0 hθ1 hx).hasSum
  have hB : Filter.Tendsto (fun s : Finset J => ∑ j ∈ s, θ j * y j ^ 2) Filter.atTop
      (nhds (∑' j, θ j * y j ^ 2)) := (summable_weight hθ0 hθ1 hy).hasSum
  have hX : Filter.Tendsto (fun s : Finset J => ∑ j ∈ s, x j ^ 2) Filter.atTop
      (nhds (∑' j, x j ^ 2)) := hx.hasSum
  have hY : Filter.Tendsto (fun s : Finset J => ∑ j ∈ s, y j ^ 2) Filter.atTop
      (nhds (∑' j, y j ^ 2)) := hy.hasSum
  have hC : Filter.Tendsto (fun s : Finset J => ∑ j ∈ s, x j * y j) Filter.atTop
      (nhds (∑' j, x j * y j)) := (summable_mul hx hy).hasSum
  -- `Filter.Tendsto.mul`: Mathlib.Topology.Algebra.Monoid.Defs
  -- `Filter.Tendsto.sub`: Mathlib.Topology.Algebra.Group.Defs
  -- `Filter.Tendsto.pow`: Mathlib.Topology.Algebra.Monoid
  -- `le_of_tendsto_of_tendsto'`: Mathlib.Topology.Order.OrderClosed
  exact le_of_tendsto_of_tendsto' (((hA.mul hY).sub (hB.mul hX)).pow 2)
    ((hX.mul hY).mul ((hX.mul hY).sub (hC.pow 2)))
    (fun s => sq_cross_le_of_mem_unit s hθ0 hθ1 x y)

/-- Cauchy–Schwarz in the limit. -/
theorem sq_tsum_mul_le {x y : J → ℝ} (hx : Summable (fun j => x j ^ 2))
    (hy : Summable (fun j => y j ^ 2)) :
    (∑' j, x j * y j) ^ 2 ≤ (∑' j, x j ^ 2) * ∑' j, y j ^ 2 := by
  have hX : Filter.Tendsto (fun s : Finset J => ∑ j ∈ s, x j ^ 2) Filter.atTop
      (nhds (∑' j, x j ^ 2)) := hx.hasSum
  have hY : Filter.Tendsto (fun s : Finset J => ∑ j ∈ s, y j ^ 2) Filter.atTop
      (nhds (∑' j, y j ^ 2)) := hy.hasSum
  have hC : Filter.Tendsto (fun s : Finset J => ∑ j ∈ s, x j * y j) Filter.atTop
      (nhds (∑' j, x j * y j)) := (summable_mul hx hy).hasSum
  exact le_of_tendsto_of_tendsto' (hC.pow 2) (hX.mul hY)
    (fun s => Finset.sum_mul_sq_le_sq_mul_sq s x y)

end Skpce
