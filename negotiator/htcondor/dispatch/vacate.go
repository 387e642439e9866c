package dispatch

import (
	"context"
	"errors"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// vacated is the result of telling a schedd to vacate scavengers.
type vacated struct {
	told claims.Vacate
	err  error
}

// vacate tells schedds to vacate the scavengers that have to leave. It waits for them, but no longer than
// Hold in all; a schedd that takes longer is told in the background.
func (d *Dispatcher) vacate(ctx context.Context) {
	d.hearVacated(nil)
	for name, jobs := range claims.Vacates(d.claims, d.now()) {
		l := d.line(name)
		answer := make(chan vacated, 1)
		l.vacating = append(l.vacating, answer)
		to := client.Schedd{Security: d.s.Security, Address: d.schedds[name].Address}
		go func() {
			within, cancel := context.WithTimeout(ctx, d.s.Patience)
			defer cancel()
			answer <- vacated{jobs, to.Vacate(within, jobs.Names)}
		}()
	}
	wait, cancel := context.WithTimeout(ctx, d.s.Hold)
	defer cancel()
	d.hearVacated(wait.Done())
}

// hearVacated takes in what schedds answered meanwhile that were told to vacate scavengers. It waits for them
// until the channel is closed; if that is nil it does not wait.
func (d *Dispatcher) hearVacated(up <-chan struct{}) {
	for name, l := range d.lines {
		for len(l.vacating) > 0 {
			var r vacated
			select {
			case r = <-l.vacating[0]:
			default:
				if up == nil {
					break
				}
				select {
				case r = <-l.vacating[0]:
				case <-up:
					up = nil
				}
			}
			if r.told.Jobs == nil {
				break
			}
			l.vacating = l.vacating[1:]
			d.noteVacated(name, r)
		}
	}
}

// noteVacated notes what became of scavengers that a schedd was told to vacate.
func (d *Dispatcher) noteVacated(schedd string, r vacated) {
	_, denied := errors.AsType[*security.DeniedError](r.err)
	unwilling := denied || errors.Is(r.err, client.ErrMayNotVacate)
	news := claims.NoteVacated(d.claims, d.now(), schedd, r.told, unwilling, r.err)
	switch {
	case unwilling && !news:
		d.log.Debug("scavengers still cannot be vacated", "schedd", schedd, "error", r.err)
	case unwilling:
		d.log.Warn("scavengers cannot be vacated: jobs take over their claims instead, which ends them without a signal",
			"schedd", schedd, "error", r.err)
	case r.err != nil:
		d.log.Warn("a schedd could not be told to vacate scavengers; this is tried again", "schedd", schedd, "error", r.err)
	case !news:
		d.log.Debug("scavengers that run on are told again to make way", "schedd", schedd, "jobs", r.told.Names)
	default:
		d.log.Info("scavengers make way", "schedd", schedd, "jobs", r.told.Names)
	}
}
