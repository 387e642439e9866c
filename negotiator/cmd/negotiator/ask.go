package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/negotiator/ask"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// explainCommand is negotiator explain.
type explainCommand struct {
	Job  string `arg:"" help:"The job, such as 1.23, or a cluster of jobs, such as 1, of a real pool."`
	Name string `group:"Ask a running negotiator" placeholder:"NAME" help:"${ask_name}"`
	JSON bool   `group:"Ask a running negotiator" name:"json" help:"Print JSON: an array; with --at one object."`
	atFlag
	poolFlags
}

// atFlag makes a question one about a simulation.
type atFlag struct {
	At      *string `group:"Or look into a simulation, of what all flags below say" placeholder:"T" help:"${ask_at}"`
	Futures *int    `group:"Or look into a simulation, of what all flags below say" placeholder:"N" help:"${futures}"`
	Seed    uint64  `name:"futures-seed" group:"Or look into a simulation, of what all flags below say" default:"1" help:"${futures_seed}"`
}

// Help is shown below the usage.
func (*explainCommand) Help() string {
	return `Without --at the negotiator at work in the pool of this machine's HTCondor is asked; if several are,
each for slots of its own, all of them, and a job is told by who starts it first.

Examples:
  negotiator explain 12.0
  negotiator explain 12
  negotiator explain 12.0@schedd.site --json
  negotiator explain 12.0 --name east
  negotiator explain 12.0 --pool htcondor://cm.site:9618 --token condor.token
  negotiator explain 1.23 --at 60 --policy conservative

A time T: a second of the simulation, a Unix time or a date (negotiator drain --help).
Orders and estimators: negotiator run --help.`
}

// startTimesCommand is negotiator start-times.
type startTimesCommand struct {
	Owner string `group:"Ask a running negotiator" help:"List this user's jobs alone."`
	Limit int    `group:"Ask a running negotiator" placeholder:"N" help:"List the first N jobs of the queue."`

	Accuracy bool   `group:"Ask a running negotiator" help:"Tell how true the start times were of jobs that have started."`
	Name     string `group:"Ask a running negotiator" placeholder:"NAME" help:"${ask_name}"`
	JSON     bool   `group:"Ask a running negotiator" name:"json" help:"Print a JSON array."`
	atFlag
	poolFlags
}

// futures says in which futures of a simulation starts are looked for.
func (f atFlag) futures(s config.Config) outlook.FuturesOptions {
	return outlook.FuturesOptions{Futures: ahead.Futures{Count: *cmp.Or(f.Futures, &s.Futures)}, Seed: f.Seed}
}

// check returns an error if the flags cannot be meant: ask says that a real pool is asked.
func (f atFlag) check(ask bool) error {
	switch {
	case f.Futures == nil:
		return nil
	case *f.Futures < 1 || *f.Futures > config.MostFutures:
		return fmt.Errorf("--futures %d: must be from 1, without ranges, to %d", *f.Futures, config.MostFutures)
	case ask:
		return errors.New("--futures is of a simulation (--at T); for a pool BACKFILL_FUTURES says it")
	default:
		return nil
	}
}

// Help is shown below the usage.
func (*startTimesCommand) Help() string {
	return `Without --at the negotiator at work in the pool of this machine's HTCondor is asked; if several are,
each for slots of its own, all of them, and a job is told by who starts it first.

Examples:
  negotiator start-times
  negotiator start-times --owner alice --limit 20
  negotiator start-times --accuracy
  negotiator start-times --json
  negotiator start-times --pool htcondor://cm.site:9618 --token condor.token
  negotiator start-times --at 60 --policy conservative
  negotiator start-times --at 2026-03-01T12:00 --workload history.long --pool status.long

A time T: a second of the simulation, a Unix time or a date (negotiator drain --help).
Orders and estimators: negotiator run --help.`
}

// Validate refuses a negative limit; the parser of the command line calls it.
func (c *startTimesCommand) Validate() error {
	if c.Limit < 0 {
		return fmt.Errorf("--limit %d: must be 0, for all, or more", c.Limit)
	}
	return nil
}

