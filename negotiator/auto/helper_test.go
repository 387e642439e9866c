package auto

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// busy is a pool of so many slots of 8 cpus whose queue holds so many jobs, of ten users who request up
// to ten times of what they need, after a day in which jobs came and ended.
func busy(tb testing.TB, c *Chooser, slots, waiting int) *negotiator.Report {
	tb.Helper()
	return busyWith(tb, c, nil, slots, waiting)
}

// busyWith is such a pool with estimators; nil: none.
func busyWith(tb testing.TB, c *Chooser, estimates *estimate.Set, slots, waiting int) *negotiator.Report {
	tb.Helper()
	schema := negotiator.DefaultSchema()
	config := negotiator.Config{Schema: schema, Estimates: estimates}
	c.TakeCharge(&config)
	n, err := negotiator.New(config)
	require.NoError(tb, err)
	read := func(text string) *classad.ClassAd {
		ad, err := classad.Parse(text)
		require.NoError(tb, err)
		return ad
	}
	random := rand.New(rand.NewPCG(1, 2))
	var d negotiator.Delta
	for i := range slots {
		slot, err := schema.SlotFromAd(read(fmt.Sprintf(
			"[Name = \"s%d\"; Cpus = 8; Memory = 64000; Disk = 1000000; Requirements = true]", i)))
		require.NoError(tb, err)
		d.SlotsUp = append(d.SlotsUp, slot)
	}
	ends := map[backfill.JobID]backfill.Time{}
	last := 0
	for now := backfill.Time(0); ; now += 60 {
		d.Now = now
		for id, at := range ends {
			if at <= now {
				d.Completed = append(d.Completed, id)
				delete(ends, id)
			}
		}
		arrive := 1
		if n.State().Waiting() < waiting && now > 3600 {
			arrive = max(2, waiting/50)
		}
		for range arrive {
			last++
			job, err := schema.JobFromAd(backfill.JobID(last), read(fmt.Sprintf(
				"[ClusterId = %d; ProcId = 0; QDate = %d; RequestCpus = %d; RequestMemory = 1000; EstimatedRunTime = %d; "+
					"Owner = \"user%d\"; Requirements = true]", last, now, 1+random.IntN(8),
				600*(1+random.IntN(60)), random.IntN(10))))
			require.NoError(tb, err)
			d.Submitted = append(d.Submitted, job)
		}
		r, err := n.RunCycle(tb.Context(), d)
		require.NoError(tb, err)
		for _, m := range r.Matches {
			ends[m.Job.ID] = now + 1 + m.Job.Estimate*backfill.Time(1+random.IntN(10))/10
		}
		c.record.see(r)
		if r.State.Waiting() >= waiting {
			return r
		}
		d = negotiator.Delta{}
	}
}
