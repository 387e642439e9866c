package integration_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheReadmeLeadsToAPolicy follows plugins/README.md in an empty folder: it runs only the
// commands given there and writes only the files named there.
func TestTheReadmeLeadsToAPolicy(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: builds a module of its own")
	}
	readme, err := os.ReadFile("../plugins/README.md")
	require.NoError(t, err)
	_, tutorial, found := strings.Cut(string(readme), "\n## From nothing to a running policy\n")
	require.True(t, found)
	tutorial, _, _ = strings.Cut(tutorial, "\n## ")

	checkout, err := filepath.Abs("..")
	require.NoError(t, err)
	home := t.TempDir()
	var script strings.Builder
	script.WriteString("set -e\n")
	for _, block := range regexp.MustCompile("(?s)(?:Write `([^`]*)`:\n"+
		"\n)?```(go|sh)\n(.*?)```").FindAllStringSubmatch(tutorial, -1) {
		file, language, text := block[1], block[2], block[3]
		if language == "go" {
			require.NotEmpty(t, file, "the README does not name the file of\n%s", text)
			text = "cat >" + file + " <<'END OF FILE'\n" + text + "END OF FILE\n"
		}
		script.WriteString(text)
	}
	// Use the checkout in place: in a folder that differs in every run, all of it would be compiled
	// anew. The complete check, of larger pools, runs in .ci/run.
	told := strings.NewReplacer("(cd condor-backfill ", "(cd '"+checkout+"' ", "../condor-backfill", "'"+checkout+"'",
		"plugin check ./", "plugin check --quick ./").Replace(script.String())
	shell := exec.CommandContext(t.Context(), "bash", "-c", told)
	shell.Dir = home
	// The binaries are installed already and up to date; only their times show that they were
	// installed.
	commands := []string{filepath.Join(binaries, "negotiator"), filepath.Join(binaries, "condorsim")}
	for _, command := range commands {
		require.NoError(t, os.Chtimes(command, time.Unix(0, 0), time.Unix(0, 0)))
	}
	shell.Env = append(os.Environ(), goFlags, "GOBIN="+binaries,
		"PATH="+binaries+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var out, said bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &said
	require.NoError(t, shell.Run(), "%s\n%s", &out, &said)
	for _, command := range commands {
		info, err := os.Stat(command)
		require.NoError(t, err)
		require.NotZero(t, info.ModTime().Unix(), "the README does not have %s installed", command)
	}
	require.Contains(t, out.String(), "mean wait")
	require.Contains(t, out.String(), "backfill-lean: all 11 checks passed")
	require.NotContains(t, out.String(), "decisions refused")
	all, _ := requirements(t, filepath.Join(home, "backfill-narrow"))
	require.ElementsMatch(t, append([]string{module}, needed...), all)
	t.Log(out.String())
}
