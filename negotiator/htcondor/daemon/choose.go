package daemon

import (
	"context"
	"fmt"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
)

const (
	// choosePatience is how long a choice of the policy may take. One that takes longer is given up.
	choosePatience = time.Minute
	// lookPatience is the same for a look back at a week: thousands of jobs are played from its first day on.
	lookPatience = 10 * time.Minute
)

// dueChoice is a choice of the policy to be made beside the cycles.
type dueChoice struct {
	chooser *auto.Chooser
	from    *auto.Future
}

// chosen is a change that a chooser asks for.
type chosen struct {
	dueChoice
	change negotiator.Change
}

// see has the chooser, if the pool has one, see a cycle. A choice that is due is made beside the
// cycles. If one waits already for that, it stands for the new one, but no period is lost.
func (d *Daemon) see(r *negotiator.Report) {
	chooser := d.o.Chooser()
	if chooser == nil {
		return
	}
	f := chooser.See(r)
	if f == nil {
		return
	}
	next := dueChoice{chooser, f}
	select {
	case queued := <-d.due:
		if queued.chooser == chooser && chooser.Stands(queued.from) {
			queued.from.LookAlso(f)
			next = queued
		}
	default:
	}
	d.due <- next // there is room, as nobody else sends
}

// choose makes the choices that are due, until the context ends.
func (d *Daemon) choose(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case due := <-d.due:
			d.chooseOnce(ctx, due)
		}
	}
}

func (d *Daemon) chooseOnce(ctx context.Context, due dueChoice) {
	looking, seen := context.WithTimeout(ctx, lookPatience)
	due.chooser.LookBack(looking, due.from)
	seen()
	playing, done := context.WithTimeout(ctx, choosePatience)
	defer done()
	change, err := due.chooser.Choose(playing, due.from)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		d.log.Warn("the policy stays: no other one could be played ahead; with fewer candidates it may go",
			"error", err)
	case change != nil:
		d.chosen.Store(&chosen{due, *change})
	}
}

// takeChosen hands the negotiator the change that was chosen since the last cycle, if its chooser
// is still the pool's, and has not started again.
func (d *Daemon) takeChosen() {
	if c := d.chosen.Swap(nil); c != nil && c.chooser == d.o.Chooser() && c.chooser.Stands(c.from) {
		d.n.ChangeNext(c.change)
	}
}

// choice is what the pool's chooser has done so far; nil: the pool has none.
type choice struct {
	auto.Summary
	last     *auto.Choice // nil: there was none
	inCharge string
}

// choices returns what the pool's chooser has done so far.
func (d *Daemon) choices() *choice {
	chooser := d.o.Chooser()
	if chooser == nil {
		return nil
	}
	return &choice{*chooser.Summary(), chooser.Last(), chooser.InCharge().Name}
}

// why says why the policy in charge is; "" if nobody chose it.
func (c *choice) why() string {
	if c == nil || c.last == nil {
		return ""
	}
	return c.last.Why + "; " + c.last.Text()
}

// describe adds to an ad who is in charge, and the last choice.
func (c *choice) describe(ad *classad.ClassAd) {
	if c == nil {
		return
	}
	ad.SetString("BackfillPolicyInCharge", c.inCharge)
	ad.SetInt("BackfillPolicyChoices", int64(c.Choices))
	ad.SetInt("BackfillPolicyChanges", int64(c.Changes))
	ad.SetString("BackfillPolicyBase", c.Base)
	if c.last != nil {
		ad.SetInt("BackfillPolicyChosenAt", int64(c.last.Now))
		ad.SetString("BackfillPolicyExpected", c.last.Text())
		ad.SetString("BackfillPolicyWhy", c.last.Why)
	}
}

// PolicyChoice is who is in charge of a pool that chooses its own policy, since which choice and
// why.
type PolicyChoice struct {
	InCharge string `json:"in_charge"`
	At       int64  `json:"at,omitempty"` // of the last choice, in seconds since 1970
	Why      string `json:"why,omitempty"`
	Expected string `json:"expected,omitempty"` // objectives of the candidates, the best first
}

// ReadFallbackInUse reads who decides in the place of a policy that was given up; "": it was not.
func ReadFallbackInUse(ad *classad.ClassAd) string {
	fallback, _ := ad.Literal(fallbackAttribute).Text()
	return fallback
}

// ReadPolicyChoice reads what an ad says of the choice; nil if the pool does not choose.
func ReadPolicyChoice(ad *classad.ClassAd) *PolicyChoice {
	name, chooses := ad.Literal("BackfillPolicyInCharge").Text()
	if !chooses {
		return nil
	}
	c := &PolicyChoice{InCharge: name}
	c.At, _ = ad.Literal("BackfillPolicyChosenAt").Int()
	c.Why, _ = ad.Literal("BackfillPolicyWhy").Text()
	c.Expected, _ = ad.Literal("BackfillPolicyExpected").Text()
	return c
}

// Tell returns the choice as a line of text, with times in the given zone.
func (c *PolicyChoice) Tell(zone *time.Location) string {
	if c.At == 0 {
		return c.InCharge + ", until there is a choice"
	}
	text := fmt.Sprintf("%s, chosen at %s: %s", c.InCharge, dated(&c.At, zone), c.Why)
	if c.Expected != "" {
		text += " (" + c.Expected + ")"
	}
	return text
}
