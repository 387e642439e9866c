package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQuestionsBeginWithWhatTheyAreFor: the help shows examples and the flags that ask a pool
// before the many that describe a simulation.
func TestQuestionsBeginWithWhatTheyAreFor(t *testing.T) {
	for command, want := range map[string][]string{
		"explain": {
			"Examples:", "negotiator explain 12.0", "Ask a running negotiator", "--json", "Or look into a simulation",
			"--at=T", "Policy", "--policy=NAME", "Estimates", "Real pool",
		},
		"start-times": {
			"Examples:", "negotiator start-times", "Ask a running negotiator", "--owner=STRING", "--limit=N", "--json",
			"Or look into a simulation", "--at=T", "Policy", "Estimates", "Real pool",
		},
	} {
		cmd, stdout, stderr := launched(t, command, "--help")
		require.NoError(t, cmd.Run(), stderr)
		for i, text := range want {
			want[i] = regexp.QuoteMeta(text)
		}
		require.Regexp(t, "(?s)"+strings.Join(want, ".*"), stdout.String())
		require.NotContains(t, stdout.String(), "UNICEF", "that is for those who run one")
	}
}
