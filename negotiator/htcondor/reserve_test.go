package htcondor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStartKeepsAReserve says that of three jobs that come at once two start on a slot whose START keeps
// the rest free, or counts jobs, and the third when one has ended: so its startd refuses none, and no start
// there counts as failed.
func TestStartKeepsAReserve(t *testing.T) {
	for name, start := range map[string]string{
		"what is left": "Cpus - TARGET.RequestCpus >= 4", "what is free": "Cpus >= 6", "jobs": "NumDynamicSlots < 2",
		"cpus of jobs": "sum(ChildCpus) <= 2", "lengths": "size(ChildCpus) <= 1",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true, start: start, counts: true})
			jobs := []*sleeper{{cpus: 2, seconds: 60, estimate: 60}, {cpus: 2, seconds: 60, estimate: 60}, {cpus: 2, seconds: 60, estimate: 60}}
			for _, j := range jobs {
				w.submit(j)
			}
			w.pass(40)
			require.Equal(t, []int64{2, 2, 1}, []int64{jobs[0].status, jobs[1].status, jobs[2].status})
			require.Equal(t, 2, w.pool.claims.Counts().Granted)
			for range 120 {
				w.pass(1)
				require.LessOrEqual(t, w.running(), 2)
				require.Empty(t, w.pool.claims.Suspects())
			}
			require.True(t, jobs[2].done)
			require.Equal(t, 3, w.pool.claims.Counts().Granted)
			require.Empty(t, w.failed)
		})
	}
}
