import Sum

/-!
# P-values of exchanges, Holm's rule, split-conformal coverage

A sample space has outcomes `0, …, N - 1` with probabilities `P`. A statistic may be any number of
the field. What the drivers' test does beyond ranks of one exchange is not stated here: how the
exchange is chosen, changes of signs, and extrapolated tails where few draws are as large.
-/
namespace SkpceCore
open Lean.Grind

attribute [local instance] Classical.propDecidable

section Rank
variable {R : Type} [Field R] [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R]
  [OrderedRing R]

/-- The number of `i < n` with a property, in the field. -/
noncomputable def number (n : Nat) (A : Nat → Prop) : R := sum n (fun i => if A i then 1 else 0)

/-- The p-value of the value at place `i` among `n`: the share of those that are at least as large,
itself included. Ties count against the discovery. -/
noncomputable def pValue (n : Nat) (s : Nat → R) (i : Nat) : R :=
  number n (fun j => s i ≤ s j) / number n (fun _ => True)

/-- The joint law of the draws `X ω 0, …, X ω (n - 1)` does not change when the first draw, which is
the observed one, is exchanged with another. -/
def Exchangeable {β : Type} (N : Nat) (P : Nat → R) (n : Nat) (X : Nat → Nat → β) : Prop :=
  ∀ i, i < n → ∀ A : (Nat → β) → Prop,
    prob N P (fun ω => A (X ω)) = prob N P (fun ω => A (fun j => X ω (swap 0 i j)))

omit [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R] [OrderedRing R] in
theorem number_true (n : Nat) : number (R := R) n (fun _ => True) = sum n (fun _ => 1) := by
  unfold number; simp

theorem number_mono {n : Nat} {A B : Nat → Prop} (h : ∀ i, i < n → A i → B i) :
    number (R := R) n A ≤ number n B := by
  refine sum_le_sum (fun i hi => ?_)
  have h1 : (0 : R) < 1 := OrderedRing.zero_lt_one
  by_cases a : A i
  · have b := h i hi a
    simp [a, b]; grind
  · by_cases b : B i <;> simp [a, b] <;> grind

omit [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R] [OrderedRing R] in
theorem number_not (n : Nat) (A : Nat → Prop) :
    number (R := R) n A + number n (fun i => ¬ A i) = sum n (fun _ => 1) := by
  unfold number
  rw [← sum_add]
  refine sum_congr (fun i _ => ?_)
  by_cases a : A i <;> simp [a] <;> grind

theorem prob_not {N : Nat} {P : Nat → R} (hP : IsLaw N P) (A : Nat → Prop) :
    prob N P A = 1 - prob N P (fun ω => ¬ A ω) := by
  have h : prob N P A + prob N P (fun ω => ¬ A ω) = sum N P := by
    unfold prob
    rw [← sum_add]
    refine sum_congr (fun ω _ => ?_)
    by_cases a : A ω <;> simp [a] <;> grind
  rw [hP.total] at h
  grind

/-- Of what some `i < n` have, one has the smallest value. -/
theorem exists_smallest (s : Nat → R) (A : Nat → Prop) : ∀ n, (∃ i, i < n ∧ A i) →
    ∃ i, i < n ∧ A i ∧ ∀ j, j < n → A j → s i ≤ s j := by
  intro n
  induction n with
  | zero => rintro ⟨i, hi, _⟩; omega
  | succ n ih =>
    rintro ⟨i, hi, ha⟩
    by_cases hex : ∃ i, i < n ∧ A i
    · obtain ⟨m, hm, ham, hmin⟩ := ih hex
      by_cases hn : A n ∧ s n ≤ s m
      · refine ⟨n, by omega, hn.1, fun j hj haj => ?_⟩
        by_cases hjn : j = n
        · subst hjn; grind
        · have := hmin j (by omega) haj; grind
      · refine ⟨m, by omega, ham, fun j hj haj => ?_⟩
        by_cases hjn : j = n
        · subst hjn
          have : ¬ s j ≤ s m := fun h => hn ⟨haj, h⟩
          grind
        · exact hmin j (by omega) haj
    · have hin : i = n := by
        by_cases h : i < n
        · exact absurd ⟨i, h, ha⟩ hex
        · omega
      subst hin
      refine ⟨i, by omega, ha, fun j hj haj => ?_⟩
      by_cases hji : j = i
      · subst hji; grind
      · exact absurd ⟨j, by omega, haj⟩ hex

/-- At most `t` of `n` numbers have at most `t` numbers at or above them. -/
theorem few_large (n : Nat) (s : Nat → R) {t : R} (ht : 0 ≤ t) :
    number n (fun i => number n (fun j => s i ≤ s j) ≤ t) ≤ t := by
  by_cases hex : ∃ i, i < n ∧ number n (fun j => s i ≤ s j) ≤ t
  · obtain ⟨m, _, hm, hmin⟩ := exists_smallest s _ n hex
    have h1 : number (R := R) n (fun i => number n (fun j => s i ≤ s j) ≤ t)
        ≤ number n (fun j => s m ≤ s j) := number_mono (fun i hi ha => hmin i hi ha)
    grind
  · have h0 : number (R := R) n (fun i => number n (fun j => s i ≤ s j) ≤ t) = 0 := by
      refine sum_eq_zero (fun i hi => ?_)
      have : ¬ number n (fun j => s i ≤ s j) ≤ t := fun h => hex ⟨i, hi, h⟩
      simp [this]
    rw [h0]; exact ht

omit [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R] [OrderedRing R] in
/-- The mean number of places with a property is the sum of its probabilities. -/
theorem sum_prob (N n : Nat) (P : Nat → R) (A : Nat → Nat → Prop) :
    sum n (fun i => prob N P (fun ω => A ω i)) = sum N (fun ω => P ω * number n (A ω)) := by
  unfold prob number
  rw [sum_comm]
  refine sum_congr (fun ω _ => ?_)
  rw [← sum_mul_left]
  refine sum_congr (fun i _ => ?_)
  by_cases a : A ω i <;> simp [a] <;> grind

