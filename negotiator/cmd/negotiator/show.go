package main

import (
	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// command is what a job runs, by its ad.
func command(j *negotiator.Job) string {
	cmd, _ := j.Ad.Text("Cmd")
	return backfill.Printable(cmd, longest)
}

// longest is the largest number of letters of a text that are shown.
const longest = 1000

// logLines logs what happens.
type logLines struct {
	logger hclog.Logger
	w      *condorsim.Workload
}

// Cycle logs what a cycle saw and did.
func (l *logLines) Cycle(r *negotiator.Report) error {
	for _, slot := range r.Delta.SlotsDown {
		l.logger.Warn("a slot is down", "t", r.Delta.Now, "slot", slot)
	}
	for _, id := range r.Delta.Removed {
		l.logger.Warn("given up", "t", r.Delta.Now, "job", l.w.Jobs[id].Name, "cmd", command(l.w.Jobs[id].Job))
	}
	for _, id := range r.Delta.Completed {
		l.logger.Info("ended", "t", r.Delta.Now, "job", l.w.Jobs[id].Name, "cmd", command(l.w.Jobs[id].Job))
	}
	for _, j := range r.Delta.Submitted {
		l.logger.Debug("submitted", "t", r.Delta.Now, "job", j.Name, "cmd", command(j))
	}
	for _, h := range r.Held {
		l.logger.Warn("held", "t", r.Delta.Now, "job", h.Job.Name, "cmd", command(h.Job), "reason", h.Reason)
	}
	for i, m := range r.Matches {
		l.logger.Info("started", "t", r.Delta.Now, "job", m.Job.Name, "cmd", command(m.Job),
			"wait", r.Delta.Now-m.Job.Submit, "how", r.Decision.Started[i].How, "slots", m.Placement.String(),
			"waiting", r.State.Waiting(), "running", r.State.RunningJobs())
	}
	return nil
}
