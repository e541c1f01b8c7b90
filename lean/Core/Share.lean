import Sum

/-!
# A: indices move no more than coefficients

`x` and `y` are two vectors of coefficients without the constant, `θ` weights between 0 and 1, which
make of the squares a first-order, total, closed or Shapley index. Roots are hypotheses: `a * a` is
the variance of `x`, `b * b` that of `y`; the real numbers have them.
-/
namespace SkpceCore
open Lean.Grind

section Ordered
variable {R : Type} [Field R] [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R]
  [OrderedRing R]

/-- The inequality of Cauchy and Schwarz. -/
theorem cauchy_schwarz (n : Nat) (x y : Nat → R) :
    sum n (fun j => x j * y j) * sum n (fun j => x j * y j)
      ≤ sum n (fun j => x j * x j) * sum n (fun j => y j * y j) := by
  have h0 : 0 ≤ sum n (fun i => sum n (fun j =>
      (x i * y j - x j * y i) * (x i * y j - x j * y i))) :=
    sum_nonneg (fun i _ => sum_nonneg (fun j _ => square_nonneg _))
  have e : sum n (fun i => sum n (fun j => (x i * y j - x j * y i) * (x i * y j - x j * y i)))
      = (sum n (fun j => x j * x j) * sum n (fun j => y j * y j)
          + sum n (fun j => y j * y j) * sum n (fun j => x j * x j))
        - 2 * (sum n (fun j => x j * y j) * sum n (fun j => x j * y j)) := by
    rw [sum_mul_sum, sum_mul_sum, sum_mul_sum, ← sum_mul_left, ← sum_add, ← sum_sub]
    refine sum_congr (fun i _ => ?_)
    rw [← sum_mul_left, ← sum_add, ← sum_sub]
    exact sum_congr (fun j _ => by grind)
  grind

/-- Squares of numbers that are not negative are ordered as the numbers are. -/
theorem le_of_square_le {a b : R} (hb : 0 ≤ b) (h : a * a ≤ b * b) : a ≤ b := by
  by_cases g : a ≤ b
  · exact g
  · have h1 : 0 < (a - b) * (a + b) := OrderedRing.mul_pos (by grind) (by grind)
    grind

