import Skpce.LogRatio

/-!
# The total variance of an ensemble of compositions

## Main definitions

* `Skpce.ensembleMean`, `Skpce.ensembleVar`: weighted mean and variance over the members.

## Main results

* `Skpce.sum_ensembleVar_alr`: the ALR total is the Aitchison total plus `K` times the variance
  of the reference's clr (T8).
* `Skpce.sum_ensembleVar_ilr`: the Aitchison total is the same in every basis (T8).
-/

namespace Skpce

variable {ι : Type*} [Fintype ι]

variable {Ω : Type*} [Fintype Ω]

/-- The weighted mean over the members. -/
noncomputable def ensembleMean (w f : Ω → ℝ) : ℝ :=
  ∑ n, w n * f n

/-- The weighted variance over the members, about the weighted mean. It is a variance when the
weights are nonnegative and sum to one; the identities below need neither. -/
noncomputable def ensembleVar (w f : Ω → ℝ) : ℝ :=
  ∑ n, w n * (f n - ensembleMean w f) ^ 2

/-- The mean of a difference. -/
theorem ensembleMean_sub (w f g : Ω → ℝ) :
    ensembleMean w (fun n => f n - g n) = ensembleMean w f - ensembleMean w g := by
  show ∑ n, w n * (f n - g n) = (∑ n, w n * f n) - ∑ n, w n * g n
  rw [← Finset.sum_sub_distrib]
  exact Finset.sum_congr rfl (fun n _ => mul_sub _ _ _)

/-- The mean of a finite linear combination. -/
theorem ensembleMean_sum (w : Ω → ℝ) (a : ι → ℝ) (x : Ω → ι → ℝ) :
    ensembleMean w (fun n => ∑ k, a k * x n k)
      = ∑ k, a k * ensembleMean w (fun n => x n k) := by
  show ∑ n, w n * ∑ k, a k * x n k = ∑ k, a k * ∑ n, w n * x n k
  calc ∑ n, w n * ∑ k, a k * x n k = ∑ n, ∑ k, a k * (w n * x n k) := by
        refine Finset.sum_congr rfl (fun n _ => ?_)
        rw [Finset.mul_sum]
        exact Finset.sum_congr rfl (fun k _ => by ring)
    _ = ∑ k, ∑ n, a k * (w n * x n k) := Finset.sum_comm
    _ = ∑ k, a k * ∑ n, w n * x n k :=
        Finset.sum_congr rfl (fun k _ => (Finset.mul_sum _ _ _).symm)

/-- Coordinates that sum to zero for every member still do when they are centred. -/
theorem sum_sub_ensembleMean {x : Ω → ι → ℝ} (hx : ∀ n, ∑ k, x n k = 0) (w : Ω → ℝ) (n : Ω) :
    ∑ k, (x n k - ensembleMean w (fun m => x m k)) = 0 := by
  have h : ∑ k, ensembleMean w (fun m => x m k) = 0 := by
    show ∑ k, ∑ m, w m * x m k = 0
    rw [Finset.sum_comm]
    refine Finset.sum_eq_zero (fun m _ => ?_)
    rw [← Finset.mul_sum, hx m, mul_zero]
  rw [Finset.sum_sub_distrib, hx n, h, sub_zero]

/-- The squares of `d - e` for one number `e`, when `d` sums to zero. -/
theorem sum_sub_sq_of_sum_eq_zero {d : ι → ℝ} (hd : ∑ k, d k = 0) (e : ℝ) :
    ∑ k, (d k - e) ^ 2 = (∑ k, d k ^ 2) + (Fintype.card ι : ℝ) * e ^ 2 := by
  calc ∑ k, (d k - e) ^ 2 = ∑ k, (d k ^ 2 - 2 * e * d k + e ^ 2) :=
        Finset.sum_congr rfl (fun k _ => by ring)
    _ = (∑ k, d k ^ 2) - 2 * e * (∑ k, d k) + (Fintype.card ι : ℝ) * e ^ 2 := by
        -- `Finset.sum_add_distrib`: Mathlib.Algebra.BigOperators.Group.Finset.Basic
        rw [Finset.sum_add_distrib, Finset.sum_sub_distrib, Finset.mul_sum, sum_const_card]
    _ = (∑ k, d k ^ 2) + (Fintype.card ι : ℝ) * e ^ 2 := by
        rw [hd, mul_zero, sub_zero]

