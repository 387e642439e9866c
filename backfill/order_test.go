package backfill_test

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestOrders checks the queue under each order after four jobs have arrived at a full pool.
func TestOrders(t *testing.T) {
	arrivals := []*backfill.Job{
		gang(1, 1, 30, 2, 2), // 4 cpus in all
		job(2, 1, 10, 3),
		job(3, 1, 30, 1),
		gang(4, 1, 20, 4, 1), // as wide as job 1
	}
	for name, want := range map[string][]backfill.JobID{
		"area":      {2, 3, 4, 1},
		"fcfs":      {1, 2, 3, 4},
		"fifo":      {1, 2, 3, 4},
		"sjf":       {2, 4, 1, 3},
		"ljf":       {1, 3, 4, 2},
		"widest":    {1, 4, 2, 3},
		"narrowest": {3, 2, 1, 4},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState(t, cpus(4))
			h := newHost(t, s, "fcfs", name)
			decide(t, h, 0, submitted(job(0, 0, 100, 4))...)
			decide(t, h, 1, submitted(arrivals...)...)
			require.Equal(t, want, ids(s.FirstWaiting(9)))
			require.Equal(t, want[:2], ids(s.FirstWaiting(2)))
			require.Empty(t, s.FirstWaiting(0))
		})
	}
}

// TestMovingOrders checks the keys under the orders whose keys change with time.
func TestMovingOrders(t *testing.T) {
	for _, tt := range []struct {
		order string
		job   *backfill.Job
		now   backfill.Time
		want  float64
	}{
		{"wfp", gang(1, 0, 10, 2, 3), 0, 0},
		{"wfp", gang(1, 0, 10, 2, 3), 10, -6},
		{"wfp", gang(1, 0, 10, 2, 3), 5, -0.75},
		{"wfp", gang(1, 0, 10, 2, 3), 20, -48},
		{"wfp", gang(1, 7, 10, 2, 3), 3, 0}, // submitted later than now: clocks disagree
		{"wfp", job(1, 0, 10, 0), 99, 0},    // no cpus
		{"wfp-wide", gang(1, 0, 10, 2, 3), 10, -36},
		{"wfp-wide", gang(1, 0, 10, 2, 3), 5, -4.5},
		{"wfp-wide", gang(1, 0, 10, 2, 3), 20, -288},
		{"xfactor", job(1, 0, 10, 3), 0, -1},
		{"xfactor", job(1, 0, 10, 3), 15, -2.5},
		{"xfactor", job(1, 7, 10, 3), 3, -1},
	} {
		key, moves := order(t, tt.order)(tt.job, backfill.Moment{Now: tt.now})
		require.InDelta(t, tt.want, key, 0, "%s at %d", tt.order, tt.now)
		require.True(t, moves.WithTime)
		require.Equal(t, key, moves.Curve.Key(tt.now)) //nolint:testifylint // to the last bit
	}
}

// TestArea checks the keys under the order area: the largest share of a resource that the pool has
// counts, and a job that takes a bundle whole counts with what it asks for.
func TestArea(t *testing.T) {
	type pool = backfill.Vector
	whole := job(1, 0, 10, 3, 100)
	whole.Whole = true
	predicted := job(1, 0, 10, 3, 100)
	predicted.Running, predicted.Limit = 5, 90
	for _, tt := range []struct {
		job  *backfill.Job
		has  pool
		want float64
	}{
		{job(1, 0, 10, 3), pool{8}, 3.75},
		{gang(1, 0, 10, 4, 3), pool{8}, 15}, // more than there is now
		{gang(1, 0, 10, 2, 3, 100), pool{8, 1600}, 7.5},
		{gang(1, 0, 10, 2, 3, 100), pool{8, 200}, 10},
		{gang(1, 0, 10, 2, 3, 100), pool{0, 1600}, 1.25}, // no slot with cpus is up
		{job(1, 0, 10, 0, 100), pool{8, 0}, 0},           // nothing of what the pool has
		{job(1, 0, 10, 3, 100), pool{0, 0}, 0},           // no slot is up
		{job(1, 0, 10, 1, 100, 1), pool{8, 1600, 2}, 5},
		{whole, pool{8, 1600}, 3.75},
		{predicted, pool{8, 1600}, 3.75}, // by the estimate
	} {
		key, moves := order(t, "area")(tt.job, backfill.Moment{Now: 7, Capacity: tt.has})
		require.InDelta(t, tt.want, key, 0, "%v of %v", tt.job.Total(), tt.has)
		require.Equal(t, backfill.Moves{WithCapacity: true}, moves)
	}
}

