package policies_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// TestWindowsChangeNothing checks that the windows of starts, to which package plan limits its
// searches, change no decision. On random pools and in several orders, each policy decides like its
// textbook version, and like itself on a state that loses the policy's memo every other round.
func TestWindowsChangeNothing(t *testing.T) {
	for turn, name := range []string{"conservative", "pc", "dc"} {
		for i, order := range []string{"fcfs", "sjf", "ljf", "widest", "narrowest", "area"} {
			t.Run(name+" "+order, func(t *testing.T) {
				t.Parallel()
				for n := range thorough.Share(turn+i, 4, 24) {
					seed := 100*uint64(i) + n
					spec, err := policies.Named(name)
					require.NoError(t, err)
					reference := textbook(spec)
					planning := plannings[seed%uint64(len(plannings))]
					want := run(t, seed, reference, order, planning, false)
					require.Equal(t, want, run(t, seed, spec, order, planning, false), "seed %d", seed)
					require.Equal(t, want, run(t, seed, spec, order, planning, true), "seed %d: without memos", seed)
				}
			})
		}
	}
}

// near returns options with which slack and slack-small promise a start two estimates late and nobody
// ages, for tests that are worked out by hand; nil for other policies.
func near(policy string) map[string]string {
	if strings.HasPrefix(policy, "slack") {
		return map[string]string{"factor": "2", "aging": "0"}
	}
	return nil
}

// slacks are the options of slack in the tests, with its textbook version.
var slacks = []struct {
	options map[string]string
	book    backfilltest.TextbookSlack
}{
	{nil, backfilltest.TextbookSlack{Factor: "8", Aging: 2, Wide: 2}},
	{map[string]string{"factor": "2", "aging": "0"}, backfilltest.TextbookSlack{Factor: "2"}},
	{map[string]string{"factor": "0", "aging": "0"}, backfilltest.TextbookSlack{Factor: "0"}},
	{map[string]string{"factor": "0.3", "aging": "0"}, backfilltest.TextbookSlack{Factor: "0.3"}},
	{map[string]string{"factor": "0", "base": "7", "aging": "0"}, backfilltest.TextbookSlack{Factor: "0", Base: 7}},
	{map[string]string{"replace": "false"}, backfilltest.TextbookSlack{Factor: "8", Aging: 2, Wide: 2, Stay: true}},
	{
		map[string]string{"factor": "1.1", "base": "2", "cap": "9", "aging": "0"},
		backfilltest.TextbookSlack{Factor: "1.1", Base: 2, Cap: 9},
	},
	{
		map[string]string{"factor": "3", "aging": "0.5", "wide": "1"},
		backfilltest.TextbookSlack{Factor: "3", Aging: 0.5, Wide: 1},
	},
	{
		map[string]string{"factor": "1", "aging": "0.7", "wide": "1.5"},
		backfilltest.TextbookSlack{Factor: "1", Aging: 0.7, Wide: 1.5},
	},
	{
		map[string]string{"factor": "2", "base": "20", "aging": "1.5", "wide": "0"},
		backfilltest.TextbookSlack{Factor: "2", Base: 20, Aging: 1.5},
	},
}

// TestSlackAsInTheTextbook checks that slack, which looks only at the jobs that may start, decides
// like its textbook version, which asks each: on random pools, in several orders, with and without
// a limit of the plan, and on a state that loses what was found before every other round.
func TestSlackAsInTheTextbook(t *testing.T) {
	for i, order := range []string{"fcfs", "sjf", "ljf", "widest", "wfp"} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			for n := range thorough.Share(i, 14, 60) {
				seed := 100*uint64(i) + n
				with := slacks[n%uint64(len(slacks))]
				spec, err := policies.Named("slack")
				require.NoError(t, err)
				policy, err := spec.Make(with.options)
				require.NoError(t, err)
				spec.New = func(backfill.Values) (backfill.Policy, error) { return policy, nil }
				reference := spec
				reference.New = func(backfill.Values) (backfill.Policy, error) { return with.book, nil }
				planning := plannings[seed%uint64(len(plannings))]
				want := run(t, seed, reference, order, planning, false)
				require.Equal(t, want, run(t, seed, spec, order, planning, false), "seed %d", seed)
				require.Equal(t, want, run(t, seed, spec, order, planning, true), "seed %d: without memory", seed)
			}
		})
	}
}

// plannings are how far a policy plans in the tests; most of their pools have no limit.
var plannings = []backfill.Planning{
	{},
	{Depth: 1},
	{},
	{Depth: 3},
	{},
	{Depth: 2, Reorder: true},
	{Reorder: true},
	{Depth: 5, Reorder: true},
	{Horizon: 20},
	{Horizon: 60, Reorder: true},
	{Depth: 4, Horizon: 40, Reorder: true},
}

// textbook returns the spec of the textbook version of conservative, pc or dc.
func textbook(spec backfill.PolicySpec) backfill.PolicySpec {
	book := backfilltest.Textbook{Conservative: spec.Name == "conservative", DC: spec.Name == "dc"}
	spec.New = func(backfill.Values) (backfill.Policy, error) { return book, nil }
	return spec
}

