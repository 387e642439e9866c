package daemon

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// screen keeps the last picture, and what was broken.
type screen struct {
	mu     sync.Mutex
	last   *picture.Picture
	broken []livepage.Broken
	// elsewhere are the jobs that another negotiator has started.
	elsewhere []backfill.JobID
}

func (s *screen) Show(p *picture.Picture) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = p
}

func (s *screen) Broke(b livepage.Broken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = append(s.broken, b)
}

func (s *screen) Elsewhere(id backfill.JobID, _ int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.elsewhere = append(s.elsewhere, id)
}

// at waits for the picture of an instant.
func (s *screen) at(t *testing.T, now int64) *picture.Picture {
	t.Helper()
	poll.Equal(t, now, func() int64 {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.last == nil {
			return 0
		}
		return s.last.Head.Now
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// TestPictures follows a job from its reservation to its start, beside one that is in no plan, and sees a
// guarantee broken that a lease had broken.
func TestPictures(t *testing.T) {
	w := newWorld()
	w.unplanned = []track.Unplanned{
		{ID: 9, Job: "3.7", Schedd: "b", Owner: "carol", Why: "is on its own"}, {ID: 2, Job: "2.0", Schedd: "a", Owner: "alice"},
	}
	o := w.options("conservative")
	o.About = func() (string, string) { return "it plans", "process 7" }
	d, seen := New(o), &screen{}
	d.ShowOn(seen)
	live(t, d)
	w.deltas <- w.begin() // one job runs, and one waits for its place
	p := seen.at(t, 1000)
	situations := map[string]picture.Job{}
	for _, j := range p.Jobs {
		situations[j.Name+" "+j.Situation] = j
	}
	require.Len(t, situations, 3, "a job that the plan knows is not told twice: %v", situations)
	runs, waits := situations["1.0 matched"], situations["2.0 reserved"]
	require.Equal(t, []picture.Piece{{Slot: 0, Cpus: runs.Cpus}}, runs.At)
	require.Equal(t, 1, waits.Position)
	require.True(t, waits.Guarantee.Known)
	require.Equal(t, runs.End, waits.Start)
	require.Equal(t, "alice", waits.Owner)
	require.Equal(t, "is on its own", situations["3.7 waits"].Reason)
	require.Equal(t, "conservative", p.Head.Policy)
	require.True(t, p.Head.Guarantees)
	require.NotEmpty(t, p.Head.Clocks)
	require.Equal(t, 1, p.Head.Slots)
	require.NotContains(t, p.Head.Resources, "claims")
	require.Len(t, p.Head.Use, len(p.Head.Resources))
	require.Len(t, p.Slots[0].Capacity, len(p.Head.Resources))

	w.lose(track.Broken{Job: "2.0", Promised: 1100, Now: 1200, Cause: "lease"})
	w.deltas <- negotiator.Delta{Now: 1010, Began: []negotiator.Began{{Job: 1, At: 1005}}}
	seen.at(t, 1010)
	require.Equal(t, []livepage.Broken{{
		ID: livepage.NoID, Job: "2.0", Promised: 1100, Now: picture.At(1200), Cause: "lease", At: 1010,
	}}, seen.broken)

	w.deltas <- negotiator.Delta{Now: 1100, Completed: []backfill.JobID{1}}
	p = seen.at(t, 1100)
	require.Equal(t, 1, p.Head.Ended)
	require.Equal(t, "2.0", p.Jobs[0].Name)
	require.Equal(t, "matched", p.Jobs[0].Situation)
	all := d.Overview()
	require.Equal(t, "conservative", all.Policy.Name)
	require.Equal(t, "it plans", all.Policy.Text)
	require.Equal(t, []livepage.Plugin{{Name: "conservative", State: "process 7"}}, all.Plugins)
	require.Len(t, all.Cycles, 3)
	require.Equal(t, 3, all.Cycles[0].Number)
	require.Len(t, all.Cycles[0].Phases, 6)
}
