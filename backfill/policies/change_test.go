package policies_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// TestAPolicyTakesOver checks what each policy that gives guarantees goes on from. Four cpus are
// busy until 10; jobs 2, 3 and 4 need all of them, for 20, 10 and 5 s. Under easy, the last of them
// is first in the queue and the only one with a reservation; the others are promised a start in
// order of jobs.
func TestAPolicyTakesOver(t *testing.T) {
	type step struct {
		policy   string
		planning backfill.Planning
		planned  plan
		promised plan
		lifted   int
	}
	// With a slack of its own length, job 2 could start at 10 and is promised 30; the others fit
	// before.
	conserved, slackened, compressed := plan{0, 10, 30, 40}, plan{0, 30, 20, 15}, plan{0, 25, 15, 10}
	easy := step{"easy", backfill.Planning{}, plan{0, 0, 0, 10}, plan{0, 0, 0, 0}, 0}
	lifting := easy
	lifting.lifted = 3
	for _, tt := range [][]step{
		{easy, {"conservative", backfill.Planning{}, conserved, conserved, 0}},
		{easy, {"pc", backfill.Planning{}, conserved, conserved, 0}},
		{easy, {"dc", backfill.Planning{}, conserved, conserved, 0}},
		{easy, {"slack", backfill.Planning{}, slackened, slackened, 0}},
		{easy, {"pc", backfill.Planning{Depth: 2}, plan{0, 10, 30, 0}, plan{0, 10, 30, 0}, 0}},
		{easy, {"slack", backfill.Planning{Depth: 1}, plan{0, 30, 0, 0}, plan{0, 30, 0, 0}, 0}},
		{easy, {"dc", backfill.Planning{Reorder: true}, compressed, compressed, 0}},
		{easy, {"slack", backfill.Planning{Depth: 1, Reorder: true}, plan{0, 0, 0, 15}, plan{0, 0, 0, 15}, 0}},
		// What was promised stays; slack promises nobody a later start.
		{
			{"conservative", backfill.Planning{}, conserved, conserved, 0},
			{"slack", backfill.Planning{}, conserved, conserved, 0},
			{"pc", backfill.Planning{}, conserved, conserved, 0},
			lifting,
			{"slack", backfill.Planning{}, slackened, slackened, 0},
		},
		// A plan with late starts is compressed at once, as each policy does; dc fills what is idle
		// now.
		{
			{"slack", backfill.Planning{}, slackened, slackened, 0},
			{"dc", backfill.Planning{}, slackened, slackened, 0},
			{"conservative", backfill.Planning{}, compressed, slackened, 0},
			{"slack", backfill.Planning{}, compressed, slackened, 0},
		},
		{
			{"slack", backfill.Planning{}, slackened, slackened, 0},
			{"pc", backfill.Planning{}, compressed, slackened, 0},
			lifting,
		},
		// Those beyond the depth enter by the rules of the policy that takes over.
		{
			{"slack", backfill.Planning{Depth: 1}, plan{0, 30, 0, 0}, plan{0, 30, 0, 0}, 0},
			{"dc", backfill.Planning{Depth: 1}, plan{0, 30, 0, 0}, plan{0, 30, 0, 0}, 0},
			{"dc", backfill.Planning{Depth: 2}, plan{0, 30, 10, 0}, plan{0, 30, 10, 0}, 0},
			{"slack", backfill.Planning{}, plan{0, 30, 10, 25}, plan{0, 30, 10, 25}, 0},
		},
	} {
		var name strings.Builder
		for _, s := range tt {
			fmt.Fprint(&name, s.policy, s.planning, " ")
		}
		t.Run(name.String(), func(t *testing.T) {
			s := backfill.NewState([]string{"cpus"}, profile.ByRank)
			for i, step := range tt {
				options := map[string]string{}
				if step.policy == "slack" {
					options["factor"], options["aging"] = "1", "0"
				}
				h := hostOf(t, s, step.policy, "sjf", options)
				h.SetPlanning(step.planning)
				var d backfill.Decision
				var err error
				if i == 0 {
					arrive(t, h, 4, a{1, v(4)})
					d, err = h.Decide(t.Context(), backfill.Round{Events: []backfill.Event{
						{Kind: backfill.EstimateChanged, JobID: 1, End: 10},
						submission(2, 0, a{20, v(4)}), submission(3, 0, a{10, v(4)}), submission(4, 0, a{5, v(4)}),
					}})
				} else {
					d, err = h.Decide(t.Context(), backfill.Round{Now: backfill.Time(i)})
				}
				require.NoError(t, err)
				require.Empty(t, d.Broken)
				require.Equal(t, step.lifted, d.Lifted)
				require.Equal(t, step.planned, planOf(s, 4), "step %d", i)
				promised := make(plan, 4)
				for _, j := range s.Snapshot().Jobs {
					if j.Promised && !j.Running {
						promised[j.Job.ID-1] = j.Guarantee
					}
				}
				require.Equal(t, step.promised, promised, "step %d", i)
			}
		})
	}
}

