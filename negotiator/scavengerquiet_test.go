package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// TestNewsOfScavengersKeepAFurtherLook: a cycle is due as the last one started jobs beside which others may
// begin; news of scavengers before that do not call it off.
func TestNewsOfScavengersKeepAFurtherLook(t *testing.T) {
	n := negotiatorOf(t, "easy", preempt.Rules{Several: true})
	slot := newSlot(t, "n1", 4, `Rank = Owner == "bob"`)
	cycle(t, n, Delta{
		Now: 5, SlotsUp: []*Slot{slot}, Claims: newClaims(),
		Submitted: []*Job{long(t, 1, 4, 1000, `Owner = "alice"`), long(t, 2, 4, 50, `Owner = "bob"`)},
	})
	require.EqualValues(t, 6, n.NextWake())
	cycle(t, n, Delta{Now: 5, Submitted: []*Job{scavengerOf(t, 3, 2, "a")}, Claims: newClaims()})
	require.EqualValues(t, 6, n.NextWake())
}

// TestNewsOfScavengersDoNotHideWhatIsDue: a job's candidates are other ones now, which the matchmaker foretold.
// It starts, also in a cycle that brings nothing but news of scavengers.
func TestNewsOfScavengersDoNotHideWhatIsDue(t *testing.T) {
	n := newNegotiator(t)
	j := newJob(t, 1, 1, "")
	j.Ad = ad(t, `RequestCpus = 1; Requirements = formatTime(time(), "%M") != "00"`)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "one", 4, "")}, Submitted: []*Job{j, scavengerOf(t, 2, 1, "a")}})
	for now := n.NextWake(); !n.State().IsRunning(1); now = n.NextWake() {
		require.LessOrEqual(t, now, backfill.Time(60))
		cycle(t, n, Delta{Now: now, Submitted: []*Job{scavengerOf(t, int(now)+10, 1, "a")}})
	}
}

// TestNewsOfScavengersDoNotHideOtherCandidates: a job's candidates change in a cycle that is due for nothing
// but news of scavengers. The policy hears of it.
func TestNewsOfScavengersDoNotHideOtherCandidates(t *testing.T) {
	n := newNegotiator(t)
	j := newJob(t, 1, 1, "")
	j.Ad = ad(t, `RequestCpus = 1; Requirements = random() < 0.05`)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "one", 4, "")}, Submitted: []*Job{j, scavengerOf(t, 2, 1, "a")}})
	for now := backfill.Time(1); now < 10_000 && !n.State().IsRunning(1); now++ {
		cycle(t, n, Delta{Now: now, Submitted: []*Job{scavengerOf(t, int(now)+10, 1, "a")}})
		if set := n.candidatesOf(n.jobs.Find(1).cluster); set != nil && len(set.Slots) > 0 {
			require.True(t, n.State().IsRunning(1), "at %d", now)
		}
	}
	require.True(t, n.State().IsRunning(1))
}

// TestRestoredScavengersAreReleased: who may start later is not forgotten by a restart.
func TestRestoredScavengersAreReleased(t *testing.T) {
	n := newNegotiator(t)
	later := scavengerOf(t, 1, 1, "a")
	later.Release = 100
	cycle(t, n, Delta{Now: 3, SlotsUp: []*Slot{newSlot(t, "one", 4, "")}, Submitted: []*Job{later}})
	require.EqualValues(t, 100, n.NextWake())
	again, err := Restore(Config{Schema: twoResources(), Policy: linked(t, "easy"), Fallback: linked(t, "easy")}, n.Checkpoint())
	require.NoError(t, err)
	require.EqualValues(t, 3, again.NextWake())
	cycle(t, again, Delta{Now: 3})
	require.EqualValues(t, 100, again.NextWake())
	require.Equal(t, []string{"1@one×1"}, matched(cycle(t, again, Delta{Now: 100}).Matches))
	require.Equal(t, backfill.Forever, again.NextWake())
}

// TestIDsOfTwoClasses: a job of another class has the ID of one that is known.
func TestIDsOfTwoClasses(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "one", 1, "")}, Submitted: []*Job{scavengerOf(t, 1, 1, "a"), newJob(t, 2, 1, "")}})
	_, err := n.RunCycle(t.Context(), Delta{Now: 1, Submitted: []*Job{newJob(t, 1, 1, "")}})
	require.ErrorContains(t, err, "submitted twice")
	_, err = n.RunCycle(t.Context(), Delta{Now: 1, Submitted: []*Job{scavengerOf(t, 2, 1, "a")}})
	require.ErrorContains(t, err, "submitted twice")
	_, err = n.RunCycle(t.Context(), Delta{Now: 1, Changed: []*Job{scavengerOf(t, 2, 1, "a")}})
	require.ErrorContains(t, err, "does not wait", "it runs")
	saved := n.Checkpoint()
	saved.Jobs = append(saved.Jobs, JobCheckpoint{Job: scavengerOf(t, 2, 1, "a")})
	_, err = Restore(Config{Schema: twoResources(), Policy: linked(t, "easy"), Fallback: linked(t, "easy")}, saved)
	require.ErrorContains(t, err, "its ID 2 is that of")
}

// TestWhoWaitsAtTheBeginning: also at the first instant of a pool a job waits for scavengers that leave for
// another one.
func TestWhoWaitsAtTheBeginning(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "one", 4, "")}, Submitted: []*Job{scavengerOf(t, 1, 4, "a")}})
	r := cycle(t, n, Delta{Submitted: []*Job{newJob(t, 2, 2, ""), newJob(t, 3, 2, "")}})
	require.Equal(t, []string{"2@one×1 for [1] at 1", "3@one×1 for [] at 1"}, matched(r.Matches))
}
