import Sum

/-!
# Expansions: mean, variance, shares, truncations, errors of indices

A measure has nodes `t < m` with weights `w`; terms `j < n` have the functions `ψ j` and the
coefficients `c j`; term 0 is the constant. `holds j i` says that input `i` occurs in term `j`.
Any measure for which the products of the basis functions have moments may stand for the discrete
one: only these moments are used. Expansions have finitely many terms, however many.
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

theorem expansion_sub (n : Nat) (c d : Nat → R) (ψ : Nat → Nat → R) (t : Nat) :
    expansion n (fun j => c j - d j) ψ t = expansion n c ψ t - expansion n d ψ t := by
  unfold expansion
  rw [← sum_sub]
  exact sum_congr (fun j _ => by grind)

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

/-- **Total index = 1 − closed index of the other inputs** (`index_of_set` in
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

/-! ### Indices and truncations move no more than coefficients -/

attribute [local instance] Classical.propDecidable

/-- **T1, rate** (`PolynomialChaosRegressor(degree=...)`), for finitely many terms: with weights `a`
of the degrees that do not fall beyond `p`, such as `(1 + k)^(2 r)`, the mean squared error of the
truncation at `p` is at most the weighted sum of the squared coefficients over `a p`. -/
theorem truncation_error {m n : Nat} {w : Nat → R} {ψ : Nat → Nat → R} (h : IsBasis m n w ψ)
    (c : Nat → R) (degree : Nat → Nat) (p : Nat) (a : Nat → R) {B : R}
    (ha0 : ∀ j, j < n → 0 ≤ a (degree j)) (ha : ∀ j, j < n → p < degree j → a p ≤ a (degree j))
    (hB : sum n (fun j => a (degree j) * (c j * c j)) ≤ B) :
    a p * sum m (fun t => w t *
        ((expansion n c ψ t - expansion n (fun j => if degree j ≤ p then c j else 0) ψ t)
          * (expansion n c ψ t - expansion n (fun j => if degree j ≤ p then c j else 0) ψ t)))
      ≤ B := by
  have h1 := parseval h (fun j => c j - if degree j ≤ p then c j else 0)
  simp only [expansion_sub] at h1
  rw [h1, ← sum_mul_left]
  refine Std.IsPreorder.le_trans _ _ _ (sum_le_sum (fun j hj => ?_)) hB
  have h2 := ha0 j hj
  have h3 := square_nonneg (c j)
  have h4 := OrderedRing.mul_nonneg h2 h3
  by_cases g : degree j ≤ p
  · simp only [g, if_true]
    grind
  · have h5 := mul_le_mul_of_nonneg h3 (ha j hj (by omega))
    simp only [g, if_false]
    grind

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
of variance `b²` by at most `e / b`, where the sum of the squared errors is at most `e²`. With `x`
and `y` exchanged `b²` is the variance of the estimate. Weights `θ` make a first-order, total,
closed or Shapley index. Roots are hypotheses: the real numbers have them. -/
theorem share_error {n : Nat} (θ x y : Nat → R) {a b e : R} (hθ0 : ∀ j, j < n → 0 ≤ θ j)
    (hθ1 : ∀ j, j < n → θ j ≤ 1) (ha : sum n (fun j => x j * x j) = a * a)
    (hb : sum n (fun j => y j * y j) = b * b) (hb0 : 0 < b) (he0 : 0 ≤ e)
    (he : sum n (fun j => (x j - y j) * (x j - y j)) ≤ e * e) :
    sum n (fun j => θ j * (x j * x j)) / (a * a) - sum n (fun j => θ j * (y j * y j)) / (b * b)
        ≤ e / b
      ∧ sum n (fun j => θ j * (y j * y j)) / (b * b) - sum n (fun j => θ j * (x j * x j)) / (a * a)
        ≤ e / b := by
  have step := share_step_one θ x y hθ0 hθ1 ha hb
  have hC : sum n (fun j => (x j - y j) * (x j - y j))
      = (a * a - 2 * sum n (fun j => x j * y j)) + b * b := by
    rw [← ha, ← hb, ← sum_mul_left, ← sum_sub, ← sum_add]
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
  generalize sum n (fun j => (x j - y j) * (x j - y j)) = S at hC he
  have hY : 0 < b * b := OrderedRing.mul_pos hb0 hb0
  have key : ((A / (a * a) - B / (b * b)) * b) * ((A / (a * a) - B / (b * b)) * b) ≤ S := by
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
        (a * a) * (b * b) - C * C ≤ (a * a) * S by rw [hC]; grind)
      clear e1 e2 e3 hC hcs hB0 hB1 ha hb he hθ0 hθ1 h1 h2
      grind
  have key := Std.IsPreorder.le_trans _ _ _ key he
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

