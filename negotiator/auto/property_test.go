package auto

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// arrival is a job that comes, and how long it runs.
type arrival struct {
	at, estimate, runs backfill.Time
	cpus               int
}

// drawArrivals draws the jobs of an hour or so.
func drawArrivals(t *rapid.T) (all []arrival) {
	at := backfill.Time(0)
	for range rapid.IntRange(5, 30).Draw(t, "jobs") {
		at += backfill.Time(rapid.IntRange(0, 200).Draw(t, "pause"))
		estimate := backfill.Time(rapid.IntRange(1, 3000).Draw(t, "estimate"))
		all = append(all, arrival{
			at: at, estimate: estimate, cpus: rapid.IntRange(1, 4).Draw(t, "cpus"),
			runs: backfill.Time(rapid.IntRange(1, int(estimate)).Draw(t, "runs")),
		})
	}
	return all
}

// pool has two slots of 4 cpus, and jobs whose IDs are their places in the list.
type pool struct {
	t       *rapid.T
	jobs    []arrival
	now     backfill.Time
	arrived int
	ends    map[backfill.JobID]backfill.Time // of those that run
	starts  map[backfill.JobID]backfill.Time
}

func (p *pool) read(format string, values ...any) *classad.ClassAd {
	ad, err := classad.Parse(fmt.Sprintf(format, values...))
	require.NoError(p.t, err)
	return ad
}

// Fetch goes on to when a job comes or ends, or the negotiator wakes.
func (p *pool) Fetch(_ context.Context, wake backfill.Time) (d negotiator.Delta, err error) {
	schema := negotiator.DefaultSchema()
	if p.ends == nil {
		p.ends, p.starts = map[backfill.JobID]backfill.Time{}, map[backfill.JobID]backfill.Time{}
		for i := range 2 {
			slot, wrong := schema.SlotFromAd(p.read(
				`[Name = "s%d"; Cpus = 4; Memory = 64000; Disk = 1000000; Requirements = true]`, i))
			require.NoError(p.t, wrong)
			d.SlotsUp = append(d.SlotsUp, slot)
		}
	}
	next := wake
	if p.arrived < len(p.jobs) {
		next = min(next, p.jobs[p.arrived].at)
	}
	for _, at := range p.ends {
		next = min(next, at)
	}
	if next >= backfill.Forever {
		return d, io.EOF
	}
	p.now = max(p.now, next)
	d.Now = p.now
	for _, id := range slices.Sorted(maps.Keys(p.ends)) {
		if p.ends[id] <= p.now {
			d.Completed = append(d.Completed, id)
			delete(p.ends, id)
		}
	}
	for ; p.arrived < len(p.jobs) && p.jobs[p.arrived].at <= p.now; p.arrived++ {
		j := p.jobs[p.arrived]
		job, wrong := schema.JobFromAd(backfill.JobID(p.arrived), p.read("[ClusterId = %d; ProcId = 0; QDate = %d; "+
			"RequestCpus = %d; RequestMemory = 1000; EstimatedRunTime = %d; Owner = \"user%d\"; Requirements = true]",
			p.arrived, j.at, j.cpus, j.estimate, p.arrived%3))
		require.NoError(p.t, wrong)
		d.Submitted = append(d.Submitted, job)
	}
	return d, nil
}

// Act starts jobs.
func (p *pool) Act(_ context.Context, matches []negotiator.Match) error {
	for _, m := range matches {
		p.starts[m.Job.ID], p.ends[m.Job.ID] = p.now, p.now+p.jobs[m.Job.ID].runs
	}
	return nil
}

// schedule schedules the jobs, and returns when each starts.
func schedule(t *rapid.T, jobs []arrival, c negotiator.Config, sinks ...negotiator.Sink) map[backfill.JobID]backfill.Time {
	c.Schema = negotiator.DefaultSchema()
	n, err := negotiator.New(c)
	require.NoError(t, err)
	p := &pool{t: t, jobs: jobs}
	require.NoError(t, negotiator.Run(context.Background(), n, p, sinks...))
	require.Len(t, p.starts, len(jobs))
	return p.starts
}

// chosen schedules the jobs under a chooser, and returns also what it chose.
func chosen(t *rapid.T, jobs []arrival, options map[string]string, workers int,
) (starts map[backfill.JobID]backfill.Time, choices []Choice) {
	c, err := New(options, workers, nil)
	require.NoError(t, err)
	c.Chosen = func(made *Choice) { choices = append(choices, *made) }
	var config negotiator.Config
	c.TakeCharge(&config)
	return schedule(t, jobs, config, c), choices
}

// TestOneCandidateDecidesAlone: a portfolio of one is that policy, however often it is chosen.
func TestOneCandidateDecidesAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"easy:sjf", "slack:wfp", "dc:xfactor", "conservative", "ibb:fcfs"}).Draw(t, "candidate")
		jobs := drawArrivals(t)
		got, choices := chosen(t, jobs, map[string]string{"portfolio": name, "every": "60", "work": "0"}, 1)
		for _, made := range choices {
			require.False(t, made.Changed())
			require.Equal(t, []string{name}, made.Names)
		}
		alone, err := Portfolio([]string{name}, false, LinkedIn)
		require.NoError(t, err)
		require.Equal(t, schedule(t, jobs, negotiator.Config{
			Policy: alone[0].Policy, Fallback: alone[0].Fallback, Order: alone[0].Order,
		}), got)
	})
}

// TestWorkersChooseTheSame: what is chosen, with all figures, does not depend on how many candidates are
// played at a time.
func TestWorkersChooseTheSame(t *testing.T) {
	changes, bases := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		jobs := drawArrivals(t)
		options := map[string]string{"portfolio": "slack:fcfs easy:sjf slack:sjf", "every": "120", "gain": "0", "lift": "0", "base": "600"}
		want, one := chosen(t, jobs, options, 1)
		got, many := chosen(t, jobs, options, rapid.IntRange(2, 5).Draw(t, "workers"))
		require.Equal(t, one, many)
		require.Equal(t, want, got)
		for _, made := range one {
			if made.Changed() {
				changes++
			}
			if made.Base != 0 {
				bases++
			}
		}
	})
	require.Positive(t, changes, "the candidates never differed")
	require.Positive(t, bases, "nor did they in hindsight")
}

// TestTheBestIsChosen: among policies that give guarantees, the best is in charge if it is better than
// the base by the gain, else the base is.
func TestTheBestIsChosen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const gain = 0.25
		c, err := New(map[string]string{
			"portfolio": "slack:sjf slack:fcfs dc:wfp", "objective": "MeanWait", "gain": fmt.Sprint(gain),
		}, 1, nil)
		require.NoError(t, err)
		for range rapid.IntRange(1, 4).Draw(t, "choices") {
			made := Choice{Names: c.names()}
			values := rapid.SliceOfN(rapid.Float64Range(0, 100), 3, 3).Draw(t, "values")
			for _, value := range values {
				made.Expected = append(made.Expected, Measures{Jobs: 1, MeanWait: value})
			}
			before := c.inCharge
			change := c.settle(&made)
			require.Equal(t, before, made.InCharge)
			require.Equal(t, made.Chosen, c.inCharge)
			require.Equal(t, made.Changed(), change != nil)
			best, bar := slices.Min(values), values[0]-gain*math.Abs(values[0])
			if best < values[0] && best <= bar {
				require.InDelta(t, best, values[made.Chosen], 0)
			} else {
				require.Zero(t, made.Chosen)
			}
		}
	})
}
