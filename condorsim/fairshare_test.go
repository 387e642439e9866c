package condorsim_test

import (
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// fairShare orders a simulated queue as HTCondor's user priorities do: a job's key is (the cpus that its
// user has + the cpus of the user's jobs up to this one) × the user's priority, which follows the use
// with a half-life of a day. It is also a sink, which learns who runs what.
type fairShare struct {
	now   backfill.Time
	users map[string]*sharer
	ahead map[backfill.JobID]float64 // cpus of the user's jobs up to this one
}

// sharer is a user: cpus in use, those of waiting jobs, and the priority.
type sharer struct{ used, waiting, priority float64 }

func newFairShare() *fairShare {
	return &fairShare{users: map[string]*sharer{}, ahead: map[backfill.JobID]float64{}}
}

func (f *fairShare) user(name string) *sharer {
	if f.users[name] == nil {
		f.users[name] = &sharer{priority: 0.5}
	}
	return f.users[name]
}

// advance brings the priorities to an instant.
func (f *fairShare) advance(now backfill.Time) {
	beta := math.Pow(0.5, float64(now-f.now)/86_400)
	for _, u := range f.users {
		u.priority = max(0.5, u.priority*beta+u.used*(1-beta))
	}
	f.now = now
}

func (f *fairShare) key(j *backfill.Job, at backfill.Moment) (float64, backfill.Moves) {
	f.advance(at.Now)
	u := f.user(j.Labels["owner"])
	ahead, known := f.ahead[j.ID]
	if !known {
		u.waiting += float64(j.Width())
		ahead = u.waiting
		f.ahead[j.ID] = ahead
	}
	return (u.used + ahead) * u.priority, backfill.WithTime
}

// Cycle implements [condorsim.Sink].
func (f *fairShare) Cycle(r *negotiator.Report) error {
	f.advance(r.State.Now())
	for _, u := range f.users {
		u.used, u.waiting = 0, 0
	}
	for job := range r.State.Running() {
		f.user(job.Job.Labels["owner"]).used += float64(job.Job.Width())
	}
	clear(f.ahead)
	for _, j := range r.State.FirstWaiting(r.State.Waiting()) { // in the order of the keys, so by user, too
		u := f.user(j.Labels["owner"])
		u.waiting += float64(j.Width())
		f.ahead[j.ID] = u.waiting
	}
	return nil
}

// underFairShare runs a trace with fair share and a policy, with what is promised in the order of shares.
func underFairShare(t *testing.T, trace *workload.Trace, policy string, options map[string]string,
	planning backfill.Planning,
) metrics.Metrics {
	t.Helper()
	w, err := condorsim.FromTrace(trace, nil)
	require.NoError(t, err)
	shares := newFairShare()
	c := link(t, policy, options)
	c.Order, c.Planning = negotiator.OrderBy(shares.key), planning
	result, err := condorsim.Run(t.Context(), w, c, nil, shares)
	require.NoError(t, err)
	return result.Metrics()
}

func TestStudy(t *testing.T) {
	name := os.Getenv("TRACE")
	if name == "" {
		t.Skip()
	}
	load := 0.0
	if os.Getenv("LOAD") != "" {
		load = 0.9
	}
	trace, err := workload.Open(shared+"/traces/"+name, workload.Options{Load: load, Max: 15000})
	require.NoError(t, err)
	_ = thorough.Share
	r := backfill.Planning{Depth: 10_000, Reorder: true}
	h := r
	h.Horizon = 90
	for _, x := range []struct {
		name, policy string
		options      map[string]string
		planning     backfill.Planning
	}{
		{"ibb", "ibb", nil, backfill.Planning{}},
		{"easy", "easy", nil, backfill.Planning{}},
		{"easy keep", "easy", map[string]string{"keep": "true"}, backfill.Planning{}},
		{"slack", "slack", nil, r},
		{"slack 90", "slack", nil, h},
		{"conservative", "conservative", nil, r},
		{"conservative 90", "conservative", nil, h},
		{"first-fit", "first-fit", nil, backfill.Planning{}},
	} {
		m := underFairShare(t, trace, x.policy, x.options, x.planning)
		t.Logf("%-16s wait %8.0f bsld %7.1f p99 %9.0f top5 %9.0f widest %9.0f util %.3f makespan %d", x.name, m.MeanWait,
			m.MeanBoundedSlowdown, m.P99Wait, m.Top5Wait, m.Widest10Wait, m.Utilisation, int64(m.Makespan))
	}
}
