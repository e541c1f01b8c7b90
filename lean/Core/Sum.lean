/-!
# Finite sums over an abstract ordered field

`sum n f` is the sum of `f 0, …, f (n - 1)`. Numbers are those of any ordered field `R`; the real
numbers are one, and the rational numbers, in which the examples are computed, another. Only the
core of Lean is used.
-/
namespace SkpceCore
open Lean.Grind

section Ring
variable {R : Type} [CommRing R]

/-- `f 0 + … + f (n - 1)`. -/
def sum : Nat → (Nat → R) → R
  | 0, _ => 0
  | n + 1, f => sum n f + f n

theorem sum_zero (f : Nat → R) : sum 0 f = 0 := rfl

theorem sum_succ (n : Nat) (f : Nat → R) : sum (n + 1) f = sum n f + f n := rfl

/-- Sums of equal terms are equal. -/
theorem sum_congr {n : Nat} {f g : Nat → R} (h : ∀ i, i < n → f i = g i) : sum n f = sum n g := by
  induction n with
  | zero => rfl
  | succ n ih => simp only [sum_succ, ih (fun i hi => h i (by omega)), h n (by omega)]

theorem sum_add (n : Nat) (f g : Nat → R) : sum n (fun i => f i + g i) = sum n f + sum n g := by
  induction n with
  | zero => simp only [sum_zero]; grind
  | succ n ih => simp only [sum_succ, ih]; grind

theorem sum_sub (n : Nat) (f g : Nat → R) : sum n (fun i => f i - g i) = sum n f - sum n g := by
  induction n with
  | zero => simp only [sum_zero]; grind
  | succ n ih => simp only [sum_succ, ih]; grind

/-- A factor may be taken out to the left. -/
theorem sum_mul_left (n : Nat) (a : R) (f : Nat → R) : sum n (fun i => a * f i) = a * sum n f := by
  induction n with
  | zero => simp only [sum_zero]; grind
  | succ n ih => simp only [sum_succ, ih]; grind

/-- A factor may be taken out to the right. -/
theorem sum_mul_right (n : Nat) (a : R) (f : Nat → R) :
    sum n (fun i => f i * a) = sum n f * a := by
  induction n with
  | zero => simp only [sum_zero]; grind
  | succ n ih => simp only [sum_succ, ih]; grind

theorem sum_eq_zero {n : Nat} {f : Nat → R} (h : ∀ i, i < n → f i = 0) : sum n f = 0 := by
  induction n with
  | zero => rfl
  | succ n ih => simp only [sum_succ, ih (fun i hi => h i (by omega)), h n (by omega)]; grind

/-- Sums may be exchanged. -/
theorem sum_comm (m n : Nat) (f : Nat → Nat → R) :
    sum m (fun i => sum n (fun j => f i j)) = sum n (fun j => sum m (fun i => f i j)) := by
  induction m with
  | zero => simp only [sum_zero]; exact (sum_eq_zero (fun _ _ => rfl)).symm
  | succ m ih => simp only [sum_succ, ih, sum_add]

/-- The product of two sums. -/
theorem sum_mul_sum (m n : Nat) (f g : Nat → R) :
    sum m f * sum n g = sum m (fun i => sum n (fun j => f i * g j)) := by
  rw [← sum_mul_right]
  exact sum_congr (fun i _ => (sum_mul_left n (f i) g).symm)

/-- The sum of a constant; `sum n (fun _ => 1)` is the number `n` in the field. -/
theorem sum_const (n : Nat) (c : R) : sum n (fun _ => c) = sum n (fun _ => 1) * c := by
  rw [← sum_mul_right]
  exact sum_congr (fun _ _ => by grind)

/-- The first term may be split off. -/
theorem sum_head (n : Nat) (f : Nat → R) : sum (n + 1) f = f 0 + sum n (fun i => f (i + 1)) := by
  induction n with
  | zero => simp only [sum_succ, sum_zero]; grind
  | succ n ih => rw [sum_succ, ih, sum_succ]; grind

/-- Sums over two blocks add up. -/
theorem sum_append (m n : Nat) (f : Nat → R) :
    sum (m + n) f = sum m f + sum n (fun i => f (m + i)) := by
  induction n with
  | zero => simp only [Nat.add_zero, sum_zero]; grind
  | succ n ih => rw [← Nat.add_assoc]; simp only [sum_succ, ih]; grind

/-- Kronecker's delta. -/
def delta (i j : Nat) : R := if i = j then 1 else 0

/-- The delta picks one term. -/
theorem sum_delta (n k : Nat) (f : Nat → R) :
    sum n (fun i => delta k i * f i) = if k < n then f k else 0 := by
  induction n with
  | zero => simp [sum_zero]
  | succ n ih =>
    rw [sum_succ, ih]
    unfold delta
    by_cases h : k = n
    · subst h; simp; grind
    · by_cases hk : k < n
      · have : k < n + 1 := by omega
        simp [h, hk, this]; grind
      · have : ¬ k < n + 1 := by omega
        simp [h, hk, this]; grind

theorem sum_delta_of_lt {n k : Nat} (hk : k < n) (f : Nat → R) :
    sum n (fun i => delta k i * f i) = f k := by
  rw [sum_delta]; simp [hk]

/-- Two places exchanged. -/
def swap (i j k : Nat) : Nat := if k = i then j else if k = j then i else k

