import Mathlib.Algebra.BigOperators.Group.Finset.Piecewise
import Mathlib.Algebra.BigOperators.Group.Finset.Sigma
import Mathlib.Tactic.Ring
import Skpce.Softmax

/-!
# Log-ratio coordinates

Compositions and their centred, additive and isometric log-ratios, with the softmax as the one
inverse.

## Main definitions

* `Skpce.clr`, `Skpce.alr`, `Skpce.ilr`: the coordinates of `LogRatioTransformer`.
* `Skpce.IsContrast`: the matrices that `ilr` may use, orthonormal bases of the clr plane.

## Main results

* `Skpce.softmax_clr`, `Skpce.softmax_alr`, `Skpce.softmax_ilr` and `Skpce.clr_softmax`,
  `Skpce.alr_softmax`, `Skpce.ilr_softmax`: each is inverse to the softmax (T3).
* `Skpce.IsContrast.sum_sq`: the coordinates of a contrast matrix keep the Aitchison norm.

That the Helmert matrix is a contrast matrix is not proved here; a Python test checks it.

## References

* J. J. Egozcue, V. Pawlowsky-Glahn, G. Mateu-Figueras, C. Barceló-Vidal, *Isometric logratio
  transformations for compositional data analysis*, Mathematical Geology 35 (2003).
-/

namespace Skpce

variable {ι : Type*} [Fintype ι]

/-- Centred log-ratio: `log p_k` less the mean of the logarithms. Defined for positive parts;
`Real.log` of other numbers has no meaning here. -/
noncomputable def clr (p : ι → ℝ) (k : ι) : ℝ :=
  Real.log (p k) - (∑ l, Real.log (p l)) / (Fintype.card ι : ℝ)

/-- Additive log-ratio `log (p_k / p_r)` to the reference `r`. It keeps the coordinate of the
reference, which is `0`; the code leaves that one out. -/
noncomputable def alr (r : ι) (p : ι → ℝ) (k : ι) : ℝ :=
  Real.log (p k / p r)

/-- Isometric log-ratio: the clr in the coordinates of a contrast matrix `H`. -/
noncomputable def ilr {κ : Type*} (H : κ → ι → ℝ) (p : ι → ℝ) (i : κ) : ℝ :=
  ∑ k, H i k * clr p k

/-- `H` is an orthonormal basis of the clr plane: `H Hᵀ = 1`, `Hᵀ H` is the centring matrix
`1 - 1/K`, and its rows sum to zero. -/
structure IsContrast {κ : Type*} [Fintype κ] [DecidableEq κ] [DecidableEq ι]
    (H : κ → ι → ℝ) : Prop where
  /-- `H Hᵀ = 1`. -/
  orthonormal : ∀ i j, ∑ k, H i k * H j k = if i = j then (1 : ℝ) else 0
  /-- `Hᵀ H = 1 - 1/K`. -/
  centring : ∀ k l, ∑ i, H i k * H i l
    = (if k = l then (1 : ℝ) else 0) - 1 / (Fintype.card ι : ℝ)
  /-- The rows sum to zero. -/
  sum_zero : ∀ i, ∑ k, H i k = 0

/-! ### The coordinates and the softmax are inverse to each other -/

/-- A sum of one number over all parts. -/
theorem sum_const_card (c : ℝ) : ∑ _k : ι, c = (Fintype.card ι : ℝ) * c := by
  -- `Finset.sum_const`: Mathlib.Algebra.BigOperators.Group.Finset.Basic
  -- `Finset.card_univ`: Mathlib.Data.Fintype.Card
  -- `nsmul_eq_mul`: Mathlib.Data.Nat.Cast.Basic
  rw [Finset.sum_const, Finset.card_univ, nsmul_eq_mul]

/-- **T3.** The alr is a difference of clr coordinates. -/
theorem alr_eq_clr_sub_clr {p : ι → ℝ} (hp : ∀ k, 0 < p k) (r k : ι) :
    alr r p k = clr p k - clr p r := by
  show Real.log (p k / p r) = (Real.log (p k) - (∑ l, Real.log (p l)) / (Fintype.card ι : ℝ))
    - (Real.log (p r) - (∑ l, Real.log (p l)) / (Fintype.card ι : ℝ))
  rw [Real.log_div (hp k).ne' (hp r).ne']
  ring

section Contrast

variable {κ : Type*} [Fintype κ] [DecidableEq κ] [DecidableEq ι]

