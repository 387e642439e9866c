package negotiator

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// trusting is a negotiator under conservative.
func trusting(t *testing.T, trust estimate.Trust, record *estimate.TrackRecord) *Negotiator {
	t.Helper()
	n, err := New(trustingConfig(t, trust, record))
	require.NoError(t, err)
	return n
}

func trustingConfig(t *testing.T, trust estimate.Trust, record *estimate.TrackRecord) Config {
	t.Helper()
	return Config{
		Schema: twoResources(), Policy: linked(t, "conservative"), Fallback: linked(t, "conservative"), Trust: trust,
		Record: record, Refused: func(r backfill.Refusal) { require.NoError(t, r.Err, "refused at %d", r.Now) },
	}
}

// of returns a job of a user, of so many cpus, that states a run time.
func of(t *testing.T, user string, id, cpus int, states backfill.Time) *Job {
	t.Helper()
	j := newJob(t, id, cpus, fmt.Sprintf("Owner = %q", user))
	j.User, j.Estimate = user+"@test", states
	return j
}

// lied returns a record of a user who has lied twice.
func lied(user string) *estimate.TrackRecord {
	r := estimate.NewTrackRecord()
	for job := range backfill.JobID(2) {
		r.Over(estimate.WordOf(user+"@test", false), job, estimate.Place{Planned: 10, Taken: 1000, Cpus: 1})
	}
	r.Changed()
	return r
}

// Lies that come one after the other delay a promised start again and again, if all users are
// believed. By the record the first one delays it, and no second one starts before it.
func TestLiesRepeated(t *testing.T) {
	const lasts = 100 // how long each lie runs
	for _, c := range []struct {
		trust estimate.Trust
		lies  int // that start before bob
		bob   backfill.Time
	}{{estimate.TrustAll, 50, 0}, {"", 1, 101}, {estimate.TrustRecord, 1, 101}, {estimate.TrustEnforced, 0, 60}} {
		t.Run(string(c.trust), func(t *testing.T) {
			n := trusting(t, c.trust, nil)
			alice, bob := of(t, "alice", 1, 3, 60), of(t, "bob", 2, 4, 10)
			alice.Enforced, bob.Enforced = true, true
			cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 4, "")}, Submitted: []*Job{alice, bob}})
			promised, _ := n.State().Reason(2)
			require.True(t, promised.Promised)
			require.Equal(t, backfill.Time(60), promised.Latest)
			running, lies, id := map[backfill.JobID]backfill.Time{}, 0, 10
			waiting := false // a lie
			var bobs backfill.Time
			for now := backfill.Time(1); bobs == 0; now++ {
				require.Less(t, now, backfill.Time(5000))
				d := Delta{Now: now}
				if now == 60 {
					d.Completed = append(d.Completed, 1)
				}
				for job, start := range running {
					switch {
					case now == start+lasts:
						d.Completed = append(d.Completed, job)
						delete(running, job)
					case now > start+10 && (now-start)&(now-start-1) == 0:
						d.Outliving = append(d.Outliving, PastRun{n.Job(job), now - start})
					}
				}
				if !waiting && lies < 50 { // one waits at any time
					d.Submitted, waiting = append(d.Submitted, of(t, "eve", id, 1, 10)), true
					id++
				}
				for _, m := range cycle(t, n, d).Matches {
					if m.Job.ID == 2 {
						bobs = now
						continue
					}
					lies, waiting = lies+1, false
					running[m.Job.ID] = now
				}
			}
			require.Equal(t, c.lies, lies)
			if c.bob != 0 { // else it starts when there are no more lies
				require.Equal(t, c.bob, bobs)
			}
		})
	}
}

