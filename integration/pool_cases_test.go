package integration_test

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCasesOfPools runs the small pools that lie beside the checkout, of slots that are more than a number of cpus:
// which job runs when, and what it has of its slot. Scripts have the same and more: static_slot, slot_unheeded,
// gpu_kinds, whole_slot.
func TestCasesOfPools(t *testing.T) {
	cases := shared + "/cases"
	if _, err := os.Stat(cases); err != nil {
		t.Skip("skipped: " + cases + " is not here")
	}
	for _, c := range []struct {
		name, jobs, pool string
		columns          []string
		want             [][]string
	}{
		{
			"static-slot", "jobs.ads", "pool.ads",
			[]string{"start", "end", "cpus"},
			[][]string{{"0", "100", "4"}, {"100", "200", "4"}},
		},
		{
			"slot-state", "jobs.ads", "pool.ads",
			[]string{"start", "end"},
			[][]string{{"0", "100"}, {"0", "100"}, {"100", "200"}},
		},
		{
			"gpu-kinds", "jobs.ads", "pool.ads",
			[]string{"start", "end", "gpus"},
			[][]string{{"0", "100", "1"}, {"100", "200", "1"}},
		},
		{
			"whole-slot-request", "jobs.ads", "pool.ads",
			[]string{"start", "end", "cpus", "memory"},
			[][]string{{"0", "100", "8", "100"}, {"100", "200", "8", "100"}},
		},
		{
			"whole-slot-request", "jobs-ce.ads", "pool.ads",
			[]string{"start", "end", "cpus", "memory"},
			[][]string{{"0", "100", "8", "15564"}, {"100", "200", "8", "15564"}},
		},
		{
			"negotiator-dump", "jobs.ads", "pool.ads",
			[]string{"start", "cpus"},
			[][]string{{"0", "12"}, {"3600", "12"}},
		},
		{
			"negotiator-dump", "jobs.ads", "pool-with-startd.ads",
			[]string{"start", "cpus"},
			[][]string{{"0", "12"}, {"3600", "12"}},
		},
	} {
		t.Run(c.name+" "+c.jobs+" "+c.pool, func(t *testing.T) {
			dir := filepath.Join(cases, c.name)
			if _, err := os.Stat(dir); err != nil {
				t.Skip("skipped: " + dir + " is not here")
			}
			jobs, pool := filepath.Join(dir, c.jobs), filepath.Join(dir, c.pool)
			table := filepath.Join(t.TempDir(), "jobs.csv")
			output(t, "condorsim", "run", jobs, "--pool", pool, "--policy", "easy", "--jobs-out", table)
			require.Equal(t, c.want, columnsOf(t, table, c.columns))

			// A negotiator reads both files alike, and has each job start when it does in a simulation.
			text := output(t, "negotiator", "run", "--pool", pool, "--workload", jobs, "--policy", "easy", "--speed", "max")
			starts := regexp.MustCompile(`started: t=(\d+)`).FindAllStringSubmatch(text, -1)
			require.Len(t, starts, len(c.want))
			first := 0
			for i, started := range starts {
				at, err := strconv.Atoi(started[1])
				require.NoError(t, err)
				if i == 0 {
					first = at
				}
				require.Equal(t, c.want[i][0], strconv.Itoa(at-first))
			}
		})
	}
}

// output runs a program and returns what it printed.
func output(t *testing.T, program string, args ...string) string {
	t.Helper()
	text, err := exec.Command(filepath.Join(binaries, program), args...).CombinedOutput()
	require.NoError(t, err, string(text))
	return string(text)
}

// columnsOf returns some columns of a table, by the order of its rows.
func columnsOf(t *testing.T, path string, columns []string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	all, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	require.NoError(t, err)
	for _, row := range all[1:] {
		var some []string
		for _, name := range columns {
			i := slices.Index(all[0], name)
			require.GreaterOrEqual(t, i, 0, name)
			some = append(some, row[i])
		}
		rows = append(rows, some)
	}
	return rows
}
