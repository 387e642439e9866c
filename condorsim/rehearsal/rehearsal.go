package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/output/report"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/active"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// Options say what is rehearsed, and how.
type Options struct {
	Source *source.Settings
	// LogLevel is for the case that neither a flag nor a configuration file sets one.
	LogLevel string
	Log      io.Writer
	Clock    func() time.Time
	// Asked is the job that [Rehearsal.WhatIf] is to be asked about; nil: none.
	Asked *whatif.Job
}

// Rehearsal is a pool with its jobs and a policy, ready to be scheduled.
type Rehearsal struct {
	active.Activator
	Workload *condorsim.Workload
	Speed    float64 // simulated seconds in a second

	log        *cli.Holdable
	config     negotiator.Config
	asked      *negotiator.Job // nil: none
	priorities condorsim.Priorities
	served     *served // the page of the run; nil: there is none
}

// Prepare reads the pool and the workload and starts the policy. All its errors are caused by the
// input. The caller closes the rehearsal.
func Prepare(ctx context.Context, o Options) (*Rehearsal, error) {
	s, err := o.Source.Read()
	if err != nil {
		return nil, err
	}
	p := &Rehearsal{
		Activator: active.Activator{Source: o.Source, LogLevel: func() string { return o.LogLevel }},
		log:       cli.NewHoldable(o.Log),
	}
	p.Logger = cli.Logger("negotiator", cmp.Or(s.LogLevel, o.LogLevel), p.log)
	rule, err := profile.ParseRule(s.Placement)
	if err != nil {
		return nil, err
	}
	if p.Speed, err = config.ParseSpeed(s.Speed); err != nil {
		return nil, err
	}
	if p.asked, err = readAsked(o.Asked); err != nil {
		return nil, err
	}
	if p.Workload, err = load(s, o.Source, p.asked, p.Logger); err != nil {
		return nil, err
	}
	p.Workload.Warn(p.Logger.Warn)
	if absent := p.Workload.AbsentEnds(); absent != "" {
		p.Logger.Warn(condorsim.AbsentEndsText, "slot_end", absent)
	}
	count := p.Workload.Cleaning
	for _, doubt := range append(count.Doubts(), count.PlanDoubts(s.DefaultEstimate)...) {
		p.Logger.Warn(doubt)
	}
	if err = p.keepAccounts(s); err != nil {
		return nil, err
	}
	p.Resources, p.Labels = p.Workload.Schema.Resources, append(s.Schema().Labels, negotiator.EveryLabel()...)
	if err = p.learnFrom(s); err != nil {
		return nil, err
	}
	if err = p.Start(ctx, s); err != nil {
		return nil, err
	}
	unmatched, err := p.Workload.Matches(p.Estimates)
	if err != nil {
		p.Close()
		return nil, err
	}
	for _, text := range unmatched {
		p.Logger.Warn(text)
	}
	p.config = negotiator.Config{
		Placement: rule, Order: p.Order, Policy: p.Deciders.Main, Fallback: p.Deciders.Fallback, Estimates: p.Estimates,
		Planning: s.Planning(), Actual: p.actual, Trust: estimate.Trust(s.EstimateTrust),
		DefaultEstimate: defaultEstimate(s), Clock: o.Clock,
		Refused: p.Refused,
	}
	return p, nil
}

// keepAccounts has the pool keep the account of users, for the order fairshare: also if another is in
// charge first, as one may come later.
func (p *Rehearsal) keepAccounts(s config.Config) (err error) {
	factors, err := s.Factors()
	if err != nil {
		return p.Source.Locate(err, "priority_factors")
	}
	p.priorities = condorsim.Priorities{HalfLife: backfill.Time(s.PriorityHalfLife / time.Second), Factors: factors}
	if s.Order == negotiator.FairShare {
		p.Workload.WarnOfUsers(p.Logger.Warn)
		if err = p.priorities.CheckUsers(p.Workload); err != nil {
			return p.Source.Locate(err, "priority_factors")
		}
	}
	if p.Workload, err = p.Workload.WithPriorities(p.priorities); err != nil {
		return p.Source.Locate(err, "priority_factors")
	}
	order := p.Workload.FairShare()
	p.FairShare = &order
	return nil
}

func defaultEstimate(s config.Config) backfill.Time {
	return backfill.Time(s.DefaultEstimate / time.Second)
}

// Clock returns what instants of the simulation are in the time of people.
func (p *Rehearsal) Clock() instant.Clock { return p.Workload.Clock() }

// Read reads an instant of the simulation that a flag gives.
func (p *Rehearsal) Read(flag, text string) (backfill.Time, error) {
	at, err := p.Clock().Read(text)
	if err != nil {
		return 0, cli.Bad(fmt.Errorf("--%s %s: %w", flag, text, err))
	}
	return backfill.Time(at), nil
}

// Summary says what was run so far.
func (p *Rehearsal) Summary() report.Run {
	all := p.Ran()
	first := all[0]
	run := report.Run{Policy: first.Policy, Order: first.Order, Options: first.Options, Estimates: first.Estimates}
	for _, change := range all {
		if change.Order == negotiator.FairShare {
			run.Priorities = report.PrioritiesOf(p.priorities)
		}
	}
	for _, change := range all[1:] {
		run.Changes = append(run.Changes, report.Change(change))
	}
	if p.Chooser != nil {
		run.Auto = p.Chooser.Summary()
	}
	return run
}

// learnFrom reads the history from which the estimators learn at the start.
func (p *Rehearsal) learnFrom(s config.Config) error {
	if len(p.Workload.Jobs) == 0 {
		return nil
	}
	ended, err := p.Past(s, p.Workload.Jobs[0].Submit, ReadEnded)
	p.History = estimate.NewHistory(0)
	for _, e := range ended {
		p.History.Add(e)
	}
	return err
}

// ReadEnded reads the jobs of a trace or of job ads that have ended.
func ReadEnded(file io.Reader, name string, until backfill.Time, s config.Config) ([]estimate.Ended, error) {
	return formats.ReadEnded(file, name, formats.EndedOptions{
		Until: until, EstimateAttributes: s.EstimateAttributes, DefaultEstimate: defaultEstimate(s),
	})
}

// actual returns how long a job will run: at most until its limit.
func (p *Rehearsal) actual(id backfill.JobID) backfill.Time {
	j := p.Workload.Jobs[id]
	return min(j.Run, cmp.Or(j.Limit, j.Run))
}
