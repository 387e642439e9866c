package auto

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

const week = 604_800

// pasture is a pool whose deltas are written by hand, with a chooser of which only the record sees the cycles.
type pasture struct {
	t *testing.T
	n *negotiator.Negotiator
	c *Chooser
}

func newPasture(t *testing.T, slots int) *pasture {
	t.Helper()
	c, err := New(map[string]string{"portfolio": "easy:fcfs easy:sjf"}, 1, nil)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	config := negotiator.Config{Schema: negotiator.DefaultSchema()}
	c.TakeCharge(&config)
	n, err := negotiator.New(config)
	require.NoError(t, err)
	p := &pasture{t, n, c}
	p.cycle(negotiator.Delta{SlotsUp: p.slots(0, slots)})
	return p
}

func (p *pasture) read(text string, about ...any) *classad.ClassAd {
	ad, err := classad.Parse(fmt.Sprintf(text, about...))
	require.NoError(p.t, err)
	return ad
}

// slots returns so many slots of 8 cpus from the given number on.
func (p *pasture) slots(from, n int) (all []*negotiator.Slot) {
	for i := range n {
		slot, err := negotiator.DefaultSchema().SlotFromAd(p.read(
			`[Name = "s%d"; Cpus = 8; Memory = 64000; Disk = 1000000; Requirements = true]`, from+i))
		require.NoError(p.t, err)
		all = append(all, slot)
	}
	return all
}

// jobs returns so many jobs from the given number on, who request an hour or ten.
func (p *pasture) jobs(from, n, at, cpus, request int) (all []*negotiator.Job) {
	for i := range n {
		job, err := negotiator.DefaultSchema().JobFromAd(backfill.JobID(from+i), p.read("[ClusterId = %d; ProcId = 0; QDate = %d; "+
			"RequestCpus = %d; RequestMemory = 1000; EstimatedRunTime = %d; Owner = \"u\"; Requirements = true]",
			from+i, at, cpus, request))
		require.NoError(p.t, err)
		all = append(all, job)
	}
	return all
}

func (p *pasture) cycle(d negotiator.Delta) *negotiator.Report {
	p.t.Helper()
	r, err := p.n.RunCycle(p.t.Context(), d)
	require.NoError(p.t, err)
	p.c.record.see(r)
	return r
}

// begin begins a period, over is when it is over.
func (p *pasture) begin(r *negotiator.Report) {
	f, dropped := p.c.record.endPeriod(r, week)
	require.Nil(p.t, f)
	require.Nil(p.t, dropped)
	require.NotNil(p.t, p.c.record.period)
}

func (p *pasture) over(d negotiator.Delta) (*Future, []string) {
	d.Now = p.c.record.period.began + week
	return p.c.record.endPeriod(p.cycle(d), week)
}

// TestJobsThatLeave: in hindsight, a job that was removed, or put on hold, as it ran, runs for as long as
// it did; one that never ran is left out.
func TestJobsThatLeave(t *testing.T) {
	p := newPasture(t, 2)
	p.cycle(negotiator.Delta{Now: 1, Submitted: p.jobs(1, 10, 1, 1, 36_000)})
	var ids []backfill.JobID
	for i := range backfill.JobID(10) {
		ids = append(ids, i+1)
	}
	p.cycle(negotiator.Delta{Now: 61, Completed: ids}) // those of this user end soon
	p.begin(p.cycle(negotiator.Delta{Now: 100, Submitted: p.jobs(20, 4, 100, 8, 36_000)}))
	p.cycle(negotiator.Delta{Now: 110, Submitted: p.jobs(24, 2, 110, 8, 36_000)})
	p.cycle(negotiator.Delta{Now: 130, Removed: []backfill.JobID{20, 22, 24}}) // 20 ran; 23 runs now
	p.cycle(negotiator.Delta{
		Now: 170, Completed: []backfill.JobID{21}, Ran: map[backfill.JobID]backfill.Time{21: -1}, StartFailed: []backfill.JobID{23},
	})
	p.cycle(negotiator.Delta{Now: 180, Removed: []backfill.JobID{23}})
	f, dropped := p.over(negotiator.Delta{Completed: []backfill.JobID{25}})
	require.Nil(t, dropped)
	require.Equal(t, backfill.Time(30), f.runs[20], "it was removed as it ran")
	require.Equal(t, backfill.Time(70), f.runs[21], "it was put on hold")
	require.Equal(t, backfill.Time(10), f.runs[23], "it was put back into the queue and started once more")
	require.Equal(t, map[backfill.JobID]bool{22: true, 24: true}, f.gone)
	require.NotContains(t, f.runs, backfill.JobID(24))
	require.Len(t, f.Arrivals, 1)
	require.Equal(t, backfill.JobID(25), f.Arrivals[0].ID)
	found, failed, err := Play(t.Context(), *f, p.c.candidates, 1)
	require.NoError(t, err)
	require.Equal(t, []error{nil, nil}, failed)
	require.Equal(t, 2, found[0].Jobs, "of four who waited or came, two left before they ran")
}

