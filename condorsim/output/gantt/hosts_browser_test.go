//go:build browser

package gantt_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page/pagetest"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
)

// TestManyHostsWithoutUsers: rows are named by machine, without what all names have in common, and jobs
// are coloured by wait, as the legend says.
func TestManyHostsWithoutUsers(t *testing.T) {
	trace := pagetest.Trace("hosts", 300, 64, 1)
	for i := range trace.Jobs {
		trace.Jobs[i].User = ""
	}
	var slots []*negotiator.Slot
	for i := range 32 {
		slots = append(slots, pagetest.Slot(t, fmt.Sprintf("slot%d@node%02d.cluster.example.org", 1+i%2, i/2), 2))
	}
	w, err := condorsim.FromTrace(trace, slots)
	require.NoError(t, err)
	r, err := pagetest.Run(w, "easy")
	require.NoError(t, err)
	p := opened(t, r, browsertest.View{Width: 1400, Height: 900})
	require.Equal(t, 16, browsertest.Eval[int](p, "machines.length"))
	require.Equal(t, "node03", browsertest.Eval[string](p, "machines[3].name"))
	require.Equal(t, 4, browsertest.Eval[int](p, "machines[3].cpus"))
	require.Equal(t, "wait", browsertest.Eval[string](p, "document.getElementById('colour').value"))
	require.Equal(t, "by wait, as no user is known", browsertest.Eval[string](p, "document.querySelector('#legend em').textContent"))
	require.Greater(t, browsertest.Eval[int](p, "document.querySelectorAll('#legend span').length"), 3)
	p.Shot("gantt-hosts", false)
}