// TestAreaIsExact compares the keys of area with exact fractions: as long as the products of
// estimate and request are below 2^53, a key is the nearest number to the exact value, which is the
// same on every machine; below 2^52, jobs that all ask for the same resource are in the exact order
// of the products.
func TestAreaIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		amount := rapid.Int64Range(0, 1<<20)
		has := backfill.Vector(rapid.SliceOfN(rapid.Int64Range(0, 1<<50), 1, 3).Draw(rt, "capacity"))
		draw := func(id backfill.JobID) *backfill.Job {
			return gang(id, 0, backfill.Time(rapid.Int64Range(1, 1<<28).Draw(rt, "estimate")),
				rapid.IntRange(1, 8).Draw(rt, "nodes"), rapid.SliceOfN(amount, len(has), len(has)).Draw(rt, "request")...)
		}
		a, b := draw(1), draw(2)
		key := func(j *backfill.Job) float64 {
			key, _ := order(t, "area")(j, backfill.Moment{Capacity: has})
			return key
		}
		for _, j := range []*backfill.Job{a, b} {
			exact, _ := exactArea(j, has).Float64()
			require.InDelta(rt, exact, key(j), 0)
		}
		if len(has) == 1 && has[0] > 0 {
			area := func(j *backfill.Job) int64 { return int64(j.Estimate) * j.Width() }
			require.Equal(rt, cmp.Compare(area(a), area(b)), cmp.Compare(key(a), key(b)))
		}
	})
}

// exactArea returns estimate × the largest of request / capacity.
func exactArea(j *backfill.Job, has backfill.Vector) *big.Rat {
	share := new(big.Rat)
	for i, amount := range j.Total() {
		if has[i] > 0 {
			if part := big.NewRat(amount, has[i]); part.Cmp(share) > 0 {
				share = part
			}
		}
	}
	return share.Mul(share, new(big.Rat).SetInt64(int64(j.Estimate)))
}

// TestUnknownOrder checks that the error for an unknown order names the orders that there are, and
// the one that is probably meant.
func TestUnknownOrder(t *testing.T) {
	const list = "choose one of area, fcfs, fifo, ljf, narrowest, sjf, wfp, wfp-wide, widest, xfactor"
	for written, hint := range map[string]string{
		"random": ": ", "": ": ", "wpf": ", did you mean wfp?: ", "tallest": ", did you mean widest?: ",
		"FCFS":     ", did you mean fcfs?: ",
		"narowest": ", did you mean narrowest?: ", "x-factor": ", did you mean xfactor?: ",
		"sfj": ", did you mean sjf?: ", "Area": ", did you mean area?: ",
	} {
		_, err := backfill.OrderNamed(written)
		require.EqualError(t, err, fmt.Sprintf("unknown order %q%s%s", written, hint, list))
	}
}

// TestKeysNearTheTruth compares the keys of wfp and xfactor with exact fractions. The keys of wfp
// differ from them by a few units in the last place, and are equal for jobs of the same width and
// the same quotient of wait and estimate. The keys of xfactor compare exactly as the fractions do.
func TestKeysNearTheTruth(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		now := backfill.Time(rapid.Int64Range(0, 1<<25).Draw(rt, "now"))
		at := backfill.Moment{Now: now}
		draw := func(id backfill.JobID) *backfill.Job {
			return job(id, backfill.Time(rapid.Int64Range(0, 1<<25).Draw(rt, "submit")),
				backfill.Time(rapid.Int64Range(1, 1<<25).Draw(rt, "estimate")),
				rapid.Int64Range(1, 1<<40).Draw(rt, "cpus"))
		}
		a, b := draw(1), draw(2)
		for _, j := range []*backfill.Job{a, b} {
			key, _ := order(t, "wfp")(j, at)
			exact, _ := exactWFP(j, now).Float64()
			require.InEpsilon(rt, 1+exact, 1-key, 0x1p-49)
		}
		keyA, _ := order(t, "xfactor")(a, at)
		keyB, _ := order(t, "xfactor")(b, at)
		waited := func(j *backfill.Job) *big.Rat { return big.NewRat(int64(j.Waited(now)), int64(j.Estimate)) }
		require.Equal(rt, waited(b).Cmp(waited(a)), cmp.Compare(keyA, keyB))

		twice := *a // has waited twice as long and has twice the estimate
		twice.Submit, twice.Estimate = now-2*a.Waited(now), 2*a.Estimate
		same, _ := order(t, "wfp")(&twice, at)
		key, _ := order(t, "wfp")(a, at)
		require.InDelta(rt, key, same, 0)
	})
}

// exactWFP returns (wait / estimate)³ × cpus.
func exactWFP(j *backfill.Job, now backfill.Time) *big.Rat {
	r := big.NewRat(int64(j.Waited(now)), int64(j.Estimate))
	cube := new(big.Rat).Mul(r, new(big.Rat).Mul(r, r))
	return cube.Mul(cube, new(big.Rat).SetInt64(j.Width()))
}

