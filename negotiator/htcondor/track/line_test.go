package track

import (
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// TestLine compares the line of the waiting jobs with all jobs that wait, sorted, while jobs come,
// start, are edited and leave.
func TestLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := New(Settings{Logger: hclog.NewNullLogger()})
		group := rapid.Map(rapid.IntRange(0, 5), func(submit int) *observe.Group {
			return &observe.Group{Submit: backfill.Time(submit)}
		})
		for cluster := range int64(rapid.IntRange(0, 80).Draw(t, "steps")) {
			switch what := rapid.IntRange(0, 12).Draw(t, "what"); {
			case what == 0:
				b.moveLine()
			case what < 7 || len(b.all) == 0:
				j := b.find(observe.JobKey{Schedd: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "schedd"), Cluster: cluster})
				j.Group, j.Phase = group.Draw(t, "group"), Waiting
			default:
				j := rapid.SampledFrom(b.all).Draw(t, "job")
				switch what {
				case 7:
					b.drop(j)
				case 8:
					j.Group = group.Draw(t, "edited")
				default:
					j.Phase = rapid.SampledFrom([]Phase{Unknown, Waiting, Running}).Draw(t, "phase")
				}
			}
		}
		b.moveLine()
		wait := slices.DeleteFunc(slices.Clone(b.all), func(j *Job) bool { return j.Phase != Waiting })
		slices.SortFunc(wait, (*Job).Compare)
		require.Len(t, b.line, len(wait))
		for i, j := range wait {
			require.Same(t, j, b.line[i])
		}
	})
}
