import Sum

/-!
# Expansions: mean, variance, shares

A measure has nodes `t < m` with weights `w`; terms `j < n` have the functions `ψ j` and the
coefficients `c j`; term 0 is the constant. `holds j i` says that input `i` occurs in term `j`.
Any measure for which the products of the basis functions have moments may stand for the discrete
one: only these moments are used.
-/
namespace SkpceCore
open Lean.Grind

section Moments
variable {R : Type} [Field R]

/-- The mean under the weights. -/
def mean (m : Nat) (w f : Nat → R) : R := sum m (fun t => w t * f t)

/-- The variance about the mean. -/
def variance (m : Nat) (w f : Nat → R) : R :=
  sum m (fun t => w t * ((f t - mean m w f) * (f t - mean m w f)))

/-- The functions `ψ 0, …, ψ (n - 1)` are orthonormal, and the first one is constant. -/
structure IsBasis (m n : Nat) (w : Nat → R) (ψ : Nat → Nat → R) : Prop where
  ortho : ∀ i, i < n → ∀ j, j < n → sum m (fun t => w t * (ψ i t * ψ j t)) = delta i j
  one : ∀ t, t < m → ψ 0 t = 1

/-- The expansion at a node. -/
def expansion (n : Nat) (c : Nat → R) (ψ : Nat → Nat → R) (t : Nat) : R :=
  sum n (fun j => c j * ψ j t)

/-- The mean of an expansion is the coefficient of the constant. -/
theorem mean_expansion {m n : Nat} {w : Nat → R} {ψ : Nat → Nat → R} (h : IsBasis m (n + 1) w ψ)
    (c : Nat → R) : mean m w (expansion (n + 1) c ψ) = c 0 := by
  unfold mean expansion
  have e : ∀ t, t < m → w t * sum (n + 1) (fun j => c j * ψ j t)
      = sum (n + 1) (fun j => c j * (w t * (ψ 0 t * ψ j t))) := by
    intro t ht
    rw [← sum_mul_left]
    refine sum_congr (fun j _ => ?_)
    rw [h.one t ht]; grind
  rw [sum_congr e, sum_comm]
  have e2 : ∀ j, j < n + 1 → sum m (fun t => c j * (w t * (ψ 0 t * ψ j t))) = delta 0 j * c j := by
    intro j hj
    rw [sum_mul_left, h.ortho 0 (by omega) j hj]; grind
  rw [sum_congr e2]
  exact sum_delta_of_lt (by omega) c

/-- Parseval's identity: the mean square is the sum of the squared coefficients. -/
theorem parseval {m n : Nat} {w : Nat → R} {ψ : Nat → Nat → R} (h : IsBasis m n w ψ) (c : Nat → R) :
    sum m (fun t => w t * (expansion n c ψ t * expansion n c ψ t))
      = sum n (fun j => c j * c j) := by
  have e : ∀ t, w t * (expansion n c ψ t * expansion n c ψ t)
      = sum n (fun i => sum n (fun j => (c i * c j) * (w t * (ψ i t * ψ j t)))) := by
    intro t
    unfold expansion
    rw [sum_mul_sum, ← sum_mul_left]
    refine sum_congr (fun i _ => ?_)
    rw [← sum_mul_left]
    exact sum_congr (fun j _ => by grind)
  rw [sum_congr (fun t _ => e t), sum_comm]
  refine sum_congr (fun i hi => ?_)
  rw [sum_comm]
  have e2 : ∀ j, j < n → sum m (fun t => (c i * c j) * (w t * (ψ i t * ψ j t)))
      = delta i j * (c i * c j) := by
    intro j hj
    rw [sum_mul_left, h.ortho i hi j hj]; grind
  rw [sum_congr e2]
  exact sum_delta_of_lt hi (fun j => c i * c j)

/-- **The variance of an expansion** (`PolynomialChaosRegressor.total_variance_`) is the sum of the
squared coefficients without that of the constant, which is the mean. -/
theorem variance_expansion {m n : Nat} {w : Nat → R} {ψ : Nat → Nat → R}
    (h : IsBasis m (n + 1) w ψ) (c : Nat → R) :
    mean m w (expansion (n + 1) c ψ) = c 0 ∧
      variance m w (expansion (n + 1) c ψ) = sum n (fun j => c (j + 1) * c (j + 1)) := by
  have hmean := mean_expansion h c
  refine ⟨hmean, ?_⟩
  have hw : sum m w = 1 := by
    have h1 := h.ortho 0 (by omega) 0 (by omega)
    have h2 : sum m (fun t => w t * (ψ 0 t * ψ 0 t)) = sum m w :=
      sum_congr (fun t ht => by rw [h.one t ht]; grind)
    rw [← h2, h1]; simp [delta]
  unfold variance
  rw [hmean]
  have hm2 : sum m (fun t => w t * expansion (n + 1) c ψ t) = c 0 := hmean
  have hp := parseval h c
  rw [sum_head] at hp
  generalize expansion (n + 1) c ψ = f at hm2 hp
  have e : ∀ t, w t * ((f t - c 0) * (f t - c 0))
      = (w t * (f t * f t) - (2 * c 0) * (w t * f t)) + (c 0 * c 0) * w t := by
    intro t; grind
  rw [sum_congr (fun t _ => e t), sum_add, sum_sub, sum_mul_left, sum_mul_left, hw, hm2, hp]
  grind

