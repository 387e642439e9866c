package observe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
)

// TestAnswer says when a schedd's answer is waited for: not by a schedd that let the time run out
// once, until it has answered in less than the time.
func TestAnswer(t *testing.T) {
	const hold = 5 * time.Second
	for name, c := range map[string]struct {
		lags, late bool
		took       time.Duration // 0: it has not answered
		answered   bool
		lagsThen   bool
	}{
		"at once":                      {took: time.Second, answered: true},
		"in time, though it took long": {took: time.Minute, answered: true},
		"time is up":                   {lagsThen: true},
		"it lags":                      {lags: true, lagsThen: true},
		"it lags, and is quick again":  {lags: true, late: true, took: hold - 1, answered: true},
		"it lags, and took as long":    {lags: true, late: true, took: hold, answered: true, lagsThen: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &schedd{reading: make(chan reading, 1), lags: c.lags}
			s.Late = c.late
			var up chan struct{} // never, unless it lags or is to be late
			switch {
			case c.took > 0:
				s.reading <- reading{took: c.took}
			case !c.lags:
				up = make(chan struct{})
				close(up)
			}
			r, answered := s.answer(up, hold) // whoever waits without need waits for ever
			require.Equal(t, c.answered, answered)
			require.Equal(t, c.took, r.took)
			require.Equal(t, !c.answered, s.Late)
			require.Equal(t, c.lagsThen, s.lags)
		})
	}
}

