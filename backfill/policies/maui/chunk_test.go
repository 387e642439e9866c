package maui_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// chunked returns a pool of 8 cpus at 20, and which jobs start then. Job 1 has just ended and given
// 4 cpus back; 1 cpu was idle before. Job 3 needs 6 cpus and is blocked. Jobs 4 and 5, of 1 cpu
// each, arrive at 20.
//
//	cpus 8 │ . . . . │ . . . . │ . . .
//	     7 │ 1 1 1 1 │ kept    │ released
//	     3 │ 2 2 2 2 │ 2 2 2 2 │ 2 2 2
//	       0        20        30
func chunked(t *testing.T, opt options) (p *pool, started []id) {
	t.Helper()
	p = newPool(t, opt, 8)
	require.Equal(t, ids(1, 2), p.at(0, nil, job(4, 100), job(3, 100), job(6, 100)))
	return p, p.at(20, ids(1), job(1, 60), job(1, 60))
}

// TestChunking checks under which options the cpus that job 1 gave back are kept from small jobs
// until 30, so that only one of them starts before.
func TestChunking(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options options
		kept    bool
	}{
		{"a job of exactly the chunk size is blocked", with("bfchunksize", "6", "bfchunkduration", "10"), true},
		{"a larger job is blocked", with("bfchunksize", "2", "bfchunkduration", "0:10"), true},
		{"no job of the chunk size is blocked", with("bfchunksize", "7", "bfchunkduration", "10"), false},
		{"no job is smaller than the chunk size", with("bfchunksize", "1", "bfchunkduration", "10"), false},
		{"no duration", with("bfchunksize", "4"), false},
		{"no size", with("bfchunkduration", "10"), false},
		{"not with BESTFIT", with("bfchunksize", "4", "bfchunkduration", "10", "backfillpolicy", "BESTFIT"), false},
		{"not with GREEDY", with("bfchunksize", "4", "bfchunkduration", "10", "backfillpolicy", "GREEDY"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, started := chunked(t, tt.options)
			if !tt.kept {
				require.Equal(t, ids(4, 5), started)
				return
			}
			require.Equal(t, ids(4), started, "job 4 gets the cpu that was idle before")
			require.Equal(t, backfill.Time(30), p.host.State.NextWake())
			require.Empty(t, p.at(29, nil))
			require.Equal(t, backfill.Time(30), p.host.State.NextWake())
			require.Equal(t, ids(5), p.at(30, nil))
			require.Equal(t, backfill.Time(80), p.host.State.NextWake(), "the end of job 4")
		})
	}
}

// TestChunksAreForLargeJobs checks that a large job may take what is kept from small ones, and that
// what it gives back is kept as well.
func TestChunksAreForLargeJobs(t *testing.T) {
	p, _ := chunked(t, with("bfchunksize", "4", "bfchunkduration", "10"))
	require.Empty(t, p.at(24, nil, job(3, 1)), "job 6 is too small to take what is kept")
	require.Equal(t, ids(7), p.at(25, nil, job(4, 60)))
	require.Empty(t, p.at(30, nil), "nothing is idle")
	require.Empty(t, p.at(50, ids(7)), "what job 7 gave back is kept")
	require.Equal(t, ids(6, 5), p.at(60, nil))
}

// TestChunkingIsForThoseBehind checks that freed cpus are kept from job 6, which is behind the
// blocked large job in the queue, and not from job 4, which is before it. Job 3 is blocked too, but
// not large.
func TestChunkingIsForThoseBehind(t *testing.T) {
	p := newPool(t, with("bfchunksize", "4", "bfchunkduration", "10"), 8)
	require.Equal(t, ids(1, 2), p.at(0, nil, job(6, 100), job(2, 100), job(3, 100)))
	require.Equal(t, ids(4), p.at(20, ids(2), job(1, 50), job(4, 50), job(1, 50)))
	require.Equal(t, backfill.Time(30), p.host.State.NextWake())
	require.Equal(t, ids(6), p.at(30, nil))
}

