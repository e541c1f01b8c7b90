import Sum

/-!
# Log-ratios: softmax, clr, alr, ilr, masks, how far policies move, totals over an ensemble

`e` is the exponential, a map from logits to positive numbers with `e (x + y) = e x * e y`. Logits
are numbers of any commutative ring, so that powers of two of whole numbers are an example. The
coordinates of a composition `p` are given by their ratios, `p k * e (c l) = p l * e (c k)`, without
a logarithm: clr are those of sum zero, alr those that are zero at the reference.
-/
namespace SkpceCore
open Lean.Grind

section Softmax
variable {A : Type} [CommRing A]
variable {R : Type} [Field R] [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R]
  [OrderedRing R]

/-- What is asked of the exponential. -/
structure IsExp (e : A → R) : Prop where
  add : ∀ x y, e (x + y) = e x * e y
  pos : ∀ x, 0 < e x
  inj : ∀ x y, e x = e y → x = y

/-- The softmax. -/
def softmax (e : A → R) (n : Nat) (v : Nat → A) (k : Nat) : R := e (v k) / sum n (fun l => e (v l))

/-- `c` has the ratios of `p`: `log (p k / p l) = c k - c l`. -/
def IsLogRatio (e : A → R) (n : Nat) (p : Nat → R) (c : Nat → A) : Prop :=
  ∀ k, k < n → ∀ l, l < n → p k * e (c l) = p l * e (c k)

theorem softmax_denominator_pos {e : A → R} (he : IsExp e) {n : Nat} (hn : 0 < n) (v : Nat → A) :
    0 < sum n (fun l => e (v l)) := sum_pos hn (fun _ _ => he.pos _)

/-- **The softmax lies on the simplex** (`LogRatioTransformer.inverse_transform`): its entries are
positive and sum to one. -/
theorem softmax_simplex {e : A → R} (he : IsExp e) {n : Nat} (hn : 0 < n) (v : Nat → A) :
    (∀ k, k < n → 0 < softmax e n v k) ∧ sum n (softmax e n v) = 1 := by
  have hZ := softmax_denominator_pos he hn v
  constructor
  · intro k _
    have hk := he.pos (v k)
    unfold softmax
    generalize sum n (fun l => e (v l)) = Z at hZ
    by_cases g : 0 < e (v k) / Z
    · exact g
    · have h1 : 0 ≤ Z * (0 - e (v k) / Z) := OrderedRing.mul_nonneg (by grind) (by grind)
      have h2 : Z * (e (v k) / Z) = e (v k) := by grind
      grind
  · have h : sum n (softmax e n v) = sum n (fun l => e (v l)) / sum n (fun l => e (v l)) :=
      sum_div n _ (fun l => e (v l))
    rw [h]
    generalize sum n (fun l => e (v l)) = Z at hZ
    grind

/-- **Log-ratios and the softmax are inverse, I** (`LogRatioTransformer.inverse_transform`): the
softmax of any coordinates of a composition, clr, alr or those from an ilr, is the composition. -/
theorem softmax_of_log_ratio {e : A → R} (he : IsExp e) {n : Nat} {p : Nat → R} {c : Nat → A}
    (hp : sum n p = 1) (hc : IsLogRatio e n p c) (k : Nat) (hk : k < n) :
    softmax e n c k = p k := by
  have hZ := softmax_denominator_pos he (n := n) (by omega) c
  have h : p k * sum n (fun l => e (c l)) = e (c k) := by
    rw [← sum_mul_left, sum_congr (fun l hl => hc k hk l hl), sum_mul_right, hp]
    grind
  unfold softmax
  generalize sum n (fun l => e (c l)) = Z at hZ h
  grind

/-- **Equal softmaxes, and only those, have logits that differ by a constant**, so that
`inverse_transform` forgets no more than that. -/
theorem softmax_eq_iff {e : A → R} (he : IsExp e) {n : Nat} (hn : 0 < n) (v w : Nat → A) :
    (∀ k, k < n → softmax e n v k = softmax e n w k) ↔ ∃ a, ∀ k, k < n → v k = w k + a := by
  have hV := softmax_denominator_pos he hn v
  have hW := softmax_denominator_pos he hn w
  unfold softmax
  constructor
  · intro h
    refine ⟨v 0 - w 0, fun k hk => he.inj _ _ ?_⟩
    have h0 := h 0 hn
    have h1 := h k hk
    have e1 : e (w k + (v 0 - w 0)) * e (w 0) = e (w k) * e (v 0) := by
      rw [← he.add, ← he.add]
      congr 1
      grind
    have p0 := he.pos (w 0)
    generalize sum n (fun l => e (v l)) = V at hV h0 h1
    generalize sum n (fun l => e (w l)) = W at hW h0 h1
    generalize e (w k + (v 0 - w 0)) = x at e1
    have h2 : e (v 0) * W = e (w 0) * V := by grind
    have h3 : e (v k) * W = e (w k) * V := by grind
    have h4 : (e (w 0) * W) * e (v k) = (e (w 0) * W) * x := by grind
    have h5 : e (w 0) * W ≠ 0 := by
      have := OrderedRing.mul_pos p0 hW
      grind
    grind
  · rintro ⟨a, ha⟩ k hk
    have h1 : sum n (fun l => e (v l)) = sum n (fun l => e (w l)) * e a := by
      rw [← sum_mul_right]
      exact sum_congr (fun l hl => by rw [ha l hl, he.add])
    have h2 : e (v k) = e (w k) * e a := by rw [ha k hk, he.add]
    have pa := he.pos a
    rw [h1, h2]
    generalize sum n (fun l => e (w l)) = W at hW
    generalize e a = x at pa
    generalize e (w k) = y
    have hx : x ≠ 0 := by grind
    have hW0 : W ≠ 0 := by grind
    grind