// asksPool reports whether to ask the negotiator of a real pool; else the question is about an
// instant of a simulation. Without any flags it selects this machine's pool. An instant (--at) on a
// real pool, or a simulation without one, is an error.
func (c *poolFlags) asksPool(at *string) (bool, error) {
	onReal, err := c.source().OnRealPool()
	switch {
	case err != nil:
		return false, err
	case onReal && at != nil:
		return false, errors.New("--at is a time of a simulation; on a real pool the negotiator tells what is so now")
	case onReal:
		return true, nil
	case at != nil:
		return false, nil
	case c.Pool != nil || c.Workload != nil || c.Config != "":
		return false, errors.New("say with --at T at which time of the simulation to look")
	}
	local := config.LocalPool
	c.Pool = &local
	return true, nil
}

// Run explains one job.
func (c *explainCommand) Run(ctx context.Context) error {
	asks, err := c.asksPool(c.At)
	if err = cmp.Or(err, c.check(asks)); err != nil {
		return cli.Bad(err)
	}
	if asks {
		all, failed := c.asked(c.Name).Explain(ctx, c.Job)
		return answerOf(failed, c.JSON, all, func() string { return ask.Explanation(c.Job, all) })
	}
	p, err := prepareQuestion(ctx, c.source(), "warn", nil)
	if err != nil {
		return cli.Bad(err)
	}
	defer p.Close()
	at, err := p.Read("at", *c.At)
	if err != nil {
		return err
	}
	job, err := p.Explain(ctx, at, c.futures(p.Settings), c.Job)
	if err != nil {
		return err
	}
	return answer(c.JSON, job, job.String)
}

// Run lists the waiting jobs.
func (c *startTimesCommand) Run(ctx context.Context) error {
	asks, err := c.asksPool(c.At)
	switch err = cmp.Or(err, c.check(asks)); {
	case err != nil:
		return cli.Bad(err)
	case asks:
		return c.ask(ctx)
	case c.Accuracy:
		return cli.Bad(errors.New("--accuracy is what a running negotiator has seen; of a simulation, condorsim run " +
			"--eta tells it"))
	}
	p, err := prepareQuestion(ctx, c.source(), "warn", nil)
	if err != nil {
		return cli.Bad(err)
	}
	defer p.Close()
	at, err := p.Read("at", *c.At)
	if err != nil {
		return err
	}
	all, err := p.StartTimes(ctx, at, c.futures(p.Settings), c.Owner)
	if err != nil {
		return err
	}
	return answer(c.JSON, cli.First(all, c.Limit), func() string { return p.Table(all, c.Limit) })
}

// ask asks a real pool.
func (c *startTimesCommand) ask(ctx context.Context) error {
	pool := c.asked(c.Name)
	if c.Accuracy {
		all, err := pool.Accuracy(ctx)
		if err != nil {
			return err
		}
		return answer(c.JSON, all, func() string { return ask.AccuracyTable(all) })
	}
	all, err := pool.StartTimes(ctx, c.Owner)
	return answerOf(err, c.JSON, cli.First(all, c.Limit), func() string { return ask.StartTimes(all, c.Limit) })
}

// asked is the real pool whose negotiator of this name is asked; "": all of ours are.
func (c *poolFlags) asked(name string) ask.Pool {
	return ask.Pool{Source: c.source(), Name: name, Note: func(text string) {
		_, _ = fmt.Fprintf(os.Stderr, "negotiator: %s\n", cli.Line(text)) // nobody may be there to read
	}}
}

// answerOf prints what negotiators answer, also if some of them did not (the error), which it returns.
func answerOf(err error, asJSON bool, value any, text func() string) error {
	if _, partial := errors.AsType[*ask.PartialError](err); err != nil && !partial {
		return err
	}
	return cmp.Or(answer(asJSON, value, text), err)
}

// answer prints an answer, as JSON or as text.
func answer(asJSON bool, value any, text func() string) error {
	if asJSON {
		return cli.JSON(os.Stdout, value)
	}
	_, err := os.Stdout.WriteString(text())
	return err
}
