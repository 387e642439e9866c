package outlook

import (
	"context"
	"fmt"
	"sync"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
)

// Twins are further deciders of the policy in charge, or of another one, which decide in plays beside
// the cycles, so that no cycle waits for a play. They are made when they are needed and kept for the next play. The
// zero value has none. Its methods may be called concurrently.
type Twins struct {
	mu   sync.Mutex
	last backfill.Decider // the policy whose twins are free
	free []twin
}

// twin is a decider of the policy, and one of its fallback.
type twin struct{ policy, fallback backfill.Decider }

// Rules returns the rules under which the schedule of the outlook goes on, for one goroutine, which
// calls done after use. The policy in charge and its fallback must be [backfill.Repeatable].
func (t *Twins) Rules(ctx context.Context, o *Outlook) (rules ahead.Rules, done func(), err error) {
	policy, fallback, done, err := t.Of(ctx, o.policy, o.fallback)
	if err != nil {
		return rules, nil, err
	}
	return o.Rules(policy, fallback), done, nil
}

// Of returns a twin of a policy, and one of its fallback, for one goroutine, which calls done after use.
// Both must be [backfill.Repeatable].
func (t *Twins) Of(ctx context.Context, policy, fallback backfill.Decider,
) (first, second backfill.Decider, done func(), err error) {
	one, known := t.take(policy)
	if !known {
		if one, err = twinOf(ctx, policy, fallback); err != nil {
			return nil, nil, nil, err
		}
	}
	return one.policy, one.fallback, func() { t.give(policy, one) }, nil
}

// Starts plays the outlook ahead under the policy in charge, and returns when waiting jobs start, as
// [ahead.Play.Starts] does. The callback gets each decision that is refused; it may be nil.
func (t *Twins) Starts(ctx context.Context, o *Outlook, b ahead.Bounds, refused func(backfill.Refusal),
) (map[backfill.JobID]ahead.Beginning, error) {
	rules, done, err := t.Rules(ctx, o)
	if err != nil {
		return nil, err
	}
	defer done()
	rules.Refused = refused
	play, err := rules.Play(o.Start())
	if err != nil {
		return nil, err
	}
	return play.Starts(ctx, b)
}

// Ranges plays futures of the outlook under the policy in charge, as [Outlook.Futures] does. The
// callback is that of Starts.
func (t *Twins) Ranges(ctx context.Context, o *Outlook, options FuturesOptions, b ahead.Bounds,
	refused func(backfill.Refusal),
) (map[backfill.JobID]ahead.Range, error) {
	return o.Futures(ctx, options, func() (ahead.Rules, func(), error) {
		rules, done, err := t.Rules(ctx, o)
		rules.Refused = refused
		return rules, done, err
	}, b)
}

// Close ends the twins that are free, and their processes.
func (t *Twins) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
}

func (t *Twins) end() {
	for _, one := range t.free {
		one.close()
	}
	t.free, t.last = nil, nil
}

// take returns a free twin of the policy; those of other policies end.
func (t *Twins) take(policy backfill.Decider) (one twin, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last != policy {
		t.end()
		t.last = policy
	}
	if n := len(t.free); n > 0 {
		one, t.free = t.free[n-1], t.free[:n-1]
		return one, true
	}
	return one, false
}

// give keeps a twin for the next play, if the policy is the last that was asked for.
func (t *Twins) give(policy backfill.Decider, one twin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == policy {
		t.free = append(t.free, one)
	} else {
		one.close()
	}
}

func twinOf(ctx context.Context, policy, fallback backfill.Decider) (one twin, err error) {
	if one.policy, err = again(ctx, policy); err != nil {
		return one, err
	}
	if one.fallback, err = again(ctx, fallback); err != nil {
		one.close()
	}
	return one, err
}

func again(ctx context.Context, d backfill.Decider) (backfill.Decider, error) {
	more, ok := d.(backfill.Repeatable)
	if !ok {
		return nil, fmt.Errorf("look ahead: there cannot be more than one of policy %s", d.Spec().Name)
	}
	return more.Again(ctx)
}

func (t twin) close() {
	for _, d := range []backfill.Decider{t.policy, t.fallback} {
		if d, closes := d.(interface{ Close() }); closes {
			d.Close()
		}
	}
}
