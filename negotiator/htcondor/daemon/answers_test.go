package daemon

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// TestAnswersAreShared checks that all who ask the same of one plan, or of the daemon, get one answer,
// and that there is another after a change.
func TestAnswersAreShared(t *testing.T) {
	w := newWorld()
	w.unplanned = []track.Unplanned{{ID: 9, Job: "3.7", Schedd: "b"}, {ID: 10, Job: "3.8", Schedd: "b"}}
	d := once(t, w, w.options("conservative"), w.begin())
	ask := func(job string) *server.Ads {
		ads, err := d.Plans(t.Context(), job)
		require.NoError(t, err)
		return ads
	}
	for _, job := range []string{"", "2.0", "3", "none"} {
		before := ask(job)
		require.Same(t, before, ask(job), job)
		d.forgetAnswers()
		require.NotSame(t, before, ask(job), job)
	}
	long := strings.Repeat("x", longestExplained+1)
	once := ask(long)
	require.NotSame(t, once, ask(long))
	for i := range 10 * mostExplained {
		ask(fmt.Sprint(i, ".0"))
	}
	require.LessOrEqual(t, len(d.asked.explained.all), mostExplained)

	ad := d.Ad()
	require.Same(t, ad, d.Ad())
	d.change(func(s *status) { s.reserved = 77 })
	reserved, _ := d.Ad().Int("BackfillReserved")
	require.EqualValues(t, 77, reserved)
}

// TestWhoAsksWaitsNoLongerThanHeWants: while a cycle is under way, nobody waits for what is known of a
// job for longer than his context lasts. The next who asks after the cycle is told.
func TestWhoAsksWaitsNoLongerThanHeWants(t *testing.T) {
	w := newWorld()
	d := once(t, w, w.options("conservative"), w.begin())
	d.cycle.Lock()
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	_, err := d.Plans(ctx, "2.0")
	require.ErrorIs(t, err, context.Canceled)
	d.cycle.Unlock()
	ads, err := d.Plans(t.Context(), "2.0")
	require.NoError(t, err)
	require.Len(t, ads.All(), 1)
}

// still is a pool in which somebody uses a slot.
type still struct {
	*world
	used []track.Used
}

func (s *still) UsedBy(string) []track.Used { return s.used }

// TestResourcesAreShared checks that all who ask for the slots of a submitter get one text until the
// pool is looked at again.
func TestResourcesAreShared(t *testing.T) {
	s := &still{newWorld(), []track.Used{{Slot: "slot1@a", Since: 7}}}
	d := New(s.options("easy"))
	var pool Pool = s
	d.pool.Store(&pool)
	before := d.Resources("alice@d")
	require.Same(t, &before[0], &d.Resources("alice@d")[0])
	for i := range 2 * mostUsers {
		d.Resources(strconv.Itoa(i))
	}
	require.LessOrEqual(t, len(d.resources.all), mostUsers)
	s.used = []track.Used{{Slot: "slot2@a", Since: 7}}
	require.Contains(t, string(d.Resources("alice@d")), "slot2@a")
	s.used = nil
	require.Empty(t, d.Resources("alice@d"))
}

// TestTheAccuracyIsMeasuredOnce checks that a record is measured again only when a job has started.
func TestTheAccuracyIsMeasuredOnce(t *testing.T) {
	var a accuracy
	for when := range a.told {
		a.told[when] = map[backfill.JobID]toldStart{1: {mid: 10}}
	}
	require.Zero(t, a.measure()[atHead].Jobs)
	a.come(atHead, 1, 15)
	require.EqualValues(t, 1, a.measure()[atHead].Jobs)
	require.EqualValues(t, 5, a.measure()[atHead].Median)
	require.Zero(t, testing.AllocsPerRun(10, func() { a.measure() }))
}
