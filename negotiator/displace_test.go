package negotiator

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// claimed is what a pool tells of claims, in tests.
type claimed struct {
	claims map[backfill.JobID]preempt.Claim
	users  map[backfill.JobID]string
	prios  map[string]float64
	room   map[string]float64 // a share that is bounded
	asked  int
}

func (c *claimed) Claim(id backfill.JobID) (preempt.Claim, bool) {
	c.asked++
	claim, ok := c.claims[id]
	return claim, ok
}

func (c *claimed) Submitter(id backfill.JobID) string {
	c.asked++
	return c.users[id]
}

func (c *claimed) Standing(user string) preempt.Standing {
	c.asked++
	return preempt.Standing{Prio: c.prios[user]}
}

func (c *claimed) HasRoom(user string, granted, weight float64) bool {
	share, bounded := c.room[user]
	return !bounded || granted+weight <= share
}

// claim is a dynamic slot of a slot, of so many cpus, that a user has.
func (c *claimed) claim(slot *Slot, id backfill.JobID, user string, cpus int64, retirement backfill.Time) {
	ad := slot.Ad.Clone()
	ad.SetInt("Cpus", cpus)
	c.claims[id] = preempt.Claim{
		Slot: fmt.Sprintf("slot1_%d@%s", id, slot.Name), Host: slot.Name, Ad: ad, User: user, Partial: true,
		Retirement: retirement, Vacate: 10,
	}
	c.users[id] = user
}

func newClaims() *claimed {
	return &claimed{
		claims: map[backfill.JobID]preempt.Claim{}, users: map[backfill.JobID]string{}, prios: map[string]float64{},
		room: map[string]float64{},
	}
}

// negotiatorOf makes a negotiator under a policy, with rules of preemption.
func negotiatorOf(tb testing.TB, policy string, rules preempt.Rules) *Negotiator {
	tb.Helper()
	n, err := New(Config{
		Schema: twoResources(), Policy: linked(tb, policy), Fallback: linked(tb, policy), Preemption: rules,
		Refused: func(r backfill.Refusal) { require.NoError(tb, r.Err, "refused at %d", r.Now) },
	})
	require.NoError(tb, err)
	return n
}

func expression(tb testing.TB, text string) *classad.Expr {
	tb.Helper()
	e, err := classad.ParseExpr(text)
	require.NoError(tb, err)
	return e
}

// long is a job that runs for so long.
func long(tb testing.TB, id, cpus int, run int, more string) *Job {
	tb.Helper()
	j := newJob(tb, id, cpus, more)
	j.Estimate, j.Submit = backfill.Time(run), backfill.Time(id)
	return j
}

