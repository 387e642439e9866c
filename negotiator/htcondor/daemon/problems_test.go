package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A problem is told once, and again after an hour or when it comes back.
func TestProblemsAreToldOnce(t *testing.T) {
	began := time.Unix(1_700_000_000, 0)
	c := &cycles{}
	at := func(after time.Duration, problems ...string) []string {
		c.now.Began = began.Add(after)
		return c.untold(problems)
	}
	require.Equal(t, []string{"a", "b"}, at(0, "a", "b"))
	require.Empty(t, at(time.Minute, "a", "b"))
	require.Equal(t, []string{"c"}, at(2*time.Minute, "a", "c"), "another address")
	require.Equal(t, []string{"b"}, at(3*time.Minute, "a", "b", "c"))
	require.Empty(t, at(59*time.Minute, "a"))
	require.Equal(t, []string{"a"}, at(time.Hour, "a"))
	require.Empty(t, at(61*time.Minute, "a"))
	require.Empty(t, at(62*time.Minute))
	require.Equal(t, []string{"a"}, at(63*time.Minute, "a"))
}
