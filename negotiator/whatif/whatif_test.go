package whatif_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// pool is a negotiator that is asked about.
type pool struct {
	n      *negotiator.Negotiator
	twins  outlook.Twins
	schema negotiator.Schema
}

func newPool(t require.TestingT, policy string, set *estimate.Set) *pool {
	schema := negotiator.Schema{Resources: []string{"cpus", "memory"}, Estimates: []string{"EstimatedRunTime"}}
	spec, err := policies.Named(policy)
	require.NoError(t, err)
	d, err := backfill.Link(spec, nil)
	require.NoError(t, err)
	fallback, err := backfill.Link(policies.FallbackFor(spec), nil)
	require.NoError(t, err)
	n, err := negotiator.New(negotiator.Config{Schema: schema, Policy: d, Fallback: fallback, Estimates: set})
	require.NoError(t, err)
	return &pool{n: n, schema: schema}
}

// slot is a slot of the machine that has its name.
func (p *pool) slot(t require.TestingT, name string, cpus int) *negotiator.Slot {
	ad, err := classad.ParseOld(fmt.Sprintf(
		"Name = \"slot1@%s.site\"\nCpus = %d\nMemory = 1000\nRequirements = TARGET.RequestCpus <= Cpus", name, cpus))
	require.NoError(t, err)
	s, err := p.schema.SlotFromAd(ad)
	require.NoError(t, err)
	return s
}

func (p *pool) job(t require.TestingT, id, cpus, seconds int) *negotiator.Job {
	ad, err := classad.ParseOld(fmt.Sprintf("ClusterId = 1\nProcId = %d\nQDate = 0\nEstimatedRunTime = %d\n"+
		"RequestCpus = %d\nRequirements = true\nOwner = \"user%d\"", id, seconds, cpus, id%3))
	require.NoError(t, err)
	j, err := p.schema.JobFromAd(backfill.JobID(id), ad)
	require.NoError(t, err)
	return j
}

func (p *pool) cycle(t require.TestingT, d negotiator.Delta) {
	_, err := p.n.RunCycle(context.Background(), d)
	require.NoError(t, err)
}

func (p *pool) schedule() *whatif.Schedule {
	return &whatif.Schedule{
		Look:  func(_ context.Context, look func(*negotiator.Negotiator) error) error { return look(p.n) },
		Twins: &p.twins,
	}
}

// ask asks, and checks that the schedule is as it was.
func (p *pool) ask(t require.TestingT, q whatif.Question) *whatif.Answer {
	before := p.n.State().Snapshot()
	a, err := p.schedule().Answer(context.Background(), q)
	require.NoError(t, err)
	require.Equal(t, before, p.n.State().Snapshot())
	return a
}

// small is a pool of two machines with two cpus each. Job 1 runs on the first until 100, job 2 on the
// second until 40; job 3 waits for both until 100, and job 4 for a cpu behind it.
func small(t *testing.T, policy string) *pool {
	t.Helper()
	p := newPool(t, policy, nil)
	wide := p.job(t, 3, 2, 50)
	wide.Nodes = 2
	p.cycle(t, negotiator.Delta{
		SlotsUp:   []*negotiator.Slot{p.slot(t, "a", 2), p.slot(t, "b", 2)},
		Submitted: []*negotiator.Job{p.job(t, 1, 2, 100), p.job(t, 2, 2, 40), wide, p.job(t, 4, 1, 80)},
	})
	require.Equal(t, 2, p.n.State().RunningJobs())
	return p
}

func jobAd(cpus int) string { return fmt.Sprintf("RequestCpus = %d\nRequirements = true", cpus) }

// TestWhenAJobWouldStart asks for jobs of several sizes and run times.
func TestWhenAJobWouldStart(t *testing.T) {
	p := small(t, "conservative")
	for _, tt := range []struct {
		cpus    int
		seconds int64
		start   int64
		sooner  []whatif.Alternative
	}{
		{2, 60, 40, nil},
		{2, 61, 150, []whatif.Alternative{{Chunks: 1, Seconds: 30, Start: 40}}},
		{1, 60, 40, nil},
	} {
		a := p.ask(t, whatif.Question{Job: &whatif.Job{Ad: jobAd(tt.cpus), Seconds: tt.seconds}})
		require.Equal(t, tt.start, *a.Job.Start, "%v", tt)
		require.Equal(t, tt.start, *a.Job.Promised)
		require.Zero(t, a.Job.Delayed)
		for i, want := range tt.sooner {
			require.Equal(t, want.Seconds, a.Job.Sooner[i].Seconds)
			require.Equal(t, want.Start, a.Job.Sooner[i].Start)
		}
	}
}

// TestNowIfItAsksForLess finds the longest run time with which a job starts at once.
func TestNowIfItAsksForLess(t *testing.T) {
	for _, policy := range []string{"easy", "conservative"} {
		p := newPool(t, policy, nil)
		p.cycle(t, negotiator.Delta{
			SlotsUp:   []*negotiator.Slot{p.slot(t, "a", 4)},
			Submitted: []*negotiator.Job{p.job(t, 1, 3, 47*60), p.job(t, 2, 4, 60)},
		})
		a := p.ask(t, whatif.Question{Job: &whatif.Job{Ad: jobAd(1), Seconds: 7200}})
		require.EqualValues(t, 48*60, *a.Job.Start, policy)
		require.EqualValues(t, 47*60, a.Job.Sooner[0].Seconds)
		require.Zero(t, a.Job.Sooner[0].Start)
	}
}