// choice is a policy with options.
type choice struct {
	policy  string
	options map[string]string
}

var (
	promising = []choice{
		{"conservative", nil},
		{"pc", nil},
		{"dc", nil},
		{"slack", nil},
		{"slack", map[string]string{"factor": "0"}},
		{"slack", map[string]string{"factor": "0.3", "base": "7"}},
		{"slack", map[string]string{"factor": "3", "aging": "0.5"}},
	}
	unpromising = []choice{
		{"easy", nil},
		{"easy", map[string]string{"depth": "3"}},
		{"fcfs", nil},
		{"first-fit", nil},
		{"drain", nil},
		{"maui", map[string]string{"reservationpolicy": "highest", "reservationdepth": "2"}},
	}
)

// swapped is a random pool in which another policy takes over now and then.
type swapped struct {
	*rapid.T
	driver *conformance.Driver
	host   *backfill.Host
}

func newSwapped(t *rapid.T) *swapped {
	seed := rapid.Uint64Range(0, 1<<20).Draw(t, "seed")
	if rapid.Bool().Draw(t, "partitioned") {
		seed |= conformance.Partitioned
	}
	if rapid.Bool().Draw(t, "deferred") {
		seed |= conformance.Deferred
	}
	if rapid.Bool().Draw(t, "windowed") {
		seed |= conformance.Windowed
	}
	if rapid.Bool().Draw(t, "ending") {
		seed |= conformance.Ending
	}
	d := conformance.NewDriver(seed)
	d.Calm = true
	return &swapped{t, d, nil}
}

// choose makes one of the policies take over the state, or the state of a new pool, under a random
// order and a random depth of its plan.
func (s *swapped) choose(among []choice) {
	chosen := rapid.SampledFrom(among).Draw(s.T, "policy")
	state := backfill.NewState(s.driver.Resources(), s.driver.Rule())
	if s.host != nil {
		state = s.host.State
	}
	s.host = s.hostOf(state, chosen, rapid.SampledFrom(backfill.Orders()).Draw(s.T, "order").Order)
	planning := backfill.Planning{}
	if rapid.Bool().Draw(s.T, "limited") {
		planning.Depth = rapid.IntRange(1, 6).Draw(s.T, "depth")
	}
	planning.Reorder = rapid.Bool().Draw(s.T, "reorder")
	s.host.SetPlanning(planning)
}

func (s *swapped) hostOf(state *backfill.State, chosen choice, order backfill.Order) *backfill.Host {
	spec, err := policies.Named(chosen.policy)
	require.NoError(s, err)
	main, err := backfill.Link(spec, chosen.options)
	require.NoError(s, err)
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	require.NoError(s, err)
	h, err := backfill.NewHost(state, order, main, fallback, func(r backfill.Refusal) { require.NoError(s, r.Err) })
	require.NoError(s, err)
	return h
}

