package backfill_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// A refusal tells of jobs by the names that their owners know, where it has one; failures of one kind stay
// of one kind whatever the jobs' names are.
func TestARefusalNamesJobs(t *testing.T) {
	names := map[backfill.JobID]string{12: "13", 4: "1.0", 5: "alice's"}
	name := func(id backfill.JobID) string { return names[id] }
	wrong := errors.New("wrong")
	for text, want := range map[string]string{
		"start job 12: it runs since 12":       "start job 13: it runs since 12",
		"reserve for job 4: at 4: taken":       "reserve for job 1.0: at 4: taken",
		"job 5 is planned for 7":               "job alice's is planned for 7",
		"start job 99: there is no such job":   "start job 99: there is no such job",
		"job 4 overtakes job 12":               "job 1.0 overtakes job 13",
		"job 123456789012345678901234567 is 0": "job 123456789012345678901234567 is 0",
		"2 jobs wait":                          "2 jobs wait",
	} {
		plain := backfill.Refusal{Err: fmt.Errorf("%s: %w", text, wrong)}
		named := plain.Named(name)
		require.EqualError(t, named.Err, want+": wrong")
		require.ErrorIs(t, named.Err, wrong)
		require.EqualError(t, named.Failure(), want+": wrong")
		require.Equal(t, plain.Kind(), named.Kind())
	}
}
