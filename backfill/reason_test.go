package backfill_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestReason checks the reason, and its text, for every situation that a job can be in.
func TestReason(t *testing.T) {
	guaranteed, busy := planned(t), busy(t, false)
	lost := newState(t, cpus(4))
	accept(t, lost, backfill.Round{Events: submitted(job(1, 0, 10, 4))}, nil)
	accept(t, lost, backfill.Round{Events: []backfill.Event{{Kind: backfill.SlotLost, Slot: slot(0, nil)}}}, nil)

	for _, tt := range []struct {
		name  string
		state *backfill.State
		job   backfill.JobID
		want  backfill.Reason
		text  string
	}{
		{
			"runs", guaranteed, 1,
			backfill.Reason{Why: backfill.Runs, Placement: on(0, 1), Promised: true},
			"runs since 0 on a×1",
		},
		{
			"reserved and promised", guaranteed, 5,
			backfill.Reason{Why: backfill.Reserved, At: 22, Placement: on(0, 1, 1, 1), Latest: 22, Promised: true},
			"reserved, expected start 22 on a×1 b×1, guaranteed by 22",
		},
		{
			"reserved", busy, 4,
			backfill.Reason{Why: backfill.Reserved, At: 20, Placement: on(0, 1)},
			"reserved, expected start 20 on a×1",
		},
		{
			"held", busy, 3,
			backfill.Reason{Why: backfill.HeldBack, Text: "its owner said so"},
			"held: its owner said so",
		},
		{
			"waits at the head", busy, 2,
			backfill.Reason{Why: backfill.Waits},
			"waits",
		},
		{
			"waits behind the head", busy, 5,
			backfill.Reason{Why: backfill.Waits, Behind: gang(2, 0, 10, 2, 2)},
			"waits behind job no. 2",
		},
		{
			"held for a lost slot", lost, 1,
			backfill.Reason{Why: backfill.HeldBack, Text: backfill.ReasonNeverFits},
			"held: fits on no slot of the pool, even an empty one",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := tt.state.Reason(tt.job)
			require.True(t, ok)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.text, tt.state.Describe(got,
				func(j *backfill.Job) string { return fmt.Sprint("no. ", j.ID) }))
		})
	}
	_, ok := busy.Reason(99)
	require.False(t, ok)
}
