package htcondor

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGangWhereAnotherHasEnded has a gang wait until its schedd has forgotten the claims of the one before.
func TestGangWhereAnotherHasEnded(t *testing.T) {
	w := newWorld(t, "easy", &node{name: "n1", cpus: 4, memory: 4096, policy: true})
	first := w.submit(&sleeper{cpus: 2, nodes: 2, seconds: 10, estimate: 10})
	second := w.submit(&sleeper{cpus: 2, nodes: 2, seconds: 10, estimate: 10})
	w.pass(60)
	require.True(t, second.done)
	require.Equal(t, 1, second.runs)
	require.GreaterOrEqual(t, second.began, first.began+first.seconds+int64(staleClaims.Seconds()))
}
