package workload_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

const (
	columns = "id submit wait runtime cpus cputime mem cpusreq walltime memreq status user group app queue part prec think\n"
	twoJobs = "1 0 -1 15 4 -1 -1 4 420 -1 1 1 1 -1 1 1 -1 -1\n2 5 -1 20 2 -1 -1 2 60 -1 1 1 1 -1 1 1 -1 -1\n"
)

// What is written in a dialect is read as if it were not.
func TestDialects(t *testing.T) {
	want := read(t, "; MaxProcs: 4\n"+twoJobs, workload.Options{}).Jobs
	require.Len(t, want, 2)
	all := columns + twoJobs
	for name, text := range map[string]string{
		"tabs":                  strings.ReplaceAll(twoJobs, " ", "\t"),
		"semicolons":            strings.ReplaceAll(twoJobs, " ", ";"),
		"semicolons at the end": strings.ReplaceAll(strings.ReplaceAll(twoJobs, " ", "; "), "\n", ";\r\n"),
		"commas":                strings.ReplaceAll(twoJobs, " ", ","),
		"commas and blanks":     strings.ReplaceAll(twoJobs, " ", " , "),
		"nothing between":       strings.ReplaceAll(strings.ReplaceAll(twoJobs, " ", ";"), "-1", ""),
		"quotes":                `"` + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(twoJobs), " ", `";"`), "\n", "\"\n\"") + `"`,
		"column names":          all,
		"names and tabs":        strings.ReplaceAll(all, " ", "\t"),
		"names and commas":      strings.ReplaceAll(all, " ", ","),
		"quoted names":          strings.ReplaceAll(strings.ReplaceAll(all, " ", `","`), "\n", "\"\n\""),
		"other comments":        "# made by hand\n" + all,
	} {
		text = strings.TrimSuffix(text, "\"\n\"")
		if name == "quoted names" {
			text = `"` + text + `"`
		}
		require.True(t, workload.IsSWF([]byte(text)), name)
		require.Equal(t, want, read(t, "; MaxProcs: 4\n"+text, workload.Options{}).Jobs, name)
	}
}

func TestBrokenDialects(t *testing.T) {
	swapped := strings.Replace(columns, "wait runtime", "runtime wait", 1)
	for text, want := range map[string]string{
		swapped + twoJobs: "x:1: column 3 is named runtime, which is field 4 (run time) of SWF; put the columns into the order that " +
			"condorsim workload formats describes",
		columns + columns + twoJobs: `x:2: field 1 (job number): "id" is not a number; correct the line (-1: unknown) or delete it`,
		"1,0,-1,15,4,-1,-1,4,420,-1,1,1,1,-1,1,1,-1,-1,7,8": `x:1: the line has 20 fields with "," between them, of 18; ` +
			"leave out what is no field of SWF, and write decimals with a point",
		"1;0;-1;1 5;4": `x:1: field 4 (run time): "1 5" is not a number; correct the line (-1: unknown) or delete it`,
		"1 0 -1 15,5 4 -1 -1 4 420 -1 1 1 1 -1 1 1 -1 -1": `x:1: field 4 (run time): "15,5" is not a number; ` +
			"correct the line (-1: unknown) or delete it",
	} {
		_, err := workload.ReadSWF(strings.NewReader(text), "x", workload.Options{CPUs: 4})
		require.EqualError(t, err, want)
	}
	require.False(t, workload.IsSWF([]byte("1 0 0 5 1 -1 -1 1 -1 -1 1"+strings.Repeat(" 1", 18))), "a trace of a grid")
	require.False(t, workload.IsSWF([]byte(columns)))
	require.False(t, workload.IsSWF(nil))
}

// A run of less than a second is a run.
func TestSecondsAreRoundedUp(t *testing.T) {
	jobs := read(t, "; MaxProcs: 4\n1 0.9 -1 0.9 4 -1 -1 4 0.1 -1 1 1 1 -1 1 1 -1 -1\n", workload.Options{}).Jobs
	require.Equal(t, [3]int64{0, 1, 1}, [3]int64{jobs[0].Submit, jobs[0].Run, jobs[0].Estimate})
}
