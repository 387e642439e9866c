package negotiator

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

type ids = []backfill.JobID

func TestStartsWhatFits(t *testing.T) {
	n := newNegotiator(t)
	require.Equal(t, backfill.Forever, n.NextWake())
	a := newSlot(t, "a", 4, "")
	small, wide := newJob(t, 1, 1, ""), newJob(t, 2, 4, "")
	r := cycle(t, n, Delta{SlotsUp: []*Slot{a}, Submitted: []*Job{small, wide}})
	require.Equal(t, []Match{{Job: small, Placement: Placement{{Slot: a, Count: 1}}}}, r.Matches)
	require.Empty(t, r.Held)
	require.Same(t, n.State(), r.State)
	require.Equal(t, "runs", why(t, n, 1))
	require.Equal(t, "reserved", why(t, n, 2))
	require.EqualValues(t, 10, n.NextWake(), "the end of the one and the planned start of the other")
	require.Same(t, small, n.Job(1))
	require.Nil(t, n.Job(3))

	r = cycle(t, n, Delta{Now: 5, Completed: ids{1}})
	require.Equal(t, []string{"1.2@a×1"}, started(r))
	require.Nil(t, n.Job(1))
	require.Equal(t, "unknown", why(t, n, 1))
	r = cycle(t, n, Delta{Now: 8, Completed: ids{2}})
	require.Empty(t, r.Matches)
	require.Equal(t, backfill.Forever, n.NextWake())
}

func TestGangsStartTogether(t *testing.T) {
	n := newNegotiator(t)
	slots := []*Slot{newSlot(t, "a", 2, ""), newSlot(t, "b", 2, "")}
	r := cycle(t, n, Delta{
		SlotsUp:   slots,
		Submitted: []*Job{newJob(t, 1, 1, "MinHosts = 3"), newJob(t, 2, 1, "MinHosts = 2")},
	})
	require.Equal(t, []string{"1.1@a×2+b×1"}, started(r))
	r = cycle(t, n, Delta{Now: 3, Completed: ids{1}})
	require.Equal(t, []string{"1.2@a×2"}, started(r))
}

func TestHeldJobsHaveAReasonAndRunWhenASlotFits(t *testing.T) {
	const tooMuch = backfill.ReasonNeverFits + ": it requests 2000 memory, and none that it matches has more than 1000"
	for _, c := range []struct {
		name, job, reason, slot string
		fits                    bool
	}{
		{
			"matches nothing", `Requirements = TARGET.Site == "north"`,
			`matches no slot: true on none of 1: TARGET.Site == "north"`, `Site = "north"`, true,
		},
		{
			"matches nothing yet", `Requirements = TARGET.Site == "north"`,
			`matches no slot: true on none of 1: TARGET.Site == "north"`, `Site = "south"`, false,
		},
		{"too much memory", "RequestMemory = 2000", tooMuch, "Memory = 4000", true},
		{"too much memory still", "RequestMemory = 2000", tooMuch, "", false},
		{"too many chunks", "MinHosts = 8", backfill.ReasonNeverFits, "", true},
		{"no owner of that name", `Owner = "eve"`, `matches no slot: the Requirements of all 1 refuse it: TARGET.Owner =!= "eve"`, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNegotiator(t)
			first := newSlot(t, "a", 4, `Requirements = TARGET.Owner =!= "eve"`)
			job := newJob(t, 1, 1, c.job)
			r := cycle(t, n, Delta{SlotsUp: []*Slot{first}, Submitted: []*Job{job, newJob(t, 2, 4, "")}})
			require.Equal(t, []Held{{Job: job, Reason: c.reason}}, r.Held)
			require.Equal(t, []string{"1.2@a×1"}, started(r), "a held job blocks nobody")
			require.Equal(t, "held", why(t, n, 1))
			require.Empty(t, cycle(t, n, Delta{Now: 5, Completed: ids{2}}).Held, "it is reported once")

			r = cycle(t, n, Delta{Now: 6, SlotsUp: []*Slot{newSlot(t, "b", 4, c.slot)}})
			if c.fits {
				require.Len(t, r.Matches, 1)
				require.Empty(t, r.Held)
				require.Equal(t, "runs", why(t, n, 1))
			} else {
				require.Empty(t, r.Matches)
				require.Equal(t, "held", why(t, n, 1))
			}
		})
	}
}

