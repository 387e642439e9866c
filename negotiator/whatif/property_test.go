package whatif_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// estimators are those with which drawn pools plan: they learn from who has run.
func estimators(t *rapid.T, spec backfill.PolicySpec) *estimate.Set {
	set, err := estimate.New(estimate.Settings{All: "user"}, nil, spec.Guarantees, false, nil)
	require.NoError(t, err)
	return set
}

// drawPolicy draws one of all policies.
func drawPolicy(t *rapid.T) backfill.PolicySpec {
	return rapid.SampledFrom(policies.All()).Draw(t, "policy")
}

// drawJob draws a job that fits the pools below.
func (p *pool) drawJob(t *rapid.T, id int, now backfill.Time) *negotiator.Job {
	j := p.job(t, id, rapid.IntRange(1, 4).Draw(t, "cpus"), rapid.IntRange(1, 90).Draw(t, "seconds"))
	j.Submit = now
	return j
}

// drawPools draws pools under a policy, so many and all alike, in which jobs wait and run.
func drawPools(t *rapid.T, spec backfill.PolicySpec, count int) (pools []*pool) {
	for range count {
		pools = append(pools, newPool(t, spec.Name, estimators(t, spec)))
	}
	p := pools[0]
	d := negotiator.Delta{SlotsUp: []*negotiator.Slot{p.slot(t, "a", 4), p.slot(t, "b", 2)}}
	for id := range rapid.IntRange(1, 12).Draw(t, "jobs") {
		d.Submitted = append(d.Submitted, p.drawJob(t, id, 0))
	}
	goOn(t, pools, d)
	for range rapid.IntRange(0, 3).Draw(t, "cycles") {
		goOn(t, pools, p.drawDelta(t))
	}
	return pools
}

// drawDelta draws what happens next: time goes on, and some jobs end.
func (p *pool) drawDelta(t *rapid.T) negotiator.Delta {
	next := negotiator.Delta{Now: p.n.State().Now() + backfill.Time(rapid.IntRange(1, 40).Draw(t, "later"))}
	for run := range p.n.State().Running() {
		if rapid.Bool().Draw(t, "ends") {
			next.Completed = append(next.Completed, run.Job.ID)
		}
	}
	return next
}

// goOn has the same happen in all pools.
func goOn(t *rapid.T, pools []*pool, d negotiator.Delta) {
	for _, p := range pools {
		p.cycle(t, d)
	}
}

// drawQuestion draws a question about another policy, order or slots.
func drawQuestion(t *rapid.T) (q whatif.Question) {
	for q.Validate() != nil {
		if rapid.Bool().Draw(t, "other policy") {
			q.Policy = drawPolicy(t).Name
		}
		if rapid.Bool().Draw(t, "other order") {
			q.Order = rapid.SampledFrom([]string{"sjf", "wfp", "widest"}).Draw(t, "order")
		}
		switch rapid.IntRange(0, 3).Draw(t, "slots") {
		case 1:
			q.Without = []string{"b"}
		case 2:
			q.With = []whatif.Slots{{Count: 1, Amounts: map[string]int64{"cpus": 3}}}
		case 3:
			q.Drain = []whatif.Drain{{Slot: "a", From: 100, For: 200}}
		}
	}
	return q
}

// starts are when the jobs that wait are told that they start.
func (p *pool) starts(t *rapid.T) map[backfill.JobID]ahead.Beginning {
	starts, err := p.twins.Starts(context.Background(), outlook.New(p.n), ahead.Bounds{}, nil)
	require.NoError(t, err)
	return starts
}

// TestAskingChangesNothing: whoever is asked goes on as one who is not.
func TestAskingChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pools := drawPools(t, drawPolicy(t), 2)
		for range rapid.IntRange(1, 3).Draw(t, "questions") {
			if rapid.Bool().Draw(t, "about a job") {
				pools[0].ask(t, whatif.Question{Job: &whatif.Job{
					Ad: jobAd(rapid.IntRange(1, 4).Draw(t, "cpus")), Seconds: int64(rapid.IntRange(1, 90).Draw(t, "seconds")),
				}})
			} else {
				pools[0].ask(t, drawQuestion(t))
			}
			d := pools[0].drawDelta(t)
			d.Submitted = []*negotiator.Job{pools[0].drawJob(t, int(100+d.Now), d.Now)}
			goOn(t, pools, d)
			require.Equal(t, pools[1].n.State().Snapshot(), pools[0].n.State().Snapshot())
		}
	})
}

