package fleet

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What condor_submit warns of is said: it takes a line that it does not know, and does nothing with it.
func TestWarnings(t *testing.T) {
	w := newWorld(t)
	w.file("warns", "Submitting job(s)\nWARNING: the line 'x = 7' was unused by condor_submit. Is it a typo?\n")
	require.NoError(t, w.play(1, w.ends(0, 0)))
	require.Equal(t, []string{
		"1 cell submitted as cluster 7",
		"condor_submit warns: the line 'x = 7' was unused by condor_submit. Is it a typo?",
	}, w.said)
}

// That no job runs, as no slot matches or all are busy, is said once, until one runs.
func TestNothingRuns(t *testing.T) {
	w := newWorld(t)
	w.file("queue", "7\n")
	const says = "no cell runs: 'condor_q -better-analyze 7' says whether slots match the jobs"
	require.NoError(t, w.play(1, w.passes(silence), func() { require.Equal(t, says, w.said[1]) }, w.passes(silence),
		w.passes(silence), w.log(0, "001 0 x", "004 0 evicted"), func() { require.Len(t, w.said, 3) },
		w.passes(silence), func() { require.Equal(t, says, w.said[3]) }, w.log(0, "001 0 x"), w.passes(silence),
		w.ends(0, 0)))
	require.Len(t, w.said, 4)
}

// A submission that failed before anything began left nothing: the next process starts anew, with as much
// memory, and ends as the first one if it is refused as well.
func TestRefusedSubmission(t *testing.T) {
	w := newWorld(t)
	w.file("down", "")
	for range 2 {
		require.ErrorContains(t, w.play(1, w.passes(lull)), "Can't find address of local schedd")
	}
	require.NoError(t, os.Remove(filepath.Join(w.fake, "down")))
	w.file("calls", "")
	require.NoError(t, w.play(1, w.ends(2, 0)))
	require.Equal(t, []string{"1 cell submitted as cluster 7"}, w.said)
	require.Equal(t, "0, 128, 60, 86400, kit.json,0-a.swf\n", w.read("2.list"))
	require.Equal(t, []string{"condor_submit -terse 2.sub"}, w.calls())
}

// That the schedd does not take jobs is said once.
func TestTriesAgain(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.play(1, w.log(0, "005 0 (0) Abnormal termination (signal 9)"), func() { w.file("down", "") },
		w.passes(lull), w.passes(lull), w.passes(lull),
		func() { require.NoError(t, os.Remove(filepath.Join(w.fake, "down"))) },
		w.passes(lull), func() {
			s, err := load(w.Dir)
			require.NoError(t, err)
			w.ends(s.Next-1, 0)()
		}))
	require.Len(t, w.said, 4)
	require.Equal(t, "the jobs could not be submitted; trying again: condor_submit: exit status 1: "+
		"ERROR: Can't find address of local schedd", w.said[2])
	require.Contains(t, w.said[3], "1 cell submitted as cluster ")
}

// HTCondor would look for the jobs' files elsewhere if the path of their folder had a variable in it.
func TestFoldersOfJobs(t *testing.T) {
	require.NoError(t, CheckDir("a b, #;'\"%ä/not there"))
	require.ErrorContains(t, CheckDir("$(number)/x"), "dollar sign")
	require.ErrorContains(t, CheckDir("a\nb"), "line break")
	dir := filepath.Join(t.TempDir(), "$HOME")
	link := filepath.Join(t.TempDir(), "home")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Symlink(dir, link))
	require.ErrorContains(t, CheckDir(link), "dollar sign")
}

// Of what a program printed the error is said, also if an excerpt of a file stands below it.
func TestComplaint(t *testing.T) {
	require.Equal(t, "prog: x.yaml: wrong", complaint("a warning\nprog: x.yaml: wrong\n>  1 | x\n   2 | y\n", "prog"))
	require.Equal(t, "out of luck", complaint("one\nout of luck\n", "prog"))
	require.Empty(t, complaint("", "prog"))
}