func TestJobsAreMatchedWithTheWholeSlot(t *testing.T) {
	n := newNegotiator(t)
	r := cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 1, "TotalSlotCpus = 8; Requirements = MY.Cpus >= TARGET.RequestCpus")},
		Submitted: []*Job{newJob(t, 1, 4, "Requirements = TARGET.Cpus >= RequestCpus")},
	})
	require.Equal(t, []string{"1.1@a×1"}, started(r))
}

func TestJobsThatArriveBeforeAnySlot(t *testing.T) {
	n := newNegotiator(t)
	r := cycle(t, n, Delta{Submitted: []*Job{newJob(t, 1, 1, ""), newJob(t, 2, 1, "")}})
	require.Len(t, r.Held, 2)
	r = cycle(t, n, Delta{Now: 1, SlotsUp: []*Slot{newSlot(t, "a", 4, "")}})
	require.Equal(t, []string{"1.1@a×1", "1.2@a×1"}, started(r))
}

// A slot that refers to a new job attribute separates waiting jobs of one autocluster.
func TestALaterSlotPartsWaitingJobs(t *testing.T) {
	n := newNegotiator(t)
	r := cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 1, "")}, Submitted: []*Job{
		newJob(t, 1, 1, ""), newJob(t, 2, 1, `Owner = "bob"`), newJob(t, 3, 1, `Owner = "eve"`),
	}})
	require.Equal(t, []string{"1.1@a×1"}, started(r))
	one, err := n.autocluster(n.Job(1))
	require.NoError(t, err)
	three, err := n.autocluster(n.Job(3))
	require.NoError(t, err)
	require.Equal(t, one, three)
	r = cycle(t, n, Delta{Now: 1, SlotsUp: []*Slot{newSlot(t, "b", 1, `Requirements = TARGET.Owner == "eve"`)}})
	require.Equal(t, []string{"1.3@b×1"}, started(r))
	require.Equal(t, "reserved", why(t, n, 2))
}

func TestALostSlotsJobsRunAgain(t *testing.T) {
	n := newNegotiator(t)
	r := cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, ""), newSlot(t, "b", 2, "")}, Submitted: []*Job{
		newJob(t, 1, 2, ""), newJob(t, 2, 2, ""), newJob(t, 3, 2, ""),
	}})
	require.Equal(t, []string{"1.1@a×1", "1.2@b×1"}, started(r))
	r = cycle(t, n, Delta{Now: 4, SlotsDown: []string{"a"}})
	require.Empty(t, r.Matches)
	require.Equal(t, "reserved", why(t, n, 1), "back in the queue, in front, with its submit time")
	require.Equal(t, "waits", why(t, n, 3))
	require.False(t, n.State().SlotUp(0))
	require.Equal(t, backfill.Vector{2, 1000}, n.State().Capacity())
	r = cycle(t, n, Delta{Now: 5, Completed: ids{2}})
	require.Equal(t, []string{"1.1@b×1"}, started(r))
	r = cycle(t, n, Delta{Now: 6, SlotsUp: []*Slot{newSlot(t, "a", 2, "")}})
	require.Equal(t, []string{"1.3@a×1"}, started(r))
	require.Len(t, n.State().Slots(), 2, "it is the same slot")
}

func TestASlotComesBackInTheSameInstant(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{newJob(t, 1, 2, "")}})
	require.Empty(t, cycle(t, n, Delta{Now: 4, SlotsDown: []string{"a"}}).Matches)
	r := cycle(t, n, Delta{Now: 4, SlotsUp: []*Slot{newSlot(t, "a", 3, "")}})
	require.Equal(t, []string{"1.1@a×1"}, started(r), "what ran there is gone")
	require.Equal(t, backfill.Vector{3, 1000}, n.State().Capacity())
}

func TestASlotChanges(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 2, "")},
		Submitted: []*Job{newJob(t, 1, 2, ""), newJob(t, 2, 1, "")},
	})
	r := cycle(t, n, Delta{Now: 4, SlotsUp: []*Slot{newSlot(t, "a", 3, "")}})
	require.Equal(t, []string{"1.2@a×1"}, started(r))
	require.Equal(t, "runs", why(t, n, 1))
}

