package backfill_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// moody is easy, but fails in some rounds.
type moody struct {
	backfill.Decider
	asked int
	fails func(asked int) error
}

func (m *moody) Decide(ctx context.Context, t *backfill.Transaction) error {
	m.asked++
	if err := m.fails(m.asked); err != nil {
		return err
	}
	return m.Decider.Decide(ctx, t)
}

// A policy is given up, and asked no more, if it fails in 100 rounds running, or in more than 100 of
// 10,000; not if it fails less. Its fallback decides then, until it is changed, and each of these
// rounds is told.
func TestGivenUp(t *testing.T) {
	on := errors.New("on purpose")
	every := func(n int) func(int) error {
		return func(asked int) error {
			if asked%n == 0 {
				return on
			}
			return nil
		}
	}
	const rounds = 30_000
	for name, tt := range map[string]struct {
		fails func(asked int) error
		asked int // rounds
		why   string
	}{
		"never":      {func(int) error { return nil }, rounds, ""},
		"always":     {every(1), 100, "given up after it failed in 100 rounds running, at last: on purpose"},
		"every 2nd":  {every(2), 202, "given up after it failed in 101 of 201 rounds, at last: on purpose"},
		"every 99th": {every(99), 9999, "given up after it failed in 101 of 9901 rounds, at last: on purpose"},
		"one of 100": {every(100), rounds, ""},
		"99 running, then none": {func(asked int) error {
			if asked%9999 < 99 {
				return on
			}
			return nil
		}, rounds, ""},
		"says so": {func(int) error { return backfill.ErrGivenUp }, 1, "given up"},
	} {
		t.Run(name, func(t *testing.T) {
			main := &moody{Decider: link(t, "easy", nil), fails: tt.fails}
			told, givenUp := 0, 0
			h, err := backfill.NewHost(newState(t, cpus(9)), nil, main, link(t, "easy", nil), func(r backfill.Refusal) {
				told++
				if errors.Is(r.Err, backfill.ErrGivenUp) {
					givenUp++
				}
				require.Equal(t, "easy", r.Fallback)
			})
			require.NoError(t, err)
			for now := range backfill.Time(rounds) {
				r := backfill.Round{Now: now}
				if now == 0 { // the second always waits for the first
					r.Events = submitted(job(0, 0, 90_000, 9), job(1, 0, 90_000, 9))
				} else {
					r.Events = []backfill.Event{{Kind: backfill.Wake}}
				}
				d, failed := h.Decide(t.Context(), r)
				require.NoError(t, failed)
				require.Equal(t, "easy", d.By)
			}
			require.Equal(t, tt.asked, main.asked)
			if tt.why == "" {
				require.NoError(t, h.GivenUp())
				require.Zero(t, givenUp)
				return
			}
			require.EqualError(t, h.GivenUp(), tt.why)
			require.Equal(t, rounds-tt.asked+1, givenUp, "each round is told")

			main.fails = func(int) error { return nil }
			require.NoError(t, h.Change(nil, main, link(t, "easy", nil)))
			_, err = h.Decide(t.Context(), backfill.Round{Now: rounds})
			require.NoError(t, err)
			require.Equal(t, tt.asked+1, main.asked, "it gets another chance")
			require.NoError(t, h.GivenUp())
		})
	}
}

// The panic of a linked-in policy is a refusal, with its stack; its actions so far are undone.
func TestPanic(t *testing.T) {
	spec := backfill.PolicySpec{Name: "panicking", New: func(backfill.Values) (backfill.Policy, error) {
		return backfill.PolicyFunc(func(c *backfill.Cycle) {
			for _, more := c.Next(); more; {
				_, more = c.Next()
			}
			for j := range c.Queue() {
				at, _ := c.FitsNow(j)
				c.Start(j, at)
				panic("on purpose")
			}
		}), nil
	}}
	main, err := backfill.Link(spec, nil)
	require.NoError(t, err)
	var told []backfill.Refusal
	h, err := backfill.NewHost(newState(t, cpus(9)), nil, main, link(t, "easy", nil),
		func(r backfill.Refusal) { told = append(told, r) })
	require.NoError(t, err)
	d, err := h.Decide(t.Context(), backfill.Round{Events: submitted(job(0, 0, 9, 4), job(1, 0, 9, 4))})
	require.NoError(t, err)
	require.Equal(t, "easy", d.By)
	require.Len(t, d.Started, 2)
	require.Len(t, told, 1)
	var fault *backfill.PanicError
	require.ErrorAs(t, told[0].Err, &fault)
	require.EqualError(t, fault, "policy panicking panicked: on purpose")
	require.Contains(t, string(fault.Stack), "patience_test.go")
}