// TestThePresentIsWhatIsTold: what an answer compares with is what the jobs are told now, and its counts
// are of the jobs that it lists.
func TestThePresentIsWhatIsTold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPools(t, drawPolicy(t), 1)[0]
		told, q := p.starts(t), drawQuestion(t)
		c := p.ask(t, q).Change
		var longest int64
		for i := range c.Moves {
			m := &c.Moves[len(c.Moves)-1-i] // those that move most come first
			before, after := backfill.Forever, backfill.Forever
			if m.Before != nil {
				before = backfill.Time(*m.Before)
			}
			if m.After != nil {
				after = backfill.Time(*m.After)
			}
			require.NotEqual(t, before, after)
			id := slices.IndexFunc(p.n.State().FirstWaiting(99), func(j *backfill.Job) bool { return p.n.Job(j.ID).Name == m.Job })
			require.GreaterOrEqual(t, id, 0)
			if begins, starts := told[p.n.State().FirstWaiting(99)[id].ID]; starts {
				require.Equal(t, begins.At, before)
			} else {
				require.Equal(t, backfill.Forever, before)
			}
			moves := int64(max(before-after, after-before))
			require.GreaterOrEqual(t, moves, longest)
			longest = moves
		}
		require.Len(t, c.Moves, c.Earlier+c.Later+c.Never+c.Anew)
		require.Equal(t, p.n.State().Waiting(), len(c.Moves)+c.Same)
		require.Equal(t, len(told)-c.Never, c.Present.Jobs)
		require.Equal(t, c.Present.Jobs, c.Changed.Jobs)
		for _, b := range c.Broken {
			require.True(t, b.After == nil || *b.After > b.Promised)
		}
		require.LessOrEqual(t, len(c.Broken), c.Promises)
	})
}

// TestAJobThatComesIsToldWhatWasAnswered: a job that is asked about, and is then submitted, starts when
// the answer said, if nothing else happens.
func TestAJobThatComesIsToldWhatWasAnswered(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPools(t, drawPolicy(t), 1)[0]
		cpus, seconds := rapid.IntRange(1, 4).Draw(t, "cpus"), rapid.IntRange(1, 90).Draw(t, "seconds")
		const id = 99
		answer := p.ask(t, whatif.Question{Job: &whatif.Job{
			Ad: jobAd(cpus) + "\nOwner = \"user0\"", Seconds: int64(seconds),
		}}).Job
		require.NotNil(t, answer.Start)
		job := p.job(t, id, cpus, seconds)
		job.Submit = p.n.State().Now()
		p.cycle(t, negotiator.Delta{Now: job.Submit, Submitted: []*negotiator.Job{job}})
		if p.n.State().IsRunning(id) {
			require.EqualValues(t, job.Submit, *answer.Start)
			return
		}
		require.EqualValues(t, p.starts(t)[id].At, *answer.Start)
		_, promises := p.n.State().Policy()
		require.Equal(t, promises, answer.Promised != nil)
	})
}

// TestMoreSlotsDoNotDelayTheFirst: in a queue that nobody passes, the first job starts no later for
// more slots, and no earlier for fewer.
func TestMoreSlotsDoNotDelayTheFirst(t *testing.T) {
	spec, err := policies.Named("fcfs")
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		p := drawPools(t, spec, 1)[0]
		queue := p.n.State().FirstWaiting(1)
		if len(queue) == 0 {
			return
		}
		first := p.n.Job(queue[0].ID).Name
		move := func(q whatif.Question) (before, after *int64, moves bool) {
			for _, m := range p.ask(t, q).Change.Moves {
				if m.Job == first {
					return m.Before, m.After, true
				}
			}
			return nil, nil, false
		}
		before, after, moves := move(whatif.Question{With: []whatif.Slots{{
			Count: rapid.IntRange(1, 2).Draw(t, "more"), Amounts: map[string]int64{"cpus": int64(rapid.IntRange(1, 4).Draw(t, "cpus"))},
		}}})
		require.True(t, !moves || *after < *before)
		before, after, moves = move(whatif.Question{Without: []string{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "less")}})
		require.True(t, !moves || after == nil || *after > *before)
	})
}