// Jobs that wait are planned anew as soon as one of their user's lies shows, and the plays that
// tell starts see that, too.
func TestWaitingLiesArePlannedAnew(t *testing.T) {
	n := trusting(t, estimate.TrustRecord, nil)
	lies := []*Job{of(t, "eve", 1, 1, 10), of(t, "eve", 2, 1, 10)}
	for i := range 20 {
		lies = append(lies, of(t, "eve", 10+i, 1, 10))
	}
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: append(lies, of(t, "bob", 3, 2, 10))})
	stated := n.State().Job(10).Estimate
	require.Equal(t, backfill.Time(10), stated)

	cycle(t, n, Delta{Now: 25, Outliving: []PastRun{{lies[0], 25}, {lies[1], 25}}})
	require.Equal(t, DefaultEstimate, n.State().Job(10).Estimate)
	require.Equal(t, DefaultEstimate, n.State().Job(29).Estimate)
	require.Equal(t, backfill.Time(10), n.State().Job(3).Estimate, "bob's is not concerned")
	require.Equal(t, backfill.Time(10), n.State().Job(1).Estimate, "what runs is put off as ever")
	require.Equal(t, "planned with a run time of 86,400 s (24.00 h), not the 10 s (0.00 h) that it states: the user's last jobs ran beyond "+
		"their run times (what HTCondor enforces would count: allowed_execute_duration)", n.WhyStretched(10))
	require.Empty(t, n.WhyStretched(3))
	require.Empty(t, n.WhyStretched(999))
	require.Equal(t, DefaultEstimate, n.Copy().State.Job(10).Estimate)
	asked, err := n.Suppose(of(t, "eve", 1, 1, 10), nil)
	require.NoError(t, err)
	c, err := asked.Match(t.Context())
	require.NoError(t, err)
	require.Equal(t, DefaultEstimate, c.Job.Estimate)
	require.Equal(t, DefaultEstimate, c.Requested)
}

// A user's waiting jobs are planned anew at once for a worse record, and for a better one once in a
// minute at most, however often it changes.
func TestABetterRecordWaits(t *testing.T) {
	n := trusting(t, estimate.TrustRecord, nil)
	first := of(t, "eve", 1, 2, 10)
	cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 2, "")},
		Submitted: []*Job{first, of(t, "bob", 2, 2, 100), of(t, "eve", 3, 1, 10)},
	})
	cycle(t, n, Delta{Now: 12, Outliving: []PastRun{{first, 12}}})
	require.Equal(t, backfill.Time(13), n.State().Job(3).Estimate)
	cycle(t, n, Delta{Now: 25, Outliving: []PastRun{{first, 25}}})
	require.Equal(t, DefaultEstimate, n.State().Job(3).Estimate)
	cycle(t, n, Delta{Now: 26, Completed: ids{1}})
	require.Equal(t, DefaultEstimate, n.State().Job(3).Estimate)
	require.Equal(t, 25+reviewEvery, n.NextWake())
	cycle(t, n, Delta{Now: 25 + reviewEvery})
	require.Equal(t, backfill.Time(30), n.State().Job(3).Estimate)
}

// What a job is taken to request, by its user's record.
func TestWhatCountsAsRequested(t *testing.T) {
	job := func(user string, change func(*Job)) *Job {
		j := of(t, user, 1, 1, 10)
		if change != nil {
			change(j)
		}
		return j
	}
	enforced := func(j *Job) { j.Enforced = true }
	limited := func(limit backfill.Time) func(*Job) { return func(j *Job) { j.Limit = limit } }
	without := func(j *Job) { j.Estimate = 0 }
	another := func(j *Job) { j.Labels = map[string]string{"owner": "bob", "account": "group_b.bob"} }
	for _, c := range []struct {
		name                  string
		job                   *Job
		all, record, enforced backfill.Time
	}{
		{"an honest user", job("bob", nil), 10, 10, DefaultEstimate},
		{"a liar", job("eve", nil), 10, DefaultEstimate, DefaultEstimate},
		{"a liar in another's name", job("eve", another), 10, DefaultEstimate, DefaultEstimate},
		{"a liar's job that the pool ends", job("eve", enforced), 10, 10, 10},
		{"at its limit", job("eve", limited(10)), 10, 10, 10},
		{"at a later limit", job("eve", limited(500)), 10, 500, 500},
		{"at a limit of an honest user", job("bob", limited(500)), 10, 10, 500},
		{"a liar who says nothing", job("eve", without), DefaultEstimate, DefaultEstimate, DefaultEstimate},
		{"a liar whose limits do not hold", job("mallory", limited(500)), 10, DefaultEstimate, DefaultEstimate},
		{"nor does this one", job("mallory", enforced), 10, DefaultEstimate, DefaultEstimate},
	} {
		t.Run(c.name, func(t *testing.T) {
			for trust, want := range map[estimate.Trust]backfill.Time{
				estimate.TrustAll: c.all, estimate.TrustRecord: c.record, estimate.TrustEnforced: c.enforced,
			} {
				record := lied("eve")
				for job := range backfill.JobID(4) {
					record.Over(estimate.WordOf("mallory@test", job%2 == 0), job, estimate.Place{Planned: 10, Taken: 100, Cpus: 1})
				}
				n := trusting(t, trust, record)
				require.Equal(t, want, n.predictions.requested(c.job), trust)
			}
		})
	}
}

