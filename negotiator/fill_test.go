package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestFillHeedsLimits: a job starts on a slot that overlaps with others only if its limits have room for it
// for as long as it runs, beside what runs, what the plan has reserved for others, and who else starts so.
// Limits that depend on the slot are asked for what they have now.
func TestFillHeedsLimits(t *testing.T) {
	closed := "Requirements = false; BackfillClosed = \"for what other slots leave idle\""
	kind := func(id int, estimate backfill.Time, more string, takes ...Take) *Job {
		j := newJob(t, id, 1, more)
		j.Estimate, j.Takes = estimate, takes
		return j
	}
	const elsewhere, later = "Requirements = TARGET.Name == \"b\"", "Requirements = TARGET.Name =!= \"a\""
	l := func(amount int64) Take { return Take{"l", amount} }
	const bySlot = elsewhere + "; BackfillSlotLimits = strcat(\"net_\", TARGET.Name, Kind); Kind = "
	for name, c := range map[string]struct {
		height int64
		jobs   []*Job // beside two that run until 10, on a with one of l and on c
		want   []string
	}{
		"no limit":               {1, []*Job{kind(2, 20, elsewhere)}, []string{"1.2"}},
		"it is used":             {1, []*Job{kind(2, 20, elsewhere, l(1))}, nil},
		"one more":               {2, []*Job{kind(2, 20, elsewhere, l(1)), kind(3, 20, elsewhere, l(1))}, []string{"1.2"}},
		"a limit of others":      {1, []*Job{kind(2, 20, elsewhere, Take{"m", 5})}, []string{"1.2"}},
		"more than that":         {2, []*Job{kind(2, 20, elsewhere, l(2))}, nil},
		"reserved for another":   {2, []*Job{kind(2, 5, "", l(2)), kind(3, 20, elsewhere, l(1))}, nil},
		"over before that":       {2, []*Job{kind(2, 5, "", l(2)), kind(3, 9, elsewhere, l(1))}, []string{"1.3"}},
		"reserved for itself":    {3, []*Job{kind(2, 20, later, l(2))}, []string{"1.2"}},
		"a limit of the slot":    {1, []*Job{kind(2, 20, bySlot+`"1"`)}, []string{"1.2"}},
		"that has no room there": {1, []*Job{kind(2, 20, bySlot+`""`)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			conf := configured(t, "conservative", "fcfs")
			conf.StartSlack = 0
			n, err := New(conf)
			require.NoError(t, err)
			full := func(limits string) string {
				if limits == "net_b" {
					return "full"
				}
				return ""
			}
			runs := newJob(t, 1, 3, "")
			runs.Takes = []Take{l(1)}
			cycle(t, n, Delta{
				SlotsUp: []*Slot{newSlot(t, "a", 8, ""), newSlot(t, "b", 4, closed), newSlot(t, "c", 1, "")}, Room: full,
				Limits:    []Limit{{"l", c.height}, {"m", 5}},
				Submitted: []*Job{runs, newJob(t, 9, 1, "Requirements = TARGET.Name == \"c\"")},
			})
			cycle(t, n, Delta{Now: 1, Submitted: c.jobs, Room: full})
			require.True(t, n.State().IsRunning(1))
			open := []Overlapping{{
				Slot: newSlot(t, "b", 4, ""), Machine: "m", Primary: []string{"a"}, Overlapping: []string{"b"},
			}}
			var held []backfill.JobID
			for _, j := range n.Settled().Jobs {
				if j.Held != "" {
					held = append(held, j.Job.ID)
				}
			}
			var filled []string
			for _, m := range n.Fill(open, held) {
				filled = append(filled, m.Job.Name)
			}
			require.Equal(t, c.want, filled)
		})
	}
}