// decide decides a round, and checks that all promises to waiting jobs are lifted if a policy
// without guarantees takes over, and none otherwise.
func (s *swapped) decide(r backfill.Round) backfill.Decision {
	_, promises := s.host.State.Policy()
	promised := 0
	for _, j := range s.host.State.Snapshot().Jobs {
		if j.Promised && !j.Running && j.Held == "" {
			promised++
		}
	}
	d, err := s.host.Decide(s.Context(), r)
	require.NoError(s, err)
	if _, still := s.host.State.Policy(); promises && !still {
		require.Equal(s, promised, d.Lifted)
	} else {
		require.Zero(s, d.Lifted)
	}
	return d
}

// TestNoChangeBreaksAPromise checks, on random pools in which jobs end in time and no slot is lost,
// that no promise is broken, lifted or moved, however often one policy with guarantees follows
// another.
func TestNoChangeBreaksAPromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSwapped(t)
		s.driver.Exact = rapid.Bool().Draw(t, "exact")
		promises := map[backfill.JobID]backfill.Time{}
		for round := range 60 {
			if round == 0 || rapid.IntRange(0, 3).Draw(t, "change") == 0 {
				s.choose(promising)
				s.carries()
			}
			d := s.decide(s.driver.Round(s.host.State))
			require.Empty(t, d.Broken)
			for _, started := range d.Started {
				latest, promised := promises[started.Job.ID]
				if promised {
					require.LessOrEqual(t, d.Now, latest, "job %d", started.Job.ID)
					require.Equal(t, latest, started.Guarantee, "job %d", started.Job.ID)
				}
				delete(promises, started.Job.ID)
			}
			kept := map[backfill.JobID]backfill.Time{}
			for _, j := range s.host.State.Snapshot().Jobs {
				if j.Promised && !j.Running {
					require.NotNil(t, j.Placement, "job %d", j.Job.ID)
					require.LessOrEqual(t, j.Start, j.Guarantee, "job %d", j.Job.ID)
					kept[j.Job.ID] = j.Guarantee
				}
			}
			for id, latest := range promises {
				require.Contains(t, kept, id)
				require.Equal(t, latest, kept[id], "job %d", id)
			}
			promises = kept
		}
	})
}

// carries checks on a copy of the state that the change of policy itself leaves all reservations as
// they are.
func (s *swapped) carries() {
	if _, promises := s.host.State.Policy(); !promises {
		return
	}
	tx, err := s.host.State.Clone().Open(backfill.Round{Now: s.host.State.Now(), Events: []backfill.Event{
		{Kind: backfill.PolicyChanged, Policy: "other", Guarantees: true},
	}})
	require.NoError(s, err)
	e, more := tx.Next()
	require.True(s, more)
	require.Len(s, e.Displaced, tx.State().BeyondDepth())
	for _, j := range s.host.State.Snapshot().Jobs {
		start, at, planned := tx.State().Planned(j.Job.ID)
		require.Equal(s, j.Placement != nil && !j.Running, planned)
		if planned {
			require.Equal(s, j.Start, start)
			require.Equal(s, j.Placement, at)
		}
	}
	tx.Rollback()
}

