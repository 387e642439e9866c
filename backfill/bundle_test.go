package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// newMachine creates a partitioned machine. Slots 0 to 3 are midplanes of 512 cpus, slot 4 is a
// wire. Bundles 0 to 3 are one midplane each; bundles 4 and 5 are two midplanes and the wire;
// bundle 6 is the whole machine. Candidate set 0 has the bundles of one midplane, 1 those of two, 2
// the whole machine, and 3 all slots.
func newMachine(t *testing.T) *backfill.State {
	t.Helper()
	s := backfill.NewState([]string{"cpus", "memory"}, profile.ByRank)
	accept(t, s, machine(), nil)
	return s
}

func machine() (r backfill.Round) {
	for i := range 5 {
		capacity := backfill.Vector{512, 1024}
		if i == 4 {
			capacity = backfill.Vector{0, 1}
		}
		r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: slot(i, capacity)})
	}
	for i, slots := range [][]backfill.SlotID{{0}, {1}, {2}, {3}, {0, 1, 4}, {2, 3, 4}, {0, 1, 2, 3, 4}} {
		r.Bundles = append(r.Bundles, backfill.Bundle{
			ID: backfill.BundleID(i), Name: "P" + string(rune('0'+i)),
			Slots: slots,
		})
	}
	r.Candidates = []backfill.CandidateSet{
		{ID: 0, Candidates: backfill.Candidates{Bundles: []backfill.BundleID{0, 1, 2, 3}}},
		{ID: 1, Candidates: backfill.Candidates{Bundles: []backfill.BundleID{4, 5}}},
		{ID: 2, Candidates: backfill.Candidates{Bundles: []backfill.BundleID{6}}},
		{ID: 3, Candidates: backfill.Candidates{Slots: []backfill.SlotID{0, 1, 2, 3, 4}}},
	}
	return r
}

// whole returns a job that requests one cpu and takes a whole bundle of a candidate set.
func whole(id backfill.JobID, estimate backfill.Time, candidates int) *backfill.Job {
	j := job(id, 0, estimate, 1, 0)
	j.Whole, j.Candidates = true, candidates
	return j
}

func TestAWholeJobHoldsAllOfABundle(t *testing.T) {
	s := newMachine(t)
	h := newHost(t, s, "easy", "fcfs")
	d := decide(t, h, 1, submitted(whole(1, 10, 1), whole(2, 20, 2), whole(3, 5, 0), whole(4, 30, 0))...)
	require.Equal(t, []backfill.JobID{1, 3}, startedIDs(d), "job 4 would delay job 2")
	require.Equal(t, on(0, 1, 1, 1, 4, 1), d.Started[0].Placement)
	require.Equal(t, on(2, 1), d.Started[1].Placement)
	require.Equal(t, backfill.Vector{3 * 512, 3*1024 + 1}, s.Use())
	start, at, ok := s.Planned(2)
	require.True(t, ok)
	require.Equal(t, backfill.Time(11), start)
	require.Equal(t, on(0, 1, 1, 1, 2, 1, 3, 1, 4, 1), at)
	require.Equal(t, int64(512), s.ReservedIdle(), "midplane d is idle; c is in use")

	reason, _ := s.Reason(2)
	require.Equal(t, "reserved, expected start 11 on P6", s.Describe(reason, nil))
	reason, _ = s.Reason(1)
	require.Equal(t, "runs since 1 on P4", s.Describe(reason, nil))

	again, err := backfill.Restore(s.Snapshot())
	require.NoError(t, err)
	require.Equal(t, factsOf(s, 1), factsOf(again, 1))
	require.Equal(t, s.Bundles(), again.Bundles())
}

// TestOnlyACandidateBundleWillDo checks that a bundle job can only be placed exactly on a candidate
// bundle, all of which is free.
func TestOnlyACandidateBundleWillDo(t *testing.T) {
	for says, at := range map[string]backfill.Placement{
		"":                                    on(2, 1, 3, 1, 4, 1),
		"slot a of bundle P4 is not all free": on(0, 1, 1, 1, 4, 1),
		"bundle P1 is no candidate":           on(1, 1),
		"bundle P6 is no candidate":           on(0, 1, 1, 1, 2, 1, 3, 1, 4, 1),
		"takes one bundle whole":              on(2, 1, 3, 1),
		"takes one bundle whole, and":         on(2, 1, 3, 1, 4, 2),
		"takes one bundle whole, and [":       on(3, 1, 2, 1, 4, 1),
		"takes one bundle whole, and [] is":   {},
		"takes one bundle whole, and [{9":     on(9, 1),
		"takes one bundle whole, and [{-1":    on(-1, 1),
	} {
		s := newMachine(t)
		small := job(1, 0, 10, 1, 1) // uses one of a's 512 cpus
		small.Candidates = 3
		accept(t, s, backfill.Round{Now: 1, Events: submitted(small)},
			func(c *backfill.Cycle) { c.Start(small, on(0, 1)) })
		before := factsOf(s, 1)
		pair := whole(2, 5, 1)
		for _, act := range []func(*backfill.Cycle){
			func(c *backfill.Cycle) { c.Start(pair, at) },
			func(c *backfill.Cycle) { c.Reserve(pair, c.Now()+1, at) },
		} {
			clone := s.Clone()
			_, err := attempt(t, clone, backfill.Round{Now: 1, Events: submitted(pair)}, act)
			if says == "" {
				require.NoError(t, err)
				continue
			}
			require.ErrorContains(t, err, says)
			require.Equal(t, before, factsOf(clone, 1))
		}
	}
}