// TestAJobThatComesBack: one that left without having run, as on hold, and comes again is there once.
func TestAJobThatComesBack(t *testing.T) {
	p := newPasture(t, 1)
	p.begin(p.cycle(negotiator.Delta{Now: 1, Submitted: p.jobs(1, 2, 1, 8, 3600)}))
	p.cycle(negotiator.Delta{Now: 5, Submitted: p.jobs(3, 1, 5, 8, 3600)})
	p.cycle(negotiator.Delta{Now: 6, Removed: []backfill.JobID{2, 3}})
	p.cycle(negotiator.Delta{Now: 9, Submitted: append(p.jobs(2, 1, 1, 8, 3600), p.jobs(3, 1, 5, 8, 3600)...)})
	p.cycle(negotiator.Delta{Now: 100, Completed: []backfill.JobID{1}})
	p.cycle(negotiator.Delta{Now: 200, Completed: []backfill.JobID{2}})
	f, _ := p.over(negotiator.Delta{Completed: []backfill.JobID{3}})
	require.Empty(t, f.gone)
	require.Len(t, f.Arrivals, 1)
	require.Equal(t, backfill.Time(100), f.runs[2])
	found, _, err := Play(t.Context(), *f, p.c.candidates, 1)
	require.NoError(t, err)
	require.Equal(t, 2, found[0].Jobs)
}

// TestSlotsThatCome: jobs that came after a slot did are played on the slots that were there before; one
// that had that slot alone is left out.
func TestSlotsThatCome(t *testing.T) {
	p := newPasture(t, 20)
	p.begin(p.cycle(negotiator.Delta{Now: 1, Submitted: p.jobs(1, 1, 1, 8, 3600)}))
	p.cycle(negotiator.Delta{Now: week / 2, SlotsUp: p.slots(20, 1)})
	alone, err := negotiator.DefaultSchema().JobFromAd(4, p.read("[ClusterId = 4; ProcId = 0; QDate = %d; RequestCpus = 2; "+
		"RequestMemory = 1000; EstimatedRunTime = 60; Owner = \"u\"; Requirements = TARGET.Name == \"s20\"]", week/2+5))
	require.NoError(t, err)
	p.cycle(negotiator.Delta{Now: week/2 + 5, Submitted: append(p.jobs(3, 1, week/2+5, 2, 60), alone)})
	f, dropped := p.over(negotiator.Delta{Completed: []backfill.JobID{1, 3, 4}})
	require.Nil(t, dropped)
	require.Len(t, f.Arrivals, 1)
	require.NotContains(t, f.runs, backfill.JobID(4))
	found, _, err := Play(t.Context(), *f, p.c.candidates, 1)
	require.NoError(t, err)
	require.Equal(t, 1, found[0].Jobs)
	require.Zero(t, found[0].MeanWait, "it starts at once on the others")
}

// TestAPoolThatMoves: a period in which the pool's cpus change by much does not count, and that is told
// once; while the pool comes up, it begins anew.
func TestAPoolThatMoves(t *testing.T) {
	p := newPasture(t, 4)
	p.begin(p.cycle(negotiator.Delta{Now: 1}))
	r := p.cycle(negotiator.Delta{Now: 60, SlotsUp: p.slots(4, 10)})
	p.begin(r)
	require.Equal(t, backfill.Time(60), p.c.record.period.began, "it comes up")
	r = p.cycle(negotiator.Delta{Now: week / 2, SlotsDown: []string{"s0", "s1"}, Submitted: p.jobs(1, 1, week/2, 1, 60)})
	f, dropped := p.c.record.endPeriod(r, week)
	require.Nil(t, f)
	require.Nil(t, dropped)
	p.c.record.endPeriod(p.cycle(negotiator.Delta{Now: week/2 + 60, SlotsUp: p.slots(0, 2)}), week)
	f, dropped = p.over(negotiator.Delta{Completed: []backfill.JobID{1}})
	require.Nil(t, f)
	require.Equal(t, []string{"the pool's cpus changed by more than 10 % in its period"}, dropped)
	p.cycle(negotiator.Delta{Now: 2 * week, Submitted: p.jobs(2, 1, 2*week, 1, 60)})
	f, dropped = p.over(negotiator.Delta{Completed: []backfill.JobID{2}})
	require.NotNil(t, f, "the next one counts")
	require.Nil(t, dropped)
}

// TestFullPeriods: a period with many jobs at its beginning counts, one that is soon full of arrivals does
// not, and none begins with too many.
func TestFullPeriods(t *testing.T) {
	p := newPasture(t, 1)
	p.begin(p.cycle(negotiator.Delta{Now: 1, Submitted: p.jobs(1, mostInPeriod-1, 1, 1, 36_000)}))
	for i := range 50 {
		p.cycle(negotiator.Delta{Now: backfill.Time(10 + i), Submitted: p.jobs(10_000+i, 1, 10+i, 1, 60)})
	}
	f, dropped := p.over(negotiator.Delta{})
	require.Len(t, f.Arrivals, 50)
	require.InDelta(t, 1, f.share, 0)
	require.Equal(t, backfill.Time(week), f.Horizon)
	require.Equal(t, []string{"no period begins while there are more than 5000 jobs"}, dropped)
	_, dropped = p.c.record.endPeriod(p.cycle(negotiator.Delta{Now: 2 * week}), week)
	require.Nil(t, dropped, "it is told once")
	var ids []backfill.JobID
	for id := range p.c.record.known {
		if !p.n.State().IsRunning(id) {
			ids = append(ids, id)
		}
	}
	p.begin(p.cycle(negotiator.Delta{Now: 2*week + 1, Removed: ids}))
	p.cycle(negotiator.Delta{Now: 2*week + 2, Submitted: p.jobs(20_000, mostInPeriod, 2*week+2, 1, 60)})
	p.cycle(negotiator.Delta{Now: 2*week + 3, Submitted: p.jobs(30_000, 1, 2*week+3, 1, 60)})
	f, dropped = p.over(negotiator.Delta{})
	require.Nil(t, f)
	require.Equal(t, "more than 5000 jobs came in the first 2 s of its period", dropped[0])
}