// TestPromisedAsAtArrival checks that a policy with guarantees which follows one without promises
// each waiting job what it would promise if all of them arrived now, in order of jobs, beside what
// runs. Other policies, also with guarantees, decided before.
func TestPromisedAsAtArrival(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSwapped(t)
		s.driver.Calm = rapid.Bool().Draw(t, "calm")
		s.driver.Predicted = rapid.Bool().Draw(t, "predicted")
		for i := range rapid.IntRange(1, 3).Draw(t, "changes") {
			s.choose([][]choice{unpromising, promising}[i%2])
			for range rapid.IntRange(1, 25).Draw(t, "rounds") {
				s.decide(s.driver.Round(s.host.State))
			}
		}
		if _, promises := s.host.State.Policy(); promises {
			s.choose(unpromising)
			s.decide(s.driver.Round(s.host.State))
		}
		snap := s.host.State.Snapshot()
		arrivals := backfill.Round{Now: snap.Now + backfill.Time(rapid.IntRange(0, 5).Draw(t, "later"))}
		var stay []backfill.JobState
		for _, j := range snap.Jobs {
			if j.Running || j.Held != "" {
				stay = append(stay, j)
			} else {
				arrivals.Events = append(arrivals.Events, backfill.Event{Kind: backfill.Submitted, Job: j.Job})
			}
		}
		snap.Jobs, snap.Policy, snap.KeepFreed, snap.Freed = stay, "", 0, nil
		fresh, err := backfill.Restore(snap)
		require.NoError(t, err)

		s.choose(promising)
		state, changed := s.host.State, backfill.Round{Now: arrivals.Now}
		d := s.decide(changed)
		got := tell(d, state)
		s.host.State = fresh
		d, err = s.host.Decide(t.Context(), arrivals)
		require.NoError(t, err)
		require.Equal(t, tell(d, fresh), got)
	})
}

// tell lists what was started and what is planned, with the promises.
func tell(d backfill.Decision, s *backfill.State) (told []string) {
	for _, j := range d.Started {
		told = append(told, fmt.Sprintf("%d starts on %v, by %d", j.Job.ID, j.Placement, j.Guarantee))
	}
	for _, j := range s.Snapshot().Jobs {
		if !j.Running {
			told = append(told, fmt.Sprintf("%d at %d on %v, by %d %t, held %s", j.Job.ID, j.Start, j.Placement, j.Guarantee,
				j.Promised, j.Held))
		}
	}
	return told
}

// TestChangesAsInTheTextbook checks that each policy goes on from the plan of another as its
// textbook version does, and as itself on a state that loses the memo every other round: what it
// remembers of jobs that cannot move holds for reservations which it did not make itself.
func TestChangesAsInTheTextbook(t *testing.T) {
	t.Parallel()
	for seed := range thorough.Seeds(10, 40) {
		changing := func(book, forget bool) (told []string) {
			random := rand.New(rand.NewPCG(seed, 3))
			driver := poolOf(seed)
			state := backfill.NewState(driver.Resources(), driver.Rule())
			var h *backfill.Host
			for i := range 150 {
				if h == nil || random.IntN(6) == 0 {
					linked, reference := textbooks(t, random)
					order := []string{"fcfs", "sjf", "widest", "wfp"}[random.IntN(4)]
					planning := plannings[random.IntN(len(plannings))]
					if book {
						linked = reference
					}
					if h != nil {
						state = h.State
					}
					h = hosting(t, state, linked, order, planning)
				}
				told = append(told, play(t, h, driver, forget && i%2 == 0))
			}
			return told
		}
		want := changing(true, false)
		require.Equal(t, want, changing(false, false), "seed %d", seed)
		require.Equal(t, want, changing(false, true), "seed %d: without memos", seed)
	}
}

// textbooks returns a random policy, mostly one that gives guarantees, with its textbook version.
func textbooks(t *testing.T, random *rand.Rand) (linked, book backfill.PolicySpec) {
	t.Helper()
	name := []string{"conservative", "pc", "dc", "slack", "slack", "easy"}[random.IntN(6)]
	linked, err := policies.Named(name)
	require.NoError(t, err)
	switch name {
	case "easy":
		return linked, linked
	case "slack":
		with := slacks[random.IntN(len(slacks))]
		policy, failed := linked.Make(with.options)
		require.NoError(t, failed)
		book = linked
		linked.New = func(backfill.Values) (backfill.Policy, error) { return policy, nil }
		book.New = func(backfill.Values) (backfill.Policy, error) { return with.book, nil }
		return linked, book
	default:
		return linked, textbook(linked)
	}
}
