package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
)

// The table of the stock negotiator's knobs says of each what the code does: it is honoured exactly
// if it is read, and of one that is not heeded config check warns.
func TestKnobsTableIsTrue(t *testing.T) {
	text, err := os.ReadFile("../../htcondor/KNOBS.md")
	require.NoError(t, err)
	_, stock, found := strings.Cut(string(text), "\n## The stock negotiator's knobs")
	require.True(t, found)
	here, notes := map[string]string{}, map[string]string{}
	rows := regexp.MustCompile("(?m)^\\| (`.+`) \\| (.*) \\|$")
	for section := range strings.SplitSeq(stock, "\n### ") {
		what, table, _ := strings.Cut(section, "\n")
		for _, row := range rows.FindAllStringSubmatch(table, -1) {
			for quoted := range strings.SplitSeq(row[1], ", ") {
				name := strings.Trim(quoted, "`")
				require.NotContains(t, here, name, "twice")
				here[name], notes[name] = what, strings.ReplaceAll(row[2], "`", "")
			}
			require.Contains(t, []string{"Honoured", "Not applicable", "Not heeded"}, what, row[1])
			require.NotEmpty(t, row[2], "%s: why?", row[1])
		}
	}

	warned := condorconfig.NotHeeded()
	for _, k := range warned {
		require.Equal(t, []string{"Not heeded", k.Note}, []string{here[k.Name], notes[k.Name]}, "config check warns of %s", k.Name)
	}
	for name, what := range here {
		warns := slices.ContainsFunc(warned, func(k condorconfig.StockKnob) bool { return k.Name == name })
		require.Equal(t, what == "Not heeded", warns, "config check warns of %s, which is said to be %s", name, what)
	}

	read := readKnobs(t)
	for name, what := range here {
		require.Equal(t, slices.Contains(read, name), what == "Honoured", "%s is said to be %s", name, what)
	}
	about := regexp.MustCompile(
		`^(MAX_(NUM_)?)?NEGOTIAT|^(GROUP|PREEMPTION|ACCOUNTANT|PRIORITY|CONCURRENCY)_|_FACTOR|_LIMIT$`)
	for _, name := range read {
		require.True(t, !about.MatchString(name) || here[name] != "", "%s is read, and has no row", name)
	}

	text, err = os.ReadFile("testdata/stock-knobs.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if name := strings.TrimSpace(line); !strings.HasPrefix(name, "#") {
			require.Contains(t, here, name, "the stock negotiator has it")
		}
	}
}

// readKnobs lists the stock knobs that the code reads: those that the accountant looks up, and those
// in the table of knobs that go to a setting, or that any code beside the table names.
func readKnobs(t *testing.T) (read []string) {
	t.Helper()
	general := strings.NewReplacer("_my_group", "_<groupname>", "_my_limit", "_<NAME>", "my_limit.x_", "<NAME>_")
	lookup := func(knob string) (value string, set bool) {
		read = append(read, general.Replace(knob))
		if knob == "GROUP_NAMES" {
			return "my_group", true
		}
		return "", false
	}
	_, err := accountant.ParseSettings(lookup)
	require.NoError(t, err)
	_, err = accountant.NewLimits(lookup).Max("my_limit.x")
	require.NoError(t, err)

	code := sources(t)
	for _, family := range []string{"CLASSAD_USER_MAPFILE_", "CLASSAD_USER_MAPDATA_", "CLASSAD_USER_MAP_PREFIX_"} {
		if strings.Contains(code, `"`+family+`"`) {
			read = append(read, family+"<name>")
		}
	}
	byDefault := func(name string) bool { // a setting has its value by default
		return slices.ContainsFunc(config.Settings(), func(s config.Setting) bool { return s.KnobDefault == "$("+name+")" })
	}
	for _, k := range condorconfig.Knobs() {
		named := k.Target != nil || byDefault(k.Knob) || strings.Contains(code, `"`+k.Knob+`"`)
		if named && !strings.HasPrefix(k.Knob, "BACKFILL_") {
			read = append(read, k.Knob)
		}
	}
	return read
}

// sources returns the code that reads HTCondor's configuration, without the table of knobs.
func sources(t *testing.T) string {
	t.Helper()
	var code strings.Builder
	for _, folder := range []string{"../../process", "../../htcondor"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				filepath.Base(path) == "knobs.go" {
				return err
			}
			text, err := os.ReadFile(path)
			code.Write(text)
			return err
		})
		require.NoError(t, err)
	}
	return code.String()
}
