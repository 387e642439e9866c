package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// TestWhatIf asks a daemon about a job and another policy. Job 1 runs until 1100 on all cpus; job 2
// is behind it.
func TestWhatIf(t *testing.T) {
	w := newWorld()
	first := w.begin()
	first.Submitted = append(first.Submitted, w.job(3, 4, 10))
	d := once(t, w, w.options("conservative"), first)
	before, err := d.Forecast()
	require.NoError(t, err)
	schedule := d.n.State().Snapshot()
	ask := func(question string) (a whatif.Answer) {
		ad := d.WhatIf(t.Context(), question)
		text, answered := ad.Text("Answer")
		require.True(t, answered, "%v", ad)
		require.NoError(t, json.Unmarshal([]byte(text), &a))
		return a
	}
	a := ask(`{"job": {"ad": "RequestCpus = 4\nRequirements = true\nOwner = \"bob\"", "seconds": 30}}`)
	require.EqualValues(t, 1160, *a.Job.Start, "behind all others")
	require.EqualValues(t, 1160, *a.Job.Promised)
	require.Equal(t, "slot1@a", a.Job.Slots)
	require.Equal(t, "conservative, order fcfs", a.Present)

	a = ask(`{"policy": "easy", "order": "sjf"}`)
	require.Equal(t, 2, a.Change.Promises)
	require.Equal(t, 2, a.Change.Lifted)
	require.Equal(t, []int{1, 1, 0}, []int{a.Change.Earlier, a.Change.Later, a.Change.Same})
	require.Equal(t, "2.0", a.Change.Broken[0].Job)
	require.EqualValues(t, 1110, *a.Change.Broken[0].After)

	after, err := d.Forecast()
	require.NoError(t, err)
	require.Same(t, before, after)
	require.Equal(t, schedule, d.n.State().Snapshot(), "nothing is touched")

	for question, why := range map[string]string{
		`{`:                        "the question cannot be read",
		`{"colour": 1}`:            "the question cannot be read",
		`{} {}`:                    "there is more behind it",
		`{}`:                       "nothing is asked",
		`{"policy": "../../evil"}`: "must be a name",
		`{"policy": "evil"}`:       `no policy "evil" is linked in`,
		`{"order": "expr:1"}`:      "must be a name",
		`{"order": "fairshare"}`:   "only where it is in charge",
		`{"order": "unfair"}`:      "unknown order",
		`{"without": ["nowhere"]}`: "there is no slot or machine nowhere",
		`{"job": {"ad": "RequestCpus = 9\nRequirements = true"}}`:               "cannot run in this pool",
		`{"job": {"ad": "Requirements = false"}}`:                               "matches no slot",
		`{"job": {"ad": "RequestCpus = -1"}}`:                                   "RequestCpus is -1",
		`{"job": {"ad": "a"}}`:                                                  "the job's ad cannot be read",
		`{"job": {"ad": "", "seconds": -3}}`:                                    "a run time of -3 s",
		`{"drain": [{"slot": "slot1@a", "from": 1, "for": 1}]}`:                 "is over",
		`{"with": [{"count": 1, "amounts": {"cpus": -1}}]}`:                     "-1 cpus",
		`{"with": [{"count": 2000000000, "amounts": {}}]}`:                      "must be from 1 to",
		`{"policy": "easy", "without": ["` + strings.Repeat("x", 1<<17) + `"]}`: "a question of",
	} {
		said, bad := d.WhatIf(t.Context(), question).Text("BadQuestion")
		require.True(t, bad, question)
		require.Contains(t, said, why, question)
	}
}

// TestWhatIfBeforeTheFirstCycle: there is nothing to answer about.
func TestWhatIfBeforeTheFirstCycle(t *testing.T) {
	d := New(newWorld().options("easy"))
	said, failed := d.WhatIf(t.Context(), `{"policy": "easy"}`).Text("Failed")
	require.True(t, failed)
	require.Equal(t, ErrNoPlan.Error(), said)
}

// TestWhatIfDuringALongCycle: a question does not wait for the cycle under way when its time is
// over, or its client has gone.
func TestWhatIfDuringALongCycle(t *testing.T) {
	w := newWorld()
	d := once(t, w, w.options("easy"), w.begin())
	d.cycle.Lock()
	for _, question := range []string{
		`{"policy": "conservative"}`,
		`{"job": {"ad": "RequestCpus = 1\nRequirements = true", "seconds": 30}}`,
	} {
		ctx, hangUp := context.WithCancelCause(t.Context())
		hangUp(errors.New("it has hung up"))
		said, failed := d.WhatIf(ctx, question).Text("Failed")
		require.True(t, failed)
		require.Equal(t, "a cycle is under way, and goes on for longer than a question may take: it has hung up", said)
	}
	d.cycle.Unlock()
	_, answered := d.WhatIf(t.Context(), `{"policy": "conservative"}`).Text("Answer")
	require.True(t, answered)
}

// TestACycleWaitsForOneVisitor: of many who ask what takes the lock of cycles, a cycle waits for
// one.
func TestACycleWaitsForOneVisitor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 100 * time.Millisecond
		d := New(newWorld().options("easy"))
		d.cycle.Lock()
		for range 20 {
			go func() {
				leave, err := d.visit(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(takes)
				leave()
			}()
		}
		synctest.Wait()
		d.cycle.Unlock()
		synctest.Wait()
		began := time.Now()
		d.cycle.Lock()
		require.LessOrEqual(t, time.Since(began), takes)
		d.cycle.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), takes/2)
		defer cancel()
		_, err := d.visit(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Minute)
		leave, err := d.visit(t.Context())
		require.NoError(t, err)
		leave()
	})
}