func TestStartFailed(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 2, "")},
		Submitted: []*Job{newJob(t, 1, 2, ""), newJob(t, 2, 2, "")},
	})
	r := cycle(t, n, Delta{Now: 1, StartFailed: ids{1}})
	require.Equal(t, []string{"1.1@a×1"}, started(r), "it is first in the queue, and starts again")
	require.Equal(t, "reserved", why(t, n, 2))
	r = cycle(t, n, Delta{
		Now: 2, StartFailed: ids{1}, SlotsDown: []string{"a"},
		SlotsUp: []*Slot{newSlot(t, "b", 2, "")},
	})
	require.Equal(t, []string{"1.1@b×1"}, started(r))
}

func TestRemoved(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{
		newJob(t, 1, 2, ""), newJob(t, 2, 2, ""), newJob(t, 3, 2, ""), newJob(t, 4, 9, ""),
	}})
	require.Empty(t, cycle(t, n, Delta{Now: 1, Removed: ids{2}}).Matches, "it waited")
	require.Equal(t, []string{"1.3@a×1"}, started(cycle(t, n, Delta{Now: 2, Removed: ids{1}})), "it ran")
	require.Empty(t, cycle(t, n, Delta{Now: 3, Removed: ids{4}}).Matches, "it was held")
	for _, id := range (ids{1, 2, 4}) {
		require.Nil(t, n.Job(id))
		require.Equal(t, "unknown", why(t, n, id))
	}
	r := cycle(t, n, Delta{Now: 4, SlotsUp: []*Slot{newSlot(t, "b", 9, "")}, Submitted: []*Job{newJob(t, 2, 9, "")}})
	require.Equal(t, []string{"1.2@b×1"}, started(r), "its ID is free again, and nothing is left of the held one")
}

func TestJobsWithoutEstimate(t *testing.T) {
	for _, given := range []backfill.Time{0, 500} {
		n, err := New(Config{
			Schema: Schema{Resources: []string{"cpus", "memory"}}, Policy: linked(t, "easy"),
			Fallback: linked(t, "easy"), DefaultEstimate: given,
		})
		require.NoError(t, err)
		j := newJob(t, 1, 1, "")
		j.Estimate = 0
		r := cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{j}})
		want := given
		if given == 0 {
			want = DefaultEstimate
		}
		require.Equal(t, want, n.NextWake())
		require.True(t, r.Decision.Started[0].Job.Unestimated)
	}
}

func TestOverrunsAreWaitedFor(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 1, "")},
		Submitted: []*Job{newJob(t, 1, 1, ""), newJob(t, 2, 1, "")},
	})
	require.EqualValues(t, 10, n.NextWake())
	r := cycle(t, n, Delta{Now: 10})
	require.Empty(t, r.Matches)
	require.EqualValues(t, 20, n.NextWake(), "the estimate is doubled")
	require.Equal(t, []string{"1.2@a×1"}, started(cycle(t, n, Delta{Now: 15, Completed: ids{1}})))
}

func TestNewRefusesAFallbackThatPromisesLess(t *testing.T) {
	_, err := New(Config{Schema: twoResources(), Policy: linked(t, "conservative"), Fallback: linked(t, "easy")})
	require.ErrorContains(t, err, "policy conservative cannot fall back to easy")
}

func TestTheClockIsOnlyForTook(t *testing.T) {
	now := time.Unix(0, 0)
	n, err := New(Config{
		Schema: twoResources(), Policy: linked(t, "easy"), Fallback: linked(t, "easy"),
		Clock: func() time.Time {
			now = now.Add(time.Second)
			return now
		},
	})
	require.NoError(t, err)
	r := cycle(t, n, Delta{})
	require.Equal(t, 2*time.Second, r.Took)
	require.Equal(t, time.Second, r.Matched)
	require.Zero(t, cycle(t, newNegotiator(t), Delta{}).Took)
}

