package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/ask"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// whatIfCommand is negotiator what-if.
type whatIfCommand struct {
	jobFlags
	Policy    string            `group:"Another policy" short:"p" placeholder:"NAME" help:"${what_if_policy}"`
	PolicyOpt map[string]string `group:"Another policy" aliases:"options" placeholder:"K=V" mapsep:"none" help:"${run_policy_opt}"`
	Order     string            `group:"Another policy" placeholder:"NAME" help:"Another order of the queue, by name."`
	Estimates string            `group:"Another policy" placeholder:"NAME" help:"${what_if_estimates}"`
	Without   []string          `group:"Other slots" placeholder:"SLOT" help:"${what_if_without}"`
	With      []string          `group:"Other slots" sep:"none" placeholder:"SPEC" help:"${what_if_with}"`
	Drain     []string          `group:"Other slots" placeholder:"SLOT" help:"${what_if_drain}"`
	From      string            `group:"Other slots" placeholder:"T" help:"${what_if_from}"`
	For       string            `group:"Other slots" placeholder:"TIME" help:"How long to drain, such as 4h."`

	Name  string  `group:"Where to ask" placeholder:"NAME" help:"${ask_name}"`
	JSON  bool    `group:"Where to ask" name:"json" help:"Print the answer as one JSON object."`
	Pool  *string `group:"Where to ask" placeholder:"FILE" help:"${set_pool}"`
	Token *string `group:"Where to ask" placeholder:"FILE" help:"${set_token}"`

	Config       string   `group:"Or look into a simulation" placeholder:"FILE" help:"Configuration file (YAML)."`
	At           *string  `group:"Or look into a simulation" placeholder:"T" help:"${ask_at}"`
	Workload     *string  `group:"Or look into a simulation" placeholder:"FILE" help:"${set_workload}"`
	Dependencies *string  `group:"Or look into a simulation" placeholder:"HOW" help:"${set_dependencies}"`
	EstimateAttr []string `group:"Or look into a simulation" placeholder:"EXPR" sep:"none" help:"${set_estimate_attributes}"`
	Under        *string  `group:"Or look into a simulation" placeholder:"NAME" help:"${what_if_under}"`
	UnderOrder   *string  `group:"Or look into a simulation" placeholder:"NAME" help:"The order in charge."`
}

// jobFlags say what job is asked about.
type jobFlags struct {
	Job    string `group:"A job" placeholder:"FILE" help:"Its ad, or a submit file; flags go over what it says."`
	Cpus   string `group:"A job" placeholder:"N" help:"What each chunk requests; 1 by default."`
	Memory string `group:"A job" placeholder:"SIZE" help:"Such as 64GiB; in MiB without a unit."`
	Disk   string `group:"A job" placeholder:"SIZE" help:"Such as 10GiB; in KiB without a unit."`
	Gpus   string `group:"A job" placeholder:"N" help:"Number of GPUs of each chunk."`
	Chunks string `group:"A job" placeholder:"N" help:"How many chunks start together, on any slots."`
	Time   string `group:"A job" placeholder:"TIME" help:"Its run time: seconds, or such as 90m or 2h."`
	Owner  string `group:"A job" placeholder:"NAME" help:"Whose job it is."`
}

// Help is shown below the usage.
func (*whatIfCommand) Help() string {
	return `Nothing is touched: each answer compares plans made on a copy of the schedule. In both
every job runs for as long as it is taken to, and nobody else arrives. Where past run times are
known, a job is told the median of futures, with others who may arrive, and is compared by it with
smaller and shorter ones; "as planned" says what is told by the plan.
A file is a submit file, or a job's ad in any form, by what it holds. The job takes of the limits that
it names; what of a submit file is not heeded is noted.
Without --at the negotiator at work in the pool of this machine's HTCondor is asked; if several are,
all of them, and a job is answered for by who starts it first.

Examples:
  negotiator what-if --cpus 16 --memory 64GiB --time 2h
  negotiator what-if --cpus 16 --chunks 4 --time 2h --owner alice
  negotiator what-if --job my.sub --time 30m
  negotiator what-if --policy pc --order sjf
  negotiator what-if --without node7
  negotiator what-if --with 'cpus=64,memory=256GiB,count=4'
  negotiator what-if --drain node7 --from 18:00 --for 4h
  negotiator what-if --at 60 --under easy --policy conservative --json

Exit codes: 0 it was answered, 1 nobody could be asked, 2 the question is bad.`
}

