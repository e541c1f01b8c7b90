import Sum

/-!
# Least squares: one member left out, blocks of members

`p` terms; `G` is the matrix of the normal equations, `b` their right side. Weights of members and a
penalty may be part of `G` and `b`.
-/
namespace SkpceCore
open Lean.Grind

section Field
variable {R : Type} [Field R]

/-- `x · y`. -/
def dot (p : Nat) (x y : Nat → R) : R := sum p (fun j => x j * y j)

theorem dot_sub_mul (p : Nat) (x d z : Nat → R) (k : R) :
    dot p x (fun j => d j - k * z j) = dot p x d - k * dot p x z := by
  unfold dot
  rw [← sum_mul_left, ← sum_sub]
  exact sum_congr (fun j _ => by grind)

theorem dot_congr {p : Nat} {x d e : Nat → R} (h : ∀ j, j < p → d j = e j) :
    dot p x d = dot p x e := sum_congr (fun j hj => by rw [h j hj])

/-- **Leave-one-out residuals** (`LinearFit.loo_error`, `loo_residuals`). Let `d` solve the normal
equations, `G z = x` for the row `x` of a member with the value `y`, `h = x · z` its leverage and
`r` its residual, and let `G v = 0` only for `v = 0`. Of the weight of the member in `G`, `w` is
left out: 1 for one of several copies, all of it where it is less. If `w h ≠ 1`, exactly one vector
solves the equations without it, and the residual of the member under it is `r / (1 - w h)`. -/
theorem leave_one_out (p : Nat) (G : Nat → Nat → R) (b d z x : Nat → R) (y w h r : R)
    (hG : ∀ v : Nat → R, (∀ i, i < p → dot p (G i) v = 0) → ∀ j, j < p → v j = 0)
    (hd : ∀ i, i < p → dot p (G i) d = b i) (hz : ∀ i, i < p → dot p (G i) z = x i)
    (hh : dot p x z = h) (h1 : 1 - w * h ≠ 0) (hr : y - dot p x d = r) (d' : Nat → R) :
    ((∀ i, i < p → dot p (fun j => G i j - w * (x i * x j)) d' = b i - w * (x i * y))
        ↔ ∀ j, j < p → d' j = d j - w * (r / (1 - w * h)) * z j)
      ∧ ((∀ i, i < p → dot p (fun j => G i j - w * (x i * x j)) d' = b i - w * (x i * y))
        → y - dot p x d' = r / (1 - w * h)) := by
  have split : ∀ i e, dot p (fun j => G i j - w * (x i * x j)) e
      = dot p (G i) e - w * x i * dot p x e := by
    intro i e
    unfold dot
    rw [← sum_mul_left, ← sum_sub]
    exact sum_congr (fun j _ => by grind)
  have hk : r / (1 - w * h) * (1 - w * h) = r := by grind
  generalize r / (1 - w * h) = k at hk
  have fwd : (∀ i, i < p → dot p (fun j => G i j - w * (x i * x j)) d' = b i - w * (x i * y)) →
      (∀ j, j < p → d' j = d j - w * k * z j) ∧ y - dot p x d' = k := by
    intro hs
    -- `r'` is the residual under `d'`; `G (d' - d + w r' z) = 0`
    have hv : ∀ i, i < p →
        dot p (G i) (fun j => d' j - (d j - w * (y - dot p x d') * z j)) = 0 := by
      intro i hi
      have e1 := hs i hi
      rw [split] at e1
      have e2 := dot_sub_mul p (G i) d' (fun j => d j - w * (y - dot p x d') * z j) 1
      rw [dot_sub_mul p (G i) d z, hd i hi, hz i hi] at e2
      have e3 : dot p (G i) (fun j => d' j - (d j - w * (y - dot p x d') * z j))
          = dot p (G i) (fun j => d' j - 1 * (d j - w * (y - dot p x d') * z j)) :=
        dot_congr (fun j _ => by grind)
      rw [e3, e2]
      grind
    have hj := hG _ hv
    have hx : dot p x d' = dot p x d - w * (y - dot p x d') * h := by
      rw [← hh, ← dot_sub_mul]
      exact dot_congr (fun j hjp => by have := hj j hjp; grind)
    have hr' : y - dot p x d' = k := by
      generalize dot p x d' = s at hx
      generalize dot p x d = q at hx hr
      have e4 : (1 - w * h) * (y - s - k) = 0 := by grind
      grind
    exact ⟨fun j hjp => by have := hj j hjp; rw [hr'] at this; grind, hr'⟩
  refine ⟨⟨fun hs => (fwd hs).1, fun hd' i hi => ?_⟩, fun hs => (fwd hs).2⟩
  rw [split, dot_congr hd', dot_congr (x := x) hd', dot_sub_mul, dot_sub_mul, hd i hi, hz i hi, hh]
  generalize dot p x d = q at hr
  grind

/-- **A, least squares** (`skpce.sample_size._bounds.coefficient_error_bound`): with rows `x t`,
values `x t · c + ε t` and coefficients `d` that solve the normal equations, the squares of the
fitted errors `x t · (d - c)` have the sum of their products with the noise. -/
theorem fitted_error (n p : Nat) (x : Nat → Nat → R) (c d ε : Nat → R)
    (hd : ∀ j, j < p → sum n (fun t => x t j * (dot p (x t) c + ε t - dot p (x t) d)) = 0) :
    sum n (fun t => dot p (x t) (fun j => d j - c j) * dot p (x t) (fun j => d j - c j))
      = sum n (fun t => ε t * dot p (x t) (fun j => d j - c j)) := by
  have e1 : ∀ t, dot p (x t) (fun j => d j - c j) = dot p (x t) d - dot p (x t) c := by
    intro t
    have h := dot_sub_mul p (x t) d c 1
    rw [dot_congr (e := fun j => d j - 1 * c j) (fun j _ => by grind), h]
    grind
  have e2 : sum n (fun t => dot p (x t) (fun j => d j - c j)
      * (dot p (x t) c + ε t - dot p (x t) d)) = 0 := by
    have e3 : ∀ t, dot p (x t) (fun j => d j - c j) * (dot p (x t) c + ε t - dot p (x t) d)
        = sum p (fun j => (d j - c j) * (x t j * (dot p (x t) c + ε t - dot p (x t) d))) := by
      intro t
      generalize dot p (x t) c + ε t - dot p (x t) d = r
      unfold dot
      rw [← sum_mul_right]
      exact sum_congr (fun j _ => by grind)
    rw [sum_congr (fun t _ => e3 t), sum_comm]
    exact sum_eq_zero (fun j hj => by rw [sum_mul_left, hd j hj]; grind)
  have e4 : sum n (fun t => dot p (x t) (fun j => d j - c j) * dot p (x t) (fun j => d j - c j))
      = sum n (fun t => ε t * dot p (x t) (fun j => d j - c j))
        - sum n (fun t => dot p (x t) (fun j => d j - c j)
          * (dot p (x t) c + ε t - dot p (x t) d)) := by
    rw [← sum_sub]
    exact sum_congr (fun t _ => by rw [e1 t]; grind)
  rw [e4, e2]
  grind

/-- The mean of a column over `n` members with weights. -/
def columnMean (n : Nat) (w f : Nat → R) : R := sum n (fun t => w t * f t) / sum n w

/-- The sum of products of two columns about their means. -/
def centredProduct (n : Nat) (w f g : Nat → R) : R :=
  sum n (fun t => w t * ((f t - columnMean n w f) * (g t - columnMean n w g)))

theorem centredProduct_eq {n : Nat} {w : Nat → R} (hw : sum n w ≠ 0) (f g : Nat → R) :
    centredProduct n w f g
      = sum n (fun t => w t * (f t * g t)) - sum n w * (columnMean n w f * columnMean n w g) := by
  unfold centredProduct
  have hf : sum n w * columnMean n w f = sum n (fun t => w t * f t) := by
    unfold columnMean; grind
  have hg : sum n w * columnMean n w g = sum n (fun t => w t * g t) := by
    unfold columnMean; grind
  generalize columnMean n w f = a at hf
  generalize columnMean n w g = b at hg
  have e : ∀ t, w t * ((f t - a) * (g t - b))
      = ((w t * (f t * g t) - b * (w t * f t)) - a * (w t * g t)) + (a * b) * w t := by
    intro t; grind
  rw [sum_congr (fun t _ => e t), sum_add, sum_sub, sum_sub, sum_mul_left, sum_mul_left,
    sum_mul_left, ← hf, ← hg]
  grind

/-- **Blocks of `partial_fit`** (`DesignMoments.__add__`): weight, mean, and centred products of `m`
members and of `n` more give those of all, exactly but for rounding. -/
theorem partial_fit_exact (m n : Nat) (w f g : Nat → R)
    (h1 : sum m w ≠ 0) (h2 : sum n (fun t => w (m + t)) ≠ 0) (h : sum (m + n) w ≠ 0) :
    columnMean (m + n) w f = columnMean m w f + sum n (fun t => w (m + t)) / sum (m + n) w
        * (columnMean n (fun t => w (m + t)) (fun t => f (m + t)) - columnMean m w f)
      ∧ centredProduct (m + n) w f g = centredProduct m w f g
        + centredProduct n (fun t => w (m + t)) (fun t => f (m + t)) (fun t => g (m + t))
        + sum m w * (sum n (fun t => w (m + t)) / sum (m + n) w)
          * ((columnMean n (fun t => w (m + t)) (fun t => f (m + t)) - columnMean m w f)
            * (columnMean n (fun t => w (m + t)) (fun t => g (m + t)) - columnMean m w g)) := by
  have means : ∀ u : Nat → R, sum (m + n) w * columnMean (m + n) w u
      = sum m w * columnMean m w u
        + sum n (fun t => w (m + t)) * columnMean n (fun t => w (m + t)) (fun t => u (m + t)) := by
    intro u
    have a1 : sum (m + n) w * columnMean (m + n) w u = sum (m + n) (fun t => w t * u t) := by
      unfold columnMean; grind
    have a2 : sum m w * columnMean m w u = sum m (fun t => w t * u t) := by
      unfold columnMean; grind
    have a3 : sum n (fun t => w (m + t)) * columnMean n (fun t => w (m + t)) (fun t => u (m + t))
        = sum n (fun t => w (m + t) * u (m + t)) := by
      unfold columnMean; grind
    rw [a1, a2, a3, sum_append]
  have hf := means f
  have hg := means g
  have hw := sum_append m n w
  rw [centredProduct_eq h, centredProduct_eq h1, centredProduct_eq h2,
    sum_append m n (fun t => w t * (f t * g t))]
  generalize sum m (fun t => w t * (f t * g t)) = q1
  generalize sum n (fun t => w (m + t) * (f (m + t) * g (m + t))) = q2
  generalize columnMean (m + n) w f = F at hf
  generalize columnMean (m + n) w g = H at hg
  generalize columnMean m w f = f1 at hf
  generalize columnMean m w g = g1 at hg
  generalize columnMean n (fun t => w (m + t)) (fun t => f (m + t)) = f2 at hf
  generalize columnMean n (fun t => w (m + t)) (fun t => g (m + t)) = g2 at hg
  generalize sum (m + n) w = W at h hw hf hg
  generalize sum m w = W1 at h1 hw hf hg
  generalize sum n (fun t => w (m + t)) = W2 at h2 hw hf hg
  have hs : W * (W2 / W) = W2 := by grind
  generalize W2 / W = s at hs
  have eF : F = f1 + s * (f2 - f1) := by
    have : W * F = W * (f1 + s * (f2 - f1)) := by grind
    grind
  have eH : H = g1 + s * (g2 - g1) := by
    have : W * H = W * (g1 + s * (g2 - g1)) := by grind
    grind
  refine ⟨eF, ?_⟩
  subst eF eH hw
  grind

end Field

section Ordered
variable {R : Type} [Field R] [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R]
  [OrderedRing R]

/-- **A, from the noise to the coefficients** (`skpce.sample_size._bounds.coefficient_error_bound`):
where `lam ‖v‖² ≤ ‖x v‖²` for all `v`, and the noise has at most `B` with the fitted errors, the
squared error of all coefficients but the constant is at most `B / lam`. -/
theorem coefficient_error (n q : Nat) (x : Nat → Nat → R) (c d ε : Nat → R) {lam B : R}
    (hd : ∀ j, j < q + 1 →
      sum n (fun t => x t j * (dot (q + 1) (x t) c + ε t - dot (q + 1) (x t) d)) = 0)
    (h0 : 0 < lam) (hx : ∀ v : Nat → R, lam * dot (q + 1) v v
      ≤ sum n (fun t => dot (q + 1) (x t) v * dot (q + 1) (x t) v))
    (hB : sum n (fun t => ε t * dot (q + 1) (x t) (fun j => d j - c j)) ≤ B) :
    sum q (fun j => (d (j + 1) - c (j + 1)) * (d (j + 1) - c (j + 1))) ≤ B / lam := by
  have h1 := hx (fun j => d j - c j)
  rw [fitted_error n (q + 1) x c d ε hd] at h1
  unfold dot at h1
  rw [sum_head] at h1
  have h2 := square_nonneg (d 0 - c 0)
  have h3 : lam * (B / lam) = B := by
    have h4 : lam ≠ 0 := by grind
    grind
  refine le_of_mul_le h0 ?_
  rw [h3]
  generalize sum q (fun j => (d (j + 1) - c (j + 1)) * (d (j + 1) - c (j + 1))) = s at h1
  have h5 := OrderedRing.mul_nonneg (show 0 ≤ lam by grind) h2
  unfold dot at hB
  grind

end Ordered

/-! ### Examples, in the rational numbers -/
section Examples

/-- One term, three members with x = 1 and y = 1, 2, 6: with half of the last left out, the mean is
12/5, and its residual 18/5. -/
example : ((∀ i, i < 1 → dot 1 (fun _ => (3 : Rat) - 1 / 2 * (1 * 1)) (fun _ => 12 / 5)
        = 9 - 1 / 2 * (1 * 6))
      ↔ ∀ j, j < 1 → (12 / 5 : Rat) = 3 - 1 / 2 * (3 / (1 - 1 / 2 * (1 / 3))) * (1 / 3))
    ∧ ((∀ i, i < 1 → dot 1 (fun _ => (3 : Rat) - 1 / 2 * (1 * 1)) (fun _ => 12 / 5)
        = 9 - 1 / 2 * (1 * 6))
      → 6 - dot 1 (fun _ => (1 : Rat)) (fun _ => 12 / 5) = 3 / (1 - 1 / 2 * (1 / 3))) :=
  leave_one_out 1 (fun _ _ => 3) (fun _ => 9) (fun _ => 3) (fun _ => 1 / 3) (fun _ => 1) 6 (1 / 2)
    (1 / 3) 3
    (fun v hv j hj => by
      have e : j = 0 := by omega
      subst e
      have := hv 0 (by omega)
      simp only [dot, sum_succ, sum_zero] at this
      grind)
    (fun _ _ => by simp only [dot, sum_succ, sum_zero]; grind)
    (fun _ _ => by simp only [dot, sum_succ, sum_zero]; grind)
    (by simp only [dot, sum_succ, sum_zero]; grind) (by grind)
    (by simp only [dot, sum_succ, sum_zero]; grind) (fun _ => 12 / 5)

/-- Of the values 1 and 3 about the truth 0, the mean is 2: `2 (2 * 2) = 1 * 2 + 3 * 2`. -/
example : sum 2 (fun _ =>
      dot 1 (fun _ => (1 : Rat)) (fun _ => 2 - 0) * dot 1 (fun _ => 1) (fun _ => 2 - 0))
    = sum 2 (fun t => (if t = 0 then 1 else 3) * dot 1 (fun _ => 1) (fun _ => 2 - 0)) :=
  fitted_error 2 1 (fun _ _ => 1) (fun _ => 0) (fun _ => 2) (fun t => if t = 0 then 1 else 3)
    (by decide +kernel)

/-- Values 1 and 3 at x = -1 and 1, whose fit is 2 + x; the truth is 1. -/
def line (t j : Nat) : Rat := if j = 0 then 1 else if t = 0 then -1 else 1

example : sum 1 (fun _ => ((1 : Rat) - 0) * (1 - 0)) ≤ 4 / 2 :=
  coefficient_error 2 1 line (fun j => if j = 0 then 1 else 0) (fun j => if j = 0 then 2 else 1)
    (fun t => if t = 0 then 0 else 2) (by decide +kernel) (by decide +kernel)
    (fun v => by simp [dot, line, sum_succ, sum_zero]; grind) (by decide +kernel)

/-- Two members, 0 and 2, and a third, 4: the mean is 2, the sum of squares about it 8. -/
def third (t : Nat) : Rat := if t = 0 then 0 else if t = 1 then 2 else 4

example : columnMean (2 + 1) (fun _ => (1 : Rat)) third
      = columnMean 2 (fun _ => 1) third + sum 1 (fun _ => 1) / sum (2 + 1) (fun _ => 1)
        * (columnMean 1 (fun _ => 1) (fun t => third (2 + t)) - columnMean 2 (fun _ => 1) third)
    ∧ centredProduct (2 + 1) (fun _ => (1 : Rat)) third third
      = centredProduct 2 (fun _ => 1) third third
        + centredProduct 1 (fun _ => 1) (fun t => third (2 + t)) (fun t => third (2 + t))
        + sum 2 (fun _ => 1) * (sum 1 (fun _ => 1) / sum (2 + 1) (fun _ => 1))
          * ((columnMean 1 (fun _ => 1) (fun t => third (2 + t)) - columnMean 2 (fun _ => 1) third)
            * (columnMean 1 (fun _ => 1) (fun t => third (2 + t))
              - columnMean 2 (fun _ => 1) third)) :=
  partial_fit_exact 2 1 (fun _ => 1) third third (by simp [sum]; grind) (by simp [sum]; grind)
    (by simp [sum]; grind)

end Examples
end SkpceCore