// An impossible delta is refused, and the schedule continues as if it had not come.
func TestRefusedDeltasLeaveTheScheduleAsItWas(t *testing.T) {
	unreadable, empty, long := newJob(t, 7, 1, ""), newJob(t, 7, 1, ""), newJob(t, 7, 1, "")
	unreadable.Ad, empty.Nodes, long.Limit = ad(t, `RequestCpus = "many"`), 0, backfill.MaxTime+1
	late := newJob(t, 7, 1, "")
	late.Release = backfill.MaxTime + 1
	narrow, negative := newSlot(t, "b", 1, ""), newSlot(t, "b", 1, "")
	narrow.Capacity, negative.Capacity = backfill.Vector{1}, backfill.Vector{1, -1}
	b := newSlot(t, "b", 1, `Requirements = TARGET.Owner == "eve"`)
	for _, c := range []struct {
		name  string
		delta Delta
		err   string
	}{
		{"time runs backwards", Delta{Now: 2}, "at 2 cannot be true: the last cycle was at 3"},
		{"a job twice", Delta{Now: 3, Submitted: []*Job{newJob(t, 1, 1, "")}}, "job 1.1 (ID 1) was submitted twice"},
		{
			"a waiting job twice",
			Delta{Now: 3, Submitted: []*Job{newJob(t, 2, 1, "")}},
			"job 1.2 (ID 2) was submitted twice",
		},
		{
			"twice in one delta",
			Delta{Now: 3, Submitted: []*Job{newJob(t, 7, 1, ""), newJob(t, 7, 1, "")}},
			"job 1.7 (ID 7) was submitted twice",
		},
		{
			"submitted and removed",
			Delta{Now: 3, Submitted: []*Job{newJob(t, 7, 1, "")}, Removed: ids{7}},
			"job ID 7 is reported twice",
		},
		{
			"a job that does not run has ended",
			Delta{Now: 3, Completed: ids{2}},
			"job ID 2 completed, but was not there for it",
		},
		{"nobody has ended", Delta{Now: 3, Completed: ids{1, 99}}, "job ID 99 completed"},
		{"ended twice", Delta{Now: 3, Completed: ids{1, 1}}, "job ID 1 is reported twice"},
		{"nobody was removed", Delta{Now: 3, Removed: ids{99}}, "job ID 99 removed"},
		{"nobody failed to start", Delta{Now: 3, StartFailed: ids{99}}, "job ID 99 failed to start"},
		{"a job that waits failed to start", Delta{Now: 3, StartFailed: ids{2}}, "job ID 2 failed to start"},
		{
			"a slot that never was is gone",
			Delta{Now: 3, SlotsDown: []string{"z"}},
			"slot z is gone, but was never there",
		},
		{"a slot comes twice", Delta{Now: 3, SlotsUp: []*Slot{b, b}}, "slot b came up twice"},
		{
			"a slot comes and goes",
			Delta{Now: 3, SlotsUp: []*Slot{newSlot(t, "a", 1, "")}, SlotsDown: []string{"a"}},
			"slot a is reported up and gone at once",
		},
		{"a slot of other resources", Delta{Now: 3, SlotsUp: []*Slot{narrow}}, "slot b has 1 resources, the pool 2"},
		{"a slot of less than nothing", Delta{Now: 3, SlotsUp: []*Slot{negative}}, "slot b has -1 memory"},
		{"a slot beside what cannot be", Delta{Now: 3, SlotsUp: []*Slot{b}, Completed: ids{99}}, "job ID 99 completed"},
		{"a request that cannot be read", Delta{
			Now: 3, SlotsUp: []*Slot{b},
			Submitted: []*Job{newJob(t, 6, 1, ""), unreadable},
		}, `job 1.7: RequestCpus is "many"`},
		{"no chunks", Delta{Now: 3, Submitted: []*Job{empty}}, "job 1.7: 0 chunks"},
		{"a limit beyond all bounds", Delta{Now: 3, Submitted: []*Job{long}}, "job 1.7: estimate 10, limit"},
		{
			"an earliest start beyond all bounds",
			Delta{Now: 3, Submitted: []*Job{late}},
			"job 1.7: may not start before 1099511627777: must be from 0 to 1099511627776",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := func(disturb bool) (backfill.Snapshot, []string) {
				n := newNegotiator(t)
				cycle(t, n, Delta{
					Now: 3, SlotsUp: []*Slot{newSlot(t, "a", 2, "")},
					Submitted: []*Job{newJob(t, 1, 2, ""), newJob(t, 2, 2, ""), newJob(t, 3, 1, "")},
				})
				if disturb {
					before := n.State().Snapshot()
					r, err := n.RunCycle(t.Context(), c.delta)
					require.ErrorContains(t, err, c.err)
					require.Nil(t, r)
					require.Equal(t, before, n.State().Snapshot())
				}
				r := cycle(t, n, Delta{Now: 9, Completed: ids{1}, Submitted: []*Job{newJob(t, 6, 1, "")}})
				return n.State().Snapshot(), started(r)
			}
			want, wantStarted := run(false)
			got, gotStarted := run(true)
			require.Equal(t, wantStarted, gotStarted)
			require.Equal(t, want.Jobs, got.Jobs)
			require.Equal(t, want.Slots, got.Slots)
		})
	}
}

