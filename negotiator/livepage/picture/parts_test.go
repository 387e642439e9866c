package picture

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhole: slots, cpus and jobs that run add up over all negotiators, and jobs that wait count once.
func TestWhole(t *testing.T) {
	require.Nil(t, WholeOf(nil), "there is one")
	require.Equal(t, &Has{Slots: 3, Cpus: 30, InUse: 12, Running: 5, Waiting: 9}, WholeOf([]Part{
		{Negotiator: "east", Own: true, Has: Has{Slots: 1, Cpus: 10, InUse: 4, Running: 2, Waiting: 9}},
		{Negotiator: "west", Has: Has{Slots: 2, Cpus: 20, InUse: 8, Running: 3, Waiting: 8}},
	}))
}