end Moments

section Shares
variable {R : Type} [Field R]

/-- The share of the variance of the terms with a property. The coefficients are those without
the constant. -/
def share (n : Nat) (c : Nat → R) (A : Nat → Bool) : R :=
  sum n (fun j => if A j then c j * c j else 0) / sum n (fun j => c j * c j)

/-- **Shares sum to one** (`skpce._expansion.expansion.interaction_indices`): `set j < m` numbers
the set of inputs of term `j`, and each set has the share of the terms with exactly its inputs. -/
theorem shares_sum_one (m n : Nat) (set : Nat → Nat) (hset : ∀ j, j < n → set j < m) (c : Nat → R)
    (hD : sum n (fun j => c j * c j) ≠ 0) :
    sum m (fun u => share n c (fun j => set j == u)) = 1 := by
  unfold share
  rw [sum_div, sum_comm]
  have e : ∀ j, j < n →
      sum m (fun u => if (set j == u) = true then c j * c j else 0) = c j * c j := by
    intro j hj
    refine Eq.trans (sum_congr (fun u _ => ?_)) (sum_delta_of_lt (hset j hj) (fun _ => c j * c j))
    unfold delta
    by_cases h : set j = u <;> simp [h] <;> grind
  rw [sum_congr e]
  generalize sum n (fun j => c j * c j) = D at hD
  grind

/-- **Total index = 1 − closed index of the other inputs** (`total_index` and `closed_index` in
`skpce._expansion.expansion`): `meets j` says that term `j` holds an input of the set. -/
theorem total_eq_one_sub_closed (n : Nat) (meets : Nat → Bool) (c : Nat → R)
    (hD : sum n (fun j => c j * c j) ≠ 0) :
    share n c meets = 1 - share n c (fun j => !meets j) := by
  have e : sum n (fun j => if meets j then c j * c j else 0)
      + sum n (fun j => if (!meets j) = true then c j * c j else 0)
      = sum n (fun j => c j * c j) := by
    rw [← sum_add]
    refine sum_congr (fun j _ => ?_)
    cases h : meets j <;> simp <;> grind
  unfold share
  generalize sum n (fun j => c j * c j) = D at hD e
  generalize sum n (fun j => if meets j then c j * c j else 0) = a at e
  generalize sum n (fun j => if (!meets j) = true then c j * c j else 0) = b at e
  grind

/-- **Pairs** (`InteractionIndices.superset_values`): the total index of two inputs together is the
sum of their total indices less the share of the terms with both. -/
theorem total_of_pair (n : Nat) (a b : Nat → Bool) (c : Nat → R) :
    share n c (fun j => a j || b j)
      = share n c a + share n c b - share n c (fun j => a j && b j) := by
  have e : sum n (fun j => if (a j || b j) = true then c j * c j else 0)
      = sum n (fun j => if a j then c j * c j else 0)
        + sum n (fun j => if b j then c j * c j else 0)
        - sum n (fun j => if (a j && b j) = true then c j * c j else 0) := by
    rw [← sum_add, ← sum_sub]
    refine sum_congr (fun j _ => ?_)
    cases h : a j <;> cases h' : b j <;> simp <;> grind
  unfold share
  rw [e]
  simp only [Field.div_eq_mul_inv]
  grind

/-- **Shapley effects sum to one** (`PolynomialChaosRegressor.shapley_effects`): each term is shared
out evenly among its inputs, of which it has at least one. -/
theorem shapley_sum_one (d n : Nat) (holds : Nat → Nat → Bool) (c : Nat → R)
    (hs : ∀ j, j < n → sum d (fun i => if holds j i then (1 : R) else 0) ≠ 0)
    (hD : sum n (fun j => c j * c j) ≠ 0) :
    sum d (fun i => sum n (fun j => (if holds j i then 1 else 0)
      / sum d (fun l => if holds j l then 1 else 0) * (c j * c j))
        / sum n (fun j => c j * c j)) = 1 := by
  rw [sum_div, sum_comm]
  have e : ∀ j, j < n → sum d (fun i => (if holds j i then (1 : R) else 0)
      / sum d (fun l => if holds j l then 1 else 0) * (c j * c j)) = c j * c j := by
    intro j hj
    rw [sum_mul_right, sum_div]
    have h := hs j hj
    generalize sum d (fun i => if holds j i then (1 : R) else 0) = k at h
    grind
  rw [sum_congr e]
  generalize sum n (fun j => c j * c j) = D at hD
  grind

