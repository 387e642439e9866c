package condorsim_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// seeing is a policy that notes what it sees in a round: which jobs run since when, and the queue. It
// fails to decide the rounds that are asked for.
type seeing struct {
	backfill.Decider
	w     *condorsim.Workload
	seen  map[backfill.Time][]string
	fails func(now backfill.Time) error
}

func (s *seeing) Decide(ctx context.Context, t *backfill.Transaction) error {
	if err := s.fails(t.Now()); err != nil {
		return err
	}
	if err := s.Decider.Decide(ctx, t); err != nil {
		return err
	}
	var seen []string
	for on := range t.State().Running() {
		seen = append(seen, fmt.Sprintf("%s runs since %d", s.w.Jobs[on.Job.ID].Name, on.Start))
	}
	for j := range t.Queue() {
		seen = append(seen, fmt.Sprintf("%s waits since %d", s.w.Jobs[j.ID].Name, j.Submit))
	}
	s.seen[t.Now()] = seen
	return nil
}

// A refused round that was written is decided alone as it would have been: what runs and waits after it
// is the same as in the whole simulation. The first round of each kind of failure is written, ten at most.
func TestARefusedRoundIsPlayedAlone(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var jobs []workload.Job
	for i, submit := 0, int64(1000); i < 300; i++ {
		submit += random.Int64N(20)
		run := 1 + random.Int64N(200)
		jobs = append(jobs, workload.Job{
			ID: int64(i + 1), Submit: submit, Run: run, Estimate: run + random.Int64N(50), Procs: 1 + random.Int64N(8),
		})
		if i%20 == 19 {
			jobs[i].Release = submit + 100
		}
	}
	run := func(w *condorsim.Workload, fails func(backfill.Time) error, save *condorsim.Rounds,
	) (map[backfill.Time][]string, []string) {
		c := link(t, "easy", nil)
		policy := &seeing{c.Policy, w, map[backfill.Time][]string{}, fails}
		var paths []string
		c.Policy, c.Refused = policy, func(r backfill.Refusal) {
			path, err := save.Save(r)
			require.NoError(t, err)
			if path != "" {
				paths = append(paths, path)
			}
		}
		_, err := condorsim.Run(t.Context(), w, c, nil, save)
		require.NoError(t, err)
		return policy.seen, paths
	}
	w := newWorkload(t, jobs...)
	want, paths := run(w, func(backfill.Time) error { return nil }, condorsim.NewRounds(w, t.TempDir()))
	require.Empty(t, paths)
	tried := 0
	for at := backfill.Time(1000); at < 4000 && tried < 60; at++ {
		if len(want[at]) < 5 {
			continue
		}
		tried++
		_, paths = run(w, func(now backfill.Time) error {
			if now == at {
				return errors.New("no")
			}
			return nil
		}, condorsim.NewRounds(w, t.TempDir()))
		require.Len(t, paths, 1)
		instance, err := workload.OpenInstance(paths[0])
		require.NoError(t, err)
		require.Less(t, len(instance.Trace.Jobs), 250)
		alone, err := condorsim.FromTrace(instance.Trace, nil)
		require.NoError(t, err)
		got, _ := run(alone, func(backfill.Time) error { return nil }, condorsim.NewRounds(alone, t.TempDir()))
		require.ElementsMatch(t, want[at], got[at], "at %d", at)
	}
	require.Equal(t, 60, tried)

	dir, n := t.TempDir(), 0
	_, paths = run(w, func(now backfill.Time) error {
		if n++; now%3 > 0 {
			return nil
		}
		return errors.New("no " + string(rune('a'+n%20)))
	}, condorsim.NewRounds(w, dir))
	require.Len(t, paths, 10)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 10)
}

// A refused decision is told of with the job's name in the workload, and so it is when the round is run
// alone.
func TestARefusedDecisionNamesTheJob(t *testing.T) {
	kept := trace(workload.Job{Run: 10}, workload.Job{Submit: 20, Run: 10})
	kept.Jobs[0].ID, kept.Jobs[1].ID = 5, 12
	w, err := condorsim.FromTrace(kept, nil)
	require.NoError(t, err)
	twice, err := backfill.Link(backfill.PolicySpec{Name: "twice", New: func(backfill.Values) (backfill.Policy, error) {
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			scan.Begin(c)
			for j := range c.Queue() {
				if at, fits := c.FitsNow(j); fits && c.Now() >= 20 {
					c.Start(j, at)
					c.Start(j, at)
				}
			}
		}), nil
	}}, nil)
	require.NoError(t, err)
	run := func(w *condorsim.Workload) (told []string, path string) {
		c, save := link(t, "easy", nil), condorsim.NewRounds(w, t.TempDir())
		c.Policy, c.Refused = twice, func(r backfill.Refusal) {
			told = append(told, r.Err.Error())
			written, wrong := save.Save(r)
			require.NoError(t, wrong)
			path = cmp.Or(path, written)
		}
		_, wrong := condorsim.Run(t.Context(), w, c, nil, save)
		require.NoError(t, wrong)
		return told, path
	}
	told, path := run(w)
	require.Contains(t, told, "start job 5: you started it earlier in this round")
	instance, err := workload.OpenInstance(path)
	require.NoError(t, err)
	alone, err := condorsim.FromTrace(instance.Trace, nil)
	require.NoError(t, err)
	told, _ = run(alone)
	require.Contains(t, told, "start job 5: you started it earlier in this round")
}

// A round in which nobody was asked, as a plugin that failed is to be started again, is no decision that
// was refused: it has a count of its own, and is not written.
func TestARoundWithoutAPolicyIsNoRefusal(t *testing.T) {
	var jobs []workload.Job
	for i := range int64(30) {
		jobs = append(jobs, workload.Job{ID: i + 1, Submit: 10 * i, Run: 5, Estimate: 5, Procs: 1})
	}
	w, c := newWorkload(t, jobs...), link(t, "easy", nil)
	n := 0
	c.Policy = &seeing{c.Policy, w, map[backfill.Time][]string{}, func(backfill.Time) error {
		switch n++; {
		case n == 1:
			return errors.New("crashed")
		case n < 9:
			return fmt.Errorf("%w: later", backfill.ErrNotAsked)
		case n >= 20:
			return fmt.Errorf("%w after 2 failures", backfill.ErrGivenUp)
		}
		return nil
	}}
	rounds := condorsim.NewRounds(w, t.TempDir())
	var paths []string
	c.Refused = func(r backfill.Refusal) {
		path, err := rounds.Save(r)
		require.NoError(t, err)
		if path != "" {
			paths = append(paths, path)
		}
	}
	result, err := condorsim.Run(t.Context(), w, c, nil, rounds)
	require.NoError(t, err)
	require.Len(t, paths, 1)
	require.Len(t, result.Refusals, 1)
	told := result.Refusals[0]
	require.Equal(t, 7, told.NotAsked)
	require.True(t, told.GivenUp)
	require.Len(t, told.Failures, 2)
	require.Equal(t, "crashed", told.Failures[0].First.Err.Error())
	require.Equal(t, 1, told.Failures[0].Count)
}
