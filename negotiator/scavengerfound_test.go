package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
	"github.com/condor-backfill/condor-backfill/negotiator/scavenge"
)

// What a scavenger requests of the slot follows the slots while it waits, is known when it is found running,
// and stays as it is while it runs.
func TestRequestsOfScavengersFollowTheSlots(t *testing.T) {
	whole := func(id int) *Job {
		j := scavengerOf(t, id, 1, "a")
		j.Ad = ad(t, "RequestCpus = TARGET.Cpus; Requirements = true")
		return j
	}
	n := newNegotiator(t)
	slot := newSlot(t, "a", 4, "")
	cycle(t, n, Delta{SlotsUp: []*Slot{slot}})
	r := cycle(t, n, Delta{
		Now: 1, Found: []Running{{Job: whole(1), Placement: Placement{{Slot: slot, Count: 1}}, Start: 1}},
		Submitted: []*Job{scavengerOf(t, 2, 1, "b")},
	})
	require.Empty(t, matched(r.Matches), "the one that was found has all cpus")
	r = cycle(t, n, Delta{Now: 2, SlotsUp: []*Slot{newSlot(t, "a", 8, "")}})
	require.Equal(t, []string{"2@a×1"}, matched(r.Matches), "it has 4, of 8 now")
	r = cycle(t, n, Delta{Now: 3, StartFailed: []backfill.JobID{1}})
	require.Empty(t, matched(r.Matches), "it requests 8")
	r = cycle(t, n, Delta{Now: 4, Completed: []backfill.JobID{2}})
	require.Equal(t, []string{"1@a×1"}, matched(r.Matches))
	require.Equal(t, backfill.Vector{8, 0}, n.requestOf(1))
}

// requestOf is what each chunk of a scavenger requests.
func (n *Negotiator) requestOf(id backfill.JobID) backfill.Vector {
	j, _ := n.scavengers.book.Job(id)
	return j.Request
}

// TestLimitsOfScavengersComeAndGo: what scavengers take of limits that come and go is counted.
func TestLimitsOfScavengersComeAndGo(t *testing.T) {
	n := newNegotiator(t)
	licence := func(id int) *Job {
		j := scavengerOf(t, id, 1, "a")
		j.Takes = []Take{{Limit: "licence", Amount: LimitUnit}}
		return j
	}
	r := cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "one", 2, "")}, Submitted: []*Job{licence(1), licence(2), licence(3)}})
	require.Equal(t, []string{"1@one×1", "2@one×1"}, matched(r.Matches), "there is no such limit")
	before := book(n, 3)
	cycle(t, n, Delta{Now: 1, Limits: []Limit{{Name: "licence", Height: 2 * LimitUnit}}})
	require.NotEqual(t, before, book(n, 3))
	r = cycle(t, n, Delta{Now: 2, Completed: []backfill.JobID{1}, Limits: []Limit{{Name: "licence", Height: LimitUnit}}})
	require.Empty(t, r.Matches, "the other one has the licence")
	r = cycle(t, n, Delta{Now: 3, Limits: []Limit{{Name: "licence", Height: 2 * LimitUnit}}})
	require.Equal(t, []string{"3@one×1"}, matched(r.Matches))
	cycle(t, n, Delta{Now: 4, Submitted: []*Job{licence(4)}, Limits: []Limit{{Name: "licence", Height: 0}}})
	r = cycle(t, n, Delta{Now: 5, Completed: []backfill.JobID{2}, LimitsGone: []string{"licence"}})
	require.Equal(t, []string{"4@one×1"}, matched(r.Matches))
}

func book(n *Negotiator, id backfill.JobID) scavenge.Job {
	j, _ := n.scavengers.book.Job(id)
	return j
}

// TestTakeOversPassLimitsOn: a job that takes over from another gets the licence of that one, so a scavenger
// elsewhere keeps its own.
func TestTakeOversPassLimitsOn(t *testing.T) {
	n := negotiatorOf(t, "easy", preempt.Rules{Several: true})
	licence := func(j *Job) *Job {
		j.Takes = []Take{{Limit: "licence", Amount: LimitUnit}}
		return j
	}
	slot := newSlot(t, "n1", 4, `Rank = Owner == "bob"`)
	claims := newClaims()
	claims.claim(slot, 1, "alice", 4, 0)
	claims.users[3] = "bob"
	r := cycle(t, n, Delta{
		Now: 5, SlotsUp: []*Slot{slot, newSlot(t, "n2", 1, "")}, Limits: []Limit{{Name: "licence", Height: 2 * LimitUnit}},
		Submitted: []*Job{licence(long(t, 1, 4, 1000, `Owner = "alice"`)), licence(scavengerOf(t, 2, 1, "a"))},
	})
	require.Equal(t, []string{"1@n1×1", "2@n2×1"}, matched(r.Matches))
	r = cycle(t, n, Delta{Now: 10, Submitted: []*Job{licence(long(t, 3, 4, 50, `Owner = "bob"; WantPslotPreemption = true`))}, Claims: claims})
	require.Equal(t, []string{"3@n1×1 for [1] at 20"}, matched(r.Matches))
}