// TestADisplacementFromEndToEnd follows one from the decision to the victim's next start: matches, report,
// texts, checkpoint and what the pool reports of it.
func TestADisplacementFromEndToEnd(t *testing.T) {
	n := negotiatorOf(t, "conservative", preempt.Rules{Pause: 600})
	slot := newSlot(t, "n1", 4, `Rank = Owner == "bob"`)
	alices, bobs := long(t, 1, 4, 1000, `Owner = "alice"`), long(t, 2, 2, 50, `Owner = "bob"`)
	cycle(t, n, Delta{Now: 5, SlotsUp: []*Slot{slot}, Submitted: []*Job{alices}})
	claims := newClaims()
	claims.claim(slot, 1, "alice", 4, 0)
	claims.users[2] = "bob"
	r := cycle(t, n, Delta{Now: 10, Submitted: []*Job{bobs}, Claims: claims})
	require.Equal(t, []preempt.Preemption{{
		Job: 2, Start: 20, Soonest: 20, Reason: preempt.StartdRank, Victims: []preempt.Victim{{Job: 1, Slot: "slot1_1@n1", User: "alice", End: 20}},
	}}, r.Preempted)
	require.Equal(t, []Match{{Job: bobs, Placement: Placement{{Slot: slot, Count: 1}}, Displaces: []backfill.JobID{1}, At: 20}}, r.Matches)
	require.Empty(t, r.Decision.Broken)
	require.Equal(t, "takes over", why(t, n, 2))
	require.Equal(t, "displaced by 1.2 of bob: the machine prefers it", n.WhyPreemption(1, nil))
	require.Empty(t, n.WhyPreemption(2, nil))

	again := Config{
		Schema: twoResources(), Policy: linked(t, "conservative"), Fallback: linked(t, "conservative"),
		Preemption: preempt.Rules{Pause: 600},
	}
	restored, err := Restore(again, n.Checkpoint())
	require.NoError(t, err)
	require.Equal(t, n.Checkpoint(), restored.Checkpoint())
	for _, n := range []*Negotiator{n, restored} {
		_, err := n.RunCycle(t.Context(), Delta{Now: 11, Displaced: []backfill.JobID{1}})
		require.ErrorContains(t, err, "job ID 1 made way for another, but did not come back to the queue")
		_, err = n.RunCycle(t.Context(), Delta{Now: 11, Ends: []End{{2, 100}}})
		require.ErrorContains(t, err, "others have yet to make way for it")
		claims := newClaims()
		claims.users[1], claims.users[2] = "alice", "bob"
		claims.claim(slot, 2, "bob", 2, 0)
		r = cycle(t, n, Delta{
			Now: 18, StartFailed: []backfill.JobID{1}, Displaced: []backfill.JobID{1}, Claims: claims,
			Found: []Running{{Job: bobs, Placement: Placement{{Slot: slot, Count: 1}}, Start: 18}},
		})
		require.Empty(t, r.Preempted)
		require.Equal(t, []preempt.Left{{Job: 1, Reason: preempt.StartdRank, CoreSeconds: 4 * 13}}, r.Left)
		require.Empty(t, r.Decision.Broken, "alice's job had started, as was promised")
		require.Equal(t, "reserved", why(t, n, 1))
		require.Equal(t, "runs", why(t, n, 2))
		require.Equal(t, "displaced by 1.2 of bob: the machine prefers it", n.WhyPreemption(1, nil))
		r = cycle(t, n, Delta{Now: 68, Completed: []backfill.JobID{2}})
		require.Equal(t, []string{"1.1@n1×1"}, started(r))
		require.Empty(t, n.WhyPreemption(1, nil), "it runs again")
	}
}

// TestWhoRetiresIsLeft: a job that may still retire is no candidate, which users are told, and there is a
// cycle when it has.
func TestWhoRetiresIsLeft(t *testing.T) {
	n := negotiatorOf(t, "easy", preempt.Rules{})
	slot := newSlot(t, "n1", 4, `Rank = Owner == "bob"`)
	cycle(t, n, Delta{Now: 0, SlotsUp: []*Slot{slot}, Submitted: []*Job{long(t, 1, 4, 1000, `Owner = "alice"`)}})
	claims := newClaims()
	claims.claim(slot, 1, "alice", 4, 70)
	r := cycle(t, n, Delta{Now: 10, Submitted: []*Job{long(t, 2, 2, 50, `Owner = "bob"`)}, Claims: claims})
	require.Empty(t, r.Preempted)
	at := func(at backfill.Time) string { return strconv.Itoa(int(at)) }
	require.Equal(t, "could displace a job on n1, but it retires until 80", n.WhyPreemption(2, at))
	require.EqualValues(t, 80, n.NextWake())
	claims.claim(slot, 1, "alice", 4, 0)
	r = cycle(t, n, Delta{Now: 80, Claims: claims})
	require.Len(t, r.Preempted, 1)
	require.Empty(t, n.WhyPreemption(2, at))
}

