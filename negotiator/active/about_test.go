package active

import (
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// TestThePolicyIsDescribed with the values that its options have, and those that they have by
// default.
func TestThePolicyIsDescribed(t *testing.T) {
	s := config.Default()
	s.Policy, s.Options, s.Order, s.Plugins.InProcess = "easy", map[string]string{"depth": "3"}, "sjf", true
	p := &Activator{Source: new(source.Settings), Logger: hclog.NewNullLogger()}
	require.NoError(t, p.Start(t.Context(), s))
	defer p.Close()
	told := p.About(100)
	require.Regexp(t, `^Policy easy: \w+`, told)
	require.Regexp(t, `order +sjf`, told)
	require.Regexp(t, `estimates +requested`, told)
	require.Regexp(t, `depth = 3\n    how many blocked jobs`, told)
}
