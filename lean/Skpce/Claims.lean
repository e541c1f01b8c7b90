import Mathlib.MeasureTheory.Function.L2Space
import Skpce.SampleSize

/-!
# The claims, in Mathlib's notions only

Each theorem restates a headline result without the definitions of this project, so that a reader
who trusts Mathlib can judge the statement from this file alone. `#print axioms` after each is
guarded: an unproved step or a new axiom breaks the build.

Not claimed here, because it is not proved: the Sobolev classes behind the rate of T1; that
Hermite and Legendre polynomials are Hilbert bases; that the shares of T2 are variances of
conditional expectations; the χ² law behind the tail of A. T3, T6, T8 and the deterministic part of
A for finitely many coefficients are in `Core/`, where a compiler has read them.
-/

namespace Skpce.Claims

variable {ι : Type*} [Fintype ι]

/-! ### T1 and T2: truncation of an expansion in L² -/

section Expansion

open scoped InnerProductSpace

variable {σ : Type*} [Fintype σ] [DecidableEq σ]
  {μ : MeasureTheory.Measure (σ → ℝ)}

/-- **T1.** For a Hilbert basis of L² indexed by multi-indices, the finite sums over the
multi-indices of total degree at most `p` converge to the function. -/
theorem t1_converges (b : HilbertBasis (σ → ℕ) ℝ (MeasureTheory.Lp ℝ 2 μ))
    (g : MeasureTheory.Lp ℝ 2 μ) :
    Filter.Tendsto
      (fun p : ℕ => ∑ j ∈ (Fintype.piFinset (fun _ : σ => Finset.range (p + 1))).filter
        (fun j => ∑ i, j i ≤ p), ⟪b j, g⟫_ℝ • b j) Filter.atTop (nhds g) :=
  tendsto_truncation b g