// Run asks the pool, or a simulation, and prints the answer.
func (c *whatIfCommand) Run(ctx context.Context) error {
	flags := &poolFlags{Config: c.Config, Pool: c.Pool, Workload: c.Workload, Policy: c.Under, Order: c.UnderOrder}
	flags.Token, flags.Dependencies, flags.EstimateAttr = c.Token, c.Dependencies, c.EstimateAttr
	onReal, err := flags.asksPool(c.At)
	if err == nil && onReal {
		err = c.checkPool()
	}
	if err != nil {
		return cli.Bad(err)
	}
	job, notes, err := c.job().Read()
	if err != nil {
		return cli.Bad(err)
	}
	now, clock, whatIf := backfill.Time(time.Now().Unix()), instant.OfPool(time.Local), flags.asked(c.Name).WhatIf
	if !onReal {
		flags.InProcess = true // so that there can be more than one
		p, wrong := prepareQuestion(ctx, flags.source(), "warn", job)
		if wrong != nil {
			return cli.Bad(wrong)
		}
		defer p.Close()
		if now, err = p.Read("at", *c.At); err != nil {
			return err
		}
		clock = p.Clock()
		whatIf = func(ctx context.Context, q whatif.Question) (*ask.Answer, error) {
			a, failed := p.WhatIf(ctx, now, q)
			return &ask.Answer{Answer: a}, failed
		}
	}
	q, err := c.words(job).Question(now, clock)
	if err == nil {
		err = q.Validate()
	}
	if err != nil {
		return cli.Bad(err)
	}
	a, err := whatIf(ctx, q)
	if _, bad := errors.AsType[*whatif.BadQuestion](err); bad {
		return cli.Bad(err)
	}
	if a == nil || a.Answer == nil {
		return err
	}
	a.Notes = append(notes, a.Notes...)
	return answerOf(err, c.JSON, a, func() string { return a.Describe(clock) })
}

// job is the job as the flags have it.
func (c *whatIfCommand) job() ask.Job {
	return ask.Job{
		File: c.Job, Cpus: c.Cpus, Memory: c.Memory, Disk: c.Disk, Gpus: c.Gpus, Chunks: c.Chunks, Time: c.Time,
		Owner: c.Owner,
	}
}

// words are the question as the flags have it, about a job or none.
func (c *whatIfCommand) words(job *whatif.Job) ask.Words {
	return ask.Words{
		Job:    job,
		Policy: c.Policy, PolicyOpt: c.PolicyOpt, Order: c.Order, Estimates: c.Estimates,
		Without: c.Without, With: c.With, Drain: c.Drain, From: c.From, For: c.For,
	}
}

// checkPool refuses the flags that say what is simulated, if a pool is asked: it has its own.
func (c *whatIfCommand) checkPool() error {
	for _, flag := range []struct {
		name  string
		value *string
	}{
		{"workload", c.Workload}, {"dependencies", c.Dependencies}, {"under", c.Under}, {"under-order", c.UnderOrder},
	} {
		if flag.value != nil {
			return fmt.Errorf("--%s is of a simulation (--at T); a pool is asked about its own queue, policy and order",
				flag.name)
		}
	}
	if c.EstimateAttr != nil {
		return errors.New("--estimate-attr is of a simulation (--at T); a pool reads the estimates of its jobs as it is configured")
	}
	return nil
}
