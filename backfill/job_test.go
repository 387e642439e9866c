package backfill_test

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestSizeOfAJob: a million may wait, and Go gives out memory in steps: one more word costs 16 bytes.
func TestSizeOfAJob(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(backfill.Job{}), uintptr(160))
}