/-- **Log-ratios and the softmax are inverse, II** (`LogRatioTransformer.transform`): coordinates
of a softmax differ from its logits by a constant. So they are the logits where both are zero at a
reference (alr), and where both sum to zero (clr), as `n` equal numbers of sum zero are zero. -/
theorem log_ratio_of_softmax {e : A → R} (he : IsExp e) {n : Nat} (hn : 0 < n) {v c : Nat → A}
    (hc : IsLogRatio e n (softmax e n v) c) :
    (∃ a, ∀ k, k < n → c k = v k + a)
      ∧ (∀ r, r < n → c r = 0 → v r = 0 → ∀ k, k < n → c k = v k)
      ∧ ((∀ a : A, sum n (fun _ => a) = 0 → a = 0) → sum n c = 0 → sum n v = 0 →
        ∀ k, k < n → c k = v k) := by
  have h : ∀ k, k < n → softmax e n c k = softmax e n v k :=
    softmax_of_log_ratio he (softmax_simplex he hn v).2 hc
  obtain ⟨a, ha⟩ := (softmax_eq_iff he hn c v).1 h
  refine ⟨⟨a, ha⟩, fun r hr h0 h1 k hk => ?_, fun h0 h1 h2 k hk => ?_⟩
  · have e1 := ha r hr
    have e2 := ha k hk
    grind
  · have e1 : sum n c = sum n v + sum n (fun _ => a) :=
      (sum_congr ha).trans (sum_add n v (fun _ => a))
    rw [h1, h2] at e1
    have e2 := h0 a (by grind)
    have e3 := ha k hk
    grind

/-- The softmax of the parts that a mask allows; the others are 0. -/
def maskedSoftmax (e : A → R) (n : Nat) (mask : Nat → Bool) (v : Nat → A) (k : Nat) : R :=
  if mask k then e (v k) / sum n (fun l => if mask l then e (v l) else 0) else 0

/-- **Masked parts** (`LogRatioTransformer(mask=...)`): forbidden parts are exactly zero, the others
positive, all sum to one, and the coordinates of a composition that is zero where the mask forbids
give it back. -/
theorem masked_softmax {e : A → R} (he : IsExp e) {n m : Nat} (hm : m < n) {mask : Nat → Bool}
    (hmask : mask m = true) (v : Nat → A) :
    (∀ k, mask k = false → maskedSoftmax e n mask v k = 0)
      ∧ (∀ k, mask k = true → 0 < maskedSoftmax e n mask v k)
      ∧ sum n (maskedSoftmax e n mask v) = 1
      ∧ ∀ p : Nat → R, sum n p = 1 → (∀ k, k < n → mask k = false → p k = 0) →
        (∀ k, k < n → ∀ l, l < n → mask k = true → mask l = true →
          p k * e (v l) = p l * e (v k)) →
        ∀ k, k < n → maskedSoftmax e n mask v k = p k := by
  have hZ : 0 < sum n (fun l => if mask l then e (v l) else 0) := by
    have h0 : ∀ l, l < n → 0 ≤ if mask l then e (v l) else 0 := by
      intro l _
      have := he.pos (v l)
      cases mask l <;> simp <;> grind
    have h1 : sum n (fun l => delta m l * e (v l))
        ≤ sum n (fun l => if mask l then e (v l) else 0) := by
      refine sum_le_sum (fun l hl => ?_)
      unfold delta
      by_cases h : m = l
      · subst h; simp [hmask]; grind
      · have := h0 l hl
        simp only [h, if_false]; grind
    rw [sum_delta_of_lt hm (fun l => e (v l))] at h1
    have := he.pos (v m)
    grind
  refine ⟨fun k hk => by simp [maskedSoftmax, hk], fun k hk => ?_, ?_, ?_⟩
  · have hk' := he.pos (v k)
    simp only [maskedSoftmax, hk, if_true]
    generalize sum n (fun l => if mask l then e (v l) else 0) = Z at hZ
    by_cases g : 0 < e (v k) / Z
    · exact g
    · have h1 : 0 ≤ Z * (0 - e (v k) / Z) := OrderedRing.mul_nonneg (by grind) (by grind)
      have h2 : Z * (e (v k) / Z) = e (v k) := by grind
      grind
  · have e1 : ∀ k, maskedSoftmax e n mask v k = (if mask k then e (v k) else 0)
        / sum n (fun l => if mask l then e (v l) else 0) := by
      intro k
      unfold maskedSoftmax
      generalize sum n (fun l => if mask l then e (v l) else 0) = Z at hZ
      cases mask k <;> simp <;> grind
    rw [sum_congr (fun k _ => e1 k), sum_div]
    generalize sum n (fun l => if mask l then e (v l) else 0) = Z at hZ
    grind
  · intro p hp hp0 hr k hk
    unfold maskedSoftmax
    cases hmk : mask k
    · simp [hp0 k hk hmk]
    · have h : p k * sum n (fun l => if mask l then e (v l) else 0) = e (v k) := by
        have e2 : ∀ l, l < n → p k * (if mask l then e (v l) else 0) = p l * e (v k) := by
          intro l hl
          cases hml : mask l
          · simp [hp0 l hl hml]; grind
          · simp [hr k hk l hl hmk hml]
        rw [← sum_mul_left, sum_congr e2, sum_mul_right, hp]
        grind
      simp only [if_true]
      generalize sum n (fun l => if mask l then e (v l) else 0) = Z at hZ h
      grind