/-- Step 1: with `X`, `Y` the variances, `C` the sum of products, `A`, `B` the weighted sums,
`(A Y - B X)² ≤ X Y (X Y - C²)`. -/
theorem share_step_one {n : Nat} (θ x y : Nat → R) {a b : R} (hθ0 : ∀ j, j < n → 0 ≤ θ j)
    (hθ1 : ∀ j, j < n → θ j ≤ 1) (ha : sum n (fun j => x j * x j) = a * a)
    (hb : sum n (fun j => y j * y j) = b * b) :
    (sum n (fun j => θ j * (x j * x j)) * (b * b) - sum n (fun j => θ j * (y j * y j)) * (a * a))
        * (sum n (fun j => θ j * (x j * x j)) * (b * b)
          - sum n (fun j => θ j * (y j * y j)) * (a * a))
      ≤ (a * a) * (b * b) * ((a * a) * (b * b)
        - sum n (fun j => x j * y j) * sum n (fun j => x j * y j)) := by
  have h := cauchy_schwarz n (fun j => (2 * θ j - 1) * (b * x j - a * y j))
    (fun j => b * x j + a * y j)
  generalize hA : sum n (fun j => θ j * (x j * x j)) = A
  generalize hB : sum n (fun j => θ j * (y j * y j)) = B
  generalize hC : sum n (fun j => x j * y j) = C
  have e1 : sum n (fun j => ((2 * θ j - 1) * (b * x j - a * y j)) * (b * x j + a * y j))
      = 2 * (A * (b * b) - B * (a * a)) := by
    have e : ∀ j, ((2 * θ j - 1) * (b * x j - a * y j)) * (b * x j + a * y j)
        = (((2 * (b * b)) * (θ j * (x j * x j)) - (2 * (a * a)) * (θ j * (y j * y j)))
          - (b * b) * (x j * x j)) + (a * a) * (y j * y j) := by
      intro j; grind
    rw [sum_congr (fun j _ => e j), sum_add, sum_sub, sum_sub, sum_mul_left, sum_mul_left,
      sum_mul_left, sum_mul_left, hA, hB, ha, hb]
    grind
  have e2 : sum n (fun j => (b * x j + a * y j) * (b * x j + a * y j))
      = 2 * ((a * a) * (b * b)) + (2 * (a * b)) * C := by
    have e : ∀ j, (b * x j + a * y j) * (b * x j + a * y j)
        = ((b * b) * (x j * x j) + (2 * (a * b)) * (x j * y j)) + (a * a) * (y j * y j) := by
      intro j; grind
    rw [sum_congr (fun j _ => e j), sum_add, sum_add, sum_mul_left, sum_mul_left, sum_mul_left,
      hC, ha, hb]
    grind
  have e3 : sum n (fun j => ((2 * θ j - 1) * (b * x j - a * y j))
        * ((2 * θ j - 1) * (b * x j - a * y j)))
      ≤ 2 * ((a * a) * (b * b)) - (2 * (a * b)) * C := by
    have e : ∀ j, (b * x j - a * y j) * (b * x j - a * y j)
        = ((b * b) * (x j * x j) - (2 * (a * b)) * (x j * y j)) + (a * a) * (y j * y j) := by
      intro j; grind
    have e4 : sum n (fun j => (b * x j - a * y j) * (b * x j - a * y j))
        = 2 * ((a * a) * (b * b)) - (2 * (a * b)) * C := by
      rw [sum_congr (fun j _ => e j), sum_add, sum_sub, sum_mul_left, sum_mul_left, sum_mul_left,
        hC, ha, hb]
      grind
    rw [← e4]
    refine sum_le_sum (fun j hj => ?_)
    have h0 := hθ0 j hj
    have h1 := hθ1 j hj
    have h2 : 0 ≤ θ j * (1 - θ j) := OrderedRing.mul_nonneg h0 (by grind)
    have h3 := square_nonneg (b * x j - a * y j)
    generalize (b * x j - a * y j) = d at h3 ⊢
    have h4 : 0 ≤ (θ j * (1 - θ j)) * (d * d) := OrderedRing.mul_nonneg h2 h3
    generalize θ j = t at h4 ⊢
    grind
  have e5 : 0 ≤ sum n (fun j => (b * x j + a * y j) * (b * x j + a * y j)) :=
    sum_nonneg (fun j _ => square_nonneg _)
  rw [e1] at h
  have h6 := mul_le_mul_of_nonneg e5 e3
  rw [e2] at h h6
  clear e1 e2 e3 e5 hA hB hC ha hb hθ0 hθ1
  grind

