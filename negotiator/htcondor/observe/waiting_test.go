package observe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// array are the lines of so many waiting jobs that do not differ.
func array(user string, cluster, jobs int) cedar.Lines {
	var all strings.Builder
	for i := range jobs {
		fmt.Fprintf(&all, "%d.%d ", cluster, i)
	}
	return cedar.Lines(fmt.Sprintf("User = %q\nJobStatus = 1\nJobIds = %q\n", user, all.String()))
}

// TestManyWaitingJobs says that a schedd which tells of 600,000 jobs in little text has few of them
// planned, and what is left out is told; that another user there, and those of other hosts, are
// planned; and that running jobs are kept.
func TestManyWaitingJobs(t *testing.T) {
	stock := newStock(maxStock)
	greedy := begin(stock, "m@test", "10.0.0.2", maxQueue)
	for u := range 60 {
		lines := array(fmt.Sprintf("u%d@test", u), u+1, 10_000)
		require.NoError(t, greedy.add(lines, len(lines)))
	}
	runs := cedar.Lines(strings.Replace(string(array("u1@test", 100, 70)), "JobStatus = 1", "JobStatus = 2", 1))
	require.NoError(t, greedy.add(runs, len(runs)))
	require.LessOrEqual(t, stock.jobs, mostWaitingOfHost)
	require.Greater(t, stock.jobs, mostWaitingOfHost*3/4)
	kept := 0
	for _, g := range greedy.all() {
		kept += countIDs(g.ids)
	}
	require.Equal(t, stock.jobs+70, kept)
	require.Equal(t, 600_000-stock.jobs, greedy.surplus.jobs)

	honest := begin(stock, "a@test", "10.0.0.1", maxQueue)
	one := idle("alice@test", 1, "")
	for _, lines := range []cedar.Lines{array("bob@test", 7, 100_000), one} {
		require.NoError(t, honest.add(lines, len(lines)))
	}
	require.Equal(t, mostWaitingOfHost/4+1, honest.waiting)
	for _, k := range []*intake{greedy, honest} {
		stock.end(k.share)
		stock.keep(k.schedd, portion{k.host, k.size, 0, k.waiting})
	}
	stock.keep("m@test", portion{})
	require.Equal(t, honest.waiting, stock.jobs)
	stock.keep("a@test", portion{})
	require.Zero(t, stock.jobs)
	require.Empty(t, stock.hosts)
}

// TestWaitingJobsAreCounted says that the number of jobs that wait is right for readings, hosts and
// all, whatever is taken in and left out, and that nobody is left without.
func TestWaitingJobsAreCounted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stock := newStock(16 << 20)
		var readings []*intake
		for i := range rapid.IntRange(1, 5).Draw(t, "schedds") {
			readings = append(readings, begin(stock, fmt.Sprintf("s%d@test", i), fmt.Sprintf("10.0.0.%d", i/2), 8<<20))
		}
		for i := range rapid.IntRange(0, 20).Draw(t, "groups") {
			k := readings[rapid.IntRange(0, len(readings)-1).Draw(t, "schedd")]
			if k.share.ended {
				continue
			}
			user := fmt.Sprintf("u%d@test", rapid.IntRange(0, 3).Draw(t, "user"))
			lines := array(user, i+1, rapid.SampledFrom([]int{1, 10, 1_000, 30_000}).Draw(t, "jobs"))
			_ = k.add(lines, len(lines)) // there may be no room
			if rapid.IntRange(0, 20).Draw(t, "end") == 0 && !k.share.ended {
				stock.end(k.share)
				stock.keep(k.schedd, portion{k.host, k.size, 0, k.waiting})
			}
		}
		hosts, total := map[string]int{}, 0
		for _, k := range readings {
			jobs := 0
			for _, g := range k.all() {
				jobs += countIDs(g.ids)
			}
			if k.share.ended {
				jobs = stock.kept[k.schedd].jobs
			} else {
				require.Equal(t, jobs, k.waiting)
				require.Equal(t, jobs, k.share.jobs)
			}
			hosts[k.host] += jobs
			total += jobs
		}
		require.Equal(t, total, stock.jobs)
		for name, jobs := range hosts {
			require.LessOrEqual(t, jobs, mostWaitingOfHost)
			if h := stock.hosts[name]; h != nil {
				require.Equal(t, jobs, h.jobs)
			}
		}
	})
}
