//go:build unix

package host

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
)

// TestAPipeIsNoPlugin: a start does not wait for somebody to write to a pipe.
func TestAPipeIsNoPlugin(t *testing.T) {
	path := filepath.Join(t.TempDir(), Prefix+"pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o700))
	for _, sum := range [][]byte{nil, make([]byte, 32)} {
		_, err := Start(t.Context(), Command{Path: path, SHA256: sum}, Options{Logger: hclog.NewNullLogger()})
		require.ErrorIs(t, err, ErrNotPlugin)
		require.ErrorContains(t, err, path)
	}
	_, _, err := Find("pipe", []string{filepath.Dir(path)})
	require.EqualError(t, err, path+": is not a policy plugin: it is no regular file")
}
