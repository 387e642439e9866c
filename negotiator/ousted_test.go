package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// waits has a claim of a job's wait for that of another, of a user.
func (c *claimed) waits(id, heir backfill.JobID, user string, rank float64, retirement backfill.Time) {
	claim := c.claims[id]
	claim.Waited, claim.Heir, claim.User, claim.Rank, claim.Retirement = true, &heir, user, rank, retirement
	c.claims[id], c.users[heir] = claim, user
}

// TestATakeOverGoesToABetterJob: bob's job is to take over from alice's, which retires, when carol's comes, which
// the machine prefers: hers begins when alice's has left, and bob's waits again, as users are told.
func TestATakeOverGoesToABetterJob(t *testing.T) {
	for _, policy := range []string{"conservative", "easy"} {
		for _, run := range []int{50, 2000} {
			rules := preempt.Rules{Pause: 600, Early: true}
			n := negotiatorOf(t, policy, rules)
			slot := newSlot(t, "n1", 4, `Rank = TARGET.Worth ?: 0`)
			cycle(t, n, Delta{Now: 0, SlotsUp: []*Slot{slot}, Submitted: []*Job{long(t, 1, 4, 1000, `Owner = "alice"`)}})
			claims := newClaims()
			claims.claim(slot, 1, "alice", 4, 300)
			claims.users[2] = "bob"
			r := cycle(t, n, Delta{Now: 10, Submitted: []*Job{long(t, 2, 4, 70, `Owner = "bob"; Worth = 1`)}, Claims: claims})
			require.Len(t, r.Preempted, 1)
			require.EqualValues(t, 320, r.Preempted[0].Start)

			claims = newClaims()
			claims.claim(slot, 1, "alice", 4, 0)
			claims.waits(1, 2, "bob", 1, 290)
			claims.users[3] = "carol"
			carols := long(t, 3, 2, run, `Owner = "carol"; Worth = 2`)
			r = cycle(t, n, Delta{Now: 20, Submitted: []*Job{carols}, Claims: claims})
			require.Equal(t, []preempt.Preemption{{
				Job: 3, Start: 320, Soonest: 320, Reason: preempt.StartdRank, Ousted: []backfill.JobID{2},
				Victims: []preempt.Victim{{Job: 1, Slot: "slot1_1@n1", User: "bob", End: 320}},
			}}, r.Preempted)
			require.Equal(t, []Match{{
				Job: carols, Placement: Placement{{Slot: slot, Count: 1}}, Displaces: []backfill.JobID{1}, At: 320, Ousts: []backfill.JobID{2},
			}}, r.Matches)
			require.True(t, r.State.IsWaiting(2))
			require.True(t, n.yields(1))
			require.Equal(t, "takes over", why(t, n, 3))
			for _, id := range []backfill.JobID{1, 2} {
				require.Equal(t, "displaced by 1.3 of carol: the machine prefers it", n.WhyPreemption(id, nil))
			}
			start, _, _ := r.State.Planned(2)
			require.EqualValues(t, 320+run, start)
			if policy == "conservative" && run == 2000 {
				require.Equal(t, []backfill.Broken{{
					Job: r.State.Job(2), Promised: 1000, Now: 2320, Cause: backfill.CausePreempted,
				}}, r.Decision.Broken)
			} else {
				require.Empty(t, r.Decision.Broken)
			}
			restored, err := Restore(Config{
				Schema: twoResources(), Policy: linked(t, policy), Fallback: linked(t, policy), Preemption: rules,
			}, n.Checkpoint())
			require.NoError(t, err)
			require.Equal(t, n.Checkpoint(), restored.Checkpoint())

			r = cycle(t, n, Delta{
				Now: 318, StartFailed: []backfill.JobID{1}, Displaced: []backfill.JobID{1},
				Found: []Running{{Job: carols, Placement: Placement{{Slot: slot, Count: 1}}, Start: 318}},
			})
			require.Empty(t, r.Matches)
			r = cycle(t, n, Delta{Now: 318 + backfill.Time(run), Completed: []backfill.JobID{3}})
			require.Len(t, r.Matches, 1)
			next := map[string]string{"conservative": "1.2", "easy": "1.1"} // who was promised, or submitted, first
			require.Equal(t, next[policy], r.Matches[0].Job.Name)
			require.Empty(t, n.WhyPreemption(r.Matches[0].Job.ID, nil))
		}
	}
}

