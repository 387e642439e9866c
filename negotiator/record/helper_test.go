package record

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
)

// tiny is a pool of two slots.
type tiny struct {
	tb   testing.TB
	n    *negotiator.Negotiator
	next int
	now  backfill.Time
	runs []backfill.JobID
}

func newTiny(tb testing.TB, recorder negotiator.Recorder) *tiny {
	tb.Helper()
	link := func(name string) backfill.Decider {
		spec, err := policies.Named(name)
		require.NoError(tb, err)
		d, err := backfill.Link(spec, nil)
		require.NoError(tb, err)
		return d
	}
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory"}
	n, err := negotiator.New(negotiator.Config{
		Schema: schema, Policy: link("slack"), Fallback: link("conservative"), Recorder: recorder,
	})
	require.NoError(tb, err)
	p := &tiny{tb: tb, n: n}
	var slots []*negotiator.Slot
	for i := range 2 {
		slot, slotErr := schema.SlotFromAd(parsed(tb, fmt.Sprintf(`[Name = "slot1@n%d.example.org"; Machine = "n%d.example.org"; `+
			`PartitionableSlot = true; Cpus = 8; Memory = 8000; Requirements = true; OpSys = "LINUX"]`, i, i)))
		require.NoError(tb, slotErr)
		slots = append(slots, slot)
	}
	p.cycle(negotiator.Delta{SlotsUp: slots})
	return p
}

func parsed(tb testing.TB, text string) *classad.ClassAd {
	tb.Helper()
	ad, err := classad.Parse(text)
	require.NoError(tb, err)
	return ad
}

// cycle has the pool tell this, a second later.
func (p *tiny) cycle(d negotiator.Delta) {
	p.tb.Helper()
	p.now++
	d.Now = p.now
	report, err := p.n.RunCycle(p.tb.Context(), d)
	require.NoError(p.tb, err)
	for _, m := range report.Matches {
		p.runs = append(p.runs, m.Job.ID)
	}
}

// submit has some jobs arrive, and the first that runs end.
func (p *tiny) submit(count int) {
	p.tb.Helper()
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory"}
	var d negotiator.Delta
	for range count {
		p.next++
		job, err := schema.JobFromAd(backfill.JobID(p.next), parsed(p.tb, fmt.Sprintf(`[ClusterId = %d; ProcId = 0; QDate = 0; `+
			`EstimatedRunTime = %d; RequestCpus = %d; RequestMemory = 10; Requirements = TARGET.OpSys == "LINUX"; `+
			`Owner = "alice%d"; Iwd = "/home/alice"]`, p.next, 10+p.next%7*30, 1+p.next%6, p.next%3)))
		require.NoError(p.tb, err)
		d.Submitted = append(d.Submitted, job)
	}
	if len(p.runs) > 0 {
		d.Completed, p.runs = p.runs[:1], p.runs[1:]
	}
	p.cycle(d)
}

func midnight() time.Time { return time.Unix(1_800_000_000, 0) }

// newRecorder begins a record in a new folder.
func newRecorder(tb testing.TB, o Options) (recorder *Recorder, path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "pool.rec")
	o.Path = path
	if o.Clock == nil {
		o.Clock = midnight
	}
	recorder, err := New(o, func() About { return About{Program: "test", Pool: "tiny"} })
	require.NoError(tb, err)
	return recorder, path
}

// entries reads a whole record.
func entries(tb testing.TB, path string) (all []*recordv1.Entry) {
	tb.Helper()
	r, err := Open(path)
	require.NoError(tb, err)
	defer r.Close()
	for {
		entry, err := r.Next()
		if err != nil {
			return all
		}
		all = append(all, entry)
	}
}
