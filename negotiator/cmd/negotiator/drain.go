package main

import (
	"context"
	"errors"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/ask"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/drains"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// drainCommand is negotiator drain.
type drainCommand struct {
	Slots  []string `arg:"" optional:"" name:"slot" help:"Slots, or machines with all their slots; none: list the drains."`
	By     string   `group:"What is asked for" placeholder:"T" help:"${drain_by}"`
	Until  string   `group:"What is asked for" placeholder:"T" help:"${drain_until}"`
	Cancel bool     `group:"What is asked for" help:"End the drains of these slots, which take jobs again."`

	Name string  `group:"Where to ask" placeholder:"NAME" help:"${ask_name}"`
	JSON bool    `group:"Where to ask" name:"json" help:"Print a JSON array."`
	At   *string `group:"Or look into a simulation, of what all flags below say" placeholder:"T" help:"${drain_at}"`
	poolFlags
}

// Help is shown below the usage.
func (*drainCommand) Help() string {
	return `A slot that is to be empty by a time goes on taking jobs that end by then, by their
estimates. From then on no job starts there, until the drain is cancelled or --until. Nothing
is killed: the list names the jobs that do not end in time.
Without --at the negotiator at work in the pool of this machine's HTCondor is asked. It takes
the permission ADMINISTRATOR to drain and to cancel, and READ to list. A simulation (--at)
plays what would become of the slots.

` + instant.Help + `
18:00 is when the clock shows that next, and 4h or +4h is in four hours.

Examples:
  negotiator drain
  negotiator drain node7 --by 18:00
  negotiator drain slot1@node7.site slot1@node8.site --by 4h --until 2026-12-01T07:00:00+01:00
  negotiator drain node7 --cancel
  negotiator drain node1 --by 7200 --at 60

Exit codes: 0 done, 1 nobody could be asked, or one may not, 2 the request is bad.`
}

// Run drains slots, or lists those that are.
func (c *drainCommand) Run(ctx context.Context) error {
	onReal, err := c.asksPool(c.At)
	if err != nil {
		return cli.Bad(err)
	}
	if len(c.Slots) == 0 {
		return c.list(ctx, onReal)
	}
	now, clock, drain := backfill.Time(time.Now().Unix()), instant.OfPool(time.Local), c.asked(c.Name).Drain
	if !onReal {
		if c.Cancel {
			return cli.Bad(errors.New("--cancel is of a real pool; a simulation (--at) has no drains but those that it is asked about"))
		}
		p, wrong := prepareQuestion(ctx, c.source(), "error", nil)
		if wrong != nil {
			return cli.Bad(wrong)
		}
		defer p.Close()
		if now, err = p.Read("at", *c.At); err != nil {
			return err
		}
		clock = p.Clock()
		drain = func(ctx context.Context, r drains.Request) ([]drains.Listed, error) { return p.Drain(ctx, now, r) }
	}
	r, err := ask.DrainWords{Slots: c.Slots, By: c.By, Until: c.Until, Cancel: c.Cancel}.Request(now, clock)
	if err != nil {
		return cli.Bad(err)
	}
	all, err := drain(ctx, r)
	if _, bad := errors.AsType[*drains.BadRequest](err); bad {
		return cli.Bad(err)
	}
	if err != nil {
		return err
	}
	return answer(c.JSON, all, func() string {
		if c.Cancel {
			return ask.Cancelled(c.Slots)
		}
		return ask.DrainsTable(all, clock)
	})
}

// list lists the drains.
func (c *drainCommand) list(ctx context.Context, onReal bool) error {
	switch {
	case c.By != "" || c.Until != "" || c.Cancel:
		return cli.Bad(errors.New("name the slot, or the machine, that is meant"))
	case !onReal:
		return cli.Bad(errors.New("a simulation (--at) has no drains to list: name a slot, and --by when it is to be empty"))
	}
	all, err := c.asked(c.Name).Drains(ctx)
	return answerOf(err, c.JSON, all, func() string { return ask.DrainsTable(all, instant.OfPool(time.Local)) })
}