// A restored negotiator plans with what is known of users. A reservation that rests on another run
// time is made anew.
func TestTheRecordOutlivesANegotiator(t *testing.T) {
	n := trusting(t, estimate.TrustRecord, nil)
	cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 1, "")},
		Submitted: []*Job{of(t, "bob", 1, 1, 100), of(t, "eve", 2, 1, 10), of(t, "bob", 3, 1, 10)},
	})
	again, err := Restore(trustingConfig(t, estimate.TrustRecord, lied("eve")), n.Checkpoint())
	require.NoError(t, err)
	cycle(t, again, Delta{Now: 1})
	require.Equal(t, DefaultEstimate, again.State().Job(2).Estimate)
	bob, _ := again.State().Reason(3)
	require.Equal(t, backfill.Time(110), bob.Latest, "what bob was promised stays")
	require.LessOrEqual(t, bob.At, bob.Latest)
}

// A run whose end nobody saw counts for as long as it was seen to outlive its time; and one that
// failed to start does not count.
func TestRunsThatEndInSilence(t *testing.T) {
	n := trusting(t, estimate.TrustRecord, nil)
	eve := of(t, "eve", 1, 1, 10)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 1, "")}, Submitted: []*Job{eve, of(t, "eve", 2, 1, 10)}})
	cycle(t, n, Delta{Now: 40, StartFailed: ids{1}})
	require.Equal(t, backfill.Time(10), n.State().Job(2).Estimate)
	cycle(t, n, Delta{Now: 60, Outliving: []PastRun{{eve, 20}}})
	cycle(t, n, Delta{Now: 70, Removed: ids{1}})
	require.Equal(t, backfill.Time(20), n.predictions.requested(of(t, "eve", 3, 1, 10)))
	cycle(t, n, Delta{Now: 80, Taught: []PastRun{{of(t, "eve", 9, 1, 10), -1}}})
	require.Equal(t, backfill.Time(20), n.predictions.requested(of(t, "eve", 3, 1, 10)))
}

// A job that runs on although the pool was said to end it tells of its user's own word, too: at
// once, and when it is over. One that merely ends late does not.
func TestWhatIsSaidToBeEnforcedAndIsNot(t *testing.T) {
	for ran, lies := range map[backfill.Time]bool{15: false, 20: false, 21: true, 1000: true} {
		n := trusting(t, estimate.TrustRecord, nil)
		liar := of(t, "eve", 1, 1, 10)
		liar.Limit = 10
		cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 4, "")}, Submitted: []*Job{liar}})
		own := liar.ownWord()
		cycle(t, n, Delta{Now: ran, Outliving: []PastRun{{liar, ran}}})
		require.Equal(t, lies, n.predictions.record.Doubts(own), "it runs for %d", ran)
		want := backfill.Time(10)
		if lies {
			want = max(ran, DefaultEstimate)
		}
		require.LessOrEqual(t, want, n.predictions.requested(of(t, "eve", 2, 1, 10)))
		cycle(t, n, Delta{Now: ran, Completed: []backfill.JobID{1}, Ran: map[backfill.JobID]backfill.Time{1: ran}})
		require.Equal(t, lies, n.predictions.record.Doubts(own), "it ran for %d", ran)
	}
}
