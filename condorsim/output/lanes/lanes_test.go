package lanes

import (
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

func TestLanes(t *testing.T) {
	left := free{{0, 10}}
	take := func(n int64) []Piece {
		taken, ok := left.take(n)
		require.True(t, ok)
		return taken
	}
	a, b, c := take(3), take(2), take(3)
	require.Equal(t, []Piece{{0, 3}}, a)
	require.Equal(t, []Piece{{5, 3}}, c)
	left.add(b[0])
	require.Equal(t, free{{3, 2}, {8, 2}}, left)
	require.Equal(t, []Piece{{3, 2}, {8, 1}}, take(3), "split where no gap is wide enough")
	left.add(a[0])
	left.add(Piece{8, 1})
	left.add(Piece{3, 2})
	left.add(c[0])
	require.Equal(t, free{{0, 10}}, left, "neighbours are joined")
	_, ok := left.take(11)
	require.False(t, ok)
}

// job is a job of a made-up schedule.
type job struct{ start, end, cpus int64 }

func scheduled(cpus int64, jobs ...job) *condorsim.Result {
	slot := &negotiator.Slot{Name: "machine", Capacity: backfill.Vector{cpus}}
	r := &condorsim.Result{Workload: &condorsim.Workload{
		Slots:  []*negotiator.Slot{slot},
		Schema: negotiator.Schema{Resources: []string{"cpus"}},
	}}
	for i, j := range jobs {
		r.Workload.Jobs = append(r.Workload.Jobs,
			condorsim.Job{Job: &negotiator.Job{Name: strconv.Itoa(i), Nodes: 1}, Cpus: j.cpus})
		r.Outcomes = append(r.Outcomes, condorsim.Outcome{
			Started: true, Ended: true, Start: backfill.Time(j.start), End: backfill.Time(j.end),
			Placement: negotiator.Placement{{Slot: slot, Count: 1}},
		})
	}
	return r
}

// A job has all of its partition, and no more.
func TestJobsOnPartitions(t *testing.T) {
	r := scheduled(4, job{0, 10, 3}, job{10, 20, 7}, job{10, 20, 1})
	r.Workload.Slots = append(r.Workload.Slots, &negotiator.Slot{Name: "next", Capacity: backfill.Vector{4}},
		&negotiator.Slot{Name: "wire", Capacity: backfill.Vector{0}},
		&negotiator.Slot{Name: "last", Capacity: backfill.Vector{2}})
	for i, slots := range [][]string{{"machine"}, {"machine", "next", "wire"}, {"last"}} {
		r.Outcomes[i].Placement = negotiator.Placement{{Bundle: &negotiator.Bundle{Slots: slots}, Count: 1}}
	}
	packed, err := Of(r)
	require.NoError(t, err)
	require.Equal(t, [][]Piece{{{0, 4}}, {{0, 4}, {4, 4}}, {{8, 2}}}, packed)
	r.Outcomes[1].Start = 9
	_, err = Of(r)
	require.ErrorContains(t, err, "machine has not as many free cpus at 9")
}

func TestAJobThatEndsAsItStarts(t *testing.T) {
	// In order of jobs the empty one is before the one that ends at that instant.
	packed, err := Of(scheduled(4, job{10, 10, 4}, job{0, 10, 4}, job{10, 20, 4}, job{20, 20, 2}))
	require.NoError(t, err)
	require.Equal(t, [][]Piece{{{0, 4}}, {{0, 4}}, {{0, 4}}, {{0, 2}}}, packed)
}

func TestAJobInTheRoomOfOneThatEndedAsItStarted(t *testing.T) {
	packed, err := Of(scheduled(4, job{0, 10, 1}, job{5, 10, 3}, job{5, 5, 3}))
	require.NoError(t, err)
	require.Equal(t, [][]Piece{{{0, 1}}, {{1, 3}}, {{1, 3}}}, packed)
}

func TestATooFullSlotIsAnInternalError(t *testing.T) {
	_, err := Of(scheduled(4, job{0, 10, 3}, job{5, 10, 2}))
	require.ErrorContains(t, err, "internal error: draw job 1: machine has not as many free cpus at 5")
	r := scheduled(4, job{0, 10, 3})
	r.Workload.Slots = nil
	_, err = Of(r)
	require.ErrorContains(t, err, "no slot of the pool")
}

// Whatever the schedule, no two jobs have a lane at the same time, and each has a lane for each
// cpu.
func TestNoLaneIsUsedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const cpus = 12
		var jobs []job
		for range rapid.IntRange(1, 40).Draw(t, "jobs") {
			start := rapid.Int64Range(0, 30).Draw(t, "start")
			j := job{start, start + rapid.Int64Range(0, 9).Draw(t, "run"), rapid.Int64Range(0, 6).Draw(t, "cpus")}
			if fits(append(slices.Clone(jobs), j), cpus) {
				jobs = append(jobs, j)
			}
		}
		packed, err := Of(scheduled(cpus, jobs...))
		require.NoError(t, err)
		for now := range int64(40) {
			used := map[int64]bool{}
			for i, j := range jobs {
				var sum int64
				for _, p := range packed[i] {
					sum += p.Count
					for lane := p.Lane; j.start <= now && now < j.end && lane < p.Lane+p.Count; lane++ {
						require.False(t, used[lane], "lane %d at %d", lane, now)
						require.Less(t, lane, int64(cpus))
						used[lane] = true
					}
				}
				require.Equal(t, j.cpus, sum)
			}
		}
	})
}

// fits reports whether a machine can run the jobs. Empty jobs come after those that end at their
// instant and before those that start.
func fits(jobs []job, cpus int64) bool {
	for now := range int64(40) {
		var running, before, empty int64
		for _, j := range jobs {
			switch {
			case j.start == now && j.end == now:
				empty = max(empty, j.cpus)
			case j.start <= now && now < j.end:
				running += j.cpus
				if j.start < now {
					before += j.cpus
				}
			}
		}
		if running > cpus || before+empty > cpus {
			return false
		}
	}
	return true
}
