package integration_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// found is what a command says of a case: its exit code, and parts of what it prints and logs.
type found struct {
	command string
	code    int
	prints  []string
	logs    []string
	never   string // is in neither
}

// estimateCases are about estimates, by the folder of their files, with what is right.
func estimateCases() map[string][]found {
	misspelt := func(file, more string) []string { return []string{"no job of " + file + " has MaxWal", more} }
	return map[string][]found{
		"estimate-attr-typo": {
			{
				"condorsim run h.long --estimate-attr MaxWalTimeMins", 2, nil,
				misspelt("h.long", "did you mean MaxWallTimeMins?"), "",
			},
			{
				"condorsim run h.long --estimate-attr MaxWallTimeMins*60 --json", 0,
				[]string{`"estimate_raised": 0`},
				nil, "stands in",
			},
			{
				"condorsim run h.long --estimate-attr MaxWallTimeMins:min --json", 0,
				[]string{`"estimate_raised": 0`},
				nil, "stands in",
			},
			{
				"condorsim run h.long --estimate-attr MaxWallTimeMins", 0,
				[]string{"estimate raised to the run time"},
				[]string{"the estimate of 37 of 39 (94.9 %) jobs is shorter than the run time"},
				"",
			},
			{"negotiator run --speed max --workload h.long --estimate-attr MaxWalTimeMins", 2, nil, misspelt("h.long", ""), ""},
		},
		"estimate-unknown": {
			{"condorsim run history.ads --cpus 16 --estimate-attr MaxWalltimeMin", 2, nil, misspelt("history.ads", ""), ""},
			{"condorsim study history.ads --cpus 16 --estimate-attr MaxWalltimeMin", 2, nil, misspelt("history.ads", ""), ""},
			{"condorsim run history.ads --cpus 16 --estimate-attr MaxWallTimeMins*60", 0, nil, nil, "stands in"},
			{
				"condorsim run history.ads --cpus 16", 0,
				[]string{"estimate unknown: the run time stands in", "3 of 3 (100.0 %)"},
				[]string{"the run time stands in for the estimate of 3 of 3 (100.0 %) jobs"},
				"",
			},
		},
	}
}

// otherCases are about other things that were read wrongly.
func otherCases() map[string][]found {
	return map[string][]found{
		"csv-id-float": {
			{"condorsim run h.long --cpus 2 --jobs-out j.csv", 0, nil, nil, ""},
			{"cat j.csv", 0, []string{"\n7.1,", "\n'7.10,", ",7,1\n", ",7,10\n"}, nil, ""},
		},
		"swf-dependency": {
			{"condorsim run dep.swf --jobs-out o.csv", 0, []string{"submitted after a preceding job"}, nil, ""},
			{"cat o.csv", 0, []string{"\n2,90,90,150,"}, nil, ""},
			{"condorsim run trace.swf --jobs-out t.csv", 0, nil, nil, ""},
			{"cat t.csv", 0, []string{"\n2,90,90,100,"}, nil, ""},
			{"condorsim workload info dep.swf", 0, []string{"submitted after a preceding job"}, nil, ""},
			{"condorsim run dep.swf --dependencies ignore --jobs-out i.csv", 0, nil, nil, ""},
			{"cat i.csv", 0, []string{"\n2,0,60,120,"}, nil, ""},
		},
		"sweep-removed-jobs": {
			{"condorsim run h.long --pool p.yaml --json", 0, []string{`"jobs": 1,`, `"mean_bounded_slowdown": 1,`}, nil, ""},
			{"condorsim sweep s.yaml --json", 0, []string{`"jobs": 1,`, `"mean_bounded_slowdown": 1,`}, nil, ""},
			{"condorsim sweep s2.yaml --json", 0, []string{`"jobs": 1,`, `"mean_bounded_slowdown": 1,`}, nil, ""},
			{"negotiator run --speed max --pool p.yaml --workload h.long --json", 0, []string{`"jobs": 1,`}, nil, ""},
		},
		"wallclock-real": {
			{"condorsim run one.long --json", 0, []string{`"jobs": 1,`}, nil, ""},
			{"negotiator start-times --at 1 --workload one.long", 0, nil, nil, "missing or no whole number"},
			{"negotiator run --speed max --workload one.long --json", 0, []string{`"jobs": 1,`}, nil, "no whole number"},
		},
	}
}

// TestCases runs, where they are at hand, the files of what users once stumbled over.
func TestCases(t *testing.T) {
	cases := estimateCases()
	maps.Copy(cases, otherCases())
	for name, all := range cases {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(shared, "cases", name)
			if _, err := os.Stat(dir); err != nil {
				t.Skip("skipped: the files of a case, as ", dir, " is not there")
			}
			home := t.TempDir()
			require.NoError(t, os.CopyFS(home, os.DirFS(dir)))
			for _, f := range all {
				f.check(t, home)
			}
		})
	}
}

// check runs the command in a folder.
func (f found) check(t *testing.T, home string) {
	t.Helper()
	words := strings.Fields(f.command)
	if program := filepath.Join(binaries, words[0]); words[0] != "cat" {
		words[0] = program
	}
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	var out, log bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = home, &out, &log
	_ = cmd.Run() // the exit code says it
	require.Equal(t, f.code, cmd.ProcessState.ExitCode(), "%s\n%s", f.command, &log)
	for _, part := range f.prints {
		require.Contains(t, out.String(), part, f.command)
	}
	for _, part := range f.logs {
		require.Contains(t, log.String(), part, f.command)
	}
	if f.never != "" {
		require.NotContains(t, out.String()+log.String(), f.never, f.command)
	}
}

// TestAPolicyOfAnAuthorPanicsFromAnInstantOn builds the plugin of such a case as its author would, in a
// module of its own: it panics in each round after a time. The log stays short, and the run says that its
// results are the fallback's.
func TestAPolicyOfAnAuthorPanicsFromAnInstantOn(t *testing.T) {
	const dir, trace = shared + "/cases/panic-flood", shared + "/traces/KTH-SP2-1996-2.swf.gz"
	for _, needed := range []string{dir, trace} {
		if _, err := os.Stat(needed); err != nil || testing.Short() {
			t.Skip("skipped: a plugin that panics after a time; it takes a build, and ", needed)
		}
	}
	home := t.TempDir()
	require.NoError(t, os.CopyFS(home, os.DirFS(dir)))
	checkout, err := filepath.Abs("..")
	require.NoError(t, err)
	plugin := filepath.Join(home, "backfill-asaf")
	for _, args := range [][]string{
		{"mod", "edit", "-replace", module + "=" + checkout}, {"build", "-mod=mod", "-o", plugin, "."},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = home, append(os.Environ(), goFlags)
		said, wrong := cmd.CombinedOutput()
		require.NoError(t, wrong, "%s", said)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "condorsim"), "run", trace, "-p", plugin)
	var log bytes.Buffer
	cmd.Stderr = &log
	printed, err := cmd.Output()
	require.Error(t, err)
	require.Equal(t, 1, cmd.ProcessState.ExitCode())
	require.Regexp(t, `under asaf, order fcfs, [\d,]+ of [\d,]+ rounds decided by the fallback easy`, string(printed))
	require.Contains(t, string(printed), "GIVEN UP: asaf; ")
	require.Less(t, strings.Count(log.String(), "\n"), 60)
	require.Equal(t, 1, strings.Count(log.String(), "debug.Stack()"))
}
