import Sum

/-!
# Trajectory and detailed balance

States of `k + 1` layers are numbered `0, …, N - 1` in each; a trajectory has `k` steps, padded
where it ends earlier. `init` is the law of the first state, `PF t s x` the probability of going
from `s` in layer `t` to `x` in layer `t + 1`, `PB t x s` that of going back.
-/
namespace SkpceCore
open Lean.Grind

section Flow
variable {R : Type} [Field R]

/-- The probability of reaching a state of a layer. -/
def reach (N : Nat) (init : Nat → R) (PF : Nat → Nat → Nat → R) : Nat → Nat → R
  | 0, x => init x
  | t + 1, x => sum N (fun s => reach N init PF t s * PF t s x)

/-- The sum over all lists of `t` states, the last one first. -/
def sumPaths (N : Nat) : Nat → (List Nat → R) → R
  | 0, f => f []
  | t + 1, f => sum N (fun s => sumPaths N t (fun τ => f (s :: τ)))

/-- The probability of the trajectory that comes to `x` through `τ`, the last state first. -/
noncomputable def forward (init : Nat → R) (PF : Nat → Nat → Nat → R) (x : Nat) : List Nat → R
  | [] => init x
  | s :: τ => forward init PF s τ * PF τ.length s x

/-- The probability of going back from `x` through `τ`. -/
noncomputable def backward (PB : Nat → Nat → Nat → R) (x : Nat) : List Nat → R
  | [] => 1
  | s :: τ => backward PB s τ * PB τ.length x s

/-- Paths of the right length through the states that there are. -/
def IsPath (N t : Nat) (τ : List Nat) : Prop := τ.length = t ∧ ∀ s, s ∈ τ → s < N

theorem sumPaths_congr {N t : Nat} {f g : List Nat → R} (h : ∀ τ, IsPath N t τ → f τ = g τ) :
    sumPaths N t f = sumPaths N t g := by
  induction t generalizing f g with
  | zero => exact h [] ⟨rfl, fun _ hs => by cases hs⟩
  | succ t ih =>
    simp only [sumPaths]
    refine sum_congr (fun s hs => ih (fun τ hτ => h (s :: τ) ⟨?_, ?_⟩))
    · have := hτ.1
      simp [this]
    · intro s' hs'
      cases hs' with
      | head => exact hs
      | tail _ h' => exact hτ.2 s' h'

theorem sumPaths_mul_left (N t : Nat) (a : R) (f : List Nat → R) :
    sumPaths N t (fun τ => a * f τ) = a * sumPaths N t f := by
  induction t generalizing f with
  | zero => rfl
  | succ t ih =>
    simp only [sumPaths]
    rw [← sum_mul_left]
    exact sum_congr (fun s _ => ih (fun τ => f (s :: τ)))

/-- The probabilities of all trajectories that come to a state add up to that of reaching it. -/
theorem sumPaths_forward (N t : Nat) (init : Nat → R) (PF : Nat → Nat → Nat → R) (x : Nat) :
    sumPaths N t (forward init PF x) = reach N init PF t x := by
  induction t generalizing x with
  | zero => rfl
  | succ t ih =>
    simp only [sumPaths, reach]
    refine sum_congr (fun s _ => ?_)
    rw [← ih s]
    have h : sumPaths N t (fun τ => forward init PF x (s :: τ))
        = sumPaths N t (fun τ => PF t s x * forward init PF s τ) := by
      refine sumPaths_congr (fun τ hτ => ?_)
      simp only [forward, hτ.1]; grind
    rw [h, sumPaths_mul_left]
    grind

/-- Backward probabilities of all paths of the right length add up to one. -/
theorem sumPaths_backward {N t : Nat} {PB : Nat → Nat → Nat → R}
    (hPB : ∀ u, u < t → ∀ x, x < N → sum N (PB u x) = 1) (x : Nat) (hx : x < N) :
    sumPaths N t (backward PB x) = 1 := by
  induction t generalizing x with
  | zero => rfl
  | succ t ih =>
    have h : ∀ s, s < N → sumPaths N t (fun τ => backward PB x (s :: τ)) = PB t x s := by
      intro s hs
      have h1 : sumPaths N t (fun τ => backward PB x (s :: τ))
          = sumPaths N t (fun τ => PB t x s * backward PB s τ) := by
        refine sumPaths_congr (fun τ hτ => ?_)
        simp only [backward, hτ.1]; grind
      rw [h1, sumPaths_mul_left, ih (fun u hu => hPB u (by omega)) s hs]
      grind
    simp only [sumPaths]
    rw [sum_congr h]
    exact hPB t (by omega) x hx

/-- All that is reached adds up to one. -/
theorem sum_reach {N : Nat} {init : Nat → R} {PF : Nat → Nat → Nat → R} (k : Nat)
    (hinit : sum N init = 1) (hPF : ∀ t, t < k → ∀ s, s < N → sum N (PF t s) = 1) :
    sum N (reach N init PF k) = 1 := by
  induction k with
  | zero => exact hinit
  | succ k ih =>
    have h1 : sum N (reach N init PF (k + 1))
        = sum N (fun x => sum N (fun s => reach N init PF k s * PF k s x)) := rfl
    rw [h1, sum_comm]
    have h2 : ∀ s, s < N →
        sum N (fun x => reach N init PF k s * PF k s x) = reach N init PF k s := by
      intro s hs
      rw [sum_mul_left, hPF k (by omega) s hs]; grind
    rw [sum_congr h2]
    exact ih (fun t ht => hPF t (by omega))