/-- A mean of what is at most `t` is at most `t`. -/
theorem mean_le {N : Nat} {P : Nat → R} (hP : IsLaw N P) {f : Nat → R} {t : R}
    (h : ∀ ω, ω < N → f ω ≤ t) : sum N (fun ω => P ω * f ω) ≤ t := by
  have h1 : sum N (fun ω => P ω * f ω) ≤ sum N (fun ω => P ω * t) :=
    sum_le_sum (fun ω hω => mul_le_mul_of_nonneg (hP.nonneg ω hω) (h ω hω))
  rw [sum_mul_right, hP.total] at h1
  grind

/-- The first of `n` scores, each of which is as likely to be among the `t` largest, is so with
probability at most `t / n`. -/
theorem first_is_rarely_large {N n : Nat} {P : Nat → R} (hP : IsLaw N P) (s : Nat → Nat → R)
    {t : R} (ht : 0 ≤ t)
    (heq : ∀ i, i < n → prob N P (fun ω => number n (fun j => s ω 0 ≤ s ω j) ≤ t)
      = prob N P (fun ω => number n (fun j => s ω i ≤ s ω j) ≤ t)) :
    sum n (fun _ => 1) * prob N P (fun ω => number n (fun j => s ω 0 ≤ s ω j) ≤ t) ≤ t := by
  rw [← sum_const, sum_congr heq,
    sum_prob N n P (fun ω i => number n (fun j => s ω i ≤ s ω j) ≤ t)]
  exact mean_le hP (fun ω _ => few_large n (s ω) ht)

omit [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R] [OrderedRing R] in
theorem number_swap {n i : Nat} (hi : i < n) (A : Nat → Prop) :
    number (R := R) n (fun j => A (swap 0 i j)) = number n A :=
  sum_swap (by omega) hi (fun j => if A j then 1 else 0)

theorem pValue_le_iff {n : Nat} (hn : 0 < n) (s : Nat → R) (i : Nat) (α : R) :
    pValue n s i ≤ α ↔ number n (fun j => s i ≤ s j) ≤ sum n (fun _ => 1) * α := by
  have h := number_pos (R := R) hn
  unfold pValue
  rw [number_true]
  generalize number (R := R) n (fun j => s i ≤ s j) = a
  generalize hb : sum n (fun _ => (1 : R)) = b at h
  have hab : b * (a / b) = a := by grind
  constructor
  · intro g
    have := mul_le_mul_of_nonneg (c := b) (by grind) g
    grind
  · intro g
    exact le_of_mul_le h (by grind)

/-- From exchangeable values of any kind to scores: a score that treats the draws alike. -/
theorem exchange_valid_of {β : Type} {N n : Nat} {P : Nat → R} (hn : 0 < n) (hP : IsLaw N P)
    {X : Nat → Nat → β} (hX : Exchangeable N P n X) (u : (Nat → β) → Nat → R)
    (hu : ∀ x i, i < n → ∀ j, u (fun k => x (swap 0 i k)) j = u x (swap 0 i j))
    {α : R} (hα : 0 ≤ α) : prob N P (fun ω => pValue n (u (X ω)) 0 ≤ α) ≤ α := by
  have hn' := number_pos (R := R) hn
  have ht : 0 ≤ sum n (fun _ => 1) * α := OrderedRing.mul_nonneg (by grind) hα
  have e : ∀ x : Nat → β, ∀ i, (pValue n (u x) i ≤ α)
      = (number n (fun j => u x i ≤ u x j) ≤ sum n (fun _ => 1) * α) :=
    fun x i => propext (pValue_le_iff hn (u x) i α)
  simp only [e]
  refine le_of_mul_le hn' (first_is_rarely_large hP (fun ω => u (X ω)) ht (fun i hi => ?_))
  rw [hX i hi (fun x => number n (fun j => u x 0 ≤ u x j) ≤ sum n (fun _ => 1) * α)]
  have e2 : ∀ ω, number (R := R) n (fun j => u (fun k => X ω (swap 0 i k)) 0
      ≤ u (fun k => X ω (swap 0 i k)) j) = number n (fun j => u (X ω) i ≤ u (X ω) j) := by
    intro ω
    have h0 : swap 0 i 0 = i := by simp [swap]
    simp only [hu (X ω) i hi, h0]
    exact number_swap hi (fun j => u (X ω) i ≤ u (X ω) j)
  simp only [e2]

/-- **Validity of the test of an input** (`skpce.drivers._exchange.rank_p_values`). If the observed
statistic and those of the draws are exchangeable, then `P(p ≤ α) ≤ α`, with ties. -/
theorem exchange_valid {N n : Nat} {P : Nat → R} (hn : 0 < n) (hP : IsLaw N P)
    {S : Nat → Nat → R} (hS : Exchangeable N P n S) {α : R} (hα : 0 ≤ α) :
    prob N P (fun ω => pValue n (S ω) 0 ≤ α) ≤ α :=
  exchange_valid_of hn hP hS (fun x => x) (fun _ _ _ _ => rfl) hα

/-- The smaller one of two numbers. -/
noncomputable def smaller (x y : R) : R := if x ≤ y then x else y

/-- The score of `smaller_rank`: of the ranks from above of two statistics, over the parts `a` and
`b` of the level, the smaller one; with its sign changed, as a small rank is a large statistic. -/
noncomputable def smallerRank (n : Nat) (a b : R) (x : Nat → R × R) (i : Nat) : R :=
  - smaller (number n (fun j => (x i).1 ≤ (x j).1) / a) (number n (fun j => (x i).2 ≤ (x j).2) / b)

/-- **The smaller of two ranks, ranked again** (`skpce.drivers._exchange.smaller_rank`) is valid as
well, whatever the dependence of the two statistics and the parts of the level. -/
theorem smaller_rank_valid {N n : Nat} {P : Nat → R} (hn : 0 < n) (hP : IsLaw N P)
    {X : Nat → Nat → R × R} (hX : Exchangeable N P n X) (a b : R) {α : R} (hα : 0 ≤ α) :
    prob N P (fun ω => pValue n (smallerRank n a b (X ω)) 0 ≤ α) ≤ α := by
  refine exchange_valid_of hn hP hX (smallerRank n a b) (fun x i hi j => ?_) hα
  unfold smallerRank
  have h1 := number_swap (R := R) hi (fun k => (x (swap 0 i j)).1 ≤ (x k).1)
  have h2 := number_swap (R := R) hi (fun k => (x (swap 0 i j)).2 ≤ (x k).2)
  rw [h1, h2]