/-- A sum does not change when two of its terms are exchanged. -/
theorem sum_swap {n i j : Nat} (hi : i < n) (hj : j < n) (f : Nat → R) :
    sum n (fun k => f (swap i j k)) = sum n f := by
  by_cases hij : i = j
  · subst hij
    refine sum_congr (fun k _ => ?_)
    unfold swap
    by_cases h : k = i <;> simp [h]
  · have e : ∀ k, f (swap i j k)
        = (f k + delta i k * (f j - f i)) + delta j k * (f i - f j) := by
      intro k
      unfold swap delta
      by_cases h : k = i
      · subst h
        have hne : ¬ j = k := fun h => hij h.symm
        simp [hne]; grind
      · by_cases h' : k = j
        · subst h'; simp [h, hij]; grind
        · have h1 : ¬ i = k := fun e => h e.symm
          have h2 : ¬ j = k := fun e => h' e.symm
          simp [h, h', h1, h2]; grind
    rw [sum_congr (fun k _ => e k), sum_add, sum_add, sum_delta_of_lt hi (fun _ => f j - f i),
      sum_delta_of_lt hj (fun _ => f i - f j)]
    grind

end Ring

theorem sum_div {R : Type} [Field R] (n : Nat) (a : R) (f : Nat → R) :
    sum n (fun i => f i / a) = sum n f / a := by
  have h : ∀ b : R, b / a = b * a⁻¹ := fun b => Field.div_eq_mul_inv b a
  simp only [h]
  exact sum_mul_right n a⁻¹ f

section Ordered
variable {R : Type} [CommRing R] [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R]
  [OrderedRing R]

theorem sum_le_sum {n : Nat} {f g : Nat → R} (h : ∀ i, i < n → f i ≤ g i) : sum n f ≤ sum n g := by
  induction n with
  | zero => simp only [sum_zero]; grind
  | succ n ih =>
    have h1 := ih (fun i hi => h i (by omega))
    have h2 := h n (by omega)
    simp only [sum_succ]; grind

theorem sum_nonneg {n : Nat} {f : Nat → R} (h : ∀ i, i < n → 0 ≤ f i) : 0 ≤ sum n f := by
  have h1 := sum_le_sum h
  have h2 : sum n (fun _ => (0 : R)) = 0 := sum_eq_zero (fun _ _ => rfl)
  rw [h2] at h1; exact h1

theorem sum_pos {n : Nat} {f : Nat → R} (hn : 0 < n) (h : ∀ i, i < n → 0 < f i) : 0 < sum n f := by
  cases n with
  | zero => omega
  | succ n =>
    have h1 : 0 ≤ sum n f := sum_nonneg (fun i hi => by have := h i (by omega); grind)
    have h2 := h n (by omega)
    simp only [sum_succ]; grind

/-- The number `n` in the field is positive. -/
theorem number_pos {n : Nat} (hn : 0 < n) : (0 : R) < sum n (fun _ => 1) :=
  sum_pos hn (fun _ _ => OrderedRing.zero_lt_one)

theorem square_nonneg (a : R) : 0 ≤ a * a := by
  rcases (Std.IsLinearOrder.le_total (α := R) 0 a) with h | h
  · exact OrderedRing.mul_nonneg h h
  · have h' : 0 ≤ -a := by grind
    have := OrderedRing.mul_nonneg h' h'
    grind

/-- A factor that is not negative keeps an inequality. -/
theorem mul_le_mul_of_nonneg {a b c : R} (hc : 0 ≤ c) (h : a ≤ b) : c * a ≤ c * b := by
  have h1 : 0 ≤ c * (b - a) := OrderedRing.mul_nonneg hc (by grind)
  grind

/-- A positive factor may be cancelled in an inequality. -/
theorem le_of_mul_le {a b c : R} (hc : 0 < c) (h : c * a ≤ c * b) : a ≤ b := by
  by_cases g : a ≤ b
  · exact g
  · have h1 : 0 < c * (a - b) := OrderedRing.mul_pos hc (by grind)
    grind

/-- Squares of numbers that are not negative are ordered as the numbers are. -/
theorem le_of_square_le {a b : R} (hb : 0 ≤ b) (h : a * a ≤ b * b) : a ≤ b := by
  by_cases g : a ≤ b
  · exact g
  · have h1 : 0 < (a - b) * (a + b) := OrderedRing.mul_pos (by grind) (by grind)
    grind

/-! ### Probabilities, absolute values -/

attribute [local instance] Classical.propDecidable

/-- The probability of an event. -/
noncomputable def prob (N : Nat) (P : Nat → R) (A : Nat → Prop) : R :=
  sum N (fun ω => if A ω then P ω else 0)

/-- Probabilities: not negative, of sum one. -/
structure IsLaw (N : Nat) (P : Nat → R) : Prop where
  nonneg : ∀ ω, ω < N → 0 ≤ P ω
  total : sum N P = 1

theorem prob_mono {N : Nat} {P : Nat → R} (hP : IsLaw N P) {A B : Nat → Prop}
    (h : ∀ ω, ω < N → A ω → B ω) : prob N P A ≤ prob N P B := by
  refine sum_le_sum (fun ω hω => ?_)
  have h0 := hP.nonneg ω hω
  by_cases a : A ω
  · have b := h ω hω a
    simp [a, b]; grind
  · by_cases b : B ω <;> simp [a, b] <;> grind

/-- The absolute value. -/
noncomputable def absolute (x : R) : R := if 0 ≤ x then x else -x

theorem le_absolute (x : R) : x ≤ absolute x ∧ -x ≤ absolute x := by
  unfold absolute
  by_cases h : 0 ≤ x <;> simp [h] <;> grind

end Ordered
end SkpceCore
