package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/condorsim/rehearsal"
	"github.com/condor-backfill/condor-backfill/negotiator/ask"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/process"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// runCommand is negotiator run.
type runCommand struct {
	poolFlags
	daemonFlags
	JSON        bool   `group:"Output" name:"json" help:"Print the summary, with --once the plan, as one JSON object."`
	DumpRefused string `group:"Output" placeholder:"DIR" help:"${run_dump_refused}"`

	cli.PprofFlags
}

// Help is shown below the flags.
func (c *runCommand) Help() string {
	return `Examples:
  negotiator run --policy slack --http localhost:9620
  negotiator run --policy slack --speed max
  negotiator run --pool status.long --workload history.long --policy ./backfill-mine --dump-refused rounds
  negotiator run --pool four-nodes --workload lublin-128 --estimates combined --json --speed max
  negotiator run --pool htcondor --observe

` + c.poolFlags.Help()
}

// daemonFlags say how a daemon runs. The function stock translates HTCondor's own spellings.
type daemonFlags struct {
	Once      bool   `group:"Real pool" help:"One cycle, print the plan, and exit."`
	Name      string `group:"Real pool" short:"n" help:"The negotiator's name in the pool."`
	LocalName string `group:"Real pool" placeholder:"NAME" help:"${real_local_name}"`
	Terminal  bool   `group:"Real pool" short:"t" help:"Log to the terminal."`
	Front     bool   `short:"f" hidden:"" help:"Stay in the foreground, as always."`
}

// stock translates the arguments that condor_master gives to daemons into ours. If no sub-command
// comes first, and condor_master started us (inherited) or there is a -f, -t or -n, it chooses the
// pool of this machine's HTCondor, unless --pool is given.
func stock(args []string, inherited bool) []string {
	onReal := inherited && (len(args) == 0 || strings.HasPrefix(args[0], "-"))
	var translated []string
	for _, arg := range args {
		switch arg {
		case "-local-name":
			arg = "--local-name"
		case "-f", "-t", "-n":
			onReal = onReal || strings.HasPrefix(args[0], "-")
		}
		translated = append(translated, arg)
	}
	if onReal && !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--pool") }) {
		translated = append([]string{"--pool", config.LocalPool}, translated...)
	}
	return translated
}

// meansRealPool reports whether a flag was given that only a real pool has.
func (c *runCommand) meansRealPool() bool {
	return c.Token != nil || c.State != nil || c.Observe || c.Once || c.Name != "" ||
		c.LocalName != "" || c.Terminal
}

// Run schedules the pool: a real one until a signal, a simulated one until all its jobs have ended.
func (c *runCommand) Run(ctx context.Context) error {
	if c.Pool == nil && c.Config == "" && c.meansRealPool() {
		local := config.LocalPool
		c.Pool = &local
	}
	from := c.source()
	onReal, err := from.OnRealPool()
	if err != nil {
		return cli.Bad(err)
	}
	if onReal {
		if c.DumpRefused != "" {
			return cli.Bad(errors.New("--dump-refused writes rounds of a simulated pool, and this one is real"))
		}
		return c.runDaemon(ctx, from)
	}
	if c.DumpRefused != "" {
		if err = os.MkdirAll(c.DumpRefused, 0o777); err != nil {
			return cli.Bad(fmt.Errorf("--dump-refused: %w", err))
		}
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	defer signal.Stop(signals)
	p, err := prepare(ctx, from, "info")
	if err != nil {
		return cli.Bad(err)
	}
	defer func() { p.Close() }()
	result, err := p.Run(ctx, rehearsal.Stage{
		Out: os.Stdout, Keys: os.Stdin, Pace: scaled(p.Speed), Signals: signals,
		DumpRefused: c.DumpRefused, Clock: time.Now, Tick: time.Tick(flushEvery), HTTP: p.Settings.HTTP, Rest: rest,
	})
	if err != nil {
		return err
	}
	show := report.Table
	if c.JSON {
		show = report.JSON
	}
	err = cmp.Or(show(os.Stdout, p.Summary(), result, nil), report.OwnResults(result))
	if url := p.URL(); url != "" {
		_, _ = fmt.Fprintf(os.Stderr, "all jobs have ended; %s shows the end until Ctrl-C\n", url)
		p.ShowEnd(ctx)
	}
	return err
}

// rest waits for so long, or until the context ends.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// runDaemon schedules a real pool.
func (c *runCommand) runDaemon(ctx context.Context, from *source.Settings) error {
	return process.Run(ctx, process.Options{
		Source: from, Name: c.Name, LocalName: c.LocalName, Terminal: c.Terminal, Log: os.Stderr, Once: c.Once,
		Zone: time.Local, Plan: c.print, ReadEnded: rehearsal.ReadEnded,
	})
}

// print prints the plan that --once made.
func (c *runCommand) print(jobs []daemon.JobForecast) error {
	if c.JSON {
		return cli.JSON(os.Stdout, jobs)
	}
	_, err := os.Stdout.WriteString(ask.StartTimes(ask.AsTold(jobs), 0))
	return err
}

// prepare makes a simulated pool ready. logLevel is for the case that nothing else sets one.
func prepare(ctx context.Context, from *source.Settings, logLevel string) (*rehearsal.Rehearsal, error) {
	return prepareAsked(ctx, from, logLevel, nil)
}

// prepareAsked is prepare for a question about a job; nil: about none.
func prepareAsked(ctx context.Context, from *source.Settings, logLevel string, asked *whatif.Job,
) (*rehearsal.Rehearsal, error) {
	return rehearsal.Prepare(ctx, rehearsal.Options{
		Source: from, LogLevel: logLevel, Log: os.Stderr, Clock: time.Now, Asked: asked,
	})
}

// prepareQuestion is prepare for questions, which have no summary: what was left out is told beside the
// answer.
func prepareQuestion(ctx context.Context, from *source.Settings, logLevel string, asked *whatif.Job,
) (*rehearsal.Rehearsal, error) {
	p, err := prepareAsked(ctx, from, logLevel, asked)
	if err != nil {
		return nil, err
	}
	if left := p.Workload.Cleaning.LeftOut(); left != "" {
		_, _ = fmt.Fprintf(os.Stderr, "%s: %s\n", p.Workload.Name, left) // nobody may be there to read
	}
	return p, nil
}

// flushEvery is how often what was recorded is written.
const flushEvery = 5 * time.Second

// scaled returns a pace at which simulated time passes speed times as fast as real time, from the
// first instant on; nil, no waiting at all, if speed is infinite.
func scaled(speed float64) condorsim.Pace {
	if math.IsInf(speed, 0) {
		return nil
	}
	var began time.Time
	var first backfill.Time
	return func(ctx context.Context, t backfill.Time) error {
		if began.IsZero() {
			began, first = time.Now(), t
		}
		const longest = 1e9 // seconds; more is beyond time.Duration
		due := began.Add(time.Duration(min(float64(t-first)/speed, longest) * float64(time.Second)))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(due)):
			return nil
		}
	}
}