// TestPromisesAreProtected: user priority lifts no promise of others unless it is allowed; startd rank does.
func TestPromisesAreProtected(t *testing.T) {
	for _, test := range []struct {
		rank     string
		promised bool
		made     int
	}{{"0", false, 0}, {"0", true, 1}, {`Owner == "bob"`, false, 1}} {
		n := negotiatorOf(t, "conservative", preempt.Rules{
			Requirements: expression(t, "RemoteUserPrio > TARGET.SubmitterUserPrio"), Promised: test.promised,
		})
		slot := newSlot(t, "n1", 4, "Rank = "+test.rank)
		cycle(t, n, Delta{Now: 0, SlotsUp: []*Slot{slot}, Submitted: []*Job{long(t, 1, 4, 100, `Owner = "alice"`)}})
		claims := newClaims()
		claims.claim(slot, 1, "alice", 4, 0)
		claims.users[3], claims.users[2], claims.prios = "bob", "carol", map[string]float64{"alice": 5, "bob": 1, "carol": 5}
		r := cycle(t, n, Delta{Now: 10, Submitted: []*Job{
			long(t, 2, 4, 50, `Owner = "carol"`), long(t, 3, 4, 1000, `Owner = "bob"`),
		}, Claims: claims})
		require.Len(t, r.Preempted, test.made, "%v", test)
		require.Len(t, r.Decision.Broken, test.made)
		if test.made > 0 {
			require.Equal(t, backfill.CausePreempted, r.Decision.Broken[0].Cause)
			require.EqualValues(t, 2, r.Decision.Broken[0].Job.ID)
		}
	}
}

// TestSharesBoundUserPriority: whose share has no room displaces nobody for user priority, but for startd rank.
func TestSharesBoundUserPriority(t *testing.T) {
	for rank, made := range map[string]int{"0": 1, `Owner == "bob"`: 2} {
		n := negotiatorOf(t, "fcfs", preempt.Rules{Requirements: expression(t, "RemoteUserPrio > TARGET.SubmitterUserPrio")})
		slot := newSlot(t, "n1", 4, "Rank = "+rank)
		cycle(t, n, Delta{Now: 0, SlotsUp: []*Slot{slot}, Submitted: []*Job{
			long(t, 1, 2, 100, `Owner = "alice"`), long(t, 2, 2, 100, `Owner = "alice"`),
		}})
		claims := newClaims()
		claims.claim(slot, 1, "alice", 2, 0)
		claims.claim(slot, 2, "alice", 2, 0)
		claims.users[3], claims.users[4], claims.prios = "bob", "bob", map[string]float64{"alice": 5, "bob": 1}
		claims.room["bob"] = 2
		r := cycle(t, n, Delta{Now: 10, Submitted: []*Job{
			long(t, 3, 2, 50, `Owner = "bob"`), long(t, 4, 2, 50, `Owner = "bob"`),
		}, Claims: claims})
		require.Len(t, r.Preempted, made, rank)
	}
}

// TestAMachineDoesNotWaitForItsChoice: a victim may take longer to leave than it is expected to run; as most
// leave at once, the machine's choice is made all the same, for the instant at which it was to start at the
// latest. Where jobs take just as long, and for user priority, the end is awaited.
func TestAMachineDoesNotWaitForItsChoice(t *testing.T) {
	for _, tt := range []struct {
		sooner bool
		rank   string
		made   int
	}{{true, `Owner == "bob"`, 1}, {false, `Owner == "bob"`, 0}, {true, "0", 0}} {
		n := negotiatorOf(t, "conservative", preempt.Rules{Requirements: expression(t, "True")})
		slot := newSlot(t, "n1", 4, "Rank = "+tt.rank)
		cycle(t, n, Delta{Now: 0, SlotsUp: []*Slot{slot}, Submitted: []*Job{long(t, 1, 4, 60, `Owner = "alice"`)}})
		claims := newClaims()
		claims.claim(slot, 1, "alice", 4, 0)
		claim := claims.claims[1]
		claim.Sooner, claim.Vacate = tt.sooner, 600
		claims.claims[1], claims.users[2] = claim, "bob"
		r := cycle(t, n, Delta{Now: 10, Submitted: []*Job{long(t, 2, 4, 50, `Owner = "bob"`)}, Claims: claims})
		require.Len(t, r.Preempted, tt.made, "%+v", tt)
		require.Empty(t, r.Decision.Broken)
		for _, p := range r.Preempted {
			require.EqualValues(t, 60, p.Start)
			require.EqualValues(t, 60, p.Victims[0].End)
		}
	}
}