/-- A vector that sums to zero is recovered from its coordinates. -/
theorem IsContrast.recover {H : κ → ι → ℝ} (hH : IsContrast H) {x : ι → ℝ}
    (hx : ∑ k, x k = 0) (k : ι) : ∑ i, H i k * ∑ l, H i l * x l = x k := by
  calc ∑ i, H i k * ∑ l, H i l * x l = ∑ i, ∑ l, H i k * (H i l * x l) :=
        Finset.sum_congr rfl (fun i _ => Finset.mul_sum _ _ _)
    -- `Finset.sum_comm`: Mathlib.Algebra.BigOperators.Group.Finset.Sigma
    _ = ∑ l, ∑ i, H i k * (H i l * x l) := Finset.sum_comm
    _ = ∑ l, ((if k = l then x l else 0) - 1 / (Fintype.card ι : ℝ) * x l) := by
        refine Finset.sum_congr rfl (fun l _ => ?_)
        have h : ∑ i, H i k * (H i l * x l) = (∑ i, H i k * H i l) * x l := by
          rw [Finset.sum_mul]
          exact Finset.sum_congr rfl (fun i _ => (mul_assoc _ _ _).symm)
        rw [h, hH.centring k l]
        by_cases hkl : k = l
        · rw [if_pos hkl, if_pos hkl]
          ring
        · rw [if_neg hkl, if_neg hkl]
          ring
    _ = (∑ l, if k = l then x l else 0) - 1 / (Fintype.card ι : ℝ) * ∑ l, x l := by
        rw [Finset.sum_sub_distrib, ← Finset.mul_sum]
    _ = x k := by
        -- `Finset.sum_ite_eq`: Mathlib.Algebra.BigOperators.Group.Finset.Piecewise
        rw [hx, mul_zero, sub_zero, Finset.sum_ite_eq, if_pos (Finset.mem_univ k)]

/-- The coordinates are an isometry of the clr plane. -/
theorem IsContrast.sum_sq {H : κ → ι → ℝ} (hH : IsContrast H) {x : ι → ℝ}
    (hx : ∑ k, x k = 0) : ∑ i, (∑ k, H i k * x k) ^ 2 = ∑ k, x k ^ 2 := by
  calc ∑ i, (∑ k, H i k * x k) ^ 2 = ∑ i, ∑ k, x k * (H i k * ∑ l, H i l * x l) := by
        refine Finset.sum_congr rfl (fun i _ => ?_)
        rw [sq, Finset.sum_mul]
        exact Finset.sum_congr rfl (fun k _ => by ring)
    _ = ∑ k, ∑ i, x k * (H i k * ∑ l, H i l * x l) := Finset.sum_comm
    _ = ∑ k, x k ^ 2 := by
        refine Finset.sum_congr rfl (fun k _ => ?_)
        rw [← Finset.mul_sum, hH.recover hx k, sq]

end Contrast

section Inverse

variable [Nonempty ι]

/-- The number of parts is not zero. -/
theorem card_ne_zero : (Fintype.card ι : ℝ) ≠ 0 :=
  -- `Nat.cast_ne_zero`: Mathlib.Algebra.CharZero.Defs
  -- `Fintype.card_ne_zero`: Mathlib.Data.Fintype.Card
  Nat.cast_ne_zero.mpr Fintype.card_ne_zero

/-- **T3.** The clr of a composition sums to zero. -/
theorem sum_clr (p : ι → ℝ) : ∑ k, clr p k = 0 := by
  show ∑ k, (Real.log (p k) - (∑ l, Real.log (p l)) / (Fintype.card ι : ℝ)) = 0
  -- `mul_div_assoc`: Mathlib.Algebra.Group.Defs
  -- `mul_div_cancel_left₀`: Mathlib.Algebra.GroupWithZero.Defs
  rw [Finset.sum_sub_distrib, sum_const_card, ← mul_div_assoc,
    mul_div_cancel_left₀ _ (card_ne_zero (ι := ι)), sub_self]

/-- **T3.** The softmax undoes the clr. -/
theorem softmax_clr {p : ι → ℝ} (hp : ∀ k, 0 < p k) (hp1 : ∑ k, p k = 1) :
    softmax (clr p) = p := by
  have h : softmax (clr p) = softmax (fun k => Real.log (p k)) :=
    (softmax_eq_softmax_iff _ _).mpr
      ⟨-((∑ l, Real.log (p l)) / (Fintype.card ι : ℝ)), fun k => sub_eq_add_neg _ _⟩
  rw [h, softmax_log hp hp1]