// TestPromisesOfOustedJobs: a promise of who is to take over is protected from user priority, too, and so are the
// limits of the pool: what all of them take of one has room.
func TestPromisesOfOustedJobs(t *testing.T) {
	for _, test := range []struct {
		policy   string
		promised bool
		heights  int64 // of the limit
		made     int
	}{
		{"conservative", false, 9, 0},
		{"conservative", true, 9, 1},
		{"easy", false, 9, 1},
		{"easy", false, 3, 1},
		{"easy", false, 2, 0},
	} {
		n := negotiatorOf(t, test.policy, preempt.Rules{
			Early: true, Promised: test.promised, Requirements: expression(t, "RemoteUserPrio > TARGET.SubmitterUserPrio"),
		})
		slot := newSlot(t, "n1", 4, "Rank = 0")
		cycle(t, n, Delta{Now: 0, SlotsUp: []*Slot{slot}, Submitted: []*Job{long(t, 1, 4, 1000, `Owner = "alice"`)}})
		claims := newClaims()
		claims.claim(slot, 1, "alice", 4, 300)
		claims.users[2], claims.prios = "bob", map[string]float64{"alice": 9, "bob": 5, "carol": 1}
		bobs := long(t, 2, 4, 70, `Owner = "bob"`)
		bobs.Takes = []Take{{Limit: "licence", Amount: 1}}
		limit := []Limit{{Name: "licence", Height: test.heights}}
		r := cycle(t, n, Delta{Now: 10, Submitted: []*Job{bobs}, Claims: claims, Limits: limit})
		require.Len(t, r.Preempted, 1)
		claims.waits(1, 2, "bob", 0, 290)
		claims.users[3] = "carol"
		carols := long(t, 3, 4, 2000, `Owner = "carol"`)
		carols.Takes = []Take{{Limit: "licence", Amount: 3}}
		r = cycle(t, n, Delta{Now: 20, Submitted: []*Job{carols}, Claims: claims})
		require.Len(t, r.Preempted, test.made, "%+v", test)
		require.Equal(t, test.made == 1, r.State.IsWaiting(2))
	}
}

// TestPairsThatOustPause: two jobs do not oust each other in turn for user priority.
func TestPairsThatOustPause(t *testing.T) {
	n := negotiatorOf(t, "easy", preempt.Rules{Early: true, Pause: 600, Requirements: expression(t, "true")})
	slot := newSlot(t, "n1", 4, "Rank = 0")
	cycle(t, n, Delta{Now: 0, SlotsUp: []*Slot{slot}, Submitted: []*Job{long(t, 1, 4, 9000, `Owner = "alice"`)}})
	claims := newClaims()
	claims.claim(slot, 1, "alice", 4, 3000)
	claims.users[2], claims.users[3] = "bob", "carol"
	require.Len(t, cycle(t, n, Delta{Now: 10, Submitted: []*Job{long(t, 2, 4, 70, "")}, Claims: claims}).Preempted, 1)
	claims.waits(1, 2, "bob", 0, 2990)
	r := cycle(t, n, Delta{Now: 20, Submitted: []*Job{long(t, 3, 4, 70, "")}, Claims: claims})
	require.Equal(t, []backfill.JobID{2}, r.Preempted[0].Ousted)
	claims.waits(1, 3, "carol", 0, 2990)
	require.Empty(t, cycle(t, n, Delta{Now: 619, Claims: claims}).Preempted)
	r = cycle(t, n, Delta{Now: 620, Claims: claims})
	require.Len(t, r.Preempted, 1)
	require.Equal(t, []backfill.JobID{3}, r.Preempted[0].Ousted, "the pause is over")
	require.EqualValues(t, 2, r.Preempted[0].Job)
}
