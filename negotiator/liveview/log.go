package liveview

import (
	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// Command is what a job runs, by its ad.
func Command(j *negotiator.Job) string {
	cmd, _ := j.Ad.Text("Cmd")
	return cli.Line(cmd)
}

// Log logs what happens.
type Log struct {
	Logger hclog.Logger
	Job    func(backfill.JobID) Job
}

// Cycle logs what a cycle saw and did.
func (l *Log) Cycle(r *negotiator.Report) error {
	for _, slot := range r.Delta.SlotsDown {
		l.Logger.Warn("a slot is down", "t", r.Delta.Now, "slot", slot)
	}
	for _, id := range r.Delta.Removed {
		l.Logger.Warn("given up", "t", r.Delta.Now, "job", l.Job(id).Name, "cmd", Command(l.Job(id).Job))
	}
	for _, id := range r.Delta.Completed {
		l.Logger.Info("ended", "t", r.Delta.Now, "job", l.Job(id).Name, "cmd", Command(l.Job(id).Job))
	}
	l.scavenged(r)
	for _, j := range r.Delta.Submitted {
		l.Logger.Debug("submitted", "t", r.Delta.Now, "job", j.Name, "cmd", Command(j))
	}
	for _, h := range r.Held {
		if h.Closed {
			l.Logger.Info("no slot is open", "t", r.Delta.Now, "job", h.Job.Name, "cmd", Command(h.Job), "reason", h.Reason)
			continue
		}
		l.Logger.Warn("held", "t", r.Delta.Now, "job", h.Job.Name, "cmd", Command(h.Job), "reason", h.Reason)
	}
	for _, m := range r.Decision.Replaced {
		l.Logger.Debug("is planned on other slots at the same start", "t", r.Delta.Now, "job", l.Job(m.Job.ID).Name,
			"start", m.Start, "slots", r.State.DescribePlacement(m.At))
	}
	for i, m := range r.Matches {
		switch {
		case m.Job.Scavenger:
			l.Logger.Info("scavenges", "t", r.Delta.Now, "job", m.Job.Name, "cmd", Command(m.Job), "slots", m.Placement.String())
			continue
		case i >= len(r.Decision.Started):
			l.Logger.Info("displaces", "t", r.Delta.Now, "job", m.Job.Name, "cmd", Command(m.Job), "from", m.At,
				"jobs", len(m.Displaces), "slots", m.Placement.String())
			continue
		}
		about := []any{
			"t", r.Delta.Now, "job", m.Job.Name, "cmd", Command(m.Job),
			"wait", r.Delta.Now - m.Job.Submit, "how", r.Decision.Started[i].How, "slots", m.Placement.String(),
			"waiting", r.State.Waiting(), "running", r.State.RunningJobs(),
		}
		if m.At != 0 {
			about = append(about, "from", m.At, "scavengers", len(m.Displaces))
		}
		l.Logger.Info("started", about...)
	}
	return nil
}

// scavenged logs which scavengers made way, ended or were given up.
func (l *Log) scavenged(r *negotiator.Report) {
	s := r.Scavengers
	if s == nil {
		return
	}
	tell := func(what string, jobs []backfill.JobID) {
		for _, id := range jobs {
			l.Logger.Info(what, "t", r.Delta.Now, "job", l.Job(id).Name, "cmd", Command(l.Job(id).Job))
		}
	}
	tell("made way", s.Displaced)
	tell("ended", s.Completed)
	tell("given up", s.Removed)
}
