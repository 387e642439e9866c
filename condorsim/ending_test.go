package condorsim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// ends is the end of slots that their ads tell.
func ends(at, lasts backfill.Time, slots ...int) pools.Outage {
	o := fails(at, lasts, slots...)
	o.Told = true
	return o
}

// A job is placed where it ends in time, if the negotiator reads from the ads when slots end; else it is
// lost with its slot.
func TestSlotsThatEnd(t *testing.T) {
	long := workload.Job{Run: 20, Estimate: 20, Procs: 4}
	for _, c := range []struct {
		name    string
		outages []pools.Outage
		read    []string // the attributes that are read
		jobs    []workload.Job
		want    []string
		lost    int
	}{
		{
			"told",
			[]pools.Outage{ends(10, all, 0)},
			[]string{pools.ToDie},
			[]workload.Job{long},
			[]string{"0-20 b×4"},
			0,
		},
		{
			"not read",
			[]pools.Outage{ends(10, all, 0)},
			nil,
			[]workload.Job{long},
			[]string{"10-30 b×4"},
			1,
		},
		{
			"back",
			[]pools.Outage{ends(10, 5, 0, 1, 2)},
			[]string{pools.ToDie},
			[]workload.Job{long},
			[]string{"15-35 a×4"},
			0,
		},
		{
			"in time",
			[]pools.Outage{ends(20, all, 0, 1, 2)},
			[]string{pools.ToDie},
			[]workload.Job{long},
			[]string{"0-20 a×4"},
			0,
		},
		{
			"the next end",
			[]pools.Outage{ends(10, 1, 0, 1, 2), ends(25, 1, 0, 1, 2)},
			[]string{pools.ToDie},
			[]workload.Job{long},
			[]string{"26-46 a×4"},
			0,
		},
		{
			"too long for all",
			[]pools.Outage{ends(10, all, 0, 1, 2)},
			[]string{pools.ToDie},
			[]workload.Job{long},
			[]string{"held: " + backfill.ReasonNeverFits},
			0,
		},
	} {
		for _, policy := range []string{"easy", "slack"} {
			t.Run(c.name+" "+policy, func(t *testing.T) {
				w := onNodes(t, c.outages, c.jobs...)
				w.Schema.SlotEnds = c.read
				r, err := condorsim.Run(t.Context(), w, link(t, policy, nil), nil)
				require.NoError(t, err)
				require.Equal(t, c.want, spans(r))
				require.Equal(t, c.lost, r.Requeues)
			})
		}
	}
}

// Slots end by what their ads say, whether the negotiator reads it or not.
func TestSlotsThatEndByTheirAds(t *testing.T) {
	for text, read := range map[string]bool{
		"GLIDEIN_ToDie = 10": true, "DaemonShutdown = time() >= 10": true, "GLIDEIN_ToDie = 10; Read = false": false,
	} {
		schema := negotiator.DefaultSchema()
		slots := slotsOf(t, `Name = "a"; Cpus = 4; `+strings.TrimSuffix(text, "; Read = false")+`;;Name = "b"; Cpus = 4`)
		if !read {
			schema.SlotEnds = nil
		}
		w, err := condorsim.OnPool(trace(workload.Job{Run: 20, Estimate: 20, Procs: 4}), &pools.Description{Schema: schema, Slots: slots})
		require.NoError(t, err)
		r, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
		require.NoError(t, err)
		want, lost := "0-20 b×4", 0
		if !read {
			want, lost = "10-30 b×4", 1
		}
		require.Equal(t, []string{want}, spans(r), text)
		require.Equal(t, lost, r.Requeues, text)
	}
}

// Pilots come and go: no job is lost with one, if the ends are read, and all jobs that fit on any run.
func TestPilots(t *testing.T) {
	const pilots = "classes: [{name: pilot, count: 5, cpus: 4, memory: 100, start: CurrentTime < GLIDEIN_ToRetire}]\n" +
		"ends: [{lasts: [1000, 2000], again: 60, retire: 100}]"
	var jobs []workload.Job
	for i := range int64(60) {
		run := 50 + i*37%900
		jobs = append(jobs, workload.Job{Submit: i * 40, Run: run, Estimate: run + 50, Procs: 1 + i%4})
	}
	for _, policy := range []string{"easy", "slack", "conservative", "first-fit"} {
		for _, read := range []bool{true, false} {
			t.Run(fmt.Sprint(policy, read), func(t *testing.T) {
				pool := describe(t, pilots)
				if !read {
					pool.Schema.SlotEnds = nil
				}
				w, err := condorsim.OnPool(trace(jobs...), pool)
				require.NoError(t, err)
				r, err := condorsim.Run(t.Context(), w, link(t, policy, nil), nil)
				require.NoError(t, err)
				require.Equal(t, read, r.Requeues == 0, "%d runs lost their slots", r.Requeues)
				require.Zero(t, r.Held())
			})
		}
	}
}

// A job that needs longer than any pilot lasts is held at last.
func TestAJobThatNoPilotLastsFor(t *testing.T) {
	pool := describe(t, "classes: [{name: pilot, cpus: 4, memory: 100}]\nends: [{lasts: [100]}]")
	w, err := condorsim.OnPool(trace(workload.Job{Run: 101, Estimate: 101, Procs: 1}), pool)
	require.NoError(t, err)
	r, err := condorsim.Run(t.Context(), w, link(t, "easy", nil), nil)
	require.NoError(t, err)
	require.Equal(t, 1, r.Held())
}
