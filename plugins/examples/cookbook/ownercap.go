package cookbook

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// OwnerCap limits the cpus that an owner's running jobs have together.
func OwnerCap() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name: "owner-cap",
		Doc:  "EASY among the jobs whose owner stays within the cap",
		Options: []backfill.Option{
			{Name: "by", Type: backfill.Text, Default: "owner", Doc: "what is capped: owner, group, project, account or qos"},
			{Name: "cpus", Type: backfill.WholeNumber, Default: "100", Range: backfill.AtLeast(1), Doc: "the cap"},
		},
		New: func(v backfill.Values) (backfill.Policy, error) {
			label, most := v.Text("by"), int64(v.Int("cpus"))
			return backfill.PolicyFunc(func(c *backfill.Cycle) {
				scan.Begin(c)
				used := map[string]int64{}
				for r := range c.Running() {
					used[r.Job.Labels[label]] += r.Job.Width()
				}
				reserved := false
				scan.AllocateOrReserve(c, scan.Rules{
					Consider: func(j *backfill.Job) bool {
						has := used[j.Labels[label]]
						return has == 0 || has+j.Width() <= most // a job wider than the cap runs alone
					},
					Started: func(j *backfill.Job) { used[j.Labels[label]] += j.Width() },
					Blocked: func(j *backfill.Job) (reserve, goOn bool) {
						if reserve = !reserved; reserve {
							reserved = true
							used[j.Labels[label]] += j.Width() // else its owner's jobs behind it would use up the cap
						}
						return reserve, true
					},
				})
			}), nil
		},
	}
}
