import Sum

/-!
# Recombined members, and bounds on the value of information

`q` is the law of the members of one part, `r` that of the members of the others. Two different
members of a part are independent draws of its law; a draw of recombined members takes two of each
part.
-/
namespace SkpceCore
open Lean.Grind

section Field
variable {R : Type} [Field R]

/-- The mean over the members of a part. -/
def partMean (m : Nat) (q f : Nat → R) : R := sum m (fun a => q a * f a)

/-- The variance over the members of a part. -/
def partVar (m : Nat) (q f : Nat → R) : R :=
  sum m (fun a => q a * ((f a - partMean m q f) * (f a - partMean m q f)))

theorem partMean_mul_left (m : Nat) (q f : Nat → R) (c : R) :
    partMean m q (fun a => c * f a) = c * partMean m q f := by
  unfold partMean
  rw [← sum_mul_left]
  exact sum_congr (fun a _ => by grind)

/-- Half the mean squared distance of two independent draws is the variance. -/
theorem half_square_distance {m : Nat} {q : Nat → R} (hq : sum m q = 1) (h2 : (2 : R) ≠ 0)
    (f : Nat → R) :
    partMean m q (fun a => partMean m q (fun b => 1 / 2 * ((f a - f b) * (f a - f b))))
      = partVar m q f := by
  have hm : sum m (fun a => q a * f a) = partMean m q f := rfl
  have h1 : partVar m q f
      = sum m (fun a => q a * (f a * f a)) - partMean m q f * partMean m q f := by
    unfold partVar
    generalize partMean m q f = u at hm
    have e : ∀ a, q a * ((f a - u) * (f a - u))
        = (q a * (f a * f a) - (2 * u) * (q a * f a)) + (u * u) * q a := by
      intro a; grind
    rw [sum_congr (fun a _ => e a), sum_add, sum_sub, sum_mul_left, sum_mul_left, hq, hm]
    grind
  rw [h1]
  have e2 : ∀ a, partMean m q (fun b => 1 / 2 * ((f a - f b) * (f a - f b)))
      = 1 / 2 * ((f a * f a - (2 * f a) * partMean m q f)
        + sum m (fun b => q b * (f b * f b))) := by
    intro a
    have e3 : ∀ b, q b * (1 / 2 * ((f a - f b) * (f a - f b)))
        = ((1 / 2 * (f a * f a)) * q b - (f a) * (q b * f b)) + 1 / 2 * (q b * (f b * f b)) := by
      intro b; grind
    show sum m (fun b => q b * (1 / 2 * ((f a - f b) * (f a - f b)))) = _
    rw [sum_congr (fun b _ => e3 b), sum_add, sum_sub, sum_mul_left, sum_mul_left, sum_mul_left,
      hq, hm]
    grind
  show sum m (fun a => q a * partMean m q (fun b => 1 / 2 * ((f a - f b) * (f a - f b)))) = _
  generalize hs : sum m (fun b => q b * (f b * f b)) = s
  have e4 : ∀ a, q a * partMean m q (fun b => 1 / 2 * ((f a - f b) * (f a - f b)))
      = (1 / 2 * (q a * (f a * f a)) - partMean m q f * (q a * f a)) + (1 / 2 * s) * q a := by
    intro a
    rw [e2 a, hs]
    generalize partMean m q f = u
    grind
  rw [sum_congr (fun a _ => e4 a), sum_add, sum_sub, sum_mul_left, sum_mul_left, sum_mul_left, hq,
    hm, hs]
  grind

/-- **Pairs of different members** (`skpce.inspection._parts.effects.draw_pairs`): over the
`m (m - 1)` ordered pairs of `m` members, half the squared distances have the sum `m` times the sum
of squares about the mean. So their mean is the variance with `m - 1` in its denominator. -/
theorem recombination_pairs {m : Nat} (hm : sum m (fun _ => (1 : R)) ≠ 0) (h2 : (2 : R) ≠ 0)
    (f : Nat → R) :
    sum m (fun a => sum m (fun b => if a = b then 0 else 1 / 2 * ((f a - f b) * (f a - f b))))
      = sum m (fun _ => 1) * sum m (fun a => (f a - sum m f / sum m (fun _ => 1))
        * (f a - sum m f / sum m (fun _ => 1))) := by
  have h := half_square_distance (m := m) (q := fun _ => 1 / sum m (fun _ => (1 : R)))
    (by rw [sum_const m (1 / sum m (fun _ => (1 : R)))]; grind) h2 f
  have e1 : ∀ a b, (if a = b then 0 else 1 / 2 * ((f a - f b) * (f a - f b)))
      = 1 / 2 * ((f a - f b) * (f a - f b)) := by
    intro a b
    by_cases g : a = b
    · subst g; simp; grind
    · simp [g]
  simp only [e1]
  have e2 : partMean m (fun _ => 1 / sum m (fun _ => (1 : R))) f
      = sum m f / sum m (fun _ => 1) := by
    unfold partMean
    rw [sum_mul_left]
    generalize sum m (fun _ => (1 : R)) = k at hm
    grind
  unfold partVar at h
  rw [e2] at h
  unfold partMean at h
  simp only [sum_mul_left] at h ⊢
  generalize sum m (fun _ => (1 : R)) = k at hm h ⊢
  generalize sum m (fun a => (f a - sum m f / k) * (f a - sum m f / k)) = u at h ⊢
  generalize sum m (fun a => sum m (fun b => (f a - f b) * (f a - f b))) = v at h ⊢
  grind

