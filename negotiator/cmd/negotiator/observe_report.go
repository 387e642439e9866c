package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/verdict"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/witness"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/process"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// observeReportCommand is negotiator observe-report.
type observeReportCommand struct {
	HTML  string `name:"html" placeholder:"FILE" help:"Write a page to this file instead; it needs no other."`
	JSON  bool   `name:"json" help:"Print one JSON object, with all users."`
	State string `placeholder:"DIR" help:"${report_state}"`
	Since string `placeholder:"T" help:"Leave out jobs that were submitted before."`
	Until string `placeholder:"T" help:"Leave out jobs that were submitted then or later."`
}

// Help is shown below the flags.
func (*observeReportCommand) Help() string {
	return `A negotiator that observes keeps a record: when it would have started each job, what it would have
promised, and when the job really began (BACKFILL_OBSERVER_RECORD). The report compares them: who would have
started earlier or later, by user and by width, and whose promise would have been kept. It ends
with what these numbers mean, and what they do not.
The record may be read while it is written; whoever may read the state's folder can do it.

` + instant.Help + `

Examples:
  negotiator observe-report
  negotiator observe-report --html report.html
  negotiator observe-report --since 2026-03-01 --until 2026-03-08 --json
  negotiator observe-report --state /var/lib/condor/spool/backfill-observe

Exit codes: 0 done, 1 failed, 2 there is no record, or the request is bad.`
}

// Run tells what the record says.
func (c *observeReportCommand) Run(ctx context.Context) error {
	var period verdict.Period
	for _, bound := range []struct {
		flag, text string
		at         *int64
	}{{"since", c.Since, &period.Since}, {"until", c.Until, &period.Until}} {
		if bound.text == "" {
			continue
		}
		var err error
		if *bound.at, err = instant.OfPool(time.Local).Read(bound.text); err != nil {
			return cli.Bad(fmt.Errorf("--%s %s: %w", bound.flag, bound.text, err))
		}
	}
	if period.Until != 0 && period.Until <= period.Since {
		return cli.Bad(errors.New("--until must be later than --since"))
	}
	if c.HTML != "" && c.JSON {
		return cli.Bad(errors.New("--html and --json: say which"))
	}
	var page *wholefile.File
	if c.HTML != "" {
		var err error
		if page, err = wholefile.Create("the report", c.HTML); err != nil {
			return cli.Bad(err)
		}
		defer page.Discard()
	}
	v, err := c.read(ctx, period)
	if err != nil {
		return err
	}
	clock := instant.OfPool(time.Local)
	if page != nil {
		return page.Fill(func(out io.Writer) error { return v.Page(out, clock) })
	}
	return answer(c.JSON, v, func() string { return v.Text(clock) })
}

// read reads the record of the folder that was named, or of this machine's observer.
func (c *observeReportCommand) read(ctx context.Context, period verdict.Period) (*verdict.Verdict, error) {
	folder := c.State
	if folder == "" {
		site, err := condorconfig.Read(ctx, condorconfig.Source{})
		if errors.Is(err, condorconfig.ErrNone) {
			err = fmt.Errorf("%w. Without it, name the folder of the observer's state with --state", err)
		}
		if err != nil {
			return nil, cli.Bad(err)
		}
		local := config.LocalPool
		from := &source.Settings{Pool: &local}
		from.Use(site)
		s, err := from.Read()
		if err != nil {
			return nil, cli.Bad(err)
		}
		folder = s.State + process.ObserverSuffix
	}
	v, err := verdict.Read(folder, period)
	switch {
	case errors.Is(err, witness.ErrNone), errors.Is(err, fs.ErrNotExist):
		return nil, cli.Bad(fmt.Errorf("%w: a negotiator that observes (negotiator setup --observe) writes it to the "+
			"folder BACKFILL_STATE with %s behind its name, unless BACKFILL_OBSERVER_RECORD is 0", err, process.ObserverSuffix))
	case errors.Is(err, fs.ErrPermission):
		return nil, cli.Bad(fmt.Errorf("%w: run this as root or as the user that HTCondor runs as", err))
	case err != nil:
		return nil, cli.Bad(err)
	}
	return v, nil
}