/-- **T2** (`PolynomialChaosRegressor.sobol_indices_`): the indices of two expansions differ by at
most the norm of their difference over the standard deviation `b` of one of them. -/
theorem indices_of_functions {m n : Nat} {w : Nat → R} {ψ : Nat → Nat → R}
    (h : IsBasis m (n + 1) w ψ) (θ c d : Nat → R) {a b e : R} (hθ0 : ∀ j, j < n → 0 ≤ θ j)
    (hθ1 : ∀ j, j < n → θ j ≤ 1) (ha : variance m w (expansion (n + 1) c ψ) = a * a)
    (hb : variance m w (expansion (n + 1) d ψ) = b * b) (hb0 : 0 < b) (he0 : 0 ≤ e)
    (he : sum m (fun t => w t * ((expansion (n + 1) c ψ t - expansion (n + 1) d ψ t)
      * (expansion (n + 1) c ψ t - expansion (n + 1) d ψ t))) ≤ e * e) :
    sum n (fun j => θ j * (c (j + 1) * c (j + 1))) / (a * a)
        - sum n (fun j => θ j * (d (j + 1) * d (j + 1))) / (b * b) ≤ e / b
      ∧ sum n (fun j => θ j * (d (j + 1) * d (j + 1))) / (b * b)
        - sum n (fun j => θ j * (c (j + 1) * c (j + 1))) / (a * a) ≤ e / b := by
  refine share_error θ (fun j => c (j + 1)) (fun j => d (j + 1)) hθ0 hθ1
    ((variance_expansion h c).2.symm.trans ha) ((variance_expansion h d).2.symm.trans hb) hb0 he0 ?_
  have h1 := parseval h (fun j => c j - d j)
  simp only [expansion_sub] at h1
  rw [h1, sum_head] at he
  have h2 := square_nonneg (c 0 - d 0)
  grind

/-- **A, probabilistic part** (`skpce.sample_size._bounds.coefficient_error_bound`): where the
squared error of random coefficients `x ω` exceeds `(e ω)²` with probability at most `δ`, the error
of some index exceeds `e ω / b` with probability at most `δ`. -/
theorem indices_probably {N n : Nat} {P : Nat → R} (hP : IsLaw N P) (x : Nat → Nat → R)
    (y a e : Nat → R) {b δ : R}
    (ha : ∀ ω, ω < N → sum n (fun j => x ω j * x ω j) = a ω * a ω)
    (hb : sum n (fun j => y j * y j) = b * b) (hb0 : 0 < b) (he0 : ∀ ω, ω < N → 0 ≤ e ω)
    (tail : prob N P (fun ω => ¬ sum n (fun j => (x ω j - y j) * (x ω j - y j)) ≤ e ω * e ω) ≤ δ) :
    prob N P (fun ω => ∃ θ : Nat → R, (∀ j, j < n → 0 ≤ θ j ∧ θ j ≤ 1) ∧
      ¬ (sum n (fun j => θ j * (x ω j * x ω j)) / (a ω * a ω)
            - sum n (fun j => θ j * (y j * y j)) / (b * b) ≤ e ω / b
          ∧ sum n (fun j => θ j * (y j * y j)) / (b * b)
            - sum n (fun j => θ j * (x ω j * x ω j)) / (a ω * a ω) ≤ e ω / b)) ≤ δ := by
  refine Std.IsPreorder.le_trans _ _ _ (prob_mono hP (fun ω hω h => ?_)) tail
  obtain ⟨θ, hθ, hn⟩ := h
  exact fun he => hn (share_error θ (x ω) y (fun j hj => (hθ j hj).1) (fun j hj => (hθ j hj).2)
    (ha ω hω) hb hb0 (he0 ω hω) he)

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

/-! Coefficients (12, 9), of norm 15, are estimated as (12, 5), of norm 13. -/

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

