package config

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOddNames of plugins lead to their settings, or to an error.
func TestOddNames(t *testing.T) {
	for _, name := range []string{"a'b", `a"b`, "$", "*", "[0]", "a.b", "..", " a ", "a#b", "ä", "'", "1", "null", "true"} {
		c, err := load(t, fmt.Sprintf("plugins:\n  each:\n    %q: {mtls: \"off\"}\n", name))
		require.NoError(t, err, name)
		require.Equal(t, "off", c.Plugins.Each[name].MTLS, name)
		require.EqualValues(t, 5, c.Plugins.Each[name].Restarts, name)
		_, err = load(t, fmt.Sprintf("plugins:\n  each:\n    %q: {mtls: perhaps}\n", name))
		require.ErrorContains(t, err, "perhaps: must be auto or off", name)
	}
}
