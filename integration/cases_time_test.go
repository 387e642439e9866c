package integration_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// caseOf returns the folder of a case that lies beside the checkout; the test is skipped where it does not.
func caseOf(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(shared, "cases", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skip("skipped: " + dir + " is not here")
	}
	return dir
}

// asked runs a program and reads the JSON that it prints.
func asked(t *testing.T, answer any, program string, args ...string) {
	t.Helper()
	text, err := exec.Command(filepath.Join(binaries, program), args...).Output()
	require.NoError(t, err, args)
	require.NoError(t, json.Unmarshal(text, answer), string(text))
}

// TestNoStartIsToldInThePast: what is asked of a time is told of that time, long after the last event, too.
func TestNoStartIsToldInThePast(t *testing.T) {
	dir := caseOf(t, "at-in-the-past")
	for _, at := range []int64{100_010, 104_000, 108_000, 108_999} {
		var all []struct {
			Start int64 `json:"start"`
			P10   int64 `json:"p10"`
			P90   int64 `json:"p90"`
		}
		asked(t, &all, "negotiator", "start-times", "--at", strconv.FormatInt(at, 10), "--workload", filepath.Join(dir, "t.swf"),
			"--pool", filepath.Join(dir, "p.yaml"), "--policy", "easy", "--json")
		require.Len(t, all, 1, at)
		require.GreaterOrEqual(t, all[0].P10, at)
		require.GreaterOrEqual(t, all[0].Start, all[0].P10, at)
		require.GreaterOrEqual(t, all[0].P90, all[0].Start, at)
	}
}

// TestWhatIsSoonerIsToldByTheSame: smaller and shorter jobs that are told as sooner are, by what the job
// itself is told by.
func TestWhatIsSoonerIsToldByTheSame(t *testing.T) {
	dir := caseOf(t, "what-if-sooner")
	var a struct {
		Job struct {
			ToldBy string `json:"told_by"`
			P50    int64  `json:"p50"`
			Sooner []struct {
				P50 int64 `json:"p50"`
			} `json:"sooner"`
		} `json:"job"`
	}
	asked(t, &a, "negotiator", "what-if", "--at", "1764200000", "--workload", filepath.Join(dir, "h.long.gz"),
		"--pool", filepath.Join(dir, "status.long"), "--under", "easy", "--cpus", "32", "--memory", "131072", "--time", "12h", "--json")
	require.Equal(t, "median", a.Job.ToldBy)
	require.NotEmpty(t, a.Job.Sooner)
	for _, s := range a.Job.Sooner {
		require.Less(t, s.P50, a.Job.P50)
		require.GreaterOrEqual(t, s.P50, int64(1_764_200_000))
	}
}

// TestGuaranteesAddUp: each that was given is kept, broken or open, under all policies that give some, also
// on a pool whose slots fail.
func TestGuaranteesAddUp(t *testing.T) {
	for _, policy := range []string{"slack", "conservative"} {
		for _, pool := range []string{"failing", "four-nodes", "pilots"} {
			var a struct {
				Jobs    int                `json:"jobs"`
				Metrics map[string]float64 `json:"metrics"`
			}
			asked(t, &a, "condorsim", "run", "lublin-128", "--jobs", "600", "--pool", pool, "--seed", "7", "-p", policy, "--json")
			m := a.Metrics
			require.Contains(t, m, "guarantees_given", policy)
			require.InDelta(t, m["guarantees_given"], m["guarantees_kept"]+m["guarantees_broken"]+m["guarantees_open"], 0, policy, pool)
			require.LessOrEqual(t, m["guarantees_given"], float64(a.Jobs), policy, pool)
			require.GreaterOrEqual(t, m["guarantees_broken_times"], m["guarantees_broken"], policy, pool)
			require.LessOrEqual(t, m["utilisation"], 1.0, policy, pool)
		}
	}
}
