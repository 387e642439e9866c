package rehearsal

import (
	"cmp"
	"context"
	"math"
	"os"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/active"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/liveview"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
)

// Stage says where a rehearsal is shown, and how fast.
type Stage struct {
	Out     *os.File // a live view is drawn on it if it is a terminal
	Keys    *os.File // and these are read if it is a terminal, too
	Pace    condorsim.Pace
	Signals <-chan os.Signal // at each, the configuration is reloaded
	// Clock and Tick are those of a record, see [record.Options]; not needed unless the settings ask for one.
	Clock func() time.Time
	Tick  <-chan time.Time
	// DumpRefused is the folder in which refused rounds are written as instances; "": none is.
	DumpRefused string
	// HTTP is the address at which the page is served, also once all jobs have ended, until
	// [Rehearsal.ShowEnd]; "": nowhere.
	HTTP string
	// Rest waits for so long, or until the context ends.
	Rest func(ctx context.Context, d time.Duration)
}

// Run runs the workload until all its jobs have ended, and reloads the configuration at each signal.
func (p *Rehearsal) Run(ctx context.Context, stage Stage) (*condorsim.Result, error) {
	if stage.HTTP != "" {
		var err error
		if p.served, err = p.serve(ctx, stage); err != nil {
			return nil, err
		}
	}
	result, err := p.showAndReload(ctx, stage)
	if err == nil {
		p.warnUnordered(result.Unordered)
	} else if p.served != nil {
		p.served.close()
		p.served = nil
	}
	return result, err
}

func (p *Rehearsal) showAndReload(ctx context.Context, stage Stage) (*condorsim.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	changes := make(chan negotiator.Change)
	p.config.Changes = changes
	var reloading sync.WaitGroup
	reloading.Go(func() { p.Reload(ctx, stage.Signals, changes) })
	defer reloading.Wait()
	defer cancel()
	return p.show(ctx, stage)
}

// show runs the workload on the simulated pool, in scaled time: on a terminal with a live view,
// elsewhere with log lines.
func (p *Rehearsal) show(ctx context.Context, stage Stage) (*condorsim.Result, error) {
	var watch negotiator.Sink = &liveview.Log{Logger: p.Logger, Job: p.job}
	if cli.IsTerminal(stage.Out) && !math.IsInf(p.Speed, 0) {
		var twins outlook.Twins
		defer twins.Close()
		view := liveview.New(stage.Out, liveview.Show{
			Name: p.Workload.Name, Clock: p.Clock(), Jobs: len(p.Workload.Jobs), Job: p.job, Speed: p.Settings.Speed,
			FallbackInUse: p.FallbackInUse, News: p.log.Last, Look: shortly(ctx, &twins),
			Policy: func(width int) string { return p.About(width) }, // the one that is active then
		})
		p.log.Hold() // log lines would damage the picture
		defer p.log.Release()
		defer view.Close()
		running, quit := context.WithCancel(ctx)
		defer quit()
		ctx = running
		defer view.Interact(ctx, stage.Keys, quit)()
		watch = view
	} else {
		ran := p.Summary()
		about := []any{
			"policy", ran.Policy, "order", ran.Order, "jobs", len(p.Workload.Jobs), "slots", len(p.Workload.Slots), "speed",
			p.Settings.Speed,
		}
		if !p.Estimates.Requested() {
			about = append(about, "estimates", ran.Estimates)
		}
		p.Logger.Info("scheduling", about...)
	}
	sinks := []negotiator.Sink{watch, active.LogLifted{Logger: p.Logger}, p}
	if stage.DumpRefused != "" {
		rounds := condorsim.NewRounds(p.Workload, stage.DumpRefused)
		p.config.Refused = rounds.Telling(p.config.Refused, p.Logger.Error, p.again)
		sinks = append(sinks, rounds)
	}
	recorder, err := p.Recorder(record.Options{Tick: stage.Tick, Clock: stage.Clock, Wait: true}, func() record.About {
		return record.About{
			Pool: p.Workload.Name, UnixStart: p.Workload.UnixStart, DefaultEstimate: p.config.DefaultEstimate,
		}
	})
	if err != nil {
		return nil, cli.Bad(err)
	}
	if recorder != nil {
		p.config.Recorder = recorder
	}
	pace := stage.Pace
	if p.served != nil {
		sinks, pace = append(sinks, p.served, p.served.metered()), p.served.paced(pace)
	}
	result, err := condorsim.Run(ctx, p.Workload, p.config, pace, sinks...)
	if err == nil && p.served != nil {
		p.served.finish()
	}
	if recorder != nil {
		err = cmp.Or(err, recorder.Close())
	}
	return result, err
}

// job is a job as a live view shows it.
func (p *Rehearsal) job(id backfill.JobID) liveview.Job {
	j := p.Workload.Jobs[id]
	return liveview.Job{Job: j.Job, Cpus: j.Cpus}
}

// warnUnordered warns if the order's expression gave no job a number, so that it ordered nothing.
func (p *Rehearsal) warnUnordered(unordered bool) {
	if unordered {
		p.Logger.Warn(negotiator.UnorderedText, "order", p.Settings.Order)
	}
}