/-- Weighted sums over members and parts may be exchanged. -/
theorem sum_sum_mul {κ : Type*} [Fintype κ] (w : Ω → ℝ) (y : Ω → κ → ℝ) :
    ∑ i, ∑ n, w n * y n i = ∑ n, w n * ∑ i, y n i := by
  rw [Finset.sum_comm]
  exact Finset.sum_congr rfl (fun n _ => (Finset.mul_sum _ _ _).symm)

/-- **T8.** Summed over all parts, the variances of the alr to the reference `r` are the
Aitchison total plus `K` times the variance of the clr of the reference. -/
theorem sum_ensembleVar_alr [Nonempty ι] {P : Ω → ι → ℝ} (hP : ∀ n k, 0 < P n k) (w : Ω → ℝ)
    (r : ι) :
    ∑ k, ensembleVar w (fun n => alr r (P n) k)
      = (∑ k, ensembleVar w (fun n => clr (P n) k))
        + (Fintype.card ι : ℝ) * ensembleVar w (fun n => clr (P n) r) := by
  have hterm : ∀ k, ensembleVar w (fun n => alr r (P n) k)
      = ∑ n, w n * ((clr (P n) k - ensembleMean w (fun m => clr (P m) k))
        - (clr (P n) r - ensembleMean w (fun m => clr (P m) r))) ^ 2 := by
    intro k
    have hfun : (fun n => alr r (P n) k) = fun n => clr (P n) k - clr (P n) r :=
      funext (fun n => alr_eq_clr_sub_clr (hP n) r k)
    rw [hfun]
    show ∑ n, w n * ((clr (P n) k - clr (P n) r)
      - ensembleMean w (fun n => clr (P n) k - clr (P n) r)) ^ 2 = _
    rw [ensembleMean_sub w (fun n => clr (P n) k) (fun n => clr (P n) r)]
    exact Finset.sum_congr rfl (fun n _ => by ring)
  have hzero : ∀ n, ∑ k, (clr (P n) k - ensembleMean w (fun m => clr (P m) k)) = 0 :=
    fun n => sum_sub_ensembleMean (x := fun m => clr (P m)) (fun m => sum_clr (P m)) w n
  have hmember : ∀ n, ∑ k, ((clr (P n) k - ensembleMean w (fun m => clr (P m) k))
        - (clr (P n) r - ensembleMean w (fun m => clr (P m) r))) ^ 2
      = (∑ k, (clr (P n) k - ensembleMean w (fun m => clr (P m) k)) ^ 2)
        + (Fintype.card ι : ℝ) * (clr (P n) r - ensembleMean w (fun m => clr (P m) r)) ^ 2 :=
    fun n => sum_sub_sq_of_sum_eq_zero (hzero n) _
  calc ∑ k, ensembleVar w (fun n => alr r (P n) k)
      = ∑ k, ∑ n, w n * ((clr (P n) k - ensembleMean w (fun m => clr (P m) k))
        - (clr (P n) r - ensembleMean w (fun m => clr (P m) r))) ^ 2 :=
        Finset.sum_congr rfl (fun k _ => hterm k)
    _ = ∑ n, w n * ∑ k, ((clr (P n) k - ensembleMean w (fun m => clr (P m) k))
        - (clr (P n) r - ensembleMean w (fun m => clr (P m) r))) ^ 2 :=
        sum_sum_mul w (fun n k => ((clr (P n) k - ensembleMean w (fun m => clr (P m) k))
          - (clr (P n) r - ensembleMean w (fun m => clr (P m) r))) ^ 2)
    _ = ∑ n, (w n * (∑ k, (clr (P n) k - ensembleMean w (fun m => clr (P m) k)) ^ 2)
        + (Fintype.card ι : ℝ)
          * (w n * (clr (P n) r - ensembleMean w (fun m => clr (P m) r)) ^ 2)) := by
        refine Finset.sum_congr rfl (fun n _ => ?_)
        rw [hmember n]
        ring
    _ = (∑ k, ∑ n, w n * (clr (P n) k - ensembleMean w (fun m => clr (P m) k)) ^ 2)
        + (Fintype.card ι : ℝ)
          * ∑ n, w n * (clr (P n) r - ensembleMean w (fun m => clr (P m) r)) ^ 2 := by
        rw [Finset.sum_add_distrib, Finset.mul_sum,
          sum_sum_mul w (fun n k => (clr (P n) k - ensembleMean w (fun m => clr (P m) k)) ^ 2)]
    _ = (∑ k, ensembleVar w (fun n => clr (P n) k))
        + (Fintype.card ι : ℝ) * ensembleVar w (fun n => clr (P n) r) := rfl