end Shares

section Order
variable {R : Type} [Field R] [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R]
  [OrderedRing R]

/-- Shares of more terms are larger: a first-order index is at most a closed one, and this at most
the total one. -/
theorem share_mono {n : Nat} {c : Nat → R} (hD : 0 < sum n (fun j => c j * c j))
    {A B : Nat → Bool} (h : ∀ j, j < n → A j = true → B j = true) :
    share n c A ≤ share n c B := by
  have h1 : sum n (fun j => if A j then c j * c j else 0)
      ≤ sum n (fun j => if B j then c j * c j else 0) := by
    refine sum_le_sum (fun j hj => ?_)
    have h0 := square_nonneg (c j)
    cases a : A j
    · cases b : B j <;> simp <;> grind
    · simp [h j hj a]; grind
  unfold share
  generalize sum n (fun j => if A j then c j * c j else 0) = a at h1
  generalize sum n (fun j => if B j then c j * c j else 0) = b at h1
  generalize sum n (fun j => c j * c j) = D at hD
  refine le_of_mul_le hD ?_
  have e1 : D * (a / D) = a := by grind
  have e2 : D * (b / D) = b := by grind
  grind

end Order

/-! ### Examples, in the rational numbers -/
section Examples

/-- Two nodes, −1 and 1, of weight 1/2, and the functions 1 and x. -/
def node (t : Nat) : Rat := if t = 0 then -1 else 1

def linear (j t : Nat) : Rat := if j = 0 then 1 else node t

theorem linear_isBasis : IsBasis 2 2 (fun _ => (1 / 2 : Rat)) linear :=
  ⟨fun i hi j hj => by
    have ei : i = 0 ∨ i = 1 := by omega
    have ej : j = 0 ∨ j = 1 := by omega
    rcases ei with e | e <;> rcases ej with e' | e' <;> subst e <;> subst e' <;>
      simp [sum, linear, node, delta] <;> grind,
   fun t _ => by simp [linear]⟩

/-- `5 + 3 x` has the mean 5 and the variance 9. -/
example : mean 2 (fun _ => (1 / 2 : Rat)) (expansion 2 (fun j => if j = 0 then 5 else 3) linear) = 5
    ∧ variance 2 (fun _ => (1 / 2 : Rat)) (expansion 2 (fun j => if j = 0 then 5 else 3) linear)
      = sum 1 (fun _ => 3 * 3) :=
  variance_expansion linear_isBasis (fun j => if j = 0 then 5 else 3)

/-- Coefficients 1, 2, 3 of terms in the first input, in the second, and in both. -/
def coefficient (j : Nat) : Rat := if j = 0 then 1 else if j = 1 then 2 else 3

theorem coefficient_squares : sum 3 (fun j => coefficient j * coefficient j) = 14 := by
  simp [sum, coefficient]; grind

example : sum 3 (fun u => share 3 coefficient (fun j => j == u)) = 1 :=
  shares_sum_one 3 3 (fun j => j) (fun _ h => h) coefficient (by rw [coefficient_squares]; grind)

example : share 3 coefficient (fun j => j != 1) = 1 - share 3 coefficient (fun j => !(j != 1)) :=
  total_eq_one_sub_closed 3 (fun j => j != 1) coefficient (by rw [coefficient_squares]; grind)

/-- The total indices are 10/14 and 13/14, the share of both inputs 9/14, their sum 1. -/
example : share 3 coefficient (fun j => j != 1 || j != 0)
    = share 3 coefficient (fun j => j != 1) + share 3 coefficient (fun j => j != 0)
      - share 3 coefficient (fun j => j != 1 && j != 0) :=
  total_of_pair 3 (fun j => j != 1) (fun j => j != 0) coefficient

example : sum 2 (fun i => sum 3 (fun j => (if (j == i || j == 2) then 1 else 0)
      / sum 2 (fun l => if (j == l || j == 2) then 1 else 0) * (coefficient j * coefficient j))
        / sum 3 (fun j => coefficient j * coefficient j)) = 1 :=
  shapley_sum_one 2 3 (fun j i => j == i || j == 2) coefficient
    (fun j hj => by
      have e : j = 0 ∨ j = 1 ∨ j = 2 := by omega
      rcases e with e | e | e <;> subst e <;> simp [sum] <;> grind)
    (by rw [coefficient_squares]; grind)

example : share 3 coefficient (fun j => j == 0) ≤ share 3 coefficient (fun j => j != 1) :=
  share_mono (by rw [coefficient_squares]; grind) (fun j _ h => by
    have : j = 0 := by simpa using h
    subst this; rfl)

end Examples
end SkpceCore