func TestASlotMayBeGoneTwice(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{newJob(t, 1, 1, "")}})
	cycle(t, n, Delta{Now: 1, SlotsDown: []string{"a", "a"}})
	cycle(t, n, Delta{Now: 2, SlotsDown: []string{"a"}})
	require.Equal(t, backfill.Vector{0, 0}, n.State().Capacity())
	require.Equal(t, []string{"1.1@a×1"}, started(cycle(t, n, Delta{Now: 3, SlotsUp: []*Slot{newSlot(t, "a", 2, "")}})))
}

func TestACancelledCycleLeavesTheScheduleAsItWas(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n, err := New(Config{Schema: twoResources(), Policy: &stub{Decider: linked(t, "easy"), decide: func() error {
		cancel()
		return ctx.Err()
	}}, Fallback: linked(t, "easy")})
	require.NoError(t, err)
	before := n.State().Snapshot()
	_, err = n.RunCycle(ctx, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{newJob(t, 1, 1, "")}})
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, before, n.State().Snapshot())
}

func TestTheFallbackDecidesWhatThePolicyCannot(t *testing.T) {
	var refusals []backfill.Refusal
	n, err := New(Config{
		Schema: twoResources(), Policy: &stub{Decider: linked(t, "easy"), decide: func() error {
			return errors.New("lost my mind")
		}},
		Fallback: linked(t, "easy"), Refused: func(r backfill.Refusal) { refusals = append(refusals, r) },
	})
	require.NoError(t, err)
	r := cycle(t, n, Delta{Now: 4, SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{newJob(t, 1, 1, "")}})
	require.Equal(t, []string{"1.1@a×1"}, started(r))
	require.Len(t, refusals, 1)
	require.EqualValues(t, 4, refusals[0].Now)
	require.EqualError(t, refusals[0].Err, "lost my mind")
}

// stub is a policy that does something else first.
type stub struct {
	backfill.Decider
	decide func() error
}

func (s *stub) Decide(ctx context.Context, tx *backfill.Transaction) error {
	if err := s.decide(); err != nil {
		return err
	}
	return s.Decider.Decide(ctx, tx)
}

func TestHeldJobsRunAfterARefusedDelta(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{newJob(t, 1, 8, "")}})
	require.Equal(t, "held", why(t, n, 1))
	_, err := n.RunCycle(t.Context(), Delta{Now: 1, SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Completed: ids{99}})
	require.Error(t, err)
	r := cycle(t, n, Delta{Now: 2, SlotsUp: []*Slot{newSlot(t, "b", 8, "")}})
	require.Equal(t, []string{"1.1@b×1"}, started(r))
}

func TestSlotsOfARefusedDeltaAreNotThere(t *testing.T) {
	n := newNegotiator(t)
	_, err := n.RunCycle(t.Context(), Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Completed: ids{99}})
	require.Error(t, err)
	r := cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "b", 2, "")}, Submitted: []*Job{newJob(t, 1, 1, "")}})
	require.Equal(t, []string{"1.1@b×1"}, started(r))
}

func TestASlotIsAsItWasAfterARefusedDelta(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "Site = 1")}})
	_, err := n.RunCycle(t.Context(), Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "Site = 2")}, Completed: ids{99}})
	require.Error(t, err)
	r := cycle(t, n, Delta{Submitted: []*Job{newJob(t, 1, 1, "Requirements = TARGET.Site == 1")}})
	require.Equal(t, []string{"1.1@a×1"}, started(r))
}

func TestAHeldJobIsRemovedAsASlotComes(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{newJob(t, 1, 8, "")}})
	r := cycle(t, n, Delta{Now: 1, SlotsUp: []*Slot{newSlot(t, "b", 8, "")}, Removed: ids{1}})
	require.Empty(t, r.Matches)
	require.Nil(t, n.Job(1))
}