// TestInvalidBundles checks that a round is refused, and changes nothing, if it has an invalid
// bundle, an invalid candidate set of bundles, or an event that does not suit a bundle.
func TestInvalidBundles(t *testing.T) {
	bundle := func(id backfill.BundleID, name string, slots ...backfill.SlotID) backfill.Round {
		return backfill.Round{Now: 1, Bundles: []backfill.Bundle{{ID: id, Name: name, Slots: slots}}}
	}
	event := func(e backfill.Event) backfill.Round { return backfill.Round{Now: 1, Events: []backfill.Event{e}} }
	set := func(id int, c backfill.Candidates) backfill.Round {
		return backfill.Round{Now: 1, Candidates: []backfill.CandidateSet{{ID: id, Candidates: c}}}
	}
	gangs, slots, unknown := whole(9, 5, 0), job(9, 0, 5, 1, 0), whole(9, 5, 3)
	gangs.Nodes = 2
	changed := slot(1, backfill.Vector{511, 1024})
	lost := event(backfill.Event{Kind: backfill.SlotAdded, Slot: changed})
	for says, r := range map[string]backfill.Round{
		"bundle 8: the next free ID is 7":            bundle(8, "Q", 0, 2),
		"bundle 7 has no name":                       bundle(7, "", 0, 2),
		"bundle Q has no slots":                      bundle(7, "Q"),
		"bundle Q: unknown slot 5":                   bundle(7, "Q", 0, 5),
		"bundle Q: unknown slot -1":                  bundle(7, "Q", -1, 5),
		"bundle Q: slot 0 is not in ascending order": bundle(7, "Q", 2, 0),
		"bundle Q has the same slots as bundle P4":   bundle(7, "Q", 0, 1, 4),
		"belongs to a bundle and has [512 1024]": event(backfill.Event{
			Kind: backfill.SlotChanged,
			Slot: changed,
		}),
		"slot b belongs to a bundle and has": lost,
		"candidate set 0: unknown bundle 7": set(0,
			backfill.Candidates{Bundles: []backfill.BundleID{7}}),
		"candidate set 0: bundle 1 is not in ascending": set(0,
			backfill.Candidates{Bundles: []backfill.BundleID{1, 1}}),
		"candidate set 4: has 1 slots and 1 bundles": set(4,
			backfill.Candidates{Slots: []backfill.SlotID{0}, Bundles: []backfill.BundleID{1}}),
		"candidate set 4: 2 ranks for 1 bundles": set(4,
			backfill.Candidates{Bundles: []backfill.BundleID{1}, Rank: []int32{1, 2}}),
		"candidate set 1: job 1 with its candidates": set(1,
			backfill.Candidates{Slots: []backfill.SlotID{0}}),
		"job 9: 2 chunks: must be 1, as it takes a bundle whole": event(submitted(gangs)[0]),
		"job 9 with its candidates: a job that takes a bundle":   event(submitted(slots)[0]),
		"job 9 with its candidates: ":                            event(submitted(unknown)[0]),
		"job 9 takes one bundle whole, and [{1 1} {2 1}] is none": event(backfill.Event{
			Kind: backfill.Found, Job: whole(9, 5, 0), Placement: on(1, 1, 2, 1), Start: 0, End: 5,
		}),
	} {
		s := newMachine(t)
		accept(t, s, backfill.Round{Now: 1, Events: append([]backfill.Event{{
			Kind: backfill.SlotLost,
			Slot: slot(1, nil),
		}}, submitted(whole(1, 5, 1))...)}, nil)
		if says != "slot b belongs to a bundle and has" {
			accept(t, s, backfill.Round{Now: 1, Events: []backfill.Event{{
				Kind: backfill.SlotAdded,
				Slot: slot(1, backfill.Vector{512, 1024}),
			}}}, nil)
		}
		before := factsOf(s, 1)
		_, err := s.Open(r)
		require.ErrorContains(t, err, says)
		require.Equal(t, before, factsOf(s, 1))
	}

	empty := machine()
	empty.Events[4].Slot.Capacity = backfill.Vector{0, 0}
	_, err := backfill.NewState([]string{"cpus", "memory"}, profile.ByRank).Open(empty)
	require.ErrorContains(t, err, "slot e has nothing that a job could take")

	snap := newMachine(t).Snapshot()
	snap.Bundles[1].Slots = nil
	_, err = backfill.Restore(snap)
	require.EqualError(t, err, "snapshot: bundle P1 has no slots")
}