/-- **T8.** The Aitchison total: summed over the coordinates of any contrast matrix, the
variances of the ilr are those of the clr. -/
theorem sum_ensembleVar_ilr [Nonempty ι] {κ : Type*} [Fintype κ] [DecidableEq κ]
    [DecidableEq ι] {H : κ → ι → ℝ} (hH : IsContrast H) (P : Ω → ι → ℝ) (w : Ω → ℝ) :
    ∑ i, ensembleVar w (fun n => ilr H (P n) i)
      = ∑ k, ensembleVar w (fun n => clr (P n) k) := by
  have hzero : ∀ n, ∑ k, (clr (P n) k - ensembleMean w (fun m => clr (P m) k)) = 0 :=
    fun n => sum_sub_ensembleMean (x := fun m => clr (P m)) (fun m => sum_clr (P m)) w n
  have hterm : ∀ i, ensembleVar w (fun n => ilr H (P n) i)
      = ∑ n, w n * (∑ k, H i k * (clr (P n) k - ensembleMean w (fun m => clr (P m) k))) ^ 2 := by
    intro i
    have hmean : ensembleMean w (fun n => ilr H (P n) i)
        = ∑ k, H i k * ensembleMean w (fun m => clr (P m) k) :=
      ensembleMean_sum w (H i) (fun n => clr (P n))
    show ∑ n, w n * (ilr H (P n) i - ensembleMean w (fun n => ilr H (P n) i)) ^ 2 = _
    rw [hmean]
    refine Finset.sum_congr rfl (fun n _ => ?_)
    have hn : ilr H (P n) i - ∑ k, H i k * ensembleMean w (fun m => clr (P m) k)
        = ∑ k, H i k * (clr (P n) k - ensembleMean w (fun m => clr (P m) k)) := by
      show (∑ k, H i k * clr (P n) k) - ∑ k, H i k * ensembleMean w (fun m => clr (P m) k)
        = ∑ k, H i k * (clr (P n) k - ensembleMean w (fun m => clr (P m) k))
      rw [← Finset.sum_sub_distrib]
      exact Finset.sum_congr rfl (fun k _ => (mul_sub _ _ _).symm)
    rw [hn]
  calc ∑ i, ensembleVar w (fun n => ilr H (P n) i)
      = ∑ i, ∑ n, w n
        * (∑ k, H i k * (clr (P n) k - ensembleMean w (fun m => clr (P m) k))) ^ 2 :=
        Finset.sum_congr rfl (fun i _ => hterm i)
    _ = ∑ n, w n
        * ∑ i, (∑ k, H i k * (clr (P n) k - ensembleMean w (fun m => clr (P m) k))) ^ 2 :=
        sum_sum_mul w (fun n i =>
          (∑ k, H i k * (clr (P n) k - ensembleMean w (fun m => clr (P m) k))) ^ 2)
    _ = ∑ n, w n * ∑ k, (clr (P n) k - ensembleMean w (fun m => clr (P m) k)) ^ 2 := by
        refine Finset.sum_congr rfl (fun n _ => ?_)
        rw [hH.sum_sq (hzero n)]
    _ = ∑ k, ∑ n, w n * (clr (P n) k - ensembleMean w (fun m => clr (P m) k)) ^ 2 :=
        (sum_sum_mul w
          (fun n k => (clr (P n) k - ensembleMean w (fun m => clr (P m) k)) ^ 2)).symm
    _ = ∑ k, ensembleVar w (fun n => clr (P n) k) := rfl

end Skpce
