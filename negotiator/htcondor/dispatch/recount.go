package dispatch

import (
	"context"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/claims"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// recount tells schedds in the background to count their queues, so that they ask for the slots that their gangs
// have in the plan. One that cannot be told counts in its own time.
func (d *Dispatcher) recount(ctx context.Context) {
	for name, l := range d.lines {
		select {
		case err := <-l.recounting:
			if l.recounting = nil; err != nil {
				d.log.Warn("a schedd cannot be told to ask for the slots of a gang; it will in its own time",
					"schedd", name, "error", err)
			}
		default:
		}
	}
	for _, name := range claims.Recounts(d.claims, d.now()) {
		l := d.line(name)
		if l.recounting != nil {
			continue
		}
		answer := make(chan error, 1)
		l.recounting = answer
		to, hold := client.Schedd{Security: d.s.Security, Address: d.schedds[name].Address}, d.s.Hold
		d.log.Debug("a schedd is to ask for the slots of a gang", "schedd", name)
		go func() {
			within, cancel := context.WithTimeout(ctx, hold)
			defer cancel()
			answer <- to.Reschedule(within)
		}()
	}
}
