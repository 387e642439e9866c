package observe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// ids returns the IDs of the jobs in groups of which the user's name begins so, and how many of
// these are left out of the plan.
func ids(s *Schedd, user string) (jobs map[JobKey]bool, leftOut int) {
	jobs = map[JobKey]bool{}
	for _, g := range s.Groups {
		for _, key := range g.Jobs {
			if strings.HasPrefix(g.Spec.user, user) {
				jobs[key] = true
				if g.Spec.Wrong != nil {
					leftOut++
				}
			}
		}
	}
	return jobs, leftOut
}

// TestHugeJobs says that a job whose ad is too large, whatever its size, is not planned, and does
// not hide the others of its schedd.
func TestHugeJobs(t *testing.T) {
	for name, size := range map[string]int{
		"planned": maxGroup / 2, "large": maxGroup, "longer than texts are": 9 << 20, "longer than ads are": 17 << 20,
	} {
		t.Run(name, func(t *testing.T) {
			p := newSite(t, "s@test")
			text := strings.Repeat("x", min(size, 6<<20)) // the classad package refuses longer ones
			var more strings.Builder
			for i := 0; i*len(text) < size; i++ {
				fmt.Fprintf(&more, "B%d = %q\n", i, text)
			}
			huge := job("ClusterId = 2\nUser = \"mallory@test\"\nRank = size(MY.B0) + size(MY.B1) + size(MY.B2)\n" +
				more.String())
			p.schedds[0].SetJobs(job(""), huge)
			look := p.see()
			s := look.Schedds["s@test"]
			require.True(t, s.Read, "%v", s.Failed)
			all, leftOut := ids(s, "alice")
			require.Equal(t, map[JobKey]bool{{"s@test", 1, 0}: true}, all)
			require.Zero(t, leftOut)
			all, leftOut = ids(s, "mallory")
			require.Equal(t, map[JobKey]bool{{"s@test", 2, 0}: true}, all)
			if size < maxGroup {
				require.Zero(t, leftOut)
				require.Empty(t, look.Problems)
				return
			}
			require.Equal(t, 1, leftOut)
			for _, g := range s.Groups {
				if g.Spec.leftOut {
					require.ErrorContains(t, g.Spec.Wrong, "its ad has more than 262144 bytes")
				}
			}
			require.Equal(t, []string{"the ads of 1 jobs in the queue of schedd s@test are too large or cannot " +
				"be read, and the jobs are not planned: among them jobs of mallory@test"}, look.Problems)
		})
	}
}

// TestGreedyUser says that when a queue is too large, the largest ads of the user who has most are
// left out, those jobs are still seen, and the jobs of others are planned.
func TestGreedyUser(t *testing.T) {
	p := newSite(t, "s@test")
	p.most = 1 << 20
	var jobs []string
	for i := range 100 {
		greedy := fmt.Sprintf("ClusterId = 2\nProcId = %d\nUser = \"mallory@test\"\nRequirements = MY.Environment =!= 1\n"+
			"Environment = %q\n", i, fmt.Sprint(i, strings.Repeat("e", 4000)))
		switch i {
		case 98:
			greedy += "JobStatus = 2\nRemoteHost = \"slot1@n\"\nJobCurrentStartDate = 1700000000\nEstimatedRunTime = 77\n"
		case 99:
			greedy += "Environment = \"short\"\n"
		}
		jobs = append(jobs, job(greedy), job(fmt.Sprintf("ProcId = %d\nRequestMemory = %d", i, i)))
	}
	p.schedds[0].SetJobs(jobs...)
	for range 2 {
		s := p.see().Schedds["s@test"]
		require.True(t, s.Read, "%v", s.Failed)
		all, leftOut := ids(s, "alice")
		require.Len(t, all, 100)
		require.Zero(t, leftOut)
		all, leftOut = ids(s, "mallory")
		require.Len(t, all, 100)
		require.Equal(t, 99, leftOut)
		require.Len(t, s.Groups, 103)
		for _, g := range s.Groups {
			if g.Runs() {
				require.Equal(t, []string{"slot1@n"}, g.Hosts)
				require.EqualValues(t, 1_700_000_000, g.Started)
				require.EqualValues(t, 77, g.Spec.Estimate)
				require.EqualValues(t, 1, g.Spec.Request[0])
				require.ErrorContains(t, g.Spec.Wrong, "too large with all ads of mallory@test")
			}
		}
	}
	p.schedds[0].SetJobs(jobs[1], jobs[0])
	_, leftOut := ids(p.see().Schedds["s@test"], "mallory")
	require.Zero(t, leftOut, "there is room again")
}

