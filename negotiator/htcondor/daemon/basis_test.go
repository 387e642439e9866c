package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// TestExplainTellsWhatARunTimeRestsOn: who asks about a waiting job is told how many jobs are like it, under a
// policy that plans with predictions and under one that only orders by them. Of a job that runs nothing is told,
// nor if jobs are planned with what they request.
func TestExplainTellsWhatARunTimeRestsOn(t *testing.T) {
	for _, tt := range []struct {
		policy   string
		settings estimate.Settings
		want     *estimate.Basis
	}{
		{"easy", estimate.Settings{All: "requested"}, nil},
		{"easy", estimate.Settings{All: "user", Options: map[string]string{"threshold": "1"}}, &estimate.Basis{Estimator: "user"}},
		{"easy", estimate.Settings{All: "learned"}, &estimate.Basis{Estimator: "learned", Parts: alikeJobs()}},
		{"slack", estimate.Settings{All: "learned"}, &estimate.Basis{Estimator: "learned", Parts: alikeJobs()}},
	} {
		history := estimate.NewHistory(0)
		for i := range backfill.Time(3) {
			history.Add(estimate.Ended{
				Job: estimate.Job{Requested: 50, Labels: map[string]string{"owner": "alice"}, Cpus: 2}, Ran: 10, At: i,
			})
		}
		set, err := estimate.New(tt.settings, history, tt.policy == "slack", false, nil)
		require.NoError(t, err)
		w := newWorld()
		o := w.options(tt.policy)
		o.Negotiator.Estimates = set
		d := once(t, w, o, w.begin())
		basis := func(job string) *estimate.Basis {
			ads, err := d.Plans(t.Context(), job)
			require.NoError(t, err)
			require.Len(t, ads.All(), 1)
			return ReadBasis(ads.All()[0])
		}
		require.Nil(t, basis("1.0"), "it runs")
		got := basis("2.0")
		if got != nil {
			for i := range got.Parts {
				got.Parts[i].Share = 0
			}
		}
		require.Equal(t, tt.want, got, "%s %+v", tt.policy, tt.settings)
	}
}

// alikeJobs are the jobs by which job 2 is predicted: three that ended, and job 1, which runs and is alike only in
// its user.
func alikeJobs() []estimate.Part {
	return []estimate.Part{
		{Alike: "of the user with the same request and cpus", Ended: 3},
		{Alike: "of the user with the same request", Ended: 3},
		{Alike: "of the user", Ended: 3, Running: 1},
		{Alike: "of all users", Ended: 3, Running: 1},
	}
}
