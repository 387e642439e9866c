package rehearsal

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// with sets a pool, a workload and a policy that is linked in.
type with struct{ pool, workload, policy string }

func (w with) Over(s *config.Config) {
	s.Pool, s.Workload, s.Policy, s.Plugins.InProcess = w.pool, w.workload, w.policy, true
}

func (w with) Given(string) bool { return false }

// rehearse prepares a workload, the text of a trace, on one machine.
func rehearse(t *testing.T, policy, machine, trace string) *Rehearsal {
	t.Helper()
	dir := t.TempDir()
	w := with{filepath.Join(dir, "p.yaml"), filepath.Join(dir, "t.swf"), policy}
	require.NoError(t, os.WriteFile(w.pool, []byte(machine), 0o600))
	require.NoError(t, os.WriteFile(w.workload, []byte(trace), 0o600))
	p, err := Prepare(t.Context(), Options{Source: &source.Settings{Flags: w}, LogLevel: "error", Log: io.Discard})
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

const fourCpus = "classes: [{name: m, count: 1, cpus: 4}]\n"

// shortRuns is a trace of a user whose jobs, of the whole machine and one after the other, run for a
// small part of the time that they request.
func shortRuns() *strings.Builder {
	text := new(strings.Builder)
	text.WriteString("; MaxProcs: 4\n")
	for i := range 100 {
		fmt.Fprintf(text, "%d %d -1 %d 4 -1 -1 4 10000 -1 1 7 -1 -1 -1 -1 -1 -1\n", i+1, 1000*i, 100+17*(i%50))
	}
	return text
}

// TestNothingIsExpectedInThePast asks again and again while a job runs and another one waits for it:
// nothing happens between, but time passes.
func TestNothingIsExpectedInThePast(t *testing.T) {
	text := shortRuns()
	text.WriteString("101 100000 -1 9000 4 -1 -1 4 10000 -1 1 7 -1 -1 -1 -1 -1 -1\n" +
		"102 100010 -1 60 4 -1 -1 4 100 -1 1 7 -1 -1 -1 -1 -1 -1\n")
	for _, policy := range []string{"easy", "conservative", "ibb"} {
		p := rehearse(t, policy, fourCpus, text.String())
		for _, at := range []backfill.Time{100010, 100300, 100899, 100901, 104000, 108000, 108999} {
			all, err := p.StartTimes(t.Context(), at, outlook.FuturesOptions{Futures: ahead.Futures{Count: 32}, Seed: 1}, "")
			require.NoError(t, err)
			require.Len(t, all, 1)
			for _, told := range []*int64{all[0].Start, all[0].P10, all[0].P50, all[0].P90} {
				require.NotNil(t, told, "%s at %d", policy, at)
				require.GreaterOrEqual(t, *told, int64(at), policy)
				require.LessOrEqual(t, *told, int64(110000), policy)
			}
			a, err := p.WhatIf(t.Context(), at, whatif.Question{Job: &whatif.Job{Ad: "RequestCpus = 1\nRequirements = true\n", Seconds: 50}})
			require.NoError(t, err)
			require.EqualValues(t, at, a.Now)
			require.GreaterOrEqual(t, *a.Job.Start, int64(at))
		}
	}
}

// TestWhatIfComparesLikeWithLike: a job that is told the median of futures is told of smaller and
// shorter ones by their medians.
func TestWhatIfComparesLikeWithLike(t *testing.T) {
	text := shortRuns()
	text.WriteString("101 100000 -1 9000 3 -1 -1 3 10000 -1 1 7 -1 -1 -1 -1 -1 -1\n" +
		"102 100005 -1 9000 1 -1 -1 1 20000 -1 1 7 -1 -1 -1 -1 -1 -1\n" +
		"103 100010 -1 6000 4 -1 -1 4 10000 -1 1 7 -1 -1 -1 -1 -1 -1\n" +
		"104 100010 -1 6000 4 -1 -1 4 10000 -1 1 7 -1 -1 -1 -1 -1 -1\n")
	p := rehearse(t, "easy", fourCpus, text.String())
	for _, at := range []backfill.Time{100010, 104000} {
		a, err := p.WhatIf(t.Context(), at, whatif.Question{Job: &whatif.Job{Ad: "RequestCpus = 4\nOwner = \"7\"\nRequirements = true\n", Seconds: 9000}})
		require.NoError(t, err)
		require.Equal(t, whatif.ByMedian, a.Job.ToldBy)
		require.NotEmpty(t, a.Job.Sooner)
		for _, sooner := range a.Job.Sooner {
			require.NotNil(t, sooner.Mid)
			require.Less(t, *sooner.Mid, *a.Job.Mid)
		}
	}
	a, err := rehearse(t, "easy", fourCpus, "; MaxProcs: 4\n1 0 -1 90 4 -1 -1 4 100 -1 1 7 -1 -1 -1 -1 -1 -1\n").
		WhatIf(t.Context(), 10, whatif.Question{Job: &whatif.Job{Ad: "RequestCpus = 4\nRequirements = true\n", Seconds: 50}})
	require.NoError(t, err)
	require.Equal(t, whatif.ByPlan, a.Job.ToldBy)
	require.EqualValues(t, 100, *a.Job.Start)
	require.Nil(t, a.Job.Mid)
}

// TestAskedJobHasNoRunTime: a job that is asked about is planned by what estimators say of it, though no
// trace says how long it will run.
func TestAskedJobHasNoRunTime(t *testing.T) {
	p := rehearse(t, "slack", fourCpus, shortRuns().String())
	a, err := p.WhatIf(t.Context(), 50100, whatif.Question{Job: &whatif.Job{Ad: "RequestCpus = 4\nOwner = \"7\"\nRequirements = true\n", Seconds: 900}})
	require.NoError(t, err)
	require.NotNil(t, a.Job.Start)
}
