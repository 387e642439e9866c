package track

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// grouped is a belief in a pool with an accounting group, and the order of its queue.
func grouped(tb testing.TB) (*Belief, backfill.Order) {
	tb.Helper()
	knobs := map[string]string{"group_names": "g"}
	settings, err := accountant.ParseSettings(func(name string) (string, bool) {
		value, set := knobs[strings.ToLower(name)]
		return value, set
	})
	require.NoError(tb, err)
	db, err := statefile.Open(filepath.Join(tb.TempDir(), "state"))
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	a, err := accountant.Open(db, settings)
	require.NoError(tb, err)
	b := New(Settings{Logger: hclog.NewNullLogger(), Patience: patience, Accounting: Accounting{Accountant: a}})
	return b, b.FairShare().Of(nil, nil, 0, negotiator.World{})
}

// waits adds a job that waits.
func (b *Belief) waits(cluster int64, spec *observe.Spec) *Job {
	j := b.find(observe.JobKey{Schedd: "s", Cluster: cluster})
	j.Group, j.Spec, j.Phase = &observe.Group{Spec: spec, Submit: backfill.Time(cluster)}, spec, Waiting
	return j
}

// kindOf is what jobs of a user are planned by.
func kindOf(user string) *observe.Spec {
	return (&observe.Spec{Ad: classad.New()}).As(observe.Charged{User: user}, backfill.Vector{1}, 1, []string{"cpus"})
}

// isPassed tells whether a job counts for none but its user's.
func isPassed(b *Belief, j *Job) bool {
	passed, _ := b.passedOver(j)
	return passed
}

// TestPassedOver: a user of whose jobs some came up a minute ago and did not start has no job counted
// but those of kinds that start.
func TestPassedOver(t *testing.T) {
	b, order := grouped(t)
	cycle := func(at backfill.Time, started ...*Job) {
		b.now = &observe.Snapshot{Now: at, Began: time.Unix(int64(at), 0)}
		b.openOrder()
		for _, j := range b.all {
			order(&backfill.Job{ID: j.ID}, backfill.Moment{})
		}
		for _, j := range started {
			b.Start(negotiator.Match{Job: &negotiator.Job{ID: j.ID}})
		}
	}
	pinned, early := b.waits(1, kindOf("eve@d")), b.waits(2, kindOf("dora@d"))
	early.Group.Deferral.Time = 10_000
	alice := kindOf("alice@d")
	jobs := []*Job{b.waits(3, alice), b.waits(4, alice), b.waits(5, alice)}
	last := b.waits(99, kindOf("carl@d"))
	cycle(1000, jobs[0])
	cycle(1004)
	require.True(t, isPassed(b, early), "it may not start")
	require.False(t, isPassed(b, pinned), "the others started just now")
	cycle(1064, jobs[1])
	require.True(t, isPassed(b, pinned))
	for _, j := range []*Job{jobs[2], last} {
		require.False(t, isPassed(b, j), "nobody came before it")
	}
	b.drop(pinned)
	other := b.waits(6, kindOf("eve@d"))
	cycle(1068)
	require.True(t, isPassed(b, other), "she has others instead")
	more := b.waits(7, other.Group.Spec)
	cycle(1072, other)
	cycle(1076)
	require.False(t, isPassed(b, more), "one like it has started")
	cycle(1080, last)
	cycle(1084)
	require.True(t, isPassed(b, more), "another came before it")
	b.drop(more)
	b.drop(jobs[2])
	cycle(1084 + b.vainFor())
	require.Empty(t, b.passed)
	require.Empty(t, b.starts)
	last = b.waits(8, kindOf("eve@d"))
	cycle(1088 + b.vainFor())
	require.False(t, isPassed(b, last), "that is forgotten")
}

// TestKindsTakeTurns: of the kinds of a user before which others start, the one with the fewest such starts
// is the next to be tried; one that starts begins anew, and what was long ago counts for less.
func TestKindsTakeTurns(t *testing.T) {
	b, order := grouped(t)
	now := backfill.Time(1000)
	cycle := func(started ...*Job) {
		now += 4
		b.now = &observe.Snapshot{Now: now, Began: time.Unix(int64(now), 0)}
		b.openOrder()
		for _, j := range b.all {
			order(&backfill.Job{ID: j.ID}, backfill.Moment{})
		}
		for _, j := range started {
			b.Start(negotiator.Match{Job: &negotiator.Job{ID: j.ID}})
		}
	}
	pinned, able := b.waits(1, kindOf("eve@d")), b.waits(2, kindOf("eve@d"))
	vain := func(j *Job) float64 {
		_, vain := b.passedOver(j)
		return vain
	}
	var others []*Job
	for n := range int64(40) {
		others = append(others, b.waits(100+n, kindOf("others@d")))
	}
	next := func() (j *Job) { // behind all other jobs that wait
		j, others = others[len(others)-1], others[:len(others)-1]
		return j
	}
	b.passed["eve@d"] = &passing{now - 100, now}
	cycle(next(), next())
	b.waits(3, able.Group.Spec)
	cycle(able)
	cycle(next())
	require.Zero(t, vain(able), "it has just started")
	require.Positive(t, vain(pinned))
	for range 30 {
		cycle(next())
	}
	require.InDelta(t, 1, vain(pinned), 1e-3, "one start a cycle")
}

// What a cycle costs in which one of 100,000 jobs in a pool with groups has started.
func BenchmarkPassed(b *testing.B) {
	belief, order := grouped(b)
	kinds := []*observe.Spec{kindOf("alice@d"), kindOf("eve@d")}
	for n := range int64(100_000) {
		belief.waits(n, kinds[n/1000%2])
	}
	for b.Loop() {
		belief.openOrder()
		order(&backfill.Job{ID: 1}, backfill.Moment{})
		belief.started = belief.line[99_999:]
	}
}
