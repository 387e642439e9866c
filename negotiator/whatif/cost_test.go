package whatif_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// crowded is a pool in which so many kinds of jobs wait. All slots are busy, and a kind may use all
// of them, or, if the kinds differ, all but one. The kinds prefer some slots to others.
func crowded(t *testing.T, slots, kinds int, differ bool) *pool {
	t.Helper()
	p := newPool(t, "fcfs", nil)
	var d negotiator.Delta
	for i := range slots {
		d.SlotsUp = append(d.SlotsUp, p.slot(t, fmt.Sprintf("n%d", i), 2))
		d.Submitted = append(d.Submitted, p.job(t, i+1, 2, 5000))
	}
	for i := range kinds {
		hates := ""
		if differ {
			hates = fmt.Sprintf(" && TARGET.Name != \"slot1@n%d.site\"", i)
		}
		ad, err := classad.ParseOld(fmt.Sprintf("ClusterId = 2\nProcId = %d\nQDate = 1\nEstimatedRunTime = 1000\n"+
			"RequestCpus = 2\nRank = TARGET.Cpus\nOwner = \"mallory\"\nRequirements = %d > 0%s", i, i+1, hates))
		require.NoError(t, err)
		j, err := p.schema.JobFromAd(backfill.JobID(100_000+i), ad)
		require.NoError(t, err)
		d.Submitted = append(d.Submitted, j)
	}
	p.cycle(t, d)
	require.Equal(t, kinds, p.n.State().Waiting())
	return p
}

// allocated returns how many MiB a function has allocated. No other goroutine does meanwhile.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}

// drains are so many drains of a slot each, all at other times.
func drains(n int) (all []whatif.Drain) {
	for i := range n {
		all = append(all, whatif.Drain{Slot: fmt.Sprintf("n%d", i), From: int64(10 + i), For: int64(1000 + i)})
	}
	return all
}

func more(n int) []whatif.Slots {
	return []whatif.Slots{{Count: n, Amounts: map[string]int64{"cpus": 3}}}
}

// TestWhatAQuestionCosts: the sets that a question changes are copied once if many kinds of jobs
// share them, and a cycle waits while what is there is looked up, not while it is copied or
// matched.
func TestWhatAQuestionCosts(t *testing.T) {
	p := crowded(t, 500, 1000, false)
	for name, q := range map[string]whatif.Question{
		"drain": {Drain: drains(20)}, "without": {Without: []string{"n1", "n2", "n2"}}, "with": {With: more(2000)},
	} {
		var held uint64
		s := p.schedule()
		s.Rounds, s.Memory = 1, 1<<20
		s.Look = func(_ context.Context, look func(*negotiator.Negotiator) error) (err error) {
			held = max(held, allocated(func() { err = look(p.n) }))
			return err
		}
		all := allocated(func() {
			_, err := s.Answer(t.Context(), q)
			require.NoError(t, err, name)
		})
		t.Log(name, "MiB while a cycle waits:", held, "in all:", all)
		require.LessOrEqual(t, held, uint64(2), name)
		require.LessOrEqual(t, all, uint64(64), name)
	}
}

// TestTooMuchMemory: what a question would copy is counted before it is copied.
func TestTooMuchMemory(t *testing.T) {
	p := crowded(t, 500, 400, true)
	for why, q := range map[string]whatif.Question{
		"MiB are allowed; close slots that fewer kinds may use":    {Drain: drains(1)},
		"kinds of jobs may use a slot that is closed":              {Without: []string{"n1"}},
		"takes more than 1 MiB; ask for fewer slots":               {With: more(2000)},
		"further slots: what jobs may use would take too much mem": {With: more(9000)},
	} {
		s := p.schedule()
		s.Memory = 1 << 20
		var err error
		all := allocated(func() { _, err = s.Answer(t.Context(), q) })
		require.ErrorContains(t, err, why)
		var bad *whatif.BadQuestion
		require.ErrorAs(t, err, &bad)
		require.LessOrEqual(t, all, uint64(16), "%s", why)
		s.Memory = 64 << 20
		s.Rounds = 1
		_, err = s.Answer(t.Context(), q)
		require.NoError(t, err)
	}
}

// TestALongQueueIsNotCopied: a question about a queue that is too long is refused before the
// schedule is copied.
func TestALongQueueIsNotCopied(t *testing.T) {
	p := crowded(t, 2, 5, false)
	s := p.schedule()
	s.Jobs = 4
	for _, q := range []whatif.Question{{With: more(10_000)}, {Job: &whatif.Job{Ad: jobAd(1)}}, {Drain: drains(1)}} {
		_, err := s.Answer(t.Context(), q)
		require.ErrorContains(t, err, "5 jobs wait: nothing can be asked about a queue of more than 4")
	}
}

// TestAQuestionLooksAtTheClock: no slot is matched or copied for a question whose time is over.
func TestAQuestionLooksAtTheClock(t *testing.T) {
	p := crowded(t, 10, 10, false)
	for _, q := range []whatif.Question{
		{With: more(2)}, {Job: &whatif.Job{Ad: jobAd(1)}}, {Drain: drains(1)}, {Without: []string{"n1"}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		s := p.schedule()
		s.Look = func(_ context.Context, look func(*negotiator.Negotiator) error) error {
			defer cancel()
			return look(p.n)
		}
		_, err := s.Answer(ctx, q)
		require.ErrorIs(t, err, context.Canceled, "%v", q)
		require.ErrorContains(t, err, "the time of the question was over before it was known which jobs may use which slots")
	}
}

// TestWhatAPlayKeeps: a play does not keep as much as the cycles do to find places faster, though
// many kinds of jobs differ in what they may use.
func TestWhatAPlayKeeps(t *testing.T) {
	p := crowded(t, 1500, 1500, true)
	o := outlook.New(p.n)
	rules, done, err := p.twins.Rules(t.Context(), o)
	require.NoError(t, err)
	defer done()
	live := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc >> 20
	}
	before := live()
	start := o.Start()
	start.First = &backfill.Round{Now: o.Now()}
	play, err := rules.Play(start)
	require.NoError(t, err)
	require.NoError(t, play.Until(t.Context(), ahead.Bounds{Rounds: 3}, func(*backfill.Decision) bool { return false }))
	after := live()
	t.Log("MiB:", after-before)
	require.LessOrEqual(t, after, before+40)
	runtime.KeepAlive(play)
	runtime.KeepAlive(p)
}
