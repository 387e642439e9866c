package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// TestWhatOthersGiveBackLaterIsNotThereYet: a job that takes over needs more of a limit than its victim has, and
// another victim gives some back, but later. Until the job begins, no scavenger takes what it needs.
func TestWhatOthersGiveBackLaterIsNotThereYet(t *testing.T) {
	n := negotiatorOf(t, "easy", preempt.Rules{})
	one, two := newSlot(t, "n1", 4, `Rank = Owner == "bob"`), newSlot(t, "n2", 4, `Rank = Owner == "bob"`)
	takes := func(j *Job, amount int64) *Job {
		j.Takes = []Take{{Limit: "licence", Amount: amount * LimitUnit}}
		return j
	}
	alices := []*Job{
		takes(long(t, 1, 4, 1000, `Owner = "alice"; Requirements = TARGET.Name == "n1"`), 1),
		takes(long(t, 2, 3, 1000, `Owner = "alice"; Requirements = TARGET.Name == "n2"`), 1),
	}
	cycle(t, n, Delta{
		Now: 5, SlotsUp: []*Slot{one, two}, Limits: []Limit{{Name: "licence", Height: 4 * LimitUnit}}, Submitted: alices,
	})
	claims := newClaims()
	claims.claim(one, 1, "alice", 4, 0)
	claims.claim(two, 2, "alice", 3, 0)
	slow := claims.claims[2]
	slow.Vacate = 600
	claims.claims[2] = slow
	claims.users[3], claims.users[4] = "bob", "bob"
	bobs := []*Job{
		takes(long(t, 3, 4, 50, `Owner = "bob"; Requirements = TARGET.Name == "n1"`), 2),
		long(t, 4, 3, 50, `Owner = "bob"; Requirements = TARGET.Name == "n2"`),
	}
	r := cycle(t, n, Delta{Now: 10, Submitted: bobs, Claims: claims})
	require.Equal(t, []string{"3@n1×1 for [1] at 20", "4@n2×1 for [2] at 610"}, matched(r.Matches))
	scavengers := []*Job{takes(scavengerOf(t, 5, 1, "a"), 2), takes(scavengerOf(t, 6, 1, "a"), 1)}
	r = cycle(t, n, Delta{Now: 12, Submitted: scavengers, Claims: claims})
	require.Equal(t, []string{"6@n2×1"}, matched(r.Matches))
}

// TestPeak: what is taken at most at any one instant, of shifts in any order; those of an instant count together.
func TestPeak(t *testing.T) {
	type shifts []shift
	for name, c := range map[string]struct {
		all  shifts
		want backfill.Vector
	}{
		"none":               {nil, backfill.Vector{0, 0}},
		"given back":         {shifts{{5, backfill.Vector{-1, -2}}}, backfill.Vector{0, 0}},
		"at once":            {shifts{{5, backfill.Vector{3, 0}}, {5, backfill.Vector{-2, -1}}}, backfill.Vector{1, 0}},
		"given back later":   {shifts{{9, backfill.Vector{-3, 0}}, {5, backfill.Vector{2, 1}}}, backfill.Vector{2, 1}},
		"given back earlier": {shifts{{9, backfill.Vector{2, 1}}, {5, backfill.Vector{-3, 0}}}, backfill.Vector{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, peak(c.all, 2))
		})
	}
}