// run plays 100 rounds under a policy and tells of them, see play.
func run(t *testing.T, seed uint64, spec backfill.PolicySpec, order string, planning backfill.Planning, forget bool,
) (told []string) {
	t.Helper()
	driver := poolOf(seed)
	h := hosting(t, backfill.NewState(driver.Resources(), driver.Rule()), spec, order, planning)
	for i := range 100 {
		told = append(told, play(t, h, driver, forget && i%2 == 0))
	}
	return told
}

// poolOf returns the pool of a seed: half of them are calm, some have bundles, in a third some jobs may
// not start at once, in two of five some candidates have windows, in three of seven some slots end, in
// four of eleven jobs take of rows, and in some a job may need more free than it takes.
func poolOf(seed uint64) *conformance.Driver {
	kind := seed
	if seed%8 > 4 {
		kind += conformance.Partitioned
	}
	if seed%3 == 1 {
		kind += conformance.Deferred
	}
	if seed%5 > 2 {
		kind += conformance.Windowed
	}
	if seed%7 > 3 {
		kind += conformance.Ending
	}
	if seed%11 > 6 {
		kind += conformance.Limited
	}
	if seed%13 > 9 && seed%8 <= 4 {
		kind += conformance.Sparing
	}
	if seed%17 > 12 {
		kind += conformance.Preempting
	}
	driver := conformance.NewDriver(kind)
	driver.Calm = seed%2 == 0
	driver.Late = seed%4 == 1
	return driver
}

// hosting returns a host with the policy on the state; a refusal fails the test.
func hosting(t *testing.T, s *backfill.State, spec backfill.PolicySpec, order string, planning backfill.Planning,
) *backfill.Host {
	t.Helper()
	main, err := backfill.Link(spec, nil)
	require.NoError(t, err)
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	require.NoError(t, err)
	ordering, err := backfill.OrderNamed(order)
	require.NoError(t, err)
	h, err := backfill.NewHost(s, ordering, main, fallback, func(r backfill.Refusal) { require.NoError(t, r.Err) })
	require.NoError(t, err)
	h.SetPlanning(planning)
	return h
}

// play plays a round and tells what was started, what is planned, and how many guarantees were
// broken. With forget, the state is first replaced by a clone, which has no memo.
func play(t *testing.T, h *backfill.Host, driver *conformance.Driver, forget bool) string {
	t.Helper()
	if forget {
		h.State = h.State.Clone()
	}
	d, err := h.Decide(t.Context(), driver.Round(h.State))
	require.NoError(t, err)
	var text strings.Builder
	fmt.Fprint(&text, d.Now)
	for _, s := range d.Started {
		fmt.Fprintf(&text, " start %d on %v", s.Job.ID, s.Placement)
		if s.Promised && len(d.Broken) == 0 {
			require.LessOrEqual(t, d.Now, s.Guarantee)
		}
	}
	for _, j := range h.State.Snapshot().Jobs {
		if start, at, ok := h.State.Planned(j.Job.ID); ok {
			fmt.Fprintf(&text, " plan %d at %d on %v by %d", j.Job.ID, start, at, j.Guarantee)
		}
	}
	fmt.Fprintf(&text, " broken %d", len(d.Broken))
	return text.String()
}

// TestSlotsComeTogether checks that slots which come at one instant are all there before any job
// moves. Job 2 is planned first and needs two slots, or both cpus of slot a: it moves to the two
// new ones. Job 3 could have started on the first of them, had it come alone.
func TestSlotsComeTogether(t *testing.T) {
	added := func(id backfill.SlotID, name string, cpus int64) backfill.Event {
		return backfill.Event{
			Kind: backfill.SlotAdded,
			Slot: backfill.Slot{ID: id, Name: name, Capacity: v(cpus)},
		}
	}
	all := backfill.Candidates{Slots: []backfill.SlotID{0, 1, 2}}
	wide := submission(2, 0, a{10, v(1)})
	wide.Job.Nodes = 2
	for _, policy := range []string{"conservative", "pc", "dc"} {
		t.Run(policy, func(t *testing.T) {
			h := host(t, backfill.NewState([]string{"cpus"}, profile.ByRank), policy, nil)
			for _, r := range []backfill.Round{
				{
					Candidates: []backfill.CandidateSet{{Candidates: all}},
					Events: []backfill.Event{
						added(0, "a", 2), added(1, "b", 1), added(2, "c", 1),
						{Kind: backfill.SlotLost, Slot: backfill.Slot{ID: 1}},
						{Kind: backfill.SlotLost, Slot: backfill.Slot{ID: 2}},
						submission(1, 0, a{10, v(2)}), wide, submission(3, 0, a{10, v(1)}),
					},
				},
				{Now: 1, Events: []backfill.Event{added(1, "b", 1), added(2, "c", 1)}},
			} {
				d, err := h.Decide(t.Context(), r)
				require.NoError(t, err)
				require.Equal(t, []backfill.JobID{backfill.JobID(1 + r.Now)}, ids(d))
			}
			start, _, planned := h.State.Planned(3)
			require.True(t, planned)
			moved := map[string]backfill.Time{"conservative": 10, "pc": 10, "dc": 20}
			require.Equal(t, moved[policy], start)
		})
	}
}
