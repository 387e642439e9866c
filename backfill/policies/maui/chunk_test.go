package maui_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// chunked lets job 1 give 4 of 8 cpus back at 20, while 1 is idle and job 3 is
// blocked, which wants 6. Jobs 4 and 5, of 1 cpu each, come at that instant.
//
//	cpus 8 │ . . . . │ . . . . │ . . .
//	     7 │ 1 1 1 1 │ kept    │ given free
//	     3 │ 2 2 2 2 │ 2 2 2 2 │ 2 2 2
//	       0        20        30
func chunked(t *testing.T, opt options) (p *pool, started []id) {
	t.Helper()
	p = newPool(t, opt, 8)
	require.Equal(t, ids(1, 2), p.at(0, nil, job(4, 100), job(3, 100), job(6, 100)))
	return p, p.at(20, ids(1), job(1, 60), job(1, 60))
}

func TestChunking(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options options
		kept    bool
	}{
		{"the size of the blocked one, exactly", with("bfchunksize", "6", "bfchunkduration", "10"), true},
		{"smaller than it", with("bfchunksize", "2", "bfchunkduration", "0:10"), true},
		{"nobody so large is blocked", with("bfchunksize", "7", "bfchunkduration", "10"), false},
		{"nobody is small", with("bfchunksize", "1", "bfchunkduration", "10"), false},
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
			require.Equal(t, ids(4), started, "on what was idle before")
			require.Equal(t, backfill.Time(30), p.host.State.NextWake())
			require.Empty(t, p.at(29, nil))
			require.Equal(t, backfill.Time(30), p.host.State.NextWake())
			require.Equal(t, ids(5), p.at(30, nil))
			require.Equal(t, backfill.Time(80), p.host.State.NextWake(), "the end of job 4")
		})
	}
}

// TestChunksAreForLargeJobs lets one take what is kept, and give it back.
func TestChunksAreForLargeJobs(t *testing.T) {
	p, _ := chunked(t, with("bfchunksize", "4", "bfchunkduration", "10"))
	require.Empty(t, p.at(24, nil, job(3, 1)), "too small")
	require.Equal(t, ids(7), p.at(25, nil, job(4, 60)))
	require.Empty(t, p.at(30, nil), "nothing is idle")
	require.Empty(t, p.at(50, ids(7)), "it is kept anew")
	require.Equal(t, ids(6, 5), p.at(60, nil))
}

// TestChunkingIsForThoseBehind keeps nothing from a job that comes before the
// large one that is blocked. Job 3 is reserved for and not large.
func TestChunkingIsForThoseBehind(t *testing.T) {
	p := newPool(t, with("bfchunksize", "4", "bfchunkduration", "10"), 8)
	require.Equal(t, ids(1, 2), p.at(0, nil, job(6, 100), job(2, 100), job(3, 100)))
	require.Equal(t, ids(4), p.at(20, ids(2), job(1, 50), job(4, 50), job(1, 50)))
	require.Equal(t, backfill.Time(30), p.host.State.NextWake())
	require.Equal(t, ids(6), p.at(30, nil))
}

// TestChunkingSeesEveryWindow lets a large job be blocked that is too long for
// the window in which the small ones are.
func TestChunkingSeesEveryWindow(t *testing.T) {
	for _, long := range []backfill.Time{50, 500} {
		p := newPool(t, with("bfchunksize", "4", "bfchunkduration", "10"), 8)
		require.Equal(t, ids(1, 2), p.at(0, nil, job(6, 100), job(2, 100), job(3, 100)))
		require.Equal(t, ids(4), p.at(20, ids(2), job(1, 50), job(4, long), job(1, 50)))
	}
}

// TestChunkingOnManySlots keeps what was freed where it was freed, and counts the
// cpus of all chunks.
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

// TestKeptIsCountedOnce lets two jobs give cpus back one after the other: 4 are
// kept and 2 are not.
func TestKeptIsCountedOnce(t *testing.T) {
	p := newPool(t, with("bfchunksize", "4", "bfchunkduration", "10"), 8)
	require.Equal(t, ids(1, 2, 3), p.at(0, nil, job(2, 100), job(2, 100), job(2, 100), job(8, 100)))
	require.Empty(t, p.at(20, ids(1)))
	require.Equal(t, ids(5, 6), p.at(25, ids(2), job(1, 60), job(1, 60), job(1, 60), job(1, 60)))
	require.Equal(t, ids(7, 8), p.at(30, nil), "what job 1 has left")
}

// TestKeptNowAndNotLater lets a job start whose place a reservation leaves with
// less than what is kept now.
func TestKeptNowAndNotLater(t *testing.T) {
	p := newPool(t, with("bfchunksize", "4", "bfchunkduration", "500"), 8)
	require.Equal(t, ids(1, 2), p.at(0, nil, job(4, 100), job(2, 100), job(7, 100)))
	require.Equal(t, ids(4), p.at(20, ids(1), job(1, 90)))
	require.Equal(t, plan{3: 100}, p.plan())
}

// TestChunkingMindsWhoLosesItsRoom lets job 6 fit as it is passed by, since it is
// too long for the first window, and job 7, behind it, take some of its room there:
// from then on it is blocked, and job 8 gets nothing of what was freed.
//
// At 5, 5 cpus are given back on each of two slots of 8. Job 5 wants 6 on one slot
// and gets them at 8, on a; job 6 wants seven times one.
func TestChunkingMindsWhoLosesItsRoom(t *testing.T) {
	p := newPool(t, with("bfchunksize", "7", "bfchunkduration", "4"), 8, 8)
	require.Equal(t, ids(1, 2, 3, 4), p.at(0, nil, job(5, 100), job(5, 100), job(3, 8), job(3, 100)))
	require.Equal(t, ids(7), p.at(5, ids(1, 2), job(6, 5), gang(7, 1, 10), job(4, 2), job(1, 2)))
	require.Equal(t, plan{5: 8}, p.plan())
}
