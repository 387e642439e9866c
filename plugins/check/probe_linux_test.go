package check

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// A plugin may leave a process behind that holds its standard output open; where it may not, that
// process ends with it.
func TestAProbeWaitsForNobodyElse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "plugin")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\nsetsid sleep 100 &\n"), 0o700))
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err := (&checker{command: host.Command{Path: path}}).dial(ctx)
	require.EqualError(t, err, "it ended before it said where it serves")
}