// TestCompare checks that jobs are ordered by submit time, and ties by queue, cluster, proc and ID,
// one after the other.
func TestCompare(t *testing.T) {
	place := func(id backfill.JobID, submit backfill.Time, queue string, cluster, proc int64) *backfill.Job {
		return &backfill.Job{
			ID: id, Submit: submit,
			Position: backfill.QueuePosition{Queue: queue, Cluster: cluster, Proc: proc},
		}
	}
	want := []*backfill.Job{
		place(9, -1, "z", 9, 9),
		place(8, 0, "a", 9, 9),
		place(7, 0, "b", 2, 9),
		place(6, 0, "b", 10, 0), // as numbers
		place(4, 0, "b", 10, 2),
		place(5, 0, "b", 10, 2),
		place(3, 0, "b", 10, 11),
	}
	for i, a := range want {
		for j, b := range want {
			require.Equal(t, sign(i-j), sign(backfill.Compare(a, b)), "%d, %d", i, j)
		}
	}
}

func sign(n int) int { return max(-1, min(1, n)) }

// TestQueueIsSorted checks that the queue is sorted by key, then in the order of jobs, for jobs
// with many ties.
func TestQueueIsSorted(t *testing.T) {
	var orders []string
	for _, o := range backfill.Orders() {
		orders = append(orders, o.Name)
	}
	rapid.Check(t, func(rt *rapid.T) {
		asked := order(t, rapid.SampledFrom(orders).Draw(rt, "order"))
		keyOf := func(j *backfill.Job) float64 {
			key, _ := asked(j, backfill.Moment{Capacity: cpus(8)})
			return key
		}
		var jobs []*backfill.Job
		var events []backfill.Event
		for i := range rapid.IntRange(1, 12).Draw(rt, "jobs") {
			j := gang(backfill.JobID(i), 0, backfill.Time(rapid.IntRange(1, 3).Draw(rt, "estimate")),
				rapid.IntRange(1, 2).Draw(rt, "nodes"), rapid.Int64Range(1, 3).Draw(rt, "cpus"))
			j.Submit = backfill.Time(rapid.IntRange(-2, 0).Draw(rt, "submit"))
			j.Position = backfill.QueuePosition{
				Queue:   rapid.SampledFrom([]string{"", "a"}).Draw(rt, "queue"),
				Cluster: rapid.Int64Range(0, 1).Draw(rt, "cluster"),
			}
			jobs = append(jobs, j)
			events = append(events, backfill.Event{Kind: backfill.Submitted, Job: j, Key: keyOf(j)})
		}
		s := newState(t, cpus(8))
		accept(t, s, backfill.Round{Events: events}, nil)
		slices.SortFunc(jobs, func(a, b *backfill.Job) int {
			switch {
			case keyOf(a) < keyOf(b):
				return -1
			case keyOf(a) > keyOf(b):
				return 1
			}
			return backfill.Compare(a, b)
		})
		require.Equal(rt, ids(jobs), ids(s.FirstWaiting(99)))
	})
}

// TestHow checks the way in which jobs are reported to start: as the head, in the queue's order, or
// by backfill.
func TestHow(t *testing.T) {
	s := newState(t, cpus(4))
	h := newHost(t, s, "easy", "fcfs")
	how := func(d backfill.Decision) map[backfill.JobID]string {
		out := map[backfill.JobID]string{}
		for _, s := range d.Started {
			out[s.Job.ID] = s.How.String()
		}
		return out
	}
	require.Equal(t, map[backfill.JobID]string{1: "head", 2: "queue"},
		how(decide(t, h, 0, submitted(job(1, 0, 10, 2), job(2, 0, 10, 1))...)))
	require.Empty(t, decide(t, h, 1, submitted(job(3, 1, 10, 4))...).Started)
	require.Equal(t, map[backfill.JobID]string{4: "backfill"}, how(decide(t, h, 2, submitted(job(4, 2, 8, 1))...)))
	require.Equal(t, map[backfill.JobID]string{3: "head"},
		how(decide(t, h, 10, jobEvent(backfill.Completed, 1), jobEvent(backfill.Completed, 2),
			jobEvent(backfill.Completed, 4))))
}

// TestJob checks that width and total count all chunks of a gang.
func TestJob(t *testing.T) {
	j := gang(1, 0, 1, 3, 2, 500)
	require.Equal(t, int64(6), j.Width())
	require.Equal(t, backfill.Vector{6, 1500}, j.Total())
	require.Equal(t, backfill.Vector{2, 500}, j.Request)
}

// TestNames checks how events, causes and reasons are called in logs.
func TestNames(t *testing.T) {
	require.Equal(t, "slot lost", backfill.SlotLost.String())
	require.Equal(t, "wake", backfill.Wake.String())
	require.Equal(t, "unknown 99", backfill.EventKind(99).String())
	require.Equal(t, "start late", backfill.CauseStartLate.String())
	require.Equal(t, "policy changed", backfill.CausePolicyChanged.String())
	require.Equal(t, "held", backfill.HeldBack.String())
}
