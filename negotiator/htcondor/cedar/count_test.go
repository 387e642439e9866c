package cedar

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCountLines counts lines with empty ones among them, and without an end.
func TestCountLines(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "\n": 0, "\n\n": 0, "a": 1, "a\n": 1, "\na\n": 1, "a\nb": 2, "a\nb\n": 2, "a\n\nb\n": 2, "a\nb\n\n": 2,
	} {
		require.Equal(t, want, Lines(text).count(), "%q", text)
	}
}
