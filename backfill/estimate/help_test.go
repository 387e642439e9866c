package estimate_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

func TestHelp(t *testing.T) {
	help := estimate.Help()
	for _, e := range estimate.Estimators() {
		require.Contains(t, help, e.Doc)
	}
	for _, name := range estimate.Names(true) {
		require.Contains(t, help, "\n  "+name+" ")
	}
	for _, o := range estimate.Options() {
		require.Contains(t, help, "\n  "+o.Name+" ")
		require.Contains(t, help, o.Doc+" ["+o.Default+"]")
	}
	for line := range strings.Lines(help) {
		require.LessOrEqual(t, utf8.RuneCountInString(line), 101, line)
	}
	require.Equal(t, []string{"requested", "user", "project", "combined", "selective", "tsafrir", "file:PATH"}, estimate.Names(false))
}