/-- **T3.** The clr undoes the softmax, up to the mean that the softmax does not see. -/
theorem clr_softmax (v : ι → ℝ) (k : ι) :
    clr (softmax v) k = v k - (∑ l, v l) / (Fintype.card ι : ℝ) := by
  have hsum : ∑ l, Real.log (softmax v l)
      = (∑ l, v l) - (Fintype.card ι : ℝ) * Real.log (∑ l, Real.exp (v l)) := by
    calc ∑ l, Real.log (softmax v l) = ∑ l, (v l - Real.log (∑ i, Real.exp (v i))) :=
          Finset.sum_congr rfl (fun l _ => log_softmax v l)
      _ = (∑ l, v l) - (Fintype.card ι : ℝ) * Real.log (∑ l, Real.exp (v l)) := by
          rw [Finset.sum_sub_distrib, sum_const_card]
  show Real.log (softmax v k) - (∑ l, Real.log (softmax v l)) / (Fintype.card ι : ℝ)
    = v k - (∑ l, v l) / (Fintype.card ι : ℝ)
  -- `sub_div`: Mathlib.Algebra.Field.Basic
  rw [hsum, log_softmax v k, sub_div, mul_div_cancel_left₀ _ (card_ne_zero (ι := ι))]
  ring

/-- **T3.** The clr undoes the softmax on the plane of vectors that sum to zero. -/
theorem clr_softmax_of_sum_eq_zero {v : ι → ℝ} (hv : ∑ k, v k = 0) : clr (softmax v) = v := by
  funext k
  -- `zero_div`: Mathlib.Algebra.GroupWithZero.Basic
  rw [clr_softmax v k, hv, zero_div, sub_zero]

/-- **T3.** The softmax undoes the alr, whatever the reference. -/
theorem softmax_alr {p : ι → ℝ} (hp : ∀ k, 0 < p k) (hp1 : ∑ k, p k = 1) (r : ι) :
    softmax (alr r p) = p := by
  have h : softmax (alr r p) = softmax (clr p) :=
    (softmax_eq_softmax_iff _ _).mpr
      ⟨-clr p r, fun k => (alr_eq_clr_sub_clr hp r k).trans (sub_eq_add_neg _ _)⟩
  rw [h, softmax_clr hp hp1]

/-- **T3.** The alr undoes the softmax of a vector whose reference coordinate is `0`. -/
theorem alr_softmax {v : ι → ℝ} {r : ι} (hv : v r = 0) : alr r (softmax v) = v := by
  funext k
  rw [alr_eq_clr_sub_clr (softmax_pos v) r k, clr_softmax v k, clr_softmax v r, hv]
  ring

variable {κ : Type*} [Fintype κ] [DecidableEq κ] [DecidableEq ι]

/-- **T3.** The softmax of `Hᵀ` times the ilr is the composition. -/
theorem softmax_ilr {H : κ → ι → ℝ} (hH : IsContrast H) {p : ι → ℝ} (hp : ∀ k, 0 < p k)
    (hp1 : ∑ k, p k = 1) : softmax (fun k => ∑ i, H i k * ilr H p i) = p := by
  have h : (fun k => ∑ i, H i k * ilr H p i) = clr p :=
    funext (fun k => hH.recover (sum_clr p) k)
  rw [h, softmax_clr hp hp1]

/-- **T3.** The ilr undoes the softmax of `Hᵀ z`. -/
theorem ilr_softmax {H : κ → ι → ℝ} (hH : IsContrast H) (z : κ → ℝ) :
    ilr H (softmax (fun k => ∑ i, H i k * z i)) = z := by
  have hzero : ∑ k, ∑ i, H i k * z i = 0 := by
    rw [Finset.sum_comm]
    -- `Finset.sum_eq_zero`: Mathlib.Algebra.BigOperators.Group.Finset.Basic
    refine Finset.sum_eq_zero (fun i _ => ?_)
    rw [← Finset.sum_mul, hH.sum_zero i, zero_mul]
  funext j
  show ∑ k, H j k * clr (softmax (fun k => ∑ i, H i k * z i)) k = z j
  rw [clr_softmax_of_sum_eq_zero hzero]
  calc ∑ k, H j k * ∑ i, H i k * z i = ∑ k, ∑ i, H j k * (H i k * z i) :=
        Finset.sum_congr rfl (fun k _ => Finset.mul_sum _ _ _)
    _ = ∑ i, ∑ k, H j k * (H i k * z i) := Finset.sum_comm
    _ = ∑ i, if j = i then z i else 0 := by
        refine Finset.sum_congr rfl (fun i _ => ?_)
        have h : ∑ k, H j k * (H i k * z i) = (∑ k, H j k * H i k) * z i := by
          rw [Finset.sum_mul]
          exact Finset.sum_congr rfl (fun k _ => (mul_assoc _ _ _).symm)
        rw [h, hH.orthonormal j i]
        by_cases hji : j = i
        · rw [if_pos hji, if_pos hji, one_mul]
        · rw [if_neg hji, if_neg hji, zero_mul]
    _ = z j := by rw [Finset.sum_ite_eq, if_pos (Finset.mem_univ j)]

end Inverse

end Skpce