/-- Without its slope, `5 + 3 x` misses 9; weights 1 and 2 of the degrees 0 and 1. -/
example : 1 * sum 2 (fun t => 1 / 2 *
      ((expansion 2 (fun j => if j = 0 then 5 else 3) linear t
          - expansion 2 (fun j => if j ≤ 0 then if j = 0 then 5 else 3 else 0) linear t)
        * (expansion 2 (fun j => if j = 0 then 5 else 3) linear t
          - expansion 2 (fun j => if j ≤ 0 then if j = 0 then 5 else 3 else 0) linear t)))
    ≤ (43 : Rat) :=
  truncation_error linear_isBasis (fun j => if j = 0 then 5 else 3) (fun j => j) 0
    (fun k => if k = 0 then 1 else 2) (by decide +kernel) (by decide +kernel) (by decide +kernel)

/-- Four nodes, the corners of a square, of weight 1/4, and the functions 1, x and z. -/
def square (j t : Nat) : Rat := if j = 0 then 1 else if j = 1 then node (t % 2) else node (t / 2)

theorem square_isBasis : IsBasis 4 3 (fun _ => (1 / 4 : Rat)) square :=
  ⟨by decide +kernel, fun t _ => by simp [square]⟩

def threeFour (j : Nat) : Rat := if j = 0 then 1 else if j = 1 then 3 else 4

def fiveTwelve (j : Nat) : Rat := if j = 0 then 1 else if j = 1 then 5 else 12

/-- `1 + 3 x + 4 z` and `1 + 5 x + 12 z`, whose squared distance is 68: indices of x of 9/25 and
25/169. -/
example : (sum 2 (fun j => first j * (threeFour (j + 1) * threeFour (j + 1))) / (5 * 5)
        - sum 2 (fun j => first j * (fiveTwelve (j + 1) * fiveTwelve (j + 1))) / (13 * 13) : Rat)
      ≤ 9 / 13
    ∧ (sum 2 (fun j => first j * (fiveTwelve (j + 1) * fiveTwelve (j + 1))) / (13 * 13)
        - sum 2 (fun j => first j * (threeFour (j + 1) * threeFour (j + 1))) / (5 * 5) : Rat)
      ≤ 9 / 13 :=
  indices_of_functions square_isBasis first threeFour fiveTwelve (by decide +kernel)
    (by decide +kernel) (by decide +kernel) (by decide +kernel) (by decide +kernel)
    (by decide +kernel) (by decide +kernel)

/-- In one of two cases the truth is estimated; else the error is 4, more than 3. -/
example : prob 2 (fun _ => (1 / 2 : Rat)) (fun ω => ∃ θ : Nat → Rat,
      (∀ j, j < 2 → 0 ≤ θ j ∧ θ j ≤ 1) ∧
      ¬ (sum 2 (fun j => θ j * ((if ω = 0 then estimated j else truth j)
            * (if ω = 0 then estimated j else truth j)))
          / ((if ω = 0 then 13 else 15) * (if ω = 0 then 13 else 15))
            - sum 2 (fun j => θ j * (truth j * truth j)) / (15 * 15) ≤ 3 / 15
          ∧ sum 2 (fun j => θ j * (truth j * truth j)) / (15 * 15)
            - sum 2 (fun j => θ j * ((if ω = 0 then estimated j else truth j)
              * (if ω = 0 then estimated j else truth j)))
          / ((if ω = 0 then 13 else 15) * (if ω = 0 then 13 else 15)) ≤ 3 / 15)) ≤ 1 / 2 :=
  indices_probably ⟨by decide +kernel, by decide +kernel⟩
    (fun ω j => if ω = 0 then estimated j else truth j) truth (fun ω => if ω = 0 then 13 else 15)
    (fun _ => 3) (by decide +kernel) (by decide +kernel) (by decide +kernel) (by decide +kernel)
    (by
      have h : ¬ sum 2 (fun j => (estimated j - truth j) * (estimated j - truth j)) ≤ 3 * 3 := by
        decide +kernel
      have h' : sum 2 (fun j => (truth j - truth j) * (truth j - truth j)) ≤ 3 * 3 := by
        decide +kernel
      unfold prob
      rw [sum_succ, sum_succ, sum_zero]
      simp [h, h']
      grind)

end Examples
end SkpceCore
