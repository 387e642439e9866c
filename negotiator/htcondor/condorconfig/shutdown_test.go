package condorconfig

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestShutdownThreshold(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "0": 0, "600": 600, "10 * 60": 600, "-1": 0, "1.0e30": 1<<31 - 1, "LastNegotiationCycleDuration0 + 5": 0, "soon": 0,
	} {
		c := Parse("NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD = "+text, "")
		require.Equal(t, time.Duration(want)*time.Second, c.ShutdownThreshold(), text)
		require.NoError(t, c.Check())
		if text == "soon" || len(text) > 10 {
			require.Len(t, c.Warnings(), 1, text)
			require.Contains(t, c.Warnings()[0], "NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD = "+text+" is not heeded")
		} else {
			require.Empty(t, c.Warnings(), text)
		}
	}
}