// TestARoundWithBundlesIsTakenBack checks that a round which is rolled back leaves none of the
// bundles that it added, and that a held job starts when a bundle is added on which it fits.
func TestARoundWithBundlesIsTakenBack(t *testing.T) {
	s := backfill.NewState([]string{"cpus", "memory"}, profile.ByRank)
	before := factsOf(s, 0)
	c, err := s.Open(machine())
	require.NoError(t, err)
	drain(c.Cycle)
	c.Rollback()
	require.Equal(t, before, factsOf(s, 0))
	require.Empty(t, s.Bundles())

	accept(t, s, machine(), nil)
	h := newHost(t, s, "conservative", "fcfs")
	none := backfill.CandidateSet{ID: 4}
	_, err = h.Decide(t.Context(), backfill.Round{
		Now: 1, Candidates: []backfill.CandidateSet{none},
		Events: submitted(whole(1, 10, 4)),
	})
	require.NoError(t, err)
	require.Equal(t, backfill.ReasonNeverFits, jobState(t, s, 1).Held)
	before = factsOf(s, 2)
	c, err = s.Open(backfill.Round{Now: 2, Bundles: []backfill.Bundle{{
		ID: 7, Name: "Q",
		Slots: []backfill.SlotID{1, 2},
	}}})
	require.NoError(t, err)
	c.Rollback()
	require.Equal(t, before, factsOf(s, 2))

	late := backfill.Bundle{ID: 7, Name: "Q", Slots: []backfill.SlotID{1, 2}}
	none.Candidates.Bundles = []backfill.BundleID{7}
	clone := s.Clone()
	d, err := h.Decide(t.Context(), backfill.Round{
		Now: 2, Bundles: []backfill.Bundle{late},
		Candidates: []backfill.CandidateSet{none},
	})
	require.NoError(t, err)
	require.Equal(t, []backfill.JobID{1}, startedIDs(d), "the job that was held fits the new bundle")
	require.Equal(t, "Q", s.DescribePlacement(d.Started[0].Placement))
	require.Len(t, clone.Bundles(), 7)
}

// TestASlotOfABundleGoesAndComesBack checks that no job runs on two midplanes while their wire is
// lost.
func TestASlotOfABundleGoesAndComesBack(t *testing.T) {
	s := newMachine(t)
	h := newHost(t, s, "conservative", "fcfs")
	decide(t, h, 1, submitted(whole(1, 10, 1), whole(2, 10, 1), whole(3, 30, 0))...)
	require.True(t, s.IsRunning(1) && s.IsRunning(3))
	d := decide(t, h, 2, backfill.Event{Kind: backfill.SlotLost, Slot: slot(4, nil)})
	require.False(t, s.IsRunning(1))
	require.True(t, s.IsRunning(3), "its midplane is still there")
	require.Len(t, d.Held, 2)
	require.Equal(t, backfill.Vector{512, 1024}, s.Use())
	d = decide(t, h, 3, backfill.Event{Kind: backfill.SlotAdded, Slot: slot(4, backfill.Vector{0, 1})})
	require.Equal(t, []backfill.JobID{1}, startedIDs(d))
	require.Equal(t, backfill.Vector{3 * 512, 3*1024 + 1}, s.Use())
}

// TestWhatAWholeJobGivesBack checks that a bundle job gives back its whole bundle, not only what it
// requested.
func TestWhatAWholeJobGivesBack(t *testing.T) {
	s := newMachine(t)
	pair := whole(1, 10, 1)
	accept(t, s, backfill.Round{Now: 1, Events: submitted(pair)}, func(c *backfill.Cycle) {
		c.Fast().KeepFreed(100)
		c.Start(pair, on(0, 1, 1, 1, 4, 1))
	})
	require.Equal(t, backfill.Vector{1024, 2049}, s.Holds(pair, on(0, 1, 1, 1, 4, 1)))
	accept(t, s, backfill.Round{Now: 5, Events: []backfill.Event{jobEvent(backfill.Completed, 1)}},
		func(c *backfill.Cycle) {
			require.Equal(t, []backfill.Freed{
				{At: 5, Slot: 0, Amount: backfill.Vector{512, 1024}},
				{At: 5, Slot: 1, Amount: backfill.Vector{512, 1024}},
				{At: 5, Slot: 4, Amount: backfill.Vector{0, 1}},
			}, c.Fast().Freed())
		})
	require.Equal(t, backfill.Vector{0, 0}, s.Use())
}
