package outlook

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// waits returns the starts of a play under a policy.
func waits(t *testing.T, o *Outlook, c negotiator.Config, start ahead.Start) map[backfill.JobID]backfill.Time {
	t.Helper()
	play, err := ahead.Rules{Order: o.Order(c.Order), Policy: c.Policy, Fallback: c.Fallback}.Play(start)
	require.NoError(t, err)
	found, err := play.Starts(t.Context(), ahead.Bounds{})
	require.NoError(t, err)
	at := map[backfill.JobID]backfill.Time{}
	for id, s := range found {
		at[id] = s.At
	}
	return at
}

// TestOutlookTaking: what a play says of another policy is what comes after a change to it, also if
// jobs are planned with other run times from then on.
func TestOutlookTaking(t *testing.T) {
	actual := map[backfill.JobID]backfill.Time{1: 4, 2: 9, 3: 3, 4: 6, 5: 1}
	for _, from := range []string{"easy", "conservative", "slack"} {
		for _, to := range []string{"easy", "conservative", "slack", "dc"} {
			for _, order := range []string{"fcfs", "sjf", "wfp"} {
				with := configured(t, from, "fcfs")
				with.StartSlack, with.Estimates = 0, estimators(t, "easy", estimate.Settings{All: "accurate"})
				with.Actual = func(id backfill.JobID) backfill.Time { return actual[id] }
				n, err := negotiator.New(with)
				require.NoError(t, err)
				d := negotiator.Delta{SlotsUp: []*negotiator.Slot{newSlot(t, "a", 2, "")}}
				for id, cpus := range []int{1: 1, 2: 2, 3: 1, 4: 2, 5: 1} {
					if id > 0 {
						d.Submitted = append(d.Submitted, newJob(t, id, cpus, ""))
					}
				}
				cycle(t, n, d)
				c := configured(t, to, order)
				before := New(n)
				played := waits(t, before, c, before.Taking(before.Start(), c.Policy.Spec().Guarantees))
				require.NoError(t, n.Change(negotiator.Change{
					Order: c.Order, Policy: c.Policy, Fallback: c.Fallback, Estimates: with.Estimates,
				}))
				r := cycle(t, n, negotiator.Delta{Now: 0})
				after := New(n)
				came := waits(t, after, c, after.Start())
				for _, m := range r.Matches {
					came[m.Job.ID] = 0
				}
				require.Equal(t, came, played, "%s, then %s %s", from, to, order)
			}
		}
	}
}

// TestOutlookExpecting submits jobs in a play that nobody has submitted, each with the run time that
// the policy plans it with and the order sees.
func TestOutlookExpecting(t *testing.T) {
	n := predicting(t, "easy", "fcfs", estimate.Settings{All: "accurate"}, map[backfill.JobID]backfill.Time{1: 8, 2: 7, 3: 2})
	cycle(t, n, negotiator.Delta{
		SlotsUp:   []*negotiator.Slot{newSlot(t, "a", 1, "")},
		Submitted: []*negotiator.Job{newJob(t, 1, 1, ""), newJob(t, 2, 1, "")},
	})
	r := cycle(t, n, negotiator.Delta{Now: 1, Submitted: []*negotiator.Job{newJob(t, 3, 1, "")}})
	again, known := r.Expect(3)
	require.True(t, known)
	_, known = r.Expect(9)
	require.False(t, known)
	require.EqualValues(t, 10, again.Requested)
	later := *again.Job
	later.ID, later.Submit = 1<<40, 2
	again.Job = &later
	for _, order := range []string{"sjf"} {
		for _, policy := range []string{"easy", "conservative"} {
			c := configured(t, policy, order)
			o := New(r.Negotiator()).Expecting([]negotiator.Expected{again})
			start := o.Start()
			start.Arrivals = []*backfill.Job{again.Job}
			start = o.Taking(start, c.Policy.Spec().Guarantees)
			at := map[backfill.JobID]backfill.Time{}
			play, err := ahead.Rules{Order: o.Order(c.Order), Policy: c.Policy, Fallback: c.Fallback}.Play(start)
			require.NoError(t, err)
			require.NoError(t, play.Until(t.Context(), ahead.Bounds{}, func(d *backfill.Decision) bool {
				for _, s := range d.Started {
					at[s.Job.ID] = d.Now
				}
				return false
			}))
			if policy == "easy" {
				require.Equal(t, map[backfill.JobID]backfill.Time{3: 8, later.ID: 10, 2: 12}, at, "%s %s", policy, order)
			} else {
				require.Len(t, at, 3)
			}
		}
	}
}