// TestChunkingSeesEveryWindow checks that a blocked large job starts chunking even if it is too
// long for the window to which the small jobs belong.
func TestChunkingSeesEveryWindow(t *testing.T) {
	for _, long := range []backfill.Time{50, 500} {
		p := newPool(t, with("bfchunksize", "4", "bfchunkduration", "10"), 8)
		require.Equal(t, ids(1, 2), p.at(0, nil, job(6, 100), job(2, 100), job(3, 100)))
		require.Equal(t, ids(4), p.at(20, ids(2), job(1, 50), job(4, long), job(1, 50)))
	}
}

// TestChunkingOnManySlots checks that what was freed is kept only on the slot where it was freed,
// and that the size of a gang is the cpus of all its chunks.
func TestChunkingOnManySlots(t *testing.T) {
	p := newPool(t, with("bfchunksize", "6", "bfchunkduration", "10"), 4, 4)
	require.Equal(t, ids(1, 2), p.at(0, nil, job(4, 100), job(3, 100), gang(2, 3, 100))) // on a, on b
	require.Equal(t, ids(4), p.at(20, ids(1), job(1, 50), job(1, 50)))
	for _, j := range p.host.State.Snapshot().Jobs {
		if j.Job.ID == 4 {
			require.Equal(t, backfill.Placement{{Slot: 1, Count: 1}}, j.Placement)
		}
	}
	require.Equal(t, ids(5), p.at(30, nil))
}

// TestKeptIsCountedOnce checks what is kept when two jobs have ended one after the other: the 4
// cpus that they gave back, but not the 2 that were idle before.
func TestKeptIsCountedOnce(t *testing.T) {
	p := newPool(t, with("bfchunksize", "4", "bfchunkduration", "10"), 8)
	require.Equal(t, ids(1, 2, 3), p.at(0, nil, job(2, 100), job(2, 100), job(2, 100), job(8, 100)))
	require.Empty(t, p.at(20, ids(1)))
	require.Equal(t, ids(5, 6), p.at(25, ids(2), job(1, 60), job(1, 60), job(1, 60), job(1, 60)))
	require.Equal(t, ids(7, 8), p.at(30, nil), "they get what job 1 gave back")
}

// TestKeptNowAndNotLater checks that what is kept limits only what is used now, not what is used
// later. 4 cpus are kept at 20, and from 100 on job 3's reservation leaves only 1, which job 4
// takes.
func TestKeptNowAndNotLater(t *testing.T) {
	p := newPool(t, with("bfchunksize", "4", "bfchunkduration", "500"), 8)
	require.Equal(t, ids(1, 2), p.at(0, nil, job(4, 100), job(2, 100), job(7, 100)))
	require.Equal(t, ids(4), p.at(20, ids(1), job(1, 90)))
	require.Equal(t, plan{3: 100}, p.plan())
}

// TestChunkingAfterAJobLosesItsRoom checks that a large job counts as blocked once a job behind it
// has taken its room. Job 6 fits, but is too long for the first window. Job 7, which is behind it,
// takes some of its room there. From then on job 6 is blocked, so job 8 gets nothing of what was
// freed.
//
// At 5, 5 cpus are given back on each of two slots of 8. Job 5 needs 6 cpus on one slot and gets
// them at 8, on a. Job 6 needs seven chunks of one cpu.
func TestChunkingAfterAJobLosesItsRoom(t *testing.T) {
	p := newPool(t, with("bfchunksize", "7", "bfchunkduration", "4"), 8, 8)
	require.Equal(t, ids(1, 2, 3, 4), p.at(0, nil, job(5, 100), job(5, 100), job(3, 8), job(3, 100)))
	require.Equal(t, ids(7), p.at(5, ids(1, 2), job(6, 5), gang(7, 1, 10), job(4, 2), job(1, 2)))
	require.Equal(t, plan{5: 8}, p.plan())
}
