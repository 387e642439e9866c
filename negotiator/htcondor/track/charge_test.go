package track

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// A tally counts as a map does, and keeps the order in which things first came.
func TestTally(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var counts tally[int]
		want := map[int]int{}
		var order []int
		for _, thing := range rapid.SliceOf(rapid.IntRange(0, 3)).Draw(t, "things") {
			if want[thing] == 0 {
				order = append(order, thing)
			}
			want[thing]++
			counts.add(thing)
		}
		var came []int
		for thing, n := range counts.all {
			require.Equal(t, want[thing], n)
			came = append(came, thing)
		}
		require.Equal(t, order, came)
	})
}

// TestUse says what a submitter is charged with: what its running jobs were planned by, whatever
// was edited since; and those that run in the pool and cannot be planned with, but not what runs
// elsewhere.
func TestUse(t *testing.T) {
	charged := func(p *pool) accountant.Use { return p.belief.Use()[""] }
	one := accountant.Use{Slots: 1, Weight: 4} // a static slot of four cpus
	free := is("free of charge", func(s *observe.Spec) { s.Request = backfill.Vector{0, 0, 1} })

	p := begun(t)
	p.job(1)
	p.look()
	require.Zero(t, charged(p))
	p.runs(1, "a")
	p.look()
	require.Equal(t, one, charged(p))
	p.job(1, free)
	p.look()
	require.Equal(t, one, charged(p))
	p.job(1, wrong("its name is bad"))
	p.look()
	require.Equal(t, one, charged(p))

	p = begun(t)
	p.job(1)
	p.look()
	p.runs(1, "a")
	p.look()
	p.slot("a", func(s *observe.Slot) { s.Claimed, s.Runs = false, observe.JobKey{} })
	p.runs(1, "nowhere")
	for range 2 {
		p.look()
		require.Equal(t, one, charged(p), "it was planned, and no slot contradicts its queue")
		p.job(1, free)
	}
	p.idles(1)
	p.look()
	require.Zero(t, charged(p))

	p = begun(t)
	p.job(1)
	p.look()
	p.start(1, sent, "a")
	p.runs(1, "nowhere")
	p.look()
	require.Zero(t, charged(p), "another negotiator was first")

	p = begun(t)
	p.job(1, gang(2))
	p.runs(1, "a")
	p.look()
	require.Equal(t, one, charged(p), "it runs on fewer nodes than its user has written since")

	p = begun(t) // that has no memory of how the job was
	p.job(1, is("of unknown size", func(s *observe.Spec) { s.Wrong, s.Request = errors.New("its RequestCpus is error"), nil }))
	p.runs(1, "a")
	p.job(2, wrong("its name is bad"))
	p.runs(2, "elsewhere")
	p.job(3, wrong("its name is bad"))
	p.look()
	require.Equal(t, one, charged(p))
	p.idles(1)
	p.look()
	require.Zero(t, charged(p))
}