/-- **Trajectory balance** (`gflownet_envs.objectives.trajectory_balance_loss`). If
`Z ∏ P_F = R(x) ∏ P_B` on every trajectory of `k` steps, then `Z` is the sum of the rewards, and an
object is reached with a probability of its reward over `Z`. -/
theorem trajectory_balance {N k : Nat} {init : Nat → R} {PF PB : Nat → Nat → Nat → R} {Z : R}
    {reward : Nat → R} (hinit : sum N init = 1)
    (hPF : ∀ t, t < k → ∀ s, s < N → sum N (PF t s) = 1)
    (hPB : ∀ t, t < k → ∀ x, x < N → sum N (PB t x) = 1)
    (h : ∀ x, x < N → ∀ τ, IsPath N k τ →
      Z * forward init PF x τ = reward x * backward PB x τ) :
    Z = sum N reward ∧ ∀ x, x < N → Z * reach N init PF k x = reward x := by
  have h1 : ∀ x, x < N → Z * reach N init PF k x = reward x := by
    intro x hx
    rw [← sumPaths_forward, ← sumPaths_mul_left, sumPaths_congr (h x hx), sumPaths_mul_left,
      sumPaths_backward hPB x hx]
    grind
  refine ⟨?_, h1⟩
  rw [← sum_congr h1, sum_mul_left, sum_reach k hinit hPF]
  grind

/-- **Detailed balance** (`gflownet_envs.objectives.detailed_balance_loss`). If the flows `F` begin
with `Z` times the law of the first state, end with the rewards, and
`F(s) P_F(x | s) = F(x) P_B(s | x)` on every step, then the same holds. -/
theorem detailed_balance {N k : Nat} {init : Nat → R} {PF PB : Nat → Nat → Nat → R} {Z : R}
    {reward : Nat → R} {F : Nat → Nat → R} (hinit : sum N init = 1)
    (hPF : ∀ t, t < k → ∀ s, s < N → sum N (PF t s) = 1)
    (hPB : ∀ t, t < k → ∀ x, x < N → sum N (PB t x) = 1)
    (h0 : ∀ x, x < N → F 0 x = Z * init x) (hk : ∀ x, x < N → F k x = reward x)
    (h : ∀ t, t < k → ∀ s, s < N → ∀ x, x < N → F t s * PF t s x = F (t + 1) x * PB t x s) :
    Z = sum N reward ∧ ∀ x, x < N → Z * reach N init PF k x = reward x := by
  have flow : ∀ t, t ≤ k → ∀ x, x < N → Z * reach N init PF t x = F t x := by
    intro t
    induction t with
    | zero => exact fun _ x hx => (h0 x hx).symm
    | succ t ih =>
      intro ht x hx
      simp only [reach]
      have e : ∀ s, s < N → Z * (reach N init PF t s * PF t s x) = F (t + 1) x * PB t x s := by
        intro s hs
        rw [← h t (by omega) s hs x hx, ← ih (by omega) s hs]
        grind
      rw [← sum_mul_left, sum_congr e, sum_mul_left, hPB t (by omega) x hx]
      grind
  have h1 : ∀ x, x < N → Z * reach N init PF k x = reward x := by
    intro x hx
    rw [flow k (Nat.le_refl k) x hx, hk x hx]
  refine ⟨?_, h1⟩
  rw [← sum_congr h1, sum_mul_left, sum_reach k hinit hPF]
  grind

end Flow

/-! ### Examples: two steps, from state 0 to rewards 1, 3 and 4 -/
section Examples

/-- Probabilities of the first and of the second step. -/
def stepForward (t s x : Nat) : Rat :=
  if t = 0 then (if x = 0 then 1 / 4 else if x = 1 then 3 / 4 else 0)
  else if s = 0 then (if x = 0 then 1 / 2 else if x = 1 then 1 / 2 else 0)
  else if s = 1 then (if x = 0 then 0 else if x = 1 then 1 / 3 else 2 / 3)
  else (if x = 0 then 1 else 0)

def stepBackward (t x s : Nat) : Rat :=
  if t = 0 then (if s = 0 then 1 else 0)
  else if x = 0 then (if s = 0 then 1 else 0)
  else if x = 1 then (if s = 0 then 1 / 3 else if s = 1 then 2 / 3 else 0)
  else if s = 1 then 1 else 0

def rewardOf (x : Nat) : Rat := if x = 0 then 1 else if x = 1 then 3 else 4

def start (x : Nat) : Rat := if x = 0 then 1 else 0

/-- The flow through the states of the layers. -/
def flowOf (t x : Nat) : Rat :=
  if t = 0 then 8 * start x
  else if t = 1 then (if x = 0 then 2 else if x = 1 then 6 else 0)
  else rewardOf x

theorem balanced : ∀ x, x < 3 → ∀ τ, IsPath 3 2 τ →
    8 * forward start stepForward x τ = rewardOf x * backward stepBackward x τ := by
  intro x hx τ hτ
  have all : ∀ x, x < 3 → ∀ s, s < 3 → ∀ u, u < 3 → 8 * forward start stepForward x [s, u]
      = rewardOf x * backward stepBackward x [s, u] := by decide +kernel
  match τ, hτ with
  | [s, u], h => exact all x hx s (h.2 s (by simp)) u (h.2 u (by simp))

example : (8 : Rat) = sum 3 rewardOf
    ∧ ∀ x, x < 3 → 8 * reach 3 start stepForward 2 x = rewardOf x :=
  trajectory_balance (PB := stepBackward) (by decide +kernel) (by decide +kernel)
    (by decide +kernel) balanced

example : (8 : Rat) = sum 3 rewardOf
    ∧ ∀ x, x < 3 → 8 * reach 3 start stepForward 2 x = rewardOf x :=
  detailed_balance (PB := stepBackward) (F := flowOf) (by decide +kernel) (by decide +kernel)
    (by decide +kernel) (by decide +kernel) (by decide +kernel) (by decide +kernel)

end Examples
end SkpceCore
