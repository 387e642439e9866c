package jobtable_test

import (
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/jobtable"
)

func TestTheTableOfBatsim(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "jobs.batsim.csv"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "jobs.batsim.csv")
	require.NoError(t, write(path))
	require.Equal(t, string(want), content(t, path))
	for name, batsim := range map[string]bool{"a.batsim.csv": true, "A.BATSIM.CSV.zst": true, "a.csv": false, "batsim.csv": false} {
		require.Equal(t, batsim, jobtable.IsBatsim(name), name)
	}
}

func TestJobsThatReachedTheirLimit(t *testing.T) {
	r := finished()
	r.Workload.Jobs[0].Ran = 60
	var text strings.Builder
	require.NoError(t, jobtable.WriteBatsim(&text, r))
	require.Contains(t, text.String(), "\n1.0,small,delay10,-5,6,20,0,COMPLETED_WALLTIME_REACHED,5,10,")
	r.Workload.Slots = nil
	require.ErrorContains(t, jobtable.WriteBatsim(&text, r), "no slot of the pool")
}

// No processor has two jobs at a time, and each job has as many as it occupies.
func TestProcessorsOfJobs(t *testing.T) {
	r := finished()
	var text strings.Builder
	require.NoError(t, jobtable.WriteBatsim(&text, r))
	rows, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	require.NoError(t, err)
	column := func(name string) int { return slices.Index(rows[0], name) }
	for i, row := range rows[1:] {
		var processors []int
		for part := range strings.FieldsSeq(row[column("allocated_resources")]) {
			first, last, found := strings.Cut(part, "-")
			if !found {
				last = first
			}
			low, err := strconv.Atoi(first)
			require.NoError(t, err)
			high, err := strconv.Atoi(last)
			require.NoError(t, err)
			for n := low; n <= high; n++ {
				processors = append(processors, n)
			}
		}
		if want, _ := strconv.Atoi(row[column("requested_number_of_resources")]); r.Outcomes[i].Ended {
			require.Len(t, processors, want)
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(processors))), want)
		}
	}
}

// Evalys draws the table. What it takes for that is on few machines.
func TestEvalysDrawsTheTable(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	python, err := exec.LookPath("python3")
	if err != nil || exec.CommandContext(t.Context(), python, "-c", "import evalys").Run() != nil {
		t.Skip("skipped: python3 has no module evalys; pip install evalys gives it")
	}
	dir := t.TempDir()
	table, picture := filepath.Join(dir, "jobs.batsim.csv"), filepath.Join(dir, "jobs.png")
	require.NoError(t, write(table))
	said, err := exec.CommandContext(t.Context(), python, filepath.Join("testdata", "draw.py"), table, picture, "8").CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Contains(t, string(said), "3 jobs, 8 processors, 4.615 busy\n")
	info, err := os.Stat(picture)
	require.NoError(t, err)
	require.NotZero(t, info.Size())
}