// TestIntakeIsBounded says how much is kept of 24,000 jobs with environments of 4 kB.
func TestIntakeIsBounded(t *testing.T) {
	const most = 64 << 20
	k := newIntake(question{name: "s@test", most: most})
	environment := strings.Repeat("e", 4000)
	for i := range 24_000 {
		lines := fmt.Sprintf("User = \"mallory@test\"\nJobStatus = 1\nQDate = %d\nEnvironment = \"%d%s\"\nJobIds = \"2.%d\"\n",
			i, i, environment, i)
		require.NoError(t, k.add(cedar.Lines(lines), len(lines)))
		require.LessOrEqual(t, k.size, most)
		if i%1000 == 0 {
			lines = fmt.Sprintf("User = \"alice@test\"\nJobStatus = 1\nRequestCpus = %d\nJobIds = \"1.%d\"\n", i, i)
			require.NoError(t, k.add(cedar.Lines(lines), len(lines)))
		}
	}
	groups := k.all()
	require.Len(t, groups, 25)
	jobs := 0
	for _, g := range groups {
		jobs += len(strings.Fields(string(g.ids)))
	}
	require.Equal(t, 24_024, jobs)
}

// TestUnreadableJobs says that a job whose ad cannot be parsed is not planned, and is seen to run.
func TestUnreadableJobs(t *testing.T) {
	p := newSite(t, "s@test")
	p.see()
	s := p.Observer.schedds["s@test"]
	lines := "User = \"mallory@test\"\nJobStatus = 2\nRemoteHost = \"slot1@n\"\nRank = " +
		strings.Repeat("(", 100_000) + "\n"
	for range 2 {
		p.digest(s, reading{groups: []rawGroup{{lines: []byte(lines), ids: []byte("3.0 3.1")}}}, 7)
		require.Len(t, s.Groups, 1)
		g := s.Groups[0]
		require.Equal(t, []JobKey{{"s@test", 3, 0}, {"s@test", 3, 1}}, g.Jobs)
		require.True(t, g.Runs())
		require.Equal(t, []string{"slot1@n"}, g.Hosts)
		require.ErrorContains(t, g.Spec.Wrong, "its ad cannot be read")
		require.Contains(t, s.wrong, "the ads of 2 jobs")
	}
	for _, name := range []string{"User", "AccountingGroup", "JobUniverse", "Scheduler", "ConcurrencyLimits"} {
		lines := "JobStatus = 2\nRemoteHost = \"slot1@n\"\n" + name + " = ((\n"
		if name != "User" {
			lines += "User = \"mallory@test\"\n"
		}
		p.digest(s, reading{groups: []rawGroup{{lines: []byte(lines), ids: []byte("3.0 3.1")}}}, 8)
		require.Len(t, s.Groups, 1, name)
		g := s.Groups[0]
		require.Len(t, g.Jobs, 2)
		require.True(t, g.Runs())
		require.Equal(t, []string{"slot1@n"}, g.Hosts)
		require.ErrorContains(t, g.Spec.Wrong, "its ad cannot be read", name)
	}
}

// TestManyIDs says that one ad with many jobs has its price, that jobs beyond it are told of but
// not kept, whether their ads are whole or left out, and that running jobs and those of others are
// kept.
func TestManyIDs(t *testing.T) {
	group := func(user string, cluster, status, jobs int, more string) cedar.Lines {
		list := strings.Builder{}
		for i := range jobs {
			fmt.Fprintf(&list, "%d.%d ", cluster, i)
		}
		return cedar.Lines(fmt.Sprintf("User = %q\nJobStatus = %d\nRemoteHost = \"slot1@n\"\n%sJobIds = %q\n",
			user, status, more, &list))
	}
	for name, more := range map[string]string{"whole": "", "left out": "Rank = " + list(1, maxGroupTokens) + "\n"} {
		t.Run(name, func(t *testing.T) {
			p := newSite(t, "s@test")
			p.see()
			q := question{name: "s@test", most: 8 << 20}
			k := newIntake(q)
			for _, lines := range []cedar.Lines{
				group("alice@test", 1, 1, 500, ""), group("mallory@test", 2, 1, 20_000, more),
				group("mallory@test", 3, 2, 50, more), group("mallory@test", 4, 1, 300, more+"A = 1\n"),
				group("alice@test", 5, 2, 50, ""),
			} {
				require.NoError(t, k.add(lines, len(lines)))
				require.LessOrEqual(t, k.size, q.most)
			}
			s := p.Observer.schedds["s@test"]
			p.digest(s, reading{question: q, groups: k.all(), surplus: k.surplus, size: k.size}, 7)
			all, leftOut := ids(&s.Schedd, "alice")
			require.Len(t, all, 550)
			require.Zero(t, leftOut)
			all, _ = ids(&s.Schedd, "mallory")
			require.Len(t, all, 20_350-k.surplus.jobs)
			require.Less(t, len(all), q.most/bytesPerJob)
			for i := range 50 {
				require.Contains(t, all, JobKey{"s@test", 3, int64(i)})
			}
			require.GreaterOrEqual(t, s.leftOut, k.surplus.jobs)
			require.Equal(t, fmt.Sprintf("the queue of schedd s@test has more jobs than there is room for, and %d are not "+
				"planned: among them jobs of mallory@test", k.surplus.jobs), s.wrong)
		})
	}
}