/-- **Recombination, total index** (`skpce.inspection._parts.effects.Contributions.total`). Of
two independent draws of all parts, half the squared distance of the first one, and of the first one
with a part of the second, has as its mean the variance that the part causes with all interactions:
the mean over the others of the variance over the part. -/
theorem recombination_total {m l : Nat} {q : Nat → R} (r : Nat → R) (hq : sum m q = 1)
    (h2 : (2 : R) ≠ 0) (f : Nat → Nat → R) :
    partMean m q (fun a => partMean l r (fun b => partMean m q (fun a' =>
        1 / 2 * ((f a b - f a' b) * (f a b - f a' b)))))
      = partMean l r (fun b => partVar m q (fun a => f a b)) := by
  have e : ∀ b, partVar m q (fun a => f a b) = partMean m q (fun a => partMean m q (fun a' =>
      1 / 2 * ((f a b - f a' b) * (f a b - f a' b)))) :=
    fun b => (half_square_distance hq h2 (fun a => f a b)).symm
  simp only [e]
  unfold partMean
  have e2 : ∀ (u : Nat → Nat → R), sum m (fun a => q a * sum l (fun b => r b * u a b))
      = sum l (fun b => r b * sum m (fun a => q a * u a b)) := by
    intro u
    have e3 : ∀ a, q a * sum l (fun b => r b * u a b) = sum l (fun b => q a * (r b * u a b)) :=
      fun a => (sum_mul_left l (q a) _).symm
    have e4 : ∀ b, r b * sum m (fun a => q a * u a b) = sum m (fun a => r b * (q a * u a b)) :=
      fun b => (sum_mul_left m (r b) _).symm
    rw [sum_congr (fun a _ => e3 a), sum_congr (fun b _ => e4 b), sum_comm]
    exact sum_congr (fun b _ => sum_congr (fun a _ => by grind))
  exact e2 (fun a b => sum m (fun a' => q a' * (1 / 2 * ((f a b - f a' b) * (f a b - f a' b)))))

/-- **Recombination, first-order index** (`Contributions.closed`): the variance less the mean of
half the squared distance of the second draw and of the first with a part of the second, who share
the part, is the variance of the mean given the part. -/
theorem recombination_closed {m l : Nat} (q : Nat → R) {r : Nat → R} (hr : sum l r = 1)
    (h2 : (2 : R) ≠ 0) (f : Nat → Nat → R) :
    partMean m q (fun a => partMean l r (fun b =>
        (f a b - partMean m q (fun a => partMean l r (f a)))
          * (f a b - partMean m q (fun a => partMean l r (f a)))))
      - partMean m q (fun a => partMean l r (fun b => partMean l r (fun b' =>
        1 / 2 * ((f a b - f a b') * (f a b - f a b')))))
      = partVar m q (fun a => partMean l r (f a)) := by
  have e : ∀ a, partMean l r (fun b => partMean l r (fun b' =>
      1 / 2 * ((f a b - f a b') * (f a b - f a b')))) = partVar l r (f a) :=
    fun a => half_square_distance hr h2 (f a)
  simp only [e]
  have h1 : ∀ a (u : R), partMean l r (fun b => (f a b - u) * (f a b - u))
      = partVar l r (f a) + (partMean l r (f a) - u) * (partMean l r (f a) - u) := by
    intro a u
    have hm : sum l (fun b => r b * f a b) = partMean l r (f a) := rfl
    unfold partVar
    show sum l (fun b => r b * ((f a b - u) * (f a b - u))) = _
    generalize partMean l r (f a) = v at hm
    have e1 : ∀ b, r b * ((f a b - u) * (f a b - u))
        = (r b * ((f a b - v) * (f a b - v)) + (2 * (v - u)) * (r b * f a b))
          + ((u - v) * (u + v)) * r b := by
      intro b; grind
    rw [sum_congr (fun b _ => e1 b), sum_add, sum_add, sum_mul_left, sum_mul_left, hr, hm]
    grind
  have h3 : ∀ u, partMean m q (fun a => partMean l r (fun b => (f a b - u) * (f a b - u)))
      = partMean m q (fun a => partVar l r (f a))
        + sum m (fun a => q a * ((partMean l r (f a) - u) * (partMean l r (f a) - u))) := by
    intro u
    have e2 : ∀ a, q a * partMean l r (fun b => (f a b - u) * (f a b - u))
        = q a * partVar l r (f a)
          + q a * ((partMean l r (f a) - u) * (partMean l r (f a) - u)) := by
      intro a
      rw [h1 a u]
      grind
    show sum m (fun a => q a * partMean l r (fun b => (f a b - u) * (f a b - u))) = _
    rw [sum_congr (fun a _ => e2 a), sum_add]
    rfl
  rw [h3]
  show _ + partVar m q (fun a => partMean l r (f a)) - _ = _
  grind