/-- The p-value of arrangement `g` among those that the design allows in its place: `o` numbers the
classes of arrangements that exchanges within strata, or of whole units, lead to one another. -/
noncomputable def orbitPValue (N : Nat) (o : Nat → Nat) (T : Nat → R) (g : Nat) : R :=
  number N (fun h => o h = o g ∧ T g ≤ T h) / number N (fun h => o h = o g)

/-- **Exchanges within strata and of whole units** (`skpce.drivers._design.Design.exchange`). Where
arrangements that lead to one another are equally likely, and all of them are counted, `p` is
valid. -/
theorem restricted_exchange_valid {N : Nat} {P : Nat → R} (hP : IsLaw N P) (o : Nat → Nat)
    (ho : ∀ g, g < N → ∀ h, h < N → o g = o h → P g = P h) (T : Nat → R) {α : R} (hα : 0 ≤ α) :
    prob N P (fun g => orbitPValue N o T g ≤ α) ≤ α := by
  -- both sides are summed over the classes, by the arrangement `g` that stands for its class
  have hc : ∀ g, g < N → (0 : R) < number N (fun h => o h = o g) := by
    intro g hg
    have h1 : (1 : R) ≤ number N (fun h => o h = o g) := by
      have h2 : number (R := R) N (fun h => h = g) ≤ number N (fun h => o h = o g) :=
        number_mono (fun h _ e => by rw [e])
      have h3 : number (R := R) N (fun h => h = g) = 1 := by
        have h4 := sum_delta_of_lt (R := R) hg (fun _ => 1)
        rw [← h4]
        refine sum_congr (fun i _ => ?_)
        unfold delta
        by_cases e : i = g
        · subst e; simp; grind
        · have e' : ¬ g = i := fun h => e h.symm
          simp [e, e']; grind
      grind
    have := OrderedRing.zero_lt_one (R := R)
    grind
  have key : ∀ g, g < N → number (R := R) N (fun h => o h = o g ∧ orbitPValue N o T h ≤ α)
      ≤ α * number N (fun h => o h = o g) := by
    intro g hg
    by_cases hex : ∃ i, i < N ∧ (o i = o g ∧ orbitPValue N o T i ≤ α)
    · obtain ⟨m, hm, ⟨hmo, hmp⟩, hmin⟩ := exists_smallest T _ N hex
      have h1 : number (R := R) N (fun h => o h = o g ∧ orbitPValue N o T h ≤ α)
          ≤ number N (fun h => o h = o m ∧ T m ≤ T h) :=
        number_mono (fun i hi hA => ⟨by rw [hA.1, hmo], hmin i hi hA⟩)
      have h2 := hc m hm
      unfold orbitPValue at hmp
      rw [← hmo]
      rw [← hmo] at h1
      generalize number (R := R) N (fun h => o h = o m ∧ T m ≤ T h) = a at h1 hmp
      generalize number (R := R) N (fun h => o h = o m) = b at h2 hmp
      have h3 : b * (a / b) = a := by grind
      have h4 := mul_le_mul_of_nonneg (c := b) (by grind) hmp
      grind
    · have h0 : number (R := R) N (fun h => o h = o g ∧ orbitPValue N o T h ≤ α) = 0 := by
        refine sum_eq_zero (fun i hi => ?_)
        have : ¬ (o i = o g ∧ orbitPValue N o T i ≤ α) := fun h => hex ⟨i, hi, h⟩
        simp [this]
      rw [h0]
      have := hc g hg
      exact OrderedRing.mul_nonneg hα (by grind)
  -- `P h` shared out evenly over the class of `h`
  let q : Nat → R := fun g => P g / number N (fun h => o h = o g)
  have hq : ∀ A : Nat → Prop, prob N P A
      = sum N (fun g => q g * number N (fun h => o h = o g ∧ A h)) := by
    intro A
    have e1 : ∀ g, g < N → q g * number N (fun h => o h = o g ∧ A h)
        = sum N (fun h => if o h = o g ∧ A h then q h else 0) := by
      intro g hg
      unfold number
      rw [← sum_mul_left]
      refine sum_congr (fun h hh => ?_)
      by_cases c : o h = o g ∧ A h
      · have hPq : q g = q h := by
          show P g / number N (fun i => o i = o g) = P h / number N (fun i => o i = o h)
          rw [c.1, ho g hg h hh c.1.symm]
        simp [c, hPq]; grind
      · simp [c]; grind
    rw [sum_congr e1, sum_comm]
    refine sum_congr (fun h hh => ?_)
    by_cases a : A h
    · have e2 : sum N (fun g => if o h = o g ∧ A h then q h else 0)
          = q h * number N (fun g => o g = o h) := by
        unfold number
        rw [← sum_mul_left]
        refine sum_congr (fun g _ => ?_)
        by_cases c : o h = o g
        · have c' : o g = o h := c.symm
          simp [c, a]; grind
        · have c' : ¬ o g = o h := fun e => c e.symm
          simp [c, c']; grind
      rw [e2]
      have hpos := hc h hh
      simp only [a, if_true]
      show P h = P h / number N (fun g => o g = o h) * number N (fun g => o g = o h)
      grind
    · have e3 : sum N (fun g => if o h = o g ∧ A h then q h else 0) = 0 :=
        sum_eq_zero (fun g _ => by simp [a])
      rw [e3]; simp [a]
  have hq0 : ∀ g, g < N → 0 ≤ q g := by
    intro g hg
    have h1 := hc g hg
    have h2 := hP.nonneg g hg
    show 0 ≤ P g / number N (fun h => o h = o g)
    generalize number (R := R) N (fun h => o h = o g) = b at h1
    refine le_of_mul_le h1 ?_
    have : b * (P g / b) = P g := by grind
    grind
  have h1 : prob N P (fun g => orbitPValue N o T g ≤ α)
      ≤ sum N (fun g => α * (q g * number N (fun h => o h = o g ∧ True))) := by
    rw [hq]
    refine sum_le_sum (fun g hg => ?_)
    have h2 := mul_le_mul_of_nonneg (hq0 g hg) (key g hg)
    simp only [and_true]
    grind
  rw [sum_mul_left, ← hq (fun _ => True)] at h1
  have h2 : prob N P (fun _ => True) = 1 := by
    unfold prob; simp [hP.total]
  rw [h2] at h1
  grind

/-! ### Many hypotheses -/

theorem term_le_sum {n j : Nat} (hj : j < n) {f : Nat → R} (hf : ∀ i, i < n → 0 ≤ f i) :
    f j ≤ sum n f := by
  rw [← sum_delta_of_lt hj f]
  refine sum_le_sum (fun i hi => ?_)
  have h := hf i hi
  unfold delta
  by_cases e : j = i <;> simp [e] <;> grind

/-- The union bound. -/
theorem union_bound {N : Nat} {P : Nat → R} (hP : IsLaw N P) (m : Nat) (A : Nat → Nat → Prop) :
    prob N P (fun ω => ∃ j, j < m ∧ A ω j) ≤ sum m (fun j => prob N P (fun ω => A ω j)) := by
  unfold prob
  rw [sum_comm]
  refine sum_le_sum (fun ω hω => ?_)
  have h0 := hP.nonneg ω hω
  have hf : ∀ j, j < m → 0 ≤ if A ω j then P ω else 0 := by
    intro j _
    by_cases a : A ω j <;> simp [a] <;> grind
  by_cases h : ∃ j, j < m ∧ A ω j
  · obtain ⟨j, hj, a⟩ := h
    have h1 := term_le_sum hj hf
    have h2 : ∃ j, j < m ∧ A ω j := ⟨j, hj, a⟩
    simp only [a, if_true] at h1
    simp only [h2, if_true]
    exact h1
  · simp only [h, if_false]
    exact sum_nonneg hf

/-- Holm's rule at level `a`: hypothesis `i` is rejected when each `p j` up to `p i`, times the
number of hypotheses whose `p` is not smaller than `p j`, is at most `a`. -/
def holmRejects (m : Nat) (p : Nat → R) (a : R) (i : Nat) : Prop :=
  ∀ j, j < m → p j ≤ p i → number m (fun l => ¬ p l < p j) * p j ≤ a

/-- **Holm's family-wise error** (`skpce.drivers._exchange.holm`). With p-values of the true
hypotheses that are valid up to the level `α`, however dependent, the probability that a true one is
rejected is at most `α`. -/
theorem holm_family_wise_error {N m : Nat} {P : Nat → R} (hP : IsLaw N P) (p : Nat → Nat → R)
    (null : Nat → Prop) {α : R} (hα : 0 ≤ α)
    (hvalid : ∀ i, i < m → null i → ∀ t, 0 ≤ t → t ≤ α → prob N P (fun ω => p ω i ≤ t) ≤ t)
    (hp : ∀ ω, ω < N → ∀ i, i < m → 0 ≤ p ω i) :
    prob N P (fun ω => ∃ i, i < m ∧ null i ∧ holmRejects m (p ω) α i) ≤ α := by
  by_cases hex : ∃ i, i < m ∧ null i
  · have hm1 : (1 : R) ≤ number m null := by
      obtain ⟨i, hi, hn⟩ := hex
      have h1 := term_le_sum (R := R) (f := fun i => if null i then 1 else 0) hi (fun j _ => by
        have := OrderedRing.zero_lt_one (R := R)
        by_cases a : null j <;> simp [a] <;> grind)
      simp only [hn, if_true] at h1
      unfold number
      exact h1
    have hm0 : (0 : R) < number m null := by
      have := OrderedRing.zero_lt_one (R := R)
      grind
    have h1 : prob N P (fun ω => ∃ i, i < m ∧ null i ∧ holmRejects m (p ω) α i)
        ≤ prob N P (fun ω => ∃ j, j < m ∧ (null j ∧ p ω j ≤ α / number m null)) := by
      refine prob_mono hP (fun ω hω h => ?_)
      obtain ⟨i, hi, hni, hrej⟩ := h
      obtain ⟨j, hj, hnj, hmin⟩ := exists_smallest (p ω) null m ⟨i, hi, hni⟩
      refine ⟨j, hj, hnj, ?_⟩
      have h2 := hrej j hj (hmin i hi hni)
      have h3 : number (R := R) m null ≤ number m (fun l => ¬ p ω l < p ω j) :=
        number_mono (fun l hl hnl => by have := hmin l hl hnl; grind)
      have h4 := mul_le_mul_of_nonneg (hp ω hω j hj) h3
      refine le_of_mul_le hm0 ?_
      have h5 : number m null * (α / number m null) = α := by grind
      grind
    have h2 := union_bound hP m (fun ω j => null j ∧ p ω j ≤ α / number m null)
    have ht : 0 ≤ α / number m null := by
      refine le_of_mul_le hm0 ?_
      have h5 : number m null * (α / number m null) = α := by grind
      grind
    have ht1 : α / number m null ≤ α := by
      have h5 : number m null * (α / number m null) = α := by grind
      have h6 : 0 ≤ (number m null - 1) * (α / number m null) :=
        OrderedRing.mul_nonneg (by grind) ht
      grind
    have h3 : sum m (fun j => prob N P (fun ω => null j ∧ p ω j ≤ α / number m null))
        ≤ sum m (fun j => (if null j then 1 else 0) * (α / number m null)) := by
      refine sum_le_sum (fun j hj => ?_)
      by_cases a : null j
      · have := hvalid j hj a _ ht ht1
        simp only [a, true_and, if_true]
        grind
      · have h0 : prob N P (fun ω => null j ∧ p ω j ≤ α / number m null) = 0 :=
          sum_eq_zero (fun ω _ => by simp [a])
        rw [h0]
        simp [a]; grind
    rw [sum_mul_right] at h3
    have h4 : sum m (fun j => if null j then (1 : R) else 0) = number m null := rfl
    rw [h4] at h3
    have h5 : number m null * (α / number m null) = α := by grind
    grind
  · have h0 : prob N P (fun ω => ∃ i, i < m ∧ null i ∧ holmRejects m (p ω) α i) = 0 := by
      refine sum_eq_zero (fun ω _ => ?_)
      have : ¬ ∃ i, i < m ∧ null i ∧ holmRejects m (p ω) α i :=
        fun ⟨i, hi, hn, _⟩ => hex ⟨i, hi, hn⟩
      simp [this]
    rw [h0]; exact hα

/-! ### Split-conformal intervals -/

/-- **Coverage of split-conformal intervals** (`skpce._expansion.predictive.order_statistic`). The
scores are that of a new member, at place 0, and of `n - 1` members that the fit has not seen. A
bound `q` up to which there are at least `k` of the latter holds the new one with probability at
least `k / n`. -/
theorem split_conformal_coverage {N n : Nat} {P : Nat → R} (hn : 0 < n) (hP : IsLaw N P)
    {S : Nat → Nat → R} (hS : Exchangeable N P n S) (q : Nat → R) {k : R}
    (hq : ∀ ω, ω < N → k ≤ number n (fun j => j ≠ 0 ∧ S ω j ≤ q ω)) :
    k / sum n (fun _ => 1) ≤ prob N P (fun ω => S ω 0 ≤ q ω) := by
  have hn1 := number_pos (R := R) hn
  have hk : k ≤ sum n (fun _ => 1) := by
    have hN : 0 < N := by
      cases N with
      | zero =>
        have := hP.total
        rw [sum_zero] at this
        have := OrderedRing.zero_lt_one (R := R)
        grind
      | succ N => omega
    have h1 := hq 0 hN
    have h2 : number (R := R) n (fun j => j ≠ 0 ∧ S 0 j ≤ q 0) ≤ number n (fun _ => True) :=
      number_mono (fun _ _ _ => trivial)
    rw [number_true] at h2
    grind
  have hα : 0 ≤ (sum n (fun _ => 1) - k) / sum n (fun _ => 1) := by
    generalize sum n (fun _ => (1 : R)) = b at hn1 hk
    refine le_of_mul_le hn1 ?_
    have h5 : b * ((b - k) / b) = b - k := by grind
    grind
  have h1 := exchange_valid hn hP hS hα
  have h2 : prob N P (fun ω => ¬ S ω 0 ≤ q ω)
      ≤ prob N P (fun ω => pValue n (S ω) 0 ≤ (sum n (fun _ => 1) - k) / sum n (fun _ => 1)) := by
    refine prob_mono hP (fun ω hω h => ?_)
    rw [pValue_le_iff hn]
    have h3 : number (R := R) n (fun j => j ≠ 0 ∧ S ω j ≤ q ω)
        ≤ number n (fun j => ¬ S ω 0 ≤ S ω j) := number_mono (fun j _ hj => by grind)
    have h4 := number_not (R := R) n (fun j => S ω 0 ≤ S ω j)
    have h5 := hq ω hω
    generalize number (R := R) n (fun j => S ω 0 ≤ S ω j) = a at h4
    generalize number (R := R) n (fun j => ¬ S ω 0 ≤ S ω j) = c at h3 h4
    generalize sum n (fun _ => (1 : R)) = b at hn1 h4
    have h6 : b * ((b - k) / b) = b - k := by grind
    grind
  rw [prob_not hP]
  generalize sum n (fun _ => (1 : R)) = b at hn1 h1 h2
  have h6 : (b - k) / b = 1 - k / b := by grind
  grind

/-! ### Arrangements that are drawn

An outcome is a tuple of arrangements: at place 0 the observed one, at the places 1, …, `k` those
that are drawn from its class. Outcomes are numbered `0, …, N * N ^ k - 1`. -/

/-- A tuple with another entry at a place. -/
def put (j g : Nat) (x : Nat → Nat) (i : Nat) : Nat := if i = j then g else x i

/-- The tuple of number `ω < N ^ k`, with entries of `x` at other places than 1, …, `k`. -/
def draws (N : Nat) : Nat → Nat → (Nat → Nat) → Nat → Nat
  | 0, _, x => x
  | k + 1, ω, x => draws N k (ω % N ^ k) (put (k + 1) (ω / N ^ k) x)

/-- The tuple of number `ω < N * N ^ k`. -/
def tuple (N k ω : Nat) : Nat → Nat := draws N k (ω % N ^ k) (put 0 (ω / N ^ k) (fun _ => 0))

/-- The observed arrangement `τ 0` has the law `P`; given its class, that of its `o`, the others are
drawn from the class, independently and with equal probabilities. -/
noncomputable def drawLaw (N k : Nat) (P : Nat → R) (o τ : Nat → Nat) : R :=
  if ∀ j, j ≤ k → o (τ j) = o (τ 0) then
    P (τ 0) * (1 / number N (fun h => o h = o (τ 0))) ^ k else 0

/-- The sum over the entries at the places 1, …, `k`. -/
def over (N : Nat) : Nat → ((Nat → Nat) → R) → (Nat → Nat) → R
  | 0, F, x => F x
  | k + 1, F, x => sum N (fun g => over N k F (put (k + 1) g x))

omit [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R] [OrderedRing R] in
theorem sum_product (m n : Nat) (f : Nat → R) :
    sum (m * n) f = sum m (fun i => sum n (fun j => f (i * n + j))) := by
  induction m with
  | zero => rw [Nat.zero_mul]; rfl
  | succ m ih => rw [Nat.succ_mul, sum_append, ih, sum_succ]

omit [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R] [OrderedRing R] in
theorem sum_places (m n : Nat) (f : Nat → Nat → R) :
    sum (m * n) (fun ω => f (ω / n) (ω % n)) = sum m (fun i => sum n (fun j => f i j)) := by
  rw [sum_product]
  refine sum_congr (fun i _ => sum_congr (fun j hj => ?_))
  have h1 : (i * n + j) / n = i := by
    rw [Nat.add_comm, Nat.add_mul_div_right _ _ (by omega), Nat.div_eq_of_lt hj, Nat.zero_add]
  have h2 : (i * n + j) % n = j := by
    rw [Nat.add_comm, Nat.add_mul_mod_self_right, Nat.mod_eq_of_lt hj]
  rw [h1, h2]

omit [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R] [OrderedRing R] in
theorem over_eq (N k : Nat) (F : (Nat → Nat) → R) (x : Nat → Nat) :
    over N k F x = sum (N ^ k) (fun ω => F (draws N k ω x)) := by
  induction k generalizing x with
  | zero =>
    rw [Nat.pow_zero, sum_succ, sum_zero]
    simp only [over, draws]
    grind
  | succ k ih =>
    have h := sum_places N (N ^ k) (fun g ω => F (draws N k ω (put (k + 1) g x)))
    rw [Nat.pow_succ, Nat.mul_comm (N ^ k) N]
    simp only [over, draws, ih]
    exact h.symm

omit [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R] [OrderedRing R] in
theorem sum_tuples (N k : Nat) (F : (Nat → Nat) → R) :
    sum (N * N ^ k) (fun ω => F (tuple N k ω))
      = sum N (fun g => over N k F (put 0 g (fun _ => 0))) := by
  have h := sum_places N (N ^ k) (fun g ω => F (draws N k ω (put 0 g (fun _ => 0))))
  simp only [over_eq]
  exact h

theorem put_put {i j : Nat} (h : i ≠ j) (g g' : Nat) (x : Nat → Nat) :
    put i g (put j g' x) = put j g' (put i g x) := by
  funext l
  unfold put
  by_cases a : l = i <;> by_cases b : l = j <;> simp [a, b] <;> omega

theorem put_swap {j m : Nat} (hj : j ≠ 0) (hm : j ≠ m) (g : Nat) (x : Nat → Nat) :
    (fun l => put j g x (swap 0 m l)) = put j g (fun l => x (swap 0 m l)) := by
  funext l
  unfold put swap
  by_cases a : l = 0
  · have b : ¬ 0 = j := fun e => hj e.symm
    have c : ¬ m = j := fun e => hm e.symm
    simp [a, b, c]
  · by_cases b : l = m
    · have c : ¬ 0 = j := fun e => hj e.symm
      have d : ¬ m = 0 := fun e => a (b.trans e)
      have e : ¬ m = j := fun e => hm e.symm
      simp [b, c, d, e]
    · simp [a, b]

theorem put_swapped {m : Nat} (hm : m ≠ 0) (g h : Nat) (x : Nat → Nat) :
    (fun l => put m g (put 0 h x) (swap 0 m l)) = put m h (put 0 g x) := by
  funext l
  unfold put swap
  have c : ¬ 0 = m := fun e => hm e.symm
  by_cases a : l = 0
  · simp [a, c]
  · by_cases b : l = m
    · simp [b, c, hm]
    · simp [a, b]

omit [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R] [OrderedRing R] in
theorem over_swap_late (N k : Nat) {m : Nat} (hm : k < m) (F : (Nat → Nat) → R) (x : Nat → Nat) :
    over N k (fun τ => F (fun l => τ (swap 0 m l))) x = over N k F (fun l => x (swap 0 m l)) := by
  induction k generalizing x with
  | zero => rfl
  | succ k ih =>
    simp only [over]
    refine sum_congr (fun g _ => ?_)
    rw [ih (by omega), put_swap (by omega) (by omega)]

omit [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R] [OrderedRing R] in
/-- The sum over all tuples does not change when the first entry is exchanged with another. -/
theorem over_swap (N k : Nat) {i : Nat} (hi : i ≤ k) (F : (Nat → Nat) → R) (x : Nat → Nat) :
    sum N (fun g => over N k (fun τ => F (fun l => τ (swap 0 i l))) (put 0 g x))
      = sum N (fun g => over N k F (put 0 g x)) := by
  by_cases h0 : i = 0
  · subst h0
    have e : ∀ τ : Nat → Nat, (fun l => τ (swap 0 0 l)) = τ := by
      intro τ; funext l; unfold swap; by_cases h : l = 0 <;> simp [h]
    simp only [e]
  · induction k generalizing x with
    | zero => omega
    | succ k ih =>
      simp only [over]
      by_cases hk : i = k + 1
      · subst hk
        rw [sum_comm]
        refine sum_congr (fun g _ => sum_congr (fun h _ => ?_))
        rw [over_swap_late N k (by omega), put_swapped (by omega)]
      · rw [sum_comm, sum_comm N N (fun g h => over N k F (put (k + 1) h (put 0 g x)))]
        refine sum_congr (fun h _ => ?_)
        have e : ∀ g, put (k + 1) h (put 0 g x) = put 0 g (put (k + 1) h x) :=
          fun g => put_put (by omega) h g x
        simp only [e]
        exact ih (by omega) (put (k + 1) h x)

theorem class_pos {N g : Nat} (o : Nat → Nat) (hg : g < N) :
    (0 : R) < number N (fun h => o h = o g) := by
  have h0 := OrderedRing.zero_lt_one (R := R)
  have h1 := term_le_sum (R := R) (f := fun h => if o h = o g then 1 else 0) hg (fun j _ => by
    by_cases a : o j = o g <;> simp [a] <;> grind)
  simp at h1
  unfold number
  grind

/-- What does not look at the entries 1, …, `k` has as its mean what it is. -/
theorem over_law {N k : Nat} (P : Nat → R) (o : Nat → Nat) (φ : (Nat → Nat) → R)
    (hφ : ∀ j g τ, 0 < j → j ≤ k → φ (put j g τ) = φ τ) (x : Nat → Nat) (hx : x 0 < N) :
    over N k (fun τ => drawLaw N k P o τ * φ τ) x = P (x 0) * φ x := by
  induction k generalizing φ x with
  | zero =>
    have e : drawLaw N 0 P o x = P (x 0) := by
      unfold drawLaw
      simp
      grind
    simp only [over, e]
  | succ k ih =>
    have e : ∀ τ, drawLaw N (k + 1) P o τ * φ τ = drawLaw N k P o τ
        * ((if o (τ (k + 1)) = o (τ 0) then 1 / number N (fun h => o h = o (τ 0)) else 0)
          * φ τ) := by
      intro τ
      unfold drawLaw
      generalize 1 / number (R := R) N (fun h => o h = o (τ 0)) = u
      by_cases a : ∀ j, j ≤ k → o (τ j) = o (τ 0)
      · by_cases b : o (τ (k + 1)) = o (τ 0)
        · have c : ∀ j, j ≤ k + 1 → o (τ j) = o (τ 0) := by
            intro j hj
            by_cases d : j = k + 1
            · subst d; exact b
            · exact a j (by omega)
          simp only [if_pos a, if_pos b, if_pos c]
          grind
        · have c : ¬ ∀ j, j ≤ k + 1 → o (τ j) = o (τ 0) := fun c => b (c (k + 1) (by omega))
          simp only [if_neg b, if_neg c]
          grind
      · have c : ¬ ∀ j, j ≤ k + 1 → o (τ j) = o (τ 0) := fun c => a (fun j hj => c j (by omega))
        simp only [if_neg a, if_neg c]
        grind
    simp only [over, e]
    have h0 : ∀ g, put (k + 1) g x 0 = x 0 := by intro g; simp [put]
    have h1 : ∀ g, put (k + 1) g x (k + 1) = g := by intro g; simp [put]
    have e2 : ∀ g, g < N → over N k (fun τ => drawLaw N k P o τ
        * ((if o (τ (k + 1)) = o (τ 0) then 1 / number N (fun h => o h = o (τ 0)) else 0) * φ τ))
          (put (k + 1) g x)
        = (P (x 0) * φ x * (1 / number N (fun h => o h = o (x 0))))
          * (if o g = o (x 0) then 1 else 0) := by
      intro g hg
      rw [ih _ (fun j g' τ hj hjk => by
        have c1 : put j g' τ (k + 1) = τ (k + 1) := by
          have : ¬ k + 1 = j := by omega
          simp [put, this]
        have c2 : put j g' τ 0 = τ 0 := by
          have : ¬ 0 = j := by omega
          simp [put, this]
        rw [c1, c2, hφ j g' τ hj (by omega)]) _ (by rw [h0]; exact hx)]
      rw [h0, h1, hφ (k + 1) g x (by omega) (by omega)]
      by_cases a : o g = o (x 0) <;> simp [a] <;> grind
    have e3 : sum N (fun g => if o g = o (x 0) then (1 : R) else 0)
        = number N (fun h => o h = o (x 0)) := by
      unfold number
      refine sum_congr (fun g _ => ?_)
      by_cases a : o g = o (x 0) <;> simp [a]
    rw [sum_congr e2, sum_mul_left, e3]
    have h2 := class_pos (R := R) o hx
    generalize number (R := R) N (fun h => o h = o (x 0)) = c at h2
    have h3 : 1 / c * c = 1 := by grind
    grind

omit [LE R] [LT R] [Std.LawfulOrderLT R] [Std.IsLinearOrder R] [OrderedRing R] in
theorem drawLaw_swap {N k i : Nat} (hi : i ≤ k) {P : Nat → R} {o : Nat → Nat}
    (ho : ∀ g h, o g = o h → P g = P h) (τ : Nat → Nat) :
    drawLaw N k P o (fun l => τ (swap 0 i l)) = drawLaw N k P o τ := by
  have h0 : swap 0 i 0 = i := by simp [swap]
  have hs : ∀ j, j ≤ k → swap 0 i j ≤ k := by
    intro j hj
    unfold swap
    by_cases a : j = 0
    · simp [a]; exact hi
    · by_cases b : j = i
      · have c : ¬ i = 0 := fun e => a (b.trans e)
        simp [b, c]
      · simp [a, b]; exact hj
  unfold drawLaw
  simp only [h0]
  by_cases a : ∀ j, j ≤ k → o (τ j) = o (τ 0)
  · have b : ∀ j, j ≤ k → o (τ (swap 0 i j)) = o (τ i) :=
      fun j hj => by rw [a _ (hs j hj), a i hi]
    rw [if_pos a, if_pos b, ho _ _ (a i hi), a i hi]
  · have b : ¬ ∀ j, j ≤ k → o (τ (swap 0 i j)) = o (τ i) := by
      intro b
      have c : o (τ 0) = o (τ i) := by
        have d := b i hi
        have e : swap 0 i i = 0 := by
          unfold swap
          by_cases f : i = 0 <;> simp [f]
        rwa [e] at d
      refine a (fun j hj => ?_)
      have d := b (swap 0 i j) (hs j hj)
      have e : swap 0 i (swap 0 i j) = j := by
        unfold swap
        by_cases f : j = 0
        · by_cases g : i = 0 <;> simp [f, g]
        · by_cases g : j = i <;> simp [f, g]
      rw [e] at d
      rw [d, c]
    rw [if_neg a, if_neg b]

/-- **Draws of arrangements** (`skpce.drivers._design.Design.exchange`): as
`restricted_exchange_valid`, where `k` arrangements are drawn from the class of the observed one in
place of counting all. -/
theorem drawn_exchange_valid {N : Nat} (k : Nat) {P : Nat → R} (hP : IsLaw N P) (o : Nat → Nat)
    (ho : ∀ g h, o g = o h → P g = P h) (T : Nat → R) {α : R} (hα : 0 ≤ α) :
    prob (N * N ^ k) (fun ω => drawLaw N k P o (tuple N k ω))
      (fun ω => pValue (k + 1) (fun j => T (tuple N k ω j)) 0 ≤ α) ≤ α := by
  refine exchange_valid (by omega) ⟨fun ω hω => ?_, ?_⟩ (fun i hi A => ?_) hα
  · have first : ∀ k ω x, draws N k ω x 0 = x 0 := by
      intro k
      induction k with
      | zero => exact fun _ _ => rfl
      | succ k ih => intro ω x; simp only [draws]; rw [ih]; simp [put]
    have h0 : tuple N k ω 0 = ω / N ^ k := by
      unfold tuple
      rw [first]; simp [put]
    have h1 : tuple N k ω 0 < N := by
      rw [h0]
      exact Nat.div_lt_of_lt_mul (by rw [Nat.mul_comm]; exact hω)
    have h2 := class_pos (R := R) o h1
    have h3 := hP.nonneg _ h1
    have h4 : 0 ≤ 1 / number (R := R) N (fun h => o h = o (tuple N k ω 0)) := by
      generalize number (R := R) N (fun h => o h = o (tuple N k ω 0)) = c at h2
      have h5 : c * (1 / c) = 1 := by grind
      have h6 := OrderedRing.zero_lt_one (R := R)
      exact le_of_mul_le h2 (by grind)
    have h5 : ∀ (u : R) (n : Nat), 0 ≤ u → 0 ≤ u ^ n := by
      intro u n hu
      induction n with
      | zero => have := OrderedRing.zero_lt_one (R := R); grind
      | succ n ih => have := OrderedRing.mul_nonneg ih hu; grind
    unfold drawLaw
    by_cases a : ∀ j, j ≤ k → o (tuple N k ω j) = o (tuple N k ω 0)
    · rw [if_pos a]
      exact OrderedRing.mul_nonneg h3 (h5 _ k h4)
    · rw [if_neg a]; grind
  · rw [sum_tuples]
    have e : ∀ g, g < N → over N k (drawLaw N k P o) (put 0 g (fun _ => 0)) = P g := by
      intro g hg
      have h := over_law (k := k) P o (fun _ => 1) (fun _ _ _ _ _ => rfl) (put 0 g (fun _ => 0))
        (N := N) (by simpa [put] using hg)
      have h1 : (fun τ => drawLaw N k P o τ * 1) = drawLaw N k P o := by funext τ; grind
      rw [h1] at h
      rw [h]
      simp [put]; grind
    rw [sum_congr e, hP.total]
  · have h := over_swap N k (i := i) (by omega)
      (fun τ => if A (fun j => T (τ j)) then drawLaw N k P o τ else 0) (fun _ => 0)
    simp only [drawLaw_swap (N := N) (by omega : i ≤ k) ho] at h
    have h1 := sum_tuples (R := R) N k
      (fun τ => if A (fun j => T (τ j)) then drawLaw N k P o τ else 0)
    have h2 := sum_tuples (R := R) N k
      (fun τ => if A (fun j => T (τ (swap 0 i j))) then drawLaw N k P o τ else 0)
    unfold prob
    rw [h1, h2, h]

end Rank

/-! ### Examples, in the rational numbers -/
section Examples

/-- Two outcomes, equally likely. -/
def coin (_ : Nat) : Rat := 1 / 2

/-- Of two draws, one is 2 and the other 1. -/
def draw (ω j : Nat) : Rat := if j = ω then 2 else 1

theorem coin_isLaw : IsLaw 2 coin :=
  ⟨fun _ _ => by unfold coin; grind, by simp only [sum_succ, sum_zero, coin]; grind⟩

theorem draw_exchangeable : Exchangeable 2 coin 2 draw := by
  intro i hi A
  have e : i = 0 ∨ i = 1 := by omega
  rcases e with e | e <;> subst e
  · have h : ∀ ω, (fun j => draw ω (swap 0 0 j)) = draw ω := by
      intro ω; funext j; unfold swap; by_cases h : j = 0 <;> simp [h]
    simp only [h]
  · have h0 : (fun j => draw 0 (swap 0 1 j)) = draw 1 := by
      funext j; unfold draw swap
      by_cases h : j = 0
      · simp [h]
      · by_cases h' : j = 1 <;> simp [h, h']
    have h1 : (fun j => draw 1 (swap 0 1 j)) = draw 0 := by
      funext j; unfold draw swap
      by_cases h : j = 0
      · simp [h]
      · by_cases h' : j = 1 <;> simp [h, h']
    unfold prob
    simp only [sum_succ, sum_zero, h0, h1, coin]
    by_cases a : A (draw 0) <;> by_cases b : A (draw 1) <;> simp [a, b] <;> grind

example : prob 2 coin (fun ω => pValue 2 (draw ω) 0 ≤ 1 / 2) ≤ 1 / 2 :=
  exchange_valid (by omega) coin_isLaw draw_exchangeable (by grind)

example : prob 2 coin (fun ω => pValue 2 (smallerRank 2 (4 / 5) (1 / 5)
    (fun j => (draw ω j, draw ω j))) 0 ≤ 1 / 2) ≤ 1 / 2 :=
  smaller_rank_valid (by omega) coin_isLaw
    (fun i hi A => draw_exchangeable i hi (fun x => A (fun j => (x j, x j)))) _ _ (by grind)

/-- Four arrangements in two classes, one of them twice as likely as the other. -/
def unequal (g : Nat) : Rat := if g / 2 = 0 then 1 / 3 else 1 / 6

theorem unequal_isLaw : IsLaw 4 unequal := ⟨by decide +kernel, by decide +kernel⟩

theorem unequal_of_class {g h : Nat} (e : g / 2 = h / 2) : unequal g = unequal h := by
  unfold unequal; rw [e]

example : prob 4 unequal (fun g => orbitPValue 4 (fun h => h / 2)
    (fun h => if h = 2 then (5 : Rat) else 3) g ≤ 1 / 2) ≤ 1 / 2 :=
  restricted_exchange_valid unequal_isLaw _ (fun _ _ _ _ e => unequal_of_class e) _ (by grind)

/-- The same four arrangements; three are drawn. -/
example : prob (4 * 4 ^ 3)
    (fun ω => drawLaw 4 3 unequal (fun h => h / 2) (tuple 4 3 ω))
    (fun ω => pValue 4 (fun j => if tuple 4 3 ω j = 2 then (5 : Rat) else 3) 0 ≤ 1 / 2) ≤ 1 / 2 :=
  drawn_exchange_valid 3 unequal_isLaw _ (fun _ _ e => unequal_of_class e)
    (fun h => if h = 2 then 5 else 3) (by grind)

/-- P-values of a true hypothesis, 1/2 or 1, and of a false one, 0. -/
def twoP (ω i : Nat) : Rat := if i = 0 then (if ω = 0 then 1 / 2 else 1) else 0

example : prob 2 coin (fun ω => ∃ i, i < 2 ∧ i = 0 ∧ holmRejects 2 (twoP ω) (1 / 2) i) ≤ 1 / 2 :=
  holm_family_wise_error coin_isLaw twoP (fun i => i = 0) (by grind)
    (fun i _ hi t ht _ => by
      subst hi
      unfold prob
      simp only [sum_succ, sum_zero, coin, twoP]
      by_cases h1 : (1 : Rat) ≤ t
      · have h2 : (1 / 2 : Rat) ≤ t := by grind
        simp [h1, h2]; grind
      · by_cases h2 : (1 / 2 : Rat) ≤ t <;> simp [h1, h2] <;> grind)
    (fun ω _ i _ => by
      unfold twoP
      by_cases h : i = 0 <;> by_cases h' : ω = 0 <;> simp [h, h'] <;> grind)

/-- One member beside the new one; its score is the bound. -/
example : (1 : Rat) / sum 2 (fun _ => 1) ≤ prob 2 coin (fun ω => draw ω 0 ≤ draw ω 1) :=
  split_conformal_coverage (by omega) coin_isLaw draw_exchangeable (fun ω => draw ω 1)
    (fun ω _ => by
      unfold number
      have h : draw ω 1 ≤ draw ω 1 := by grind
      simp only [sum_succ, sum_zero]
      simp [h]
      grind)

end Examples
end SkpceCore
