package drawing_test

import (
	"io/fs"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/drawing"
)

// modules are those that the pages of condorsim contain, in an order for Script.
var modules = []string{"times.js", "spans.js", "view.js", "shade.js", "sheet.js", "strip.js", "hand.js"}

func TestScript(t *testing.T) {
	script := drawing.Script(modules...)
	require.NotRegexp(t, `(?m)^\s*(import|export)\b`, script, "a script that is no module has neither")
	for _, name := range []string{"Spans", "View", "Shades", "Sheet", "Strip", "Hand"} {
		require.Contains(t, script, "\nclass "+name+" ")
	}
	require.Contains(t, script, "\nfunction duration(")
}

// In one script nothing may have the name of something else.
func TestNamesInScriptsAreUnique(t *testing.T) {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^(?:class|function|const|let) (\w+)`).
		FindAllStringSubmatch(drawing.Script(modules...), -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	require.Greater(t, len(names), 10)
	require.Len(t, slices.Compact(slices.Clone(names)), len(names), "%v", names)
}

// Pages without scripts in their text serve each module as a file.
func TestFiles(t *testing.T) {
	text, err := fs.ReadFile(drawing.Files(), "view.js")
	require.NoError(t, err)
	require.Equal(t, drawing.Text("view.js"), string(text))
	_, err = drawing.Files().Open("nothing.js")
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Panics(t, func() { drawing.Text("nothing.js") })
}

func TestColours(t *testing.T) {
	css := drawing.Colours()
	for _, tone := range drawing.Tones() {
		require.Regexp(t, `^#[0-9a-f]{6}$`, tone.Light, "scripts read them digit by digit")
		require.Regexp(t, `^#[0-9a-f]{6}$`, tone.Dark)
		require.Contains(t, css, "--"+tone.Name+":"+tone.Light+";")
		require.Contains(t, css, "--"+tone.Name+":"+tone.Dark+";")
	}
	require.Contains(t, css, "@media print")
}
