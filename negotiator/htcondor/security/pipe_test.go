package security

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPipeOfTokens: nobody waits for somebody to write to a pipe.
func TestAPipeOfTokens(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "token")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	_, err := readTokens([]string{pipe})
	require.EqualError(t, err, pipe+" is no regular file")
}
