package auto

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Hindsight is what a look back at a period has told of the base.
type Hindsight struct {
	Now  backfill.Time
	Base string // from then on
	// Text says why the base stays or has changed: how many times the first one's the candidates'
	// objectives were in the periods so far, the best first, or why a period does not count.
	Text string
	// Wrong says that the period would count with another objective, or with more time; else nil.
	Wrong error
	// Failed are the candidates that failed in the plays, and are left out from then on.
	Failed []Failure
}

// Log passes what a look back has told to a log: to the first of its methods, or to the second if
// something is wrong.
func (h *Hindsight) Log(info, warn func(text string, about ...any)) {
	h.LogFailed(warn)
	line := info
	if h.Wrong != nil {
		line = warn
	}
	line("base looked at in hindsight", "t", h.Now, "base", h.Base, "why", h.Text)
}

// LogFailed tells which candidates are left out from now on.
func (h *Hindsight) LogFailed(warn func(text string, about ...any)) { logFailed(h.Failed, h.Now, warn) }

// LookBack plays a period if one is over, each candidate all of it, and makes another one the base if it
// did better in the periods so far. What comes out is told to LookedBack. A period that cannot be played
// before the context ends, or whose objective has no value, does not count; neither is tried again. It
// may run beside See, but not beside Choose, which comes after it.
func (c *Chooser) LookBack(ctx context.Context, f *Future) {
	c.playing.Lock()
	defer c.playing.Unlock()
	if c.ended.Err() != nil || !c.Stands(f) {
		return
	}
	base, faults := c.standing()
	for _, why := range f.dropped {
		c.tell(&Hindsight{Now: f.now, Base: c.candidates[base].Name, Text: "the base stays: " + why})
	}
	if f.dropped = nil; f.past == nil {
		return
	}
	past := *f.past
	f.past = nil
	past.base, past.faults = base, faults
	past.prioritize(c.users)
	ctx, stop := c.whileOpen(ctx)
	defer stop()
	found, failed, err := Play(ctx, past, c.candidates, c.workers)
	if c.ended.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	if h := c.judge(f, &past, found, failed, err); h != nil {
		c.tell(h)
	}
}

// LookAlso adds what there is to look back at in a later future, which is given up.
func (f *Future) LookAlso(later *Future) {
	f.past, f.dropped = cmp.Or(later.past, f.past), append(f.dropped, later.dropped...)
}

func (c *Chooser) tell(h *Hindsight) {
	if c.LookedBack != nil {
		c.LookedBack(h)
	}
}

// judge takes in what the candidates did in a period, or why it could not be played. It returns nil if
// there was a restart since.
func (c *Chooser) judge(f, past *Future, found []Measures, faults []error, err error) *Hindsight {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.restarts != c.restarts {
		return nil
	}
	h := &Hindsight{Now: past.now}
	if err == nil {
		h.Failed = c.noteFaults(faults)
		err = c.weighPeriod(found, past.share)
	} else {
		err = fmt.Errorf("its period could not be played: %w", err)
	}
	if h.Wrong = err; err != nil {
		h.Text = "the base stays: " + err.Error()
	} else {
		h.Text = c.rebase()
	}
	h.Base = c.candidates[c.base].Name
	return h
}

// weighPeriod adds a period to the scores, which is so long as a share of what was asked for. It fails if
// the objective does not tell who did better.
func (c *Chooser) weighPeriod(found []Measures, share float64) error {
	if !slices.Contains(c.faults, nil) {
		return errors.New("all candidates failed")
	}
	values := make([]float64, len(found))
	for i, m := range found {
		if values[i] = math.Inf(1); c.faults[i] != nil {
			continue
		}
		var err error
		if values[i], err = c.objective.value(m, found[c.base]); err != nil {
			return fmt.Errorf("option objective: %s: %w", c.candidates[i].Name, err)
		}
	}
	if !c.scores.add(values, share) {
		return errors.New("option objective: its values are above zero for some candidates and below for others, " +
			"so that they have no ratios: write one that is never below zero")
	}
	return nil
}

// rebase makes the best in hindsight the base, if it may be, and says so. A base that failed is not
// compared: the best of the others that lift no promise is.
func (c *Chooser) rebase() string {
	base, failed := c.base, c.faults[c.base] != nil
	c.base = c.scores.best(base, failed, func(i int) (gain float64, ok bool) {
		gain, ok = baseGain, c.faults[i] == nil
		if c.candidates[base].guarantees() && !c.candidates[i].guarantees() {
			gain, ok = max(gain, c.lift), ok && !failed
		}
		return gain, ok
	})
	text := "the base stays"
	if c.base != base {
		c.rebased++
		text = "the base changed"
	}
	return text + ": " + c.scores.text(c.names())
}

// standing returns which candidate is the base, and why candidates are left out.
func (c *Chooser) standing() (base int, faults []error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.base, slices.Clone(c.faults)
}
