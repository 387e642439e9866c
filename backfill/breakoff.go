package backfill

import (
	"context"
	"errors"
	"fmt"
)

// BreakOff lets the end of a round's context break off the round in its midst: while keys are asked
// for, and at the next question of a linked-in policy to its cycle. Else a round goes on to its end,
// unless the policy is in another process. It is for plays, whose time is bounded. So is their
// memory: if the places of jobs, and what a round has done with them, take more bytes than now by the
// given number, about, the round is broken off with [ErrTooLarge]; 0 is any number. The state is then
// as it was.
func (h *Host) BreakOff(most int64) {
	if h.breaks, h.most = true, most; most > 0 && h.State != nil {
		h.most += h.State.profile.Bytes()
	}
}

// ErrTooLarge says that a plan takes more memory than it may; see [Host.BreakOff].
var ErrTooLarge = errors.New("the plan takes too much memory")

// over returns a function that says why a round is to be broken off; nil: it is not.
func (t *Transaction) over(ctx context.Context) func() error {
	ended := over(ctx)
	return func() error {
		if bytes := t.bytes(); t.most > 0 && bytes > t.most {
			return fmt.Errorf("%w: more than %d MiB", ErrTooLarge, t.most>>20)
		}
		return ended()
	}
}

// bytes returns about how much memory the plan takes, and what was done in the round.
func (t *Transaction) bytes() int64 {
	const done = 256 // an action, an old record and how to undo it
	return t.s.profile.Bytes() + done*int64(len(t.undo)+len(t.actions)) + 16*int64(t.acted)
}

// over returns a function that returns the context's cause once it has ended.
func over(ctx context.Context) func() error {
	return func() error {
		if ctx.Err() == nil {
			return nil
		}
		return context.Cause(ctx)
	}
}