/-! ### How far a policy moves -/

attribute [local instance] Classical.propDecidable

/-- The ℓ₁ distance of two policies. -/
noncomputable def distance (n : Nat) (q p : Nat → R) : R := sum n (fun k => absolute (q k - p k))

/-- Probabilities whose ratios differ by a factor of at most `s²` have an ℓ₁ distance of at most
`2 (s - 1) / (s + 1)`. -/
theorem distance_of_ratios {n : Nat} {q p : Nat → R} {s : R} (hs : 1 ≤ s)
    (hq0 : ∀ k, k < n → 0 ≤ q k) (hp0 : ∀ k, k < n → 0 ≤ p k) (hq : sum n q = 1) (hp : sum n p = 1)
    (h : ∀ k, k < n → ∀ l, l < n → q k * p l ≤ (s * s) * (p k * q l)) :
    (s + 1) * distance n q p ≤ 2 * (s - 1) := by
  -- `x k` says whether `q k` is the larger one; `a` and `b` are the masses of these parts
  let x : Nat → R := fun k => if p k ≤ q k then 1 else 0
  have hx : ∀ k, x k = 1 ∧ absolute (q k - p k) = q k - p k
      ∨ x k = 0 ∧ absolute (q k - p k) = p k - q k := by
    intro k
    by_cases g : p k ≤ q k
    · left
      have g' : 0 ≤ q k - p k := by grind
      simp [x, absolute, g, g']
    · right
      have g' : ¬ 0 ≤ q k - p k := by grind
      simp only [x, absolute, g, g', if_false]
      exact ⟨trivial, by grind⟩
  have hd : distance n q p = 2 * (sum n (fun k => x k * q k) - sum n (fun k => x k * p k)) := by
    have e : ∀ k, absolute (q k - p k) = 2 * (x k * q k - x k * p k) - (q k - p k) := by
      intro k
      rcases hx k with ⟨h1, h2⟩ | ⟨h1, h2⟩ <;> rw [h1, h2] <;> grind
    unfold distance
    rw [sum_congr (fun k _ => e k), sum_sub, sum_mul_left, sum_sub, sum_sub, hq, hp]
    grind
  have ha0 : 0 ≤ sum n (fun k => x k * p k) := sum_nonneg (fun k hk => by
    have := hp0 k hk
    rcases hx k with ⟨h1, _⟩ | ⟨h1, _⟩ <;> rw [h1] <;> grind)
  have hb1 : sum n (fun k => x k * q k) ≤ 1 := by
    rw [← hq]
    refine sum_le_sum (fun k hk => ?_)
    have := hq0 k hk
    rcases hx k with ⟨h1, _⟩ | ⟨h1, _⟩ <;> rw [h1] <;> grind
  have hp1 : sum n (fun l => (1 - x l) * p l) = 1 - sum n (fun k => x k * p k) := by
    rw [← hp, ← sum_sub]
    exact sum_congr (fun l _ => by grind)
  have hq1 : sum n (fun l => (1 - x l) * q l) = 1 - sum n (fun k => x k * q k) := by
    rw [← hq, ← sum_sub]
    exact sum_congr (fun l _ => by grind)
  have hab : sum n (fun k => x k * q k) * (1 - sum n (fun k => x k * p k))
      ≤ (s * s) * (sum n (fun k => x k * p k) * (1 - sum n (fun k => x k * q k))) := by
    rw [← hp1, ← hq1, sum_mul_sum, sum_mul_sum, ← sum_mul_left]
    refine sum_le_sum (fun k hk => ?_)
    rw [← sum_mul_left]
    refine sum_le_sum (fun l hl => ?_)
    have h0 := h k hk l hl
    rcases hx k with ⟨h1, _⟩ | ⟨h1, _⟩ <;> rcases hx l with ⟨h2, _⟩ | ⟨h2, _⟩ <;> rw [h1, h2] <;>
      grind
  rw [hd]
  generalize sum n (fun k => x k * p k) = a at *
  generalize sum n (fun k => x k * q k) = b at *
  have h1 : 0 ≤ (s * s - 1) * ((1 - a - b) * (1 - a - b)) := by
    have h2 : 0 ≤ (s - 1) * (s + 1) := OrderedRing.mul_nonneg (by grind)
      (by have := OrderedRing.zero_lt_one (R := R); grind)
    exact OrderedRing.mul_nonneg (by grind) (square_nonneg _)
  have h3 : 1 + (b - a) ≤ s * (1 - (b - a)) := by
    refine le_of_square_le (OrderedRing.mul_nonneg (by
      have := OrderedRing.zero_lt_one (R := R); grind) (by grind)) ?_
    clear hd hx hp1 hq1 h
    grind
  grind

/-- **T5** (`LogRatioTransformer.inverse_transform`): where the differences of two vectors of logits
have the range `r` and `s² = e(r)`, the ℓ₁ distance of the softmaxes is at most
`2 (s - 1) / (s + 1)`, which is `2 tanh(r / 4)`. -/
theorem softmax_lipschitz {e : A → R} (he : IsExp e) {n : Nat} (hn : 0 < n) (v w : Nat → A) {s : R}
    (hs : 1 ≤ s) (hr : ∀ k, k < n → ∀ l, l < n → e ((v k - w k) - (v l - w l)) ≤ s * s) :
    (s + 1) * distance n (softmax e n v) (softmax e n w) ≤ 2 * (s - 1) := by
  have hv := softmax_simplex he hn v
  have hw := softmax_simplex he hn w
  refine distance_of_ratios hs (fun k hk => by have := hv.1 k hk; grind)
    (fun k hk => by have := hw.1 k hk; grind) hv.2 hw.2 (fun k hk l hl => ?_)
  have hV := softmax_denominator_pos he hn v
  have hW := softmax_denominator_pos he hn w
  have h1 : e (v k) * e (w l) = e ((v k - w k) - (v l - w l)) * (e (w k) * e (v l)) := by
    rw [← he.add, ← he.add, ← he.add]
    congr 1
    grind
  have h2 := mul_le_mul_of_nonneg (c := e (w k) * e (v l))
    (by have := OrderedRing.mul_pos (he.pos (w k)) (he.pos (v l)); grind) (hr k hk l hl)
  unfold softmax
  generalize sum n (fun l => e (v l)) = V at hV
  generalize sum n (fun l => e (w l)) = W at hW
  generalize e ((v k - w k) - (v l - w l)) = u at h1 h2
  have hVW := OrderedRing.mul_pos hV hW
  refine le_of_mul_le hVW ?_
  have e1 : V * W * (e (v k) / V * (e (w l) / W)) = e (v k) * e (w l) := by grind
  have e2 : V * W * (s * s * (e (w k) / W * (e (v l) / V))) = e (w k) * e (v l) * (s * s) := by
    grind
  rw [e1, e2, h1]
  grind

/-- **T7** (`skpce.metrics.total_variation_distance`): the mean of what lies between `m` and `M`
differs under two policies by at most the range times half their ℓ₁ distance. -/
theorem value_difference (n : Nat) (p q u : Nat → R) {m M : R}
    (hu : ∀ k, k < n → m ≤ u k ∧ u k ≤ M) (hpq : sum n p = sum n q) :
    2 * (sum n (fun k => p k * u k) - sum n (fun k => q k * u k)) ≤ (M - m) * distance n p q := by
  have h : sum n (fun k => 2 * (p k * u k - q k * u k))
      ≤ sum n (fun k => (M - m) * absolute (p k - q k) + (m + M) * (p k - q k)) := by
    refine sum_le_sum (fun k hk => ?_)
    have h1 := le_absolute (p k - q k)
    have h2 := hu k hk
    generalize absolute (p k - q k) = d at h1
    have h3 : 0 ≤ (d - (p k - q k)) * ((M - m) + (2 * u k - m - M)) :=
      OrderedRing.mul_nonneg (by grind) (by grind)
    have h4 : 0 ≤ (d + (p k - q k)) * ((M - m) - (2 * u k - m - M)) :=
      OrderedRing.mul_nonneg (by grind) (by grind)
    grind
  rw [sum_mul_left, sum_sub, sum_add, sum_mul_left, sum_mul_left, sum_sub, hpq] at h
  unfold distance
  grind

end Softmax

section Policy
variable {A : Type} [CommRing A] [LE A] [LT A] [Std.LawfulOrderLT A] [Std.IsLinearOrder A]
  [OrderedRing A]
variable {R : Type} [Field R] [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R]
  [OrderedRing R]

/-- **T4** (`CompositionalPCESurrogate.predict`): logits are sums of `c k j ψ j`, and the functions
`ψ j` have the constants `L j`. Where `K` is at least the sums of `|c k j - c l j| L j` and `d` the
distance of two inputs, the ℓ₁ distance of the policies is at most `2 tanh(K d / 4)`. -/
theorem policy_lipschitz {e : A → R} (he : IsExp e) (hmono : ∀ x y, x ≤ y → e x ≤ e y) {n m : Nat}
    (hn : 0 < n) (c : Nat → Nat → A) (φ ψ L : Nat → A) {K d : A} {s : R} (hd : 0 ≤ d) (hs : 1 ≤ s)
    (hL : ∀ j, j < m → absolute (φ j - ψ j) ≤ L j * d)
    (hK : ∀ k, k < n → ∀ l, l < n → sum m (fun j => absolute (c k j - c l j) * L j) ≤ K)
    (he2 : e (K * d) ≤ s * s) :
    (s + 1) * distance n (softmax e n (fun k => sum m (fun j => c k j * φ j)))
      (softmax e n (fun k => sum m (fun j => c k j * ψ j))) ≤ 2 * (s - 1) := by
  refine softmax_lipschitz he hn _ _ hs (fun k hk l hl => ?_)
  have h1 : (sum m (fun j => c k j * φ j) - sum m (fun j => c k j * ψ j))
      - (sum m (fun j => c l j * φ j) - sum m (fun j => c l j * ψ j))
      = sum m (fun j => (c k j - c l j) * (φ j - ψ j)) := by
    rw [← sum_sub, ← sum_sub, ← sum_sub]
    exact sum_congr (fun j _ => by grind)
  have h2 : sum m (fun j => (c k j - c l j) * (φ j - ψ j))
      ≤ sum m (fun j => (absolute (c k j - c l j) * L j) * d) := by
    refine sum_le_sum (fun j hj => ?_)
    have a1 := le_absolute (c k j - c l j)
    have a2 := le_absolute (φ j - ψ j)
    have a3 := hL j hj
    generalize absolute (c k j - c l j) = x at a1 ⊢
    generalize absolute (φ j - ψ j) = y at a2 a3
    generalize c k j - c l j = z at a1 ⊢
    generalize φ j - ψ j = t at a2 ⊢
    have b1 : 0 ≤ (x - z) * (y + t) := OrderedRing.mul_nonneg (by grind) (by grind)
    have b2 : 0 ≤ (x + z) * (y - t) := OrderedRing.mul_nonneg (by grind) (by grind)
    have b3 : 0 ≤ x * (L j * d - y) := OrderedRing.mul_nonneg (by grind) (by grind)
    grind
  rw [sum_mul_right] at h2
  have h3 : d * sum m (fun j => absolute (c k j - c l j) * L j) ≤ d * K :=
    mul_le_mul_of_nonneg hd (hK k hk l hl)
  refine Std.IsPreorder.le_trans _ _ _ (hmono _ _ ?_) he2
  rw [h1]; grind

end Policy

section Contrast
variable {R : Type} [Field R]

/-- A contrast matrix: `q` orthonormal rows, which span what sums to zero. -/
structure IsContrast (q K : Nat) (H : Nat → Nat → R) : Prop where
  rows : ∀ i, i < q → ∀ j, j < q → sum K (fun k => H i k * H j k) = delta i j
  columns : ∀ k, k < K → ∀ l, l < K →
    sum q (fun i => H i k * H i l) = delta k l - 1 / sum K (fun _ => 1)

/-- **The ilr and its inverse** (`to_coordinates`, `from_coordinates`): `Hᵀ (H x) = x`
where `x` sums to zero, as clr do; `H (Hᵀ z) = z` always, and `Hᵀ z` sums to zero. -/
theorem ilr_inverse {q K : Nat} {H : Nat → Nat → R} (hH : IsContrast q K H) :
    (∀ x : Nat → R, sum K x = 0 → ∀ k, k < K →
        sum q (fun i => H i k * sum K (fun l => H i l * x l)) = x k)
      ∧ (∀ z : Nat → R, ∀ i, i < q →
        sum K (fun k => H i k * sum q (fun j => H j k * z j)) = z i)
      ∧ (sum K (fun _ => (1 : R)) ≠ 0 → ∀ z : Nat → R,
        sum K (fun k => sum q (fun i => H i k * z i)) = 0) := by
  have back : ∀ z : Nat → R, ∀ i, i < q →
      sum K (fun k => H i k * sum q (fun j => H j k * z j)) = z i := by
    intro z i hi
    have e1 : ∀ k, H i k * sum q (fun j => H j k * z j)
        = sum q (fun j => z j * (H i k * H j k)) := by
      intro k
      rw [← sum_mul_left]
      exact sum_congr (fun j _ => by grind)
    rw [sum_congr (fun k _ => e1 k), sum_comm]
    have e2 : ∀ j, j < q → sum K (fun k => z j * (H i k * H j k)) = delta i j * z j := by
      intro j hj
      rw [sum_mul_left, hH.rows i hi j hj]; grind
    rw [sum_congr e2]
    exact sum_delta_of_lt hi z
  refine ⟨?_, back, fun hK z => ?_⟩
  · intro x hx k hk
    have e1 : ∀ i, H i k * sum K (fun l => H i l * x l)
        = sum K (fun l => x l * (H i k * H i l)) := by
      intro i
      rw [← sum_mul_left]
      exact sum_congr (fun l _ => by grind)
    rw [sum_congr (fun i _ => e1 i), sum_comm]
    have e2 : ∀ l, l < K → sum q (fun i => x l * (H i k * H i l))
        = delta k l * x l - 1 / sum K (fun _ => 1) * x l := by
      intro l hl
      rw [sum_mul_left, hH.columns k hk l hl]; grind
    rw [sum_congr e2, sum_sub, sum_mul_left, hx, sum_delta_of_lt hk x]
    grind
  · -- rows sum to zero: `Hᵀ (H 1) = 0`, so `H 1 = H (Hᵀ (H 1)) = 0`
    have h1 : ∀ k, k < K → sum q (fun j => H j k * sum K (H j)) = 0 := by
      intro k hk
      have e1 : ∀ j, H j k * sum K (H j) = sum K (fun l => H j k * H j l) :=
        fun j => (sum_mul_left K (H j k) (H j)).symm
      rw [sum_congr (fun j _ => e1 j), sum_comm, sum_congr (fun l hl => hH.columns k hk l hl),
        sum_sub, sum_const K (1 / sum K (fun _ => (1 : R)))]
      have e2 : sum K (fun l => delta k l) = (1 : R) := by
        have e3 := sum_delta_of_lt hk (fun _ => (1 : R))
        rw [← e3]
        exact sum_congr (fun l _ => by grind)
      rw [e2]
      grind
    have h2 : ∀ i, i < q → sum K (H i) = 0 := by
      intro i hi
      rw [← back (fun j => sum K (H j)) i hi]
      exact sum_eq_zero (fun k hk => by rw [h1 k hk]; grind)
    rw [sum_comm]
    refine sum_eq_zero (fun i hi => ?_)
    rw [sum_mul_right, h2 i hi]
    grind

/-- The ilr is an isometry where `x` sums to zero. -/
theorem ilr_isometry {q K : Nat} {H : Nat → Nat → R} (hH : IsContrast q K H) (x : Nat → R)
    (hx : sum K x = 0) :
    sum q (fun i => sum K (fun k => H i k * x k) * sum K (fun k => H i k * x k))
      = sum K (fun k => x k * x k) := by
  have e1 : ∀ i, sum K (fun k => H i k * x k) * sum K (fun k => H i k * x k)
      = sum K (fun k => x k * (H i k * sum K (fun l => H i l * x l))) := by
    intro i
    rw [← sum_mul_right]
    exact sum_congr (fun k _ => by grind)
  rw [sum_congr (fun i _ => e1 i), sum_comm]
  refine sum_congr (fun k hk => ?_)
  rw [sum_mul_left, (ilr_inverse hH).1 x hx k hk]

/-- Weighted mean over `N` members. -/
def ensembleMean (N : Nat) (w f : Nat → R) : R := sum N (fun n => w n * f n)

/-- Weighted variance over the members, about their mean. -/
def ensembleVar (N : Nat) (w f : Nat → R) : R :=
  sum N (fun n => w n * ((f n - ensembleMean N w f) * (f n - ensembleMean N w f)))

theorem sum_centred {N K : Nat} {w : Nat → R} {x : Nat → Nat → R}
    (hx : ∀ n, n < N → sum K (x n) = 0) (n : Nat) (hn : n < N) :
    sum K (fun k => x n k - ensembleMean N w (fun m => x m k)) = 0 := by
  have h : sum K (fun k => ensembleMean N w (fun m => x m k)) = 0 := by
    unfold ensembleMean
    rw [sum_comm]
    refine sum_eq_zero (fun m hm => ?_)
    rw [sum_mul_left, hx m hm]; grind
  rw [sum_sub, h]
  have := hx n hn
  grind

/-- **T8a** (`LogRatioTransformer("alr")`): over an ensemble, with `x n` the clr of member `n`, the
variances of the alr sum to those of the clr plus `K` times that of the clr of the reference. -/
theorem alr_total (N K : Nat) (w : Nat → R) (x : Nat → Nat → R) (r : Nat)
    (hx : ∀ n, n < N → sum K (x n) = 0) :
    sum K (fun k => ensembleVar N w (fun n => x n k - x n r))
      = sum K (fun k => ensembleVar N w (fun n => x n k))
        + sum K (fun _ => 1) * ensembleVar N w (fun n => x n r) := by
  have hmean : ∀ k, ensembleMean N w (fun n => x n k - x n r)
      = ensembleMean N w (fun n => x n k) - ensembleMean N w (fun n => x n r) := by
    intro k
    unfold ensembleMean
    rw [← sum_sub]
    exact sum_congr (fun n _ => by grind)
  unfold ensembleVar
  simp only [hmean]
  rw [sum_comm K N, sum_comm K N, ← sum_mul_left N (sum K (fun _ => 1)), ← sum_add]
  refine sum_congr (fun n hn => ?_)
  have h0 : sum K (fun k => x n k - ensembleMean N w (fun m => x m k)) = 0 :=
    sum_centred hx n hn
  rw [sum_mul_left, sum_mul_left]
  have e1 : ∀ k, (x n k - x n r - (ensembleMean N w (fun n => x n k)
        - ensembleMean N w (fun n => x n r)))
      * (x n k - x n r - (ensembleMean N w (fun n => x n k) - ensembleMean N w (fun n => x n r)))
      = ((x n k - ensembleMean N w (fun m => x m k)) * (x n k - ensembleMean N w (fun m => x m k))
        - (2 * (x n r - ensembleMean N w (fun n => x n r)))
          * (x n k - ensembleMean N w (fun m => x m k)))
        + (x n r - ensembleMean N w (fun n => x n r))
          * (x n r - ensembleMean N w (fun n => x n r)) := by
    intro k; grind
  rw [sum_congr (fun k _ => e1 k), sum_add, sum_sub, sum_mul_left, h0, sum_const K
    ((x n r - ensembleMean N w (fun n => x n r)) * (x n r - ensembleMean N w (fun n => x n r)))]
  grind

/-- **T8b** (`step_total_variance_`): over an ensemble, the variances of the ilr sum to those of the
clr, whatever the contrast matrix. -/
theorem ilr_total (N q K : Nat) (w : Nat → R) (x : Nat → Nat → R) {H : Nat → Nat → R}
    (hH : IsContrast q K H) (hx : ∀ n, n < N → sum K (x n) = 0) :
    sum q (fun i => ensembleVar N w (fun n => sum K (fun k => H i k * x n k)))
      = sum K (fun k => ensembleVar N w (fun n => x n k)) := by
  have hmean : ∀ i, ensembleMean N w (fun n => sum K (fun k => H i k * x n k))
      = sum K (fun k => H i k * ensembleMean N w (fun n => x n k)) := by
    intro i
    unfold ensembleMean
    have e1 : ∀ n, w n * sum K (fun k => H i k * x n k)
        = sum K (fun k => H i k * (w n * x n k)) := by
      intro n
      rw [← sum_mul_left]
      exact sum_congr (fun k _ => by grind)
    rw [sum_congr (fun n _ => e1 n), sum_comm]
    exact sum_congr (fun k _ => sum_mul_left N _ _)
  unfold ensembleVar
  simp only [hmean]
  rw [sum_comm q N, sum_comm K N]
  refine sum_congr (fun n hn => ?_)
  have h0 := ilr_isometry hH (fun k => x n k - ensembleMean N w (fun m => x m k))
    (sum_centred hx n hn)
  rw [sum_mul_left, sum_mul_left, ← h0]
  have e2 : ∀ i, sum K (fun k => H i k * x n k)
        - sum K (fun k => H i k * ensembleMean N w (fun m => x m k))
      = sum K (fun k => H i k * (x n k - ensembleMean N w (fun m => x m k))) := by
    intro i
    rw [← sum_sub]
    exact sum_congr (fun k _ => by grind)
  simp only [e2]

end Contrast

/-! ### Examples: powers of two, and rational contrasts of four parts -/
section Examples

/-- `2 ^ z` for whole `z`. -/
def power (z : Int) : Rat := (2 : Rat) ^ z

theorem power_add (x y : Int) : power (x + y) = power x * power y :=
  Rat.zpow_add (by grind) x y

theorem power_lt {x y : Int} (h : x < y) : power x < power y := by
  have h1 : power 1 = 2 := by decide +kernel
  have hm : ∀ m : Nat, 1 ≤ power (m : Int) := by
    intro m
    induction m with
    | zero => decide +kernel
    | succ m ih =>
      have e : power ((m + 1 : Nat) : Int) = power (m : Int) * power 1 := power_add (m : Int) 1
      rw [e, h1]
      generalize power (m : Int) = u at ih ⊢
      grind
  obtain ⟨m, hm'⟩ : ∃ m : Nat, y = x + ((m : Int) + 1) := ⟨(y - x - 1).toNat, by omega⟩
  have e1 := power_add x ((m : Int) + 1)
  have e2 := power_add (m : Int) 1
  have e3 := hm m
  have e4 : 0 < power x := Rat.zpow_pos (by grind)
  subst hm'
  have e5 := OrderedRing.mul_nonneg (R := Rat) (a := power x) (b := power (m : Int) - 1)
    (by grind) (by grind)
  rw [e1, e2, h1]
  generalize power (m : Int) = u at e3 e5 ⊢
  generalize power x = v at e4 e5 ⊢
  clear e1 e2 hm h
  grind

theorem power_mono (x y : Int) (h : x ≤ y) : power x ≤ power y := by
  by_cases e : x = y
  · subst e; grind
  · have := power_lt (x := x) (y := y) (by omega)
    grind

theorem power_isExp : IsExp power :=
  ⟨power_add, fun _ => Rat.zpow_pos (by grind), fun x y h => by
    have e : x < y ∨ x = y ∨ y < x := by omega
    rcases e with e | e | e
    · have := power_lt e
      grind
    · exact e
    · have := power_lt e
      grind⟩

/-- One part in five, its clr and its alr to base 2, with the first part as the reference. -/
def fifths (k : Nat) : Rat := if k = 0 then 1 / 5 else 4 / 5

def clrOfFifths (k : Nat) : Int := if k = 0 then -1 else 1

def alrOfFifths (k : Nat) : Int := if k = 0 then 0 else 2

example : (∀ k, k < 2 → 0 < softmax power 2 clrOfFifths k)
    ∧ sum 2 (softmax power 2 clrOfFifths) = 1 :=
  softmax_simplex power_isExp (by omega) clrOfFifths

example : softmax power 2 clrOfFifths 1 = fifths 1 :=
  softmax_of_log_ratio power_isExp (by decide +kernel)
    (by unfold IsLogRatio; decide +kernel) 1 (by omega)

example : (∀ k, k < 2 → softmax power 2 alrOfFifths k = softmax power 2 clrOfFifths k)
    ↔ ∃ a, ∀ k, k < 2 → alrOfFifths k = clrOfFifths k + a :=
  softmax_eq_iff power_isExp (by omega) _ _

/-- The alr of the softmax of the logits 5 and 7, to which they are not equal. -/
example : ∃ a : Int, ∀ k, k < 2 → alrOfFifths k = (if k = 0 then 5 else 7) + a :=
  (log_ratio_of_softmax power_isExp (by omega)
    (v := fun k => if k = 0 then 5 else 7) (by unfold IsLogRatio; decide +kernel)).1

/-- The clr of the softmax of logits that sum to zero, whatever they are called. -/
example : ∀ k, k < 2 → clrOfFifths k = 2 * (k : Int) - 1 :=
  (log_ratio_of_softmax power_isExp (by omega)
    (v := fun k => 2 * (k : Int) - 1) (by unfold IsLogRatio; decide +kernel)).2.2
    (fun a h => by simp only [sum_succ, sum_zero] at h; grind) (by decide +kernel)
    (by decide +kernel)

/-- Of three parts the second is forbidden. -/
example : ∀ k, k < 3 → maskedSoftmax power 3 (fun k => k != 1) (fun k => if k = 2 then 2 else 0) k
    = if k = 0 then 1 / 5 else if k = 1 then 0 else 4 / 5 :=
  (masked_softmax power_isExp (m := 0) (by omega) (by decide) _).2.2.2
    (fun k => if k = 0 then 1 / 5 else if k = 1 then 0 else 4 / 5) (by decide +kernel)
    (by decide +kernel) (by decide +kernel)

/-- Three rational contrasts of four parts. -/
def hadamard (i k : Nat) : Rat :=
  if i = 0 then (if k < 2 then 1 / 2 else -1 / 2)
  else if i = 1 then (if k % 2 = 0 then 1 / 2 else -1 / 2)
  else if k = 0 || k = 3 then 1 / 2 else -1 / 2

theorem hadamard_isContrast : IsContrast 3 4 hadamard :=
  ⟨by decide +kernel, by decide +kernel⟩

/-- The clr of two members. -/
def members (n k : Nat) : Rat :=
  if n = 0 then (if k = 0 then 1 else if k = 1 then -1 else if k = 2 then 2 else -2)
  else if k = 0 then 3 else if k = 1 then 1 else if k = 2 then -1 else -3

example : sum 3 (fun i => hadamard i 2 * sum 4 (fun l => hadamard i l * members 0 l)) = 2 :=
  (ilr_inverse hadamard_isContrast).1 (members 0) (by decide +kernel) 2 (by omega)

/-- Parts whose logits differ by 0 and 2 to base 2: `s² = 2²`. -/
example : (2 + 1 : Rat) * distance 2 (softmax power 2 alrOfFifths) (softmax power 2 (fun _ => 0))
    ≤ 2 * (2 - 1) :=
  softmax_lipschitz power_isExp (by omega) alrOfFifths (fun _ => 0) (by grind) (by decide +kernel)

/-- Logits 0 and x, at the inputs x = 0 and x = 2. -/
example : (2 + 1 : Rat) * distance 2
      (softmax power 2 (fun k => sum 1 (fun _ => (if k = 0 then 0 else 1 : Int) * 2)))
      (softmax power 2 (fun k => sum 1 (fun _ => (if k = 0 then 0 else 1 : Int) * 0)))
    ≤ 2 * (2 - 1) :=
  policy_lipschitz power_isExp power_mono (by omega) (fun k _ => if k = 0 then 0 else 1)
    (fun _ => 2) (fun _ => 0) (fun _ => 1) (K := 1) (d := 2) (by decide) (by grind)
    (fun j _ => by simp [absolute])
    (fun k hk l hl => by
      have ek : k = 0 ∨ k = 1 := by omega
      have el : l = 0 ∨ l = 1 := by omega
      rcases ek with h | h <;> rcases el with h' | h' <;> subst h <;> subst h' <;>
        simp [sum_succ, sum_zero, absolute])
    (by decide +kernel)

/-- A utility between 0 and 1 under (1/5, 4/5) and (4/5, 1/5). -/
example : 2 * (sum 2 (fun k => fifths k * fifths k) - sum 2 (fun k => (1 - fifths k) * fifths k))
    ≤ (1 - 0) * distance 2 fifths (fun k => 1 - fifths k) :=
  value_difference 2 fifths (fun k => 1 - fifths k) fifths
    (fun k _ => by unfold fifths; by_cases h : k = 0 <;> simp [h] <;> grind) (by decide +kernel)

example : sum 3 (fun i => sum 4 (fun k => hadamard i k * members 0 k)
    * sum 4 (fun k => hadamard i k * members 0 k)) = 10 :=
  (ilr_isometry hadamard_isContrast (members 0) (by decide +kernel)).trans (by decide +kernel)

example : sum 4 (fun k => ensembleVar 2 (fun _ => 1 / 2) (fun n => members n k - members n 3))
    = sum 4 (fun k => ensembleVar 2 (fun _ => 1 / 2) (fun n => members n k))
      + sum 4 (fun _ => 1) * ensembleVar 2 (fun _ => 1 / 2) (fun n => members n 3) :=
  alr_total 2 4 _ members 3 (by decide +kernel)

example : sum 3 (fun i => ensembleVar 2 (fun _ => 1 / 2)
      (fun n => sum 4 (fun k => hadamard i k * members n k)))
    = sum 4 (fun k => ensembleVar 2 (fun _ => 1 / 2) (fun n => members n k)) :=
  ilr_total 2 3 4 _ members hadamard_isContrast (by decide +kernel)

end Examples
end SkpceCore