// TestItIsLookedAgain: whoever starts in a cycle can be displaced in the next, which is due at once; for user
// priority it is looked again each minute, as priorities and pauses go with time.
func TestItIsLookedAgain(t *testing.T) {
	for _, tt := range []struct {
		rules preempt.Rules
		next  backfill.Time
	}{{preempt.Rules{}, 1000}, {preempt.Rules{Requirements: expression(t, "time() > 500")}, 71}} {
		n := negotiatorOf(t, "easy", tt.rules)
		slot := newSlot(t, "n1", 4, `Rank = TARGET.Owner == "bob"`)
		claims := newClaims()
		claims.users[1], claims.users[2] = "alice", "carol"
		cycle(t, n, Delta{Now: 0, SlotsUp: []*Slot{slot}, Submitted: []*Job{
			long(t, 1, 4, 1000, `Owner = "alice"`), long(t, 2, 4, 1000, `Owner = "carol"`),
		}, Claims: claims})
		require.EqualValues(t, 1, n.NextWake())
		claims.claim(slot, 1, "alice", 4, 0)
		cycle(t, n, Delta{Now: 11, Claims: claims})
		require.Equal(t, tt.next, n.NextWake())
	}
}

// TestNobodyIsAskedWithoutReason: where nothing can come of it, the pool's claims are not even looked at.
func TestNobodyIsAskedWithoutReason(t *testing.T) {
	for rank, rules := range map[string]preempt.Rules{
		"0": {}, "0.0": {Requirements: expression(t, "false")}, `Owner == "bob"`: {Off: true, Requirements: expression(t, "true")},
	} {
		n := negotiatorOf(t, "easy", rules)
		slot := newSlot(t, "n1", 4, "Rank = "+rank)
		cycle(t, n, Delta{Now: 0, SlotsUp: []*Slot{slot}, Submitted: []*Job{long(t, 1, 4, 100, `Owner = "alice"`)}})
		claims := newClaims()
		claims.claim(slot, 1, "alice", 4, 0)
		cycle(t, n, Delta{Now: 10, Submitted: []*Job{long(t, 2, 2, 50, `Owner = "bob"`)}, Claims: claims})
		require.Zero(t, claims.asked)
		require.False(t, n.mayDisplace())
	}
}

// TestWhatIfsLeaveTakeOvers: a question about a further limit has no run found again that is to make way or is
// still to begin: the first would run on, and the second cannot run yet.
func TestWhatIfsLeaveTakeOvers(t *testing.T) {
	n := negotiatorOf(t, "easy", preempt.Rules{})
	slot := newSlot(t, "n1", 4, `Rank = Owner == "bob"`)
	jobs := []*Job{long(t, 1, 2, 100, `Owner = "alice"`), long(t, 2, 2, 100, `Owner = "alice"`), long(t, 3, 2, 50, `Owner = "bob"`)}
	for _, j := range jobs {
		j.Takes = []Take{{Limit: "licence", Amount: 1}}
	}
	cycle(t, n, Delta{Now: 0, SlotsUp: []*Slot{slot}, Submitted: jobs[:2]})
	claims := newClaims()
	claims.claim(slot, 1, "alice", 2, 0)
	claims.claim(slot, 2, "alice", 2, 0)
	require.Len(t, cycle(t, n, Delta{Now: 10, Submitted: jobs[2:], Claims: claims}).Preempted, 1)
	events := n.takersOf(n.limits.further([]Limit{{Name: "licence", Height: 1}}))
	require.Len(t, events, 1)
	require.EqualValues(t, 2, events[0].Job.ID)
	for _, limit := range []int64{9, 1} { // nor does a limit that really comes end a displacement
		r := cycle(t, n, Delta{Now: 11, Limits: []Limit{{Name: "licence", Height: limit}}})
		reason, _ := r.State.Reason(1)
		require.True(t, reason.Yields)
		reason, _ = r.State.Reason(3)
		require.Equal(t, backfill.TakesOver, reason.Why)
	}
}
