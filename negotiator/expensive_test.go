package negotiator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// costly are Requirements that exceed the limit of one evaluation.
var costly = `Requirements = regexp("(a*)*(a|aa)*(a*)*b", "` + strings.Repeat("a", 1000) + `") || TARGET.Name != "x"`

// Expensive jobs are held with the reason, others start, and an expensive job that is edited to a
// cheap one starts.
func TestExpensiveJobsAreHeldUntilTheyAreEdited(t *testing.T) {
	n, err := New(Config{
		Schema: twoResources(), Policy: linked(t, "easy"), Fallback: linked(t, "easy"),
		Matching: matchmaker.StrangersLimits(),
	})
	require.NoError(t, err)
	d := Delta{}
	for i := range 50 {
		d.SlotsUp = append(d.SlotsUp, newSlot(t, fmt.Sprintf("slot%d", i), 1, ""))
	}
	d.Submitted = []*Job{newJob(t, 1, 1, costly+`; Owner = "eve"`), newJob(t, 2, 1, `Owner = "bob"`)}
	r := cycle(t, n, d)
	require.Len(t, r.Matches, 1)
	require.Equal(t, backfill.JobID(2), r.Matches[0].Job.ID)
	require.Len(t, r.Held, 1)
	require.True(t, r.Held[0].Unmatched)
	require.Contains(t, r.Held[0].Reason, "its Requirements are too expensive: ")
	require.Equal(t, 1, r.Unmatched)
	require.Equal(t, "eve", r.Expensive[0].User)

	r = cycle(t, n, Delta{Now: 1, Changed: []*Job{newJob(t, 1, 1, `Owner = "eve"`)}})
	require.Len(t, r.Matches, 1)
	require.Zero(t, r.Unmatched)
	require.Empty(t, r.Expensive)
}

// BenchmarkNamesBesideOthers is the first cycle of 100 honest autoclusters on 500 slots, with and
// without one job of somebody else that names slots.
func BenchmarkNamesBesideOthers(b *testing.B) {
	for name, other := range map[string]string{"without": "Requirements = true", "with": `Requirements = TARGET.Name != "x"`} {
		b.Run(name, func(b *testing.B) {
			d := Delta{Submitted: []*Job{newJob(b, 1000, 1, other+`; Owner = "eve"`)}}
			for i := range 500 {
				d.SlotsUp = append(d.SlotsUp, newSlot(b, fmt.Sprintf("slot%d", i), 1, fmt.Sprintf("Site = %d", i%20)))
			}
			for i := range 100 {
				d.Submitted = append(d.Submitted, newJob(b, i+1, 1, fmt.Sprintf(
					`Requirements = TARGET.Site >= 0 && TARGET.Memory > %d; Owner = "bob"`, i)))
			}
			for b.Loop() {
				n := newNegotiator(b)
				cycle(b, n, d)
			}
		})
	}
}
