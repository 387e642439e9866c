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

// TestKnobsTableIsTrue: KNOBS.md has the table of the stock negotiator's knobs (UPDATE=1 writes it), which
// says of each what the code does: it is honoured exactly if it is read.
func TestKnobsTableIsTrue(t *testing.T) {
	const path, from, until = "../../htcondor/KNOBS.md",
		"<!-- From here on it is written by UPDATE=1 go test ./negotiator/cmd/negotiator -run TestKnobsTableIsTrue. -->\n",
		"<!-- Until here, too. -->\n"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	head, rest, found := strings.Cut(string(text), from)
	require.True(t, found)
	_, tail, found := strings.Cut(rest, until)
	require.True(t, found)
	want := head + from + "\n" + knobsInMarkdown() + "\n" + until + tail
	if os.Getenv("UPDATE") == "1" {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	} else {
		require.Equal(t, want, string(text), "write it with UPDATE=1")
	}

	here := map[string]condorconfig.Fate{}
	for _, row := range condorconfig.Stock() {
		for _, name := range row.All() {
			require.NotContains(t, here, name, "twice")
			here[name] = row.Fate
			require.NotEmpty(t, row.Note, "%s: why?", name)
		}
	}
	read := readKnobs(t)
	for name, what := range here {
		require.Equal(t, slices.Contains(read, name), what == condorconfig.Honoured, "%s is said to be %s", name, what)
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

// knobsInMarkdown writes the table, in sections.
func knobsInMarkdown() string {
	var text strings.Builder
	var last condorconfig.Fate
	for _, row := range condorconfig.Stock() {
		if row.Fate != last {
			last = row.Fate
			title := strings.ToUpper(string(last[:1])) + string(last[1:])
			text.WriteString(map[bool]string{true: "\n"}[text.Len() > 0] + "### " + title + "\n\n" + aboutFates[last] +
				"\n\n| knob | note |\n|---|---|\n")
		}
		text.WriteString("| `" + strings.Join(row.All(), "`, `") + "` | " + row.Note + " |\n")
	}
	return text.String()
}

var aboutFates = map[condorconfig.Fate]string{
	condorconfig.Honoured: "They mean the same here, but for what the note says.",
	condorconfig.NotHeeded: "They would have a meaning and have none: set something else, or do without. " +
		"`negotiator config check`\nand the log name those that are not as by default.",
	condorconfig.NotApplicable: "There is nothing that they could change.",
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

// sources returns the code that reads HTCondor's configuration, without the tables of knobs.
func sources(t *testing.T) string {
	t.Helper()
	var code strings.Builder
	for _, folder := range []string{"../../process", "../../htcondor"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				slices.Contains([]string{"knobs.go", "stock_knobs.go"}, filepath.Base(path)) {
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