/-- **T1.** With `∑ ((1 + |j|) ^ r c_j) ^ 2 ≤ B ^ 2` the error is at most `B (1 + p) ^ (-r)`. -/
theorem t1_rate (b : HilbertBasis (σ → ℕ) ℝ (MeasureTheory.Lp ℝ 2 μ))
    (g : MeasureTheory.Lp ℝ 2 μ) {r B : ℝ} (hr : 0 ≤ r) (hB : 0 ≤ B)
    (hsum : Summable (fun j : σ → ℕ => ((1 + ((∑ i, j i : ℕ) : ℝ)) ^ r * ⟪b j, g⟫_ℝ) ^ 2))
    (hle : ∑' j : σ → ℕ, ((1 + ((∑ i, j i : ℕ) : ℝ)) ^ r * ⟪b j, g⟫_ℝ) ^ 2 ≤ B ^ 2) (p : ℕ) :
    ‖g - ∑ j ∈ (Fintype.piFinset (fun _ : σ => Finset.range (p + 1))).filter
      (fun j => ∑ i, j i ≤ p), ⟪b j, g⟫_ℝ • b j‖ ≤ B * (1 + (p : ℝ)) ^ (-r) :=
  norm_sub_truncation_le b g hr hB hsum hle p

omit [Fintype σ] [DecidableEq σ] in
/-- **T2.** First-order, total and closed indices, and every other share of the variance with
weights `θ` between 0 and 1, move by at most the L² distance over the standard deviation. `b 0`,
which the sums leave out, may be any function of the basis; the indices are Sobol indices when it
is the constant. -/
theorem t2_bound (b : HilbertBasis (σ → ℕ) ℝ (MeasureTheory.Lp ℝ 2 μ))
    (f g : MeasureTheory.Lp ℝ 2 μ) {θ : {j : σ → ℕ // j ≠ 0} → ℝ} (hθ0 : ∀ j, 0 ≤ θ j)
    (hθ1 : ∀ j, θ j ≤ 1) (hD : 0 < ∑' j : {j : σ → ℕ // j ≠ 0}, ⟪b j.1, g⟫_ℝ ^ 2) :
    |(∑' j : {j : σ → ℕ // j ≠ 0}, θ j * ⟪b j.1, f⟫_ℝ ^ 2)
          / (∑' j : {j : σ → ℕ // j ≠ 0}, ⟪b j.1, f⟫_ℝ ^ 2)
        - (∑' j : {j : σ → ℕ // j ≠ 0}, θ j * ⟪b j.1, g⟫_ℝ ^ 2)
          / (∑' j : {j : σ → ℕ // j ≠ 0}, ⟪b j.1, g⟫_ℝ ^ 2)|
      ≤ ‖f - g‖ / √(∑' j : {j : σ → ℕ // j ≠ 0}, ⟪b j.1, g⟫_ℝ ^ 2) :=
  abs_share_slopes_sub_le b f g hθ0 hθ1 hD

/-- **T2.** The same shares of the truncations `T p` converge to those of the function. -/
theorem t2_converges (b : HilbertBasis (σ → ℕ) ℝ (MeasureTheory.Lp ℝ 2 μ))
    (g : MeasureTheory.Lp ℝ 2 μ) {θ : {j : σ → ℕ // j ≠ 0} → ℝ} (hθ0 : ∀ j, 0 ≤ θ j)
    (hθ1 : ∀ j, θ j ≤ 1) (hD : 0 < ∑' j : {j : σ → ℕ // j ≠ 0}, ⟪b j.1, g⟫_ℝ ^ 2)
    {T : ℕ → MeasureTheory.Lp ℝ 2 μ}
    (hT : T = fun p : ℕ => ∑ j ∈ (Fintype.piFinset (fun _ : σ => Finset.range (p + 1))).filter
      (fun j => ∑ i, j i ≤ p), ⟪b j, g⟫_ℝ • b j) :
    Filter.Tendsto
      (fun p => (∑' j : {j : σ → ℕ // j ≠ 0}, θ j * ⟪b j.1, T p⟫_ℝ ^ 2)
        / (∑' j : {j : σ → ℕ // j ≠ 0}, ⟪b j.1, T p⟫_ℝ ^ 2)) Filter.atTop
      (nhds ((∑' j : {j : σ → ℕ // j ≠ 0}, θ j * ⟪b j.1, g⟫_ℝ ^ 2)
        / (∑' j : {j : σ → ℕ // j ≠ 0}, ⟪b j.1, g⟫_ℝ ^ 2))) := by
  subst hT
  exact tendsto_share_truncation b g hθ0 hθ1 hD

end Expansion

/-! ### T4, T5 and T7: how far the policy moves -/

/-- **T4.** The softmax of an expansion is Lipschitz from the inputs to ℓ₁. -/
theorem t4_lipschitz [Nonempty ι] {J X : Type*} [PseudoMetricSpace X] {s : Finset J}
    {ψ : J → X → ℝ} {c : ι → J → ℝ} {U : Set X} {L : J → ℝ} {R : ℝ}
    (hψ : ∀ j ∈ s, ∀ x ∈ U, ∀ y ∈ U, |ψ j x - ψ j y| ≤ L j * dist x y)
    (hR : ∀ k l, ∑ j ∈ s, |c k j - c l j| * L j ≤ R) {x y : X} (hx : x ∈ U) (hy : y ∈ U) :
    ∑ k, |Real.exp (∑ j ∈ s, c k j * ψ j x) / ∑ l, Real.exp (∑ j ∈ s, c l j * ψ j x)
        - Real.exp (∑ j ∈ s, c k j * ψ j y) / ∑ l, Real.exp (∑ j ∈ s, c l j * ψ j y)|
      ≤ R / 2 * dist x y :=
  sum_abs_policy_sub_le (s := s) (ψ := ψ) (c := c) (x := x) (y := y) hψ hR hx hy

/-- **T5.** The softmax is 1-Lipschitz from the largest difference to ℓ₁. -/
theorem t5_lipschitz (v w : ι → ℝ) :
    ∑ k, |Real.exp (v k) / ∑ l, Real.exp (v l) - Real.exp (w k) / ∑ l, Real.exp (w l)|
      ≤ ‖v - w‖ :=
  sum_abs_softmax_sub_le_norm v w

/-- **T7.** The values of two softmax policies differ by at most the range of the payoff times
half their ℓ₁ distance. -/
theorem t7_value [Nonempty ι] (v w : ι → ℝ) {u : ι → ℝ} {m M : ℝ} (hm : ∀ k, m ≤ u k)
    (hM : ∀ k, u k ≤ M) :
    |(∑ k, Real.exp (v k) / (∑ l, Real.exp (v l)) * u k)
        - ∑ k, Real.exp (w k) / (∑ l, Real.exp (w l)) * u k|
      ≤ (M - m) * ((∑ k, |Real.exp (v k) / ∑ l, Real.exp (v l)
        - Real.exp (w k) / ∑ l, Real.exp (w l)|) / 2) :=
  abs_value_sub_le (p := softmax v) (q := softmax w)
    ((sum_softmax v).trans (sum_softmax w).symm) hm hM

/-! ### A: from the coefficients to the indices -/

/-- **A**, with the probabilistic part as the hypothesis `htail`: the squared error of the
coefficients exceeds `β` with probability at most `δ`. Then some share with weights in `[0, 1]`
is wrong by more than `√β / √D` with probability at most `δ`. -/
theorem a_tail {Ω J : Type*} [MeasurableSpace Ω] [Fintype J] {P : MeasureTheory.Measure Ω}
    {d : Ω → J → ℝ} {c : J → ℝ} {β : ℝ} {δ : ENNReal}
    (htail : P {ω : Ω | β < ∑ j, (d ω j - c j) ^ 2} ≤ δ) (hD : 0 < ∑' j, c j ^ 2) :
    P {ω : Ω | ∃ θ : J → ℝ, (∀ j, 0 ≤ θ j) ∧ (∀ j, θ j ≤ 1)
      ∧ √β / √(∑' j, c j ^ 2) < |(∑' j, θ j * d ω j ^ 2) / (∑' j, d ω j ^ 2)
        - (∑' j, θ j * c j ^ 2) / (∑' j, c j ^ 2)|} ≤ δ :=
  measure_share_error_le (d := d) (c := c) (β := β) htail hD

/-! ### No axioms beyond Lean's own three -/

/-- info: 'Skpce.Claims.t1_converges' depends on axioms: [propext, Classical.choice, Quot.sound] -/
#guard_msgs in
#print axioms t1_converges

/-- info: 'Skpce.Claims.t1_rate' depends on axioms: [propext, Classical.choice, Quot.sound] -/
#guard_msgs in
#print axioms t1_rate

/-- info: 'Skpce.Claims.t2_bound' depends on axioms: [propext, Classical.choice, Quot.sound] -/
#guard_msgs in
#print axioms t2_bound

/-- info: 'Skpce.Claims.t2_converges' depends on axioms: [propext, Classical.choice, Quot.sound] -/
#guard_msgs in
#print axioms t2_converges

/-- info: 'Skpce.Claims.t4_lipschitz' depends on axioms: [propext, Classical.choice, Quot.sound] -/
#guard_msgs in
#print axioms t4_lipschitz

/-- info: 'Skpce.Claims.t5_lipschitz' depends on axioms: [propext, Classical.choice, Quot.sound] -/
#guard_msgs in
#print axioms t5_lipschitz

/-- info: 'Skpce.Claims.t7_value' depends on axioms: [propext, Classical.choice, Quot.sound] -/
#guard_msgs in
#print axioms t7_value

/-- info: 'Skpce.Claims.a_tail' depends on axioms: [propext, Classical.choice, Quot.sound] -/
#guard_msgs in
#print axioms a_tail

end Skpce.Claims
