package auto

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQuietCycles: cycles that are there for scavengers alone do not change when the policy is chosen.
func TestQuietCycles(t *testing.T) {
	c, err := New(nil, 1, nil)
	require.NoError(t, err)
	defer c.Close()
	r := busy(t, c, 4, 20)
	r.Quiet = true
	require.Nil(t, c.See(r))
	r.Quiet = false
	require.NotNil(t, c.See(r), "the next cycle chooses, as if the quiet one had not been")
}
