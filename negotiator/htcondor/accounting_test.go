package htcondor

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// account gives a world's pool an accountant and starts a new negotiator.
func (w *world) account(knobs map[string]string) *accountant.Accountant {
	w.t.Helper()
	lookup := func(name string) (string, bool) { v, ok := knobs[strings.ToUpper(name)]; return v, ok }
	settings, err := accountant.ParseSettings(lookup)
	require.NoError(w.t, err)
	db, err := statefile.Open(filepath.Join(w.t.TempDir(), "state"))
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, db.Close()) })
	a, err := accountant.Open(db, settings)
	require.NoError(w.t, err)
	w.accounting = track.Accounting{Accountant: a, Limits: accountant.NewLimits(lookup)}
	w.negotiator("easy", nil)
	return a
}

func TestFairShare(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 6, memory: 8192, policy: true})
	a := w.account(nil)
	require.NoError(t, a.SetFactor("bob@test", 500)) // twice as much for him
	for range 20 {
		w.submit(&sleeper{cpus: 1, seconds: 30, estimate: 30})
	}
	for range 20 {
		w.submit(&sleeper{cpus: 1, seconds: 30, estimate: 30, owner: "bob"})
	}
	w.pass(12)
	use := w.pool.Use()
	require.Equal(t, accountant.Use{Slots: 2, Weight: 2}, use["alice@test"])
	require.Equal(t, accountant.Use{Slots: 4, Weight: 4}, use["bob@test"])
	require.Len(t, w.pool.UsedBy("alice@test"), 2)
	used := w.pool.UsedBy("alice@test")
	require.Same(t, &used[0], &w.pool.UsedBy("alice@test")[0], "all who ask share them")
	require.Len(t, w.pool.UsedBy("bob@test"), 4)
	w.pass(400)
	for _, j := range w.jobs {
		require.True(t, j.done)
	}
	require.Greater(t, a.Priority("alice@test"), 500.0)
}

func TestJobPrio(t *testing.T) {
	w := newWorld(t, "easy", small(1))
	w.account(nil)
	low := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	high := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10, extra: "\nJobPrio = 5"})
	w.pass(12)
	require.Zero(t, low.runs)
	require.Equal(t, 1, high.runs)
}

func TestConcurrencyLimit(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true})
	knobs := map[string]string{"SW_LIMIT": "2"}
	w.account(knobs)
	for range 5 {
		w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10, extra: "\nConcurrencyLimits = \"sw\""})
	}
	free := w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10})
	for range 80 {
		w.pass(1)
		runs := 0
		for _, j := range w.jobs[:5] {
			if j.status == 2 {
				runs++
			}
		}
		require.LessOrEqual(t, runs, 2)
		if w.pool.Last().Unplanned > 0 {
			why, _ := w.pool.Why(w.pool.Find("5.0")[0])
			require.Contains(t, why.Why, "sw")
		}
	}
	require.True(t, free.done)
	for _, j := range w.jobs {
		require.True(t, j.done)
	}
	knobs["SW_LIMIT"] = "3"
	w.accounting.Limits.Reread()
	for range 4 {
		w.submit(&sleeper{cpus: 1, seconds: 10, estimate: 10, extra: "\nConcurrencyLimits = \"sw\""})
	}
	most := 0
	for range 12 {
		w.pass(1)
		runs := 0
		for _, j := range w.jobs {
			if j.status == 2 {
				runs++
			}
		}
		most = max(most, runs)
	}
	require.Equal(t, 3, most, "the limit is another one")
}

// Jobs that are too large for any slot, or match none, keep no others from what a limit has.
func TestHopelessJobsLeaveALimit(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 8, memory: 8192, policy: true})
	w.account(map[string]string{"SW_LIMIT": "2"})
	submit := func(cpus int64, more string) *sleeper {
		return w.submit(&sleeper{
			cpus: cpus, seconds: 10, estimate: 10, extra: "\nConcurrencyLimits = \"sw\"" + more,
		})
	}
	never := []*sleeper{submit(9, ""), submit(1, "\nRequirements = false")}
	w.pass(4)
	jobs := []*sleeper{submit(1, ""), submit(1, ""), submit(1, "")}
	w.pass(80)
	for _, j := range jobs {
		require.True(t, j.done)
	}
	for _, j := range never {
		require.Zero(t, j.runs)
	}
}