// A slot that can tell running jobs apart makes their autocluster void. When such a job is back in
// the queue, it is clustered anew, in a cycle that is due at once.
func TestRunningJobsAreMatchedAnewWhenTheyComeBack(t *testing.T) {
	n := newNegotiator(t)
	r := cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 2, "")},
		Submitted: []*Job{newJob(t, 1, 1, `Owner = "eve"`), newJob(t, 2, 1, `Owner = "bob"`)},
	})
	require.Len(t, r.Matches, 2)
	cycle(t, n, Delta{Now: 1, SlotsUp: []*Slot{newSlot(t, "b", 2, `Requirements = TARGET.Owner == "eve"`)}})
	require.Equal(t, []string{"runs", "runs"}, []string{why(t, n, 1), why(t, n, 2)})
	r = cycle(t, n, Delta{Now: 2, SlotsDown: []string{"a"}})
	require.Empty(t, r.Matches)
	require.EqualValues(t, 2, n.NextWake())
	r = cycle(t, n, Delta{Now: 2})
	require.Equal(t, []string{"1.1@b×1"}, started(r), "b does not take bob's")
	require.Len(t, r.Held, 1)
	require.Equal(t, backfill.ReasonNeverFits, r.Held[0].Reason, "the slot that it matches is gone")
	require.EqualValues(t, 12, n.NextWake())
}

func TestAJobToBeMatchedAnewIsRemoved(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{newJob(t, 1, 1, "")}})
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "b", 2, "Requirements = TARGET.Owner")}, SlotsDown: []string{"a"}})
	require.Zero(t, n.NextWake())
	r := cycle(t, n, Delta{Removed: ids{1}})
	require.Empty(t, r.Matches)
	require.Empty(t, r.Held)
	require.Equal(t, backfill.Forever, n.NextWake())
}

func TestTheReasonNamesTheClause(t *testing.T) {
	for _, c := range []struct{ job, reason string }{
		{`Requirements = TARGET.Cpus > 1 && TARGET.Arch == "Z80"`, `true on none of 2: TARGET.Arch == "Z80"`},
		{
			`Requirements = (TARGET.Cpus > 1 && (TARGET.Arch == "Z80" && TARGET.Big))`,
			`true on none of 2: TARGET.Arch == "Z80"; TARGET.Big`,
		},
		{"Requirements = false", "true on none of 2: false"},
		{"Requirements = undefined", "true on none of 2: undefined"},
		{
			`Requirements = TARGET.Name == "a" && TARGET.Cpus == 4`,
			"none of 2 meets all its Requirements and accepts it",
		},
		{`Owner = "eve"`, `the Requirements of all 2 refuse it: TARGET.Owner =?= undefined (1); TARGET.Owner =!= "eve" (1)`},
		{
			`Owner = "bob"; Requirements = TARGET.Name == "a"`,
			"none of 2 meets all its Requirements and accepts it: TARGET.Owner =?= undefined (1)",
		},
	} {
		n := newNegotiator(t)
		job := newJob(t, 1, 1, c.job)
		slots := []*Slot{
			newSlot(t, "a", 2, `Requirements = TARGET.Owner is undefined`),
			newSlot(t, "b", 4, `Requirements = TARGET.Owner =!= "eve"`),
		}
		r := cycle(t, n, Delta{SlotsUp: slots, Submitted: []*Job{job}})
		require.Equal(t, []Held{{Job: job, Reason: "matches no slot: " + c.reason}}, r.Held)
	}
	n := newNegotiator(t)
	job := newJob(t, 1, 1, "")
	job.Ad = ad(t, "RequestCpus = 1")
	require.Equal(t, "matches no slot: it has no Requirements",
		cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "a", 2, "")}, Submitted: []*Job{job}}).Held[0].Reason)
}

func TestASlotThatChangesFreesTheHeldJobThatItMatches(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 2, "Site = 2")},
		Submitted: []*Job{newJob(t, 1, 1, "Requirements = TARGET.Site == 1")},
	})
	require.Equal(t, "held", why(t, n, 1))
	r := cycle(t, n, Delta{Now: 1, SlotsUp: []*Slot{newSlot(t, "a", 2, "Site = 1")}})
	require.Equal(t, []string{"1.1@a×1"}, started(r))
}

func TestAReservationOnASlotThatNoLongerMatches(t *testing.T) {
	n, err := New(Config{
		Schema: twoResources(), Policy: linked(t, "conservative"),
		Fallback: linked(t, "conservative"),
	})
	require.NoError(t, err)
	cycle(t, n, Delta{
		SlotsUp:   []*Slot{newSlot(t, "a", 2, "Site = 1")},
		Submitted: []*Job{newJob(t, 1, 2, ""), newJob(t, 2, 2, "Requirements = TARGET.Site == 1")},
	})
	cycle(t, n, Delta{Now: 1, SlotsUp: []*Slot{newSlot(t, "a", 2, "Site = 2")}})
	r := cycle(t, n, Delta{Now: 10, Completed: ids{1}})
	require.Empty(t, r.Matches)
}