// TestReadingsEndWithTheCollector says that no reading goes on when the collector fails: until the
// next look the answers would grow old.
func TestReadingsEndWithTheCollector(t *testing.T) {
	p := newSite(t, "s@test")
	p.see()
	begun := make(chan struct{}, 1)
	p.schedds[0].Before(func(ctx context.Context, _ int) error {
		begun <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	p.collector.Before(func(context.Context, int) error {
		<-begun // the schedd is being asked
		return errors.New("it is dead")
	})
	_, err := p.Look(t.Context())
	require.Error(t, err)
	require.Nil(t, p.Observer.schedds["s@test"].reading)
	p.collector.Before(nil)
	p.schedds[0].Before(nil)
	s := p.see().Schedds["s@test"]
	require.True(t, s.Read)
	require.Equal(t, p.at, s.Since, "it was asked anew")
}

// TestEndlessQueue says that a queue which does not end is not read to its end, and that of the
// jobs of other schedds nothing is lost.
func TestEndlessQueue(t *testing.T) {
	p := newSite(t, "s@test", "t@test")
	p.most = 16_000
	p.schedds[0].SetJobs(job("A = 1"))
	var jobs []string
	for i := range 100 {
		jobs = append(jobs, job(fmt.Sprintf("ProcId = %d\nUser = \"u%d@test\"", i, i)))
	}
	p.schedds[1].SetJobs(jobs...)
	s := p.see()
	require.True(t, s.Schedds["s@test"].Read)
	require.Equal(t, []JobKey{{"s@test", 1, 0}}, s.Schedds["s@test"].Groups[0].Jobs)
	require.False(t, s.Schedds["t@test"].Read)
	require.Empty(t, s.Schedds["t@test"].Groups)
	require.ErrorContains(t, s.Schedds["t@test"].Failed, "does not end after 16000 bytes")
	require.Len(t, s.Problems, 1)
}

// TestFailuresThatTakeLong says that a schedd is left alone for a while whose answer failed after
// longer than a look waits, and that one which fails at once is asked in the next look. So is one
// from which nothing came until the client hung up: that took no more than a connection.
func TestFailuresThatTakeLong(t *testing.T) {
	silent := fmt.Errorf("query: %w", os.ErrDeadlineExceeded)
	for name, c := range map[string]struct {
		took, rests time.Duration
		err         error
	}{
		"at once":          {took: time.Millisecond},
		"while it waited":  {took: 5 * time.Second},
		"it took long":     {took: 10 * time.Second, rests: 30 * time.Second},
		"it took too long": {took: time.Hour, rests: maxRest},
		"it was silent":    {took: poll.Patience + time.Second, err: silent},
		"it fell silent":   {took: poll.Patience + 10*time.Second, err: silent, rests: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSite(t, "s@test")
			p.s.Hold, p.s.Security.Timeout = 5*time.Second, poll.Patience
			p.see()
			s := p.Observer.schedds["s@test"]
			failed := c.err
			if failed == nil {
				failed = errors.New("it does not end")
			}
			require.False(t, p.accept(s, reading{err: failed, took: c.took}))
			if c.rests > 0 {
				p.at = p.at.Add(c.rests - 2*time.Second)
				require.False(t, p.see().Schedds["s@test"].Read, "a second too early")
				require.ErrorIs(t, s.Failed, failed)
			}
			require.True(t, p.see().Schedds["s@test"].Read)
			require.NoError(t, s.Failed)
		})
	}
}

// TestSilentSchedd says by which error a schedd is known that takes a question and is silent until
// we hang up.
func TestSilentSchedd(t *testing.T) {
	p := newSite(t, "s@test")
	p.s.Security.Timeout = 2 * time.Second
	p.schedds[0].Before(func(ctx context.Context, _ int) error {
		<-ctx.Done()
		return ctx.Err()
	})
	_ = poll.Until(t, "the end of the silence", func() (failed error, so bool) {
		failed = p.see().Schedds["s@test"].Failed
		return failed, errors.Is(failed, os.ErrDeadlineExceeded)
	})
}

// TestAnotherConstraint says since when a schedd is asked for the jobs that it is asked for now,
// and that its old answer does not count.
func TestAnotherConstraint(t *testing.T) {
	p := newSite(t, "s@test")
	p.schedds[0].SetJobs(job("Size = 1"))
	s := p.see().Schedds["s@test"]
	require.Len(t, s.Groups, 1)
	first := s.AskedSince
	require.Equal(t, first, p.see().Schedds["s@test"].AskedSince)
	scope := p.s.Scope
	scope.JobConstraint = "Size > 1"
	p.Ask(scope)
	look := p.see()
	require.Empty(t, look.Schedds["s@test"].Groups)
	require.Equal(t, look.Number, look.Schedds["s@test"].AskedSince)
	require.Contains(t, p.jobAttributes.projection(), "size")
}

// chain is the ad of a slot whose START refers to an attribute of this name, which refers to another
// one, and so on: each is asked for when the one before is known.
func chain(name string) string {
	links := []string{"START = " + name + "_0"}
	for link := range 8 {
		links = append(links, fmt.Sprintf("%s_%d = %[1]s_%[3]d", name, link, link+1))
	}
	return partitionable(strings.Join(links, "\n") + "\nRequirements = START\n")
}

// TestSlotsReferToEverMore says that queues are read although a slot refers to attributes that
// nobody has asked for, in each look and in each round of questions of a look.
func TestSlotsReferToEverMore(t *testing.T) {
	p := newSite(t, "s@test")
	for number := range int64(4) {
		p.slots = []string{chain(fmt.Sprint("W", number))}
		p.schedds[0].SetJobs(job(fmt.Sprintf("ClusterId = %d", number)))
		s := p.see().Schedds["s@test"]
		require.True(t, s.Read)
		require.Len(t, s.Groups, 1)
		require.Equal(t, []JobKey{{"s@test", number, 0}}, s.Groups[0].Jobs)
	}
}

// TestLateAnswerWhenSlotsReferToMore says that a late answer is taken in although slots refer to
// more attributes since the question: what it replaces lacks them as well.
func TestLateAnswerWhenSlotsReferToMore(t *testing.T) {
	p := newSite(t, "s@test")
	release := make(chan struct{}, 2)
	p.schedds[0].Before(func(ctx context.Context, _ int) error {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})
	p.s.Hold = time.Millisecond
	p.see() // the reading begins
	for number := range int64(4) {
		p.schedds[0].SetJobs(job(fmt.Sprintf("ClusterId = %d", number)))
		release <- struct{}{} // for the jobs
		release <- struct{}{} // for those that were stopped
		poll.Equal(t, 1, func() int { return len(p.Observer.schedds["s@test"].reading) })
		p.slots = []string{chain(fmt.Sprint("W", number))}
		s := p.see().Schedds["s@test"]
		require.Len(t, s.Groups, 1)
		require.Equal(t, []JobKey{{"s@test", number, 0}}, s.Groups[0].Jobs)
	}
}

// TestStoppedJobs says that jobs are seen which were put on hold or removed since the look before.
func TestStoppedJobs(t *testing.T) {
	p := newSite(t, "s@test")
	p.see()
	at := p.at.Add(time.Second)
	ad := func(cluster, status int, ago time.Duration) string {
		return fmt.Sprintf("ClusterId = %d\nProcId = 0\nJobStatus = %d\nEnteredCurrentStatus = %d",
			cluster, status, at.Add(-ago).Unix())
	}
	before := p.s.Interval + stopGrace
	p.schedds[0].SetJobs(ad(1, 3, 0), ad(2, 5, before), ad(3, 5, before+time.Second), ad(4, 4, 0))
	s := p.see().Schedds["s@test"]
	require.Equal(t, []JobKey{{"s@test", 1, 0}, {"s@test", 2, 0}}, s.Stopped)
	require.Empty(t, s.Groups)
	p.Observer.schedds["s@test"].Since = time.Time{}
	require.Len(t, p.see().Schedds["s@test"].Stopped, 3, "the first reading tells all")
}

// TestLateSchedd says that a look does not wait for a schedd that is late, which keeps what was
// read of it, and that the answer serves a later look.
func TestLateSchedd(t *testing.T) {
	p := newSite(t, "s@test")
	p.schedds[0].SetJobs(job(""))
	first := p.see()
	release := make(chan struct{})
	p.schedds[0].Before(func(ctx context.Context, _ int) error {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return nil
	})
	p.s.Hold = time.Millisecond
	late := p.see()
	s := late.Schedds["s@test"]
	require.True(t, s.Late)
	require.False(t, s.Read)
	require.Equal(t, first.Schedds["s@test"].Groups, s.Groups)
	require.Equal(t, first.Schedds["s@test"].Since, s.Since)
	require.Equal(t, []string{"schedd s@test has not told its queue yet"}, late.Problems)
	asked := p.at
	close(release)
	poll.Equal(t, 1, func() int { return len(p.Observer.schedds["s@test"].reading) })
	s = p.see().Schedds["s@test"]
	require.True(t, s.Read)
	require.False(t, s.Late)
	require.Equal(t, asked, s.Since, "when the reading began")
}