// TestLimits: a job waits for a limit as others do, also for one that binds nobody but it.
func TestLimits(t *testing.T) {
	for name, tt := range map[string]struct{ told, untold []negotiator.Limit }{
		"known":            {told: []negotiator.Limit{{Name: "sw", Height: 2}}},
		"comes with it":    {untold: []negotiator.Limit{{Name: "sw", Height: 2}}},
		"another is known": {told: []negotiator.Limit{{Name: "hw", Height: 1}}, untold: []negotiator.Limit{{Name: "sw", Height: 2}}},
	} {
		p := newPool(t, "conservative", nil)
		licensed := p.job(t, 1, 1, 100)
		licensed.Takes = []negotiator.Take{{Limit: "sw", Amount: 1}}
		p.cycle(t, negotiator.Delta{
			SlotsUp: []*negotiator.Slot{p.slot(t, "a", 8)}, Limits: tt.told, Submitted: []*negotiator.Job{licensed},
		})
		for amount, start := range map[int64]int64{1: 0, 2: 100} {
			s := p.schedule()
			s.Charge = func(j *negotiator.Job) ([]negotiator.Limit, error) {
				j.Takes = []negotiator.Take{{Limit: "sw", Amount: amount}}
				return tt.untold, nil
			}
			before := p.n.State().Snapshot()
			a, err := s.Answer(t.Context(), whatif.Question{Job: &whatif.Job{Ad: jobAd(1), Seconds: 50}})
			require.NoError(t, err)
			require.Equal(t, start, *a.Job.Start, name)
			require.Zero(t, a.Job.Delayed)
			require.Equal(t, before, p.n.State().Snapshot())
		}
		s := p.schedule()
		s.Charge = func(*negotiator.Job) ([]negotiator.Limit, error) { return nil, errors.New("can never start") }
		_, err := s.Answer(t.Context(), whatif.Question{Job: &whatif.Job{Ad: jobAd(1), Seconds: 50}})
		require.EqualError(t, err, "the job cannot run in this pool: can never start")
	}
}

// TestOtherSlots takes slots away, adds some, and drains one.
func TestOtherSlots(t *testing.T) {
	p := small(t, "conservative")
	starts := func(q whatif.Question) (text string, c *whatif.ChangeAnswer) {
		c = p.ask(t, q).Change
		var moves strings.Builder
		for _, m := range c.Moves {
			if m.After == nil {
				moves.WriteString(m.Job + " never; ")
			} else {
				fmt.Fprintf(&moves, "%s %d; ", m.Job, *m.After)
			}
		}
		text = moves.String()
		return text, c
	}
	moves, c := starts(whatif.Question{Without: []string{"b"}})
	require.Equal(t, "1.3 never; 1.4 100; ", moves)
	require.Len(t, c.Broken, 1, "job 4 was promised 100, behind job 3 or with what it leaves")
	require.Equal(t, "1.3", c.Broken[0].Job)

	moves, c = starts(whatif.Question{With: []whatif.Slots{{Count: 2, Amounts: map[string]int64{"cpus": 2}}}})
	require.Empty(t, c.Broken)
	require.Equal(t, "1.4 40; 1.3 0; ", moves, "the one that moves most first")

	_, c = starts(whatif.Question{Drain: []whatif.Drain{{Slot: "slot1@b.site", From: 30, For: 300}}})
	require.NotEmpty(t, c.Broken)
	require.EqualValues(t, 330, *c.Broken[0].After)
	require.Zero(t, c.Never)
}

// TestBrokenPromises: another policy's broken promises are listed, even if its plan is better in all.
func TestBrokenPromises(t *testing.T) {
	p := small(t, "conservative")
	c := p.ask(t, whatif.Question{Policy: "first-fit"}).Change
	require.Equal(t, 2, c.Promises)
	require.Equal(t, 2, c.Lifted)
	require.Len(t, c.Broken, 1)
	require.Equal(t, "1.3", c.Broken[0].Job)
	require.EqualValues(t, 100, c.Broken[0].Promised)
	require.EqualValues(t, 120, *c.Broken[0].After)
}

// TestBounds: a question that takes too many rounds is answered with gaps, and says so.
func TestBounds(t *testing.T) {
	p := small(t, "conservative")
	s := p.schedule()
	s.Rounds = 2
	a, err := s.Answer(t.Context(), whatif.Question{Policy: "easy"})
	require.NoError(t, err)
	require.Equal(t, "it would take too many rounds", a.Change.Cut)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, err = p.schedule().Answer(ctx, whatif.Question{Policy: "easy"})
	require.NoError(t, err)
	require.Equal(t, "it would take too long", a.Change.Cut)
}

// TestNoChangeNoDifference: on random pools, a question that changes nothing finds nothing.
func TestNoChangeNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := drawPolicy(t)
		p := drawPools(t, spec, 1)[0]
		c := p.ask(t, whatif.Question{Policy: spec.Name}).Change
		require.Empty(t, c.Moves)
		require.Equal(t, c.Present, c.Changed)
		job := p.ask(t, whatif.Question{Job: &whatif.Job{Ad: jobAd(1), Seconds: 10}}).Job
		require.NotNil(t, job.Start)
		told := *job.Start
		if job.ToldBy == whatif.ByMedian {
			told = *job.Mid
		}
		for _, sooner := range job.Sooner {
			require.Less(t, sooner.Told(), told)
		}
	})
}
