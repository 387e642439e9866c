package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a user's jobs are planned by is forgotten with the jobs, also where it depends on their state; that
// of jobs that stay is kept, and of those of a schedd that does not answer.
func TestSpecsEndWithTheirJobs(t *testing.T) {
	p := newSite(t, "s@test", "b@test")
	refers, depends := "Rank = TARGET.Memory\n", "Rank = TARGET.Memory + JobPrio\nJobPrio = 1\n"
	stay := []string{job(refers), strings.Replace(job(depends), "ClusterId = 1", "ClusterId = 2", 1)}
	p.schedds[0].SetJobs(stay...)
	p.schedds[1].SetJobs(job(refers))
	p.see()
	p.see()
	specs := func() map[*Spec]bool {
		all := map[*Spec]bool{}
		for _, s := range p.specs {
			all[s] = true
		}
		return all
	}
	kept := specs()
	require.Len(t, kept, 4, "one more for the rest of the ad that depends on state")
	for look := range 3 {
		jobs := stay
		for i := range 20 {
			id := fmt.Sprintf("ClusterId = %d", look*1000+i+10)
			eve := job(fmt.Sprintf("Rank = TARGET.Memory =!= \"%d.%d\" && JobPrio =!= 7\nJobPrio = 1\n", look, i))
			jobs = append(jobs, strings.Replace(eve,
				"ClusterId = 1", id, 1))
		}
		p.schedds[0].SetJobs(jobs...)
		p.at = p.at.Add(time.Minute)
		p.see()
		require.Len(t, p.specs, 4+2*20, "look %d", look)
	}
	p.schedds[0].SetJobs(stay...)
	p.see()
	require.Equal(t, kept, specs())
}
