package negotiator

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// BenchmarkLimits is a cycle on a full pool with 5,000 limits, of which 100,000 waiting jobs take, four each:
// with "height" one limit has another height, with "heights" all have, and with "comes" one goes and another
// comes that some jobs name.
func BenchmarkLimits(b *testing.B) {
	const many, jobs, high = 5000, 100_000, int64(100 * LimitUnit)
	name := func(i int) string { return fmt.Sprintf("limit %d", i%many) }
	for _, what := range []string{"height", "heights", "comes"} {
		b.Run(what, func(b *testing.B) {
			n, err := New(configured(b, "easy", "fcfs"))
			require.NoError(b, err)
			first := Delta{SlotsUp: []*Slot{newSlot(b, "n", 1, "")}}
			for i := range many {
				first.Limits = append(first.Limits, Limit{name(i), high})
			}
			var shared [many][]Take // of jobs that are alike
			for i := range shared {
				for k := range 4 {
					shared[i] = append(shared[i], Take{name(i + k), LimitUnit})
				}
			}
			shared[7] = append(shared[7], Take{"one", LimitUnit}, Take{"two", LimitUnit})
			for i := range jobs {
				j := newJob(b, i+1, 1, "")
				j.Estimate, j.Takes = 1_000_000, shared[i%many]
				first.Submitted = append(first.Submitted, j)
			}
			cycle(b, n, first)
			now, comes := backfill.Time(0), []string{"one", "two"}
			for i := 0; b.Loop(); i++ {
				now++
				d := Delta{Now: now}
				switch height := high + int64(i%2) - 1; what {
				case "height":
					d.Limits = []Limit{{name(i / 2), height}}
				case "heights":
					for k := range many {
						d.Limits = append(d.Limits, Limit{name(k), height})
					}
				case "comes":
					d.Limits = []Limit{{comes[i%2], high}}
					if i > 0 {
						d.LimitsGone = []string{comes[(i+1)%2]}
					}
				}
				cycle(b, n, d)
			}
		})
	}
}