/-- **A, deterministic part** (`skpce.sample_size._bounds.sobol_error_bound`). An index of estimated
coefficients `x`, read as 0 where they have no variance, differs from that of the coefficients `y`
of variance `b²` by at most `e / b`, where `e²` is the sum of the squared errors. -/
theorem share_error {n : Nat} (θ x y : Nat → R) {a b e : R} (hθ0 : ∀ j, j < n → 0 ≤ θ j)
    (hθ1 : ∀ j, j < n → θ j ≤ 1) (ha : sum n (fun j => x j * x j) = a * a)
    (hb : sum n (fun j => y j * y j) = b * b) (hb0 : 0 < b) (he0 : 0 ≤ e)
    (he : sum n (fun j => (x j - y j) * (x j - y j)) = e * e) :
    sum n (fun j => θ j * (x j * x j)) / (a * a) - sum n (fun j => θ j * (y j * y j)) / (b * b)
        ≤ e / b
      ∧ sum n (fun j => θ j * (y j * y j)) / (b * b) - sum n (fun j => θ j * (x j * x j)) / (a * a)
        ≤ e / b := by
  have step := share_step_one θ x y hθ0 hθ1 ha hb
  have hC : e * e = (a * a - 2 * sum n (fun j => x j * y j)) + b * b := by
    rw [← he, ← ha, ← hb, ← sum_mul_left, ← sum_sub, ← sum_add]
    exact sum_congr (fun j _ => by grind)
  have hB0 : 0 ≤ sum n (fun j => θ j * (y j * y j)) :=
    sum_nonneg (fun j hj => OrderedRing.mul_nonneg (hθ0 j hj) (square_nonneg _))
  have hB1 : sum n (fun j => θ j * (y j * y j)) ≤ b * b := by
    rw [← hb]
    refine sum_le_sum (fun j hj => ?_)
    have h1 : 0 ≤ (1 - θ j) * (y j * y j) :=
      OrderedRing.mul_nonneg (by have := hθ1 j hj; grind) (square_nonneg _)
    grind
  have hcs := cauchy_schwarz n x y
  rw [ha, hb] at hcs
  generalize sum n (fun j => θ j * (x j * x j)) = A at step ⊢
  generalize sum n (fun j => θ j * (y j * y j)) = B at step hB0 hB1 ⊢
  generalize sum n (fun j => x j * y j) = C at step hC hcs
  have hY : 0 < b * b := OrderedRing.mul_pos hb0 hb0
  have key : ((A / (a * a) - B / (b * b)) * b) * ((A / (a * a) - B / (b * b)) * b) ≤ e * e := by
    by_cases h0 : a = 0
    · -- no variance: `C = 0`, and the claim is `(B / b²)² b² ≤ b²`
      subst h0
      have hC0 : C * C = 0 := by
        have := square_nonneg C
        grind
      have hC1 : C = 0 := by grind
      have e1 : A / ((0 : R) * 0) = 0 := by grind
      rw [e1, hC, hC1]
      have h1 : 0 ≤ (b * b - B) * (b * b + B) := OrderedRing.mul_nonneg (by grind) (by grind)
      refine le_of_mul_le hY ?_
      have e2 : (b * b) * (B / (b * b)) = B := by grind
      generalize B / (b * b) = s at e2
      have e3 : (b * b) * (((0 - s) * b) * ((0 - s) * b)) = ((b * b) * s) * ((b * b) * s) := by
        clear h1 e2 e1 hC hcs step ha hb he hθ0 hθ1 hC0
        grind
      rw [e3, e2]
      clear e3 e2 e1 hC hcs step ha hb he hθ0 hθ1 hC0
      grind
    · have hX : 0 < a * a := by
        have := square_nonneg a
        have : a * a ≠ 0 := by grind
        grind
      have h1 := square_nonneg (a * a - C)
      have h2 : 0 ≤ (b * b) * ((a * a - C) * (a * a - C)) := OrderedRing.mul_nonneg (by grind) h1
      have hXY : 0 < (a * a) * (b * b) := OrderedRing.mul_pos hX hY
      refine le_of_mul_le (OrderedRing.mul_pos hXY hX) ?_
      have e1 : (a * a) * (A / (a * a)) = A := by grind
      have e2 : (b * b) * (B / (b * b)) = B := by grind
      have e3 : ((A / (a * a) - B / (b * b)) * ((a * a) * (b * b)))
          = A * (b * b) - B * (a * a) := by
        grind
      generalize A / (a * a) - B / (b * b) = t at e3
      rw [← e3] at step
      have h3 := mul_le_mul_of_nonneg (c := (a * a) * (b * b)) (by grind) (show
        (a * a) * (b * b) - C * C ≤ (a * a) * (e * e) by rw [hC]; grind)
      clear e1 e2 e3 hC hcs hB0 hB1 ha hb he hθ0 hθ1 h1 h2
      grind
  have hbb : b * (e / b) = e := by grind
  generalize A / (a * a) = u at key ⊢
  generalize B / (b * b) = v at key ⊢
  constructor
  · refine le_of_mul_le hb0 ?_
    rw [hbb]
    refine le_of_square_le he0 ?_
    clear step hC hB0 hB1 hcs hY hbb ha hb he hθ0 hθ1
    grind
  · refine le_of_mul_le hb0 ?_
    rw [hbb]
    refine le_of_square_le he0 ?_
    clear step hC hB0 hB1 hcs hY hbb ha hb he hθ0 hθ1
    grind

end Ordered

/-! ### Example: coefficients (12, 9), of norm 15, are estimated as (12, 5), of norm 13 -/
section Examples

def estimated (j : Nat) : Rat := if j = 0 then 12 else 5

def truth (j : Nat) : Rat := if j = 0 then 12 else 9

def first (j : Nat) : Rat := if j = 0 then 1 else 0

/-- 144/169 and 144/225 differ by less than 4/15. -/
example : sum 2 (fun j => first j * (estimated j * estimated j)) / (13 * 13)
      - sum 2 (fun j => first j * (truth j * truth j)) / (15 * 15) ≤ 4 / 15
    ∧ sum 2 (fun j => first j * (truth j * truth j)) / (15 * 15)
      - sum 2 (fun j => first j * (estimated j * estimated j)) / (13 * 13) ≤ 4 / 15 :=
  share_error (a := 13) (b := 15) (e := 4) first estimated truth (by decide +kernel)
    (by decide +kernel) (by decide +kernel) (by decide +kernel) (by decide +kernel)
    (by decide +kernel) (by decide +kernel)

end Examples
end SkpceCore