end Field

section Ordered
variable {R : Type} [Field R] [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R]
  [OrderedRing R]

/-- **The bound on a value is one** (`skpce.decision._value.bound.bounds_of_rows`). Input values `i
< n`, members `ω < N` with weights `P i ω`, utilities `u k i ω` of `K` actions; `best i` is at least
the sums of `P i ω * u k i ω` over the members. Folds `f < F` with shares `v f` of the members have
rules of their own. For any rules and any lower limits, of which that of the best fixed action `s`
is below what the rules gain on it, the smallest limit `L` is at most the value of knowing the
input, and this value is not negative. -/
theorem held_out_bound {n N K F : Nat} (P : Nat → Nat → R) (u : Nat → Nat → Nat → R)
    (best v : Nat → R) (hv0 : ∀ f, f < F → 0 ≤ v f) (hv : sum F v = 1)
    (hbest : ∀ i, i < n → ∀ k, k < K → sum N (fun ω => P i ω * u k i ω) ≤ best i)
    (rule : Nat → Nat → Nat) (hrule : ∀ f, f < F → ∀ i, i < n → rule f i < K) (s : Nat) (hs : s < K)
    (limit : Nat → R)
    (hlimit : limit s
      ≤ sum F (fun f => v f * sum n (fun i => sum N (fun ω => P i ω * u (rule f i) i ω)))
        - sum n (fun i => sum N (fun ω => P i ω * u s i ω)))
    (L : R) (hL : ∀ k, k < K → L ≤ limit k) :
    L ≤ sum n best - sum n (fun i => sum N (fun ω => P i ω * u s i ω))
      ∧ 0 ≤ sum n best - sum n (fun i => sum N (fun ω => P i ω * u s i ω)) := by
  have h1 : sum F (fun f => v f * sum n (fun i => sum N (fun ω => P i ω * u (rule f i) i ω)))
      ≤ sum F (fun f => v f * sum n best) :=
    sum_le_sum (fun f hf => mul_le_mul_of_nonneg (hv0 f hf)
      (sum_le_sum (fun i hi => hbest i hi (rule f i) (hrule f hf i hi))))
  rw [sum_mul_right, hv] at h1
  have h2 : sum n (fun i => sum N (fun ω => P i ω * u s i ω)) ≤ sum n best :=
    sum_le_sum (fun i hi => hbest i hi s hs)
  have h3 := hL s hs
  constructor <;> grind

end Ordered

/-! ### Examples, in the rational numbers -/
section Examples

/-- Two members of each of two parts; the product of their numbers. -/
def product (a b : Nat) : Rat := if a = 1 && b = 1 then 1 else 0

def half (_ : Nat) : Rat := 1 / 2

/-- The first action is best at one value of the input, the second at the other. -/
def utility (k i _ω : Nat) : Rat := if k = i then 2 else 0

/-- Of 0 and 2, two pairs of 2 each; twice the squares about the mean, 1 and 1. -/
example : sum 2 (fun a => sum 2 (fun b => if a = b then 0 else
      1 / 2 * ((utility 1 a 0 - utility 1 b 0) * (utility 1 a 0 - utility 1 b 0)))) = 4 :=
  (recombination_pairs (by decide +kernel) (by decide +kernel) (fun a => utility 1 a 0)).trans
    (by decide +kernel)

example : partMean 2 half (fun a => partMean 2 half (fun b => partMean 2 half (fun a' =>
    1 / 2 * ((product a b - product a' b) * (product a b - product a' b))))) = 1 / 8 :=
  (recombination_total half (by decide +kernel) (by decide +kernel) product).trans
    (by decide +kernel)

example : partMean 2 half (fun a => partMean 2 half (fun b =>
        (product a b - partMean 2 half (fun a => partMean 2 half (product a)))
          * (product a b - partMean 2 half (fun a => partMean 2 half (product a)))))
      - partMean 2 half (fun a => partMean 2 half (fun b => partMean 2 half (fun b' =>
        1 / 2 * ((product a b - product a b') * (product a b - product a b'))))) = 1 / 16 :=
  (recombination_closed half (by decide +kernel) (by decide +kernel) product).trans
    (by decide +kernel)

example : (1 / 2 : Rat) ≤ sum 2 (fun _ => 1)
      - sum 2 (fun i => sum 1 (fun ω => half i * utility 0 i ω))
    ∧ 0 ≤ sum 2 (fun _ => (1 : Rat)) - sum 2 (fun i => sum 1 (fun ω => half i * utility 0 i ω)) :=
  -- The rule of the first fold is the best one; that of the second takes the first action.
  held_out_bound (K := 2) (F := 2) (fun i _ => half i) utility (fun _ => 1) half (by decide +kernel)
    (by decide +kernel) (by decide +kernel) (fun f i => if f = 0 then i else 0)
    (by decide +kernel) 0 (by omega)
    (fun _ => 1 / 2) (by decide +kernel) (1 / 2) (by decide +kernel)

end Examples
end SkpceCore
