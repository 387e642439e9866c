package negotiator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// BenchmarkPredictAgain is a cycle in which a job ends of a user with 100,000 waiting jobs of 50 kinds.
func BenchmarkPredictAgain(b *testing.B) {
	const waiting = 100_000
	text := ad(b, `RequestCpus = 1; Requirements = true; Owner = "ann"; Cmd = "a"`)
	arrives := func(id int) *Job {
		return &Job{
			ID: backfill.JobID(id), Ad: text, Nodes: 1, Estimate: backfill.Time(1000 + id%50),
			Labels: map[string]string{"owner": "ann", "executable": "a"}, Name: "j",
		}
	}
	for _, policy := range []string{"easy", "slack"} {
		for _, spec := range []string{"tsafrir", "learned"} {
			b.Run(policy+"/"+spec, func(b *testing.B) {
				n := predicting(b, policy, "sjf", estimate.Settings{All: spec}, nil)
				d := Delta{SlotsUp: []*Slot{newSlot(b, "a", 8, "")}}
				for id := range waiting {
					d.Submitted = append(d.Submitted, arrives(id))
				}
				running := cycle(b, n, d).Matches[0].Job.ID
				for id := waiting; b.Loop(); id++ {
					d = Delta{Now: d.Now + 30, Completed: []backfill.JobID{running}, Submitted: []*Job{arrives(id)}}
					r := cycle(b, n, d)
					require.NotEmpty(b, r.Matches)
					running = r.Matches[0].Job.ID
				}
			})
		}
	}
}
