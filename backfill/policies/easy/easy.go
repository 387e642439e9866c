// Package easy is EASY backfilling. The first job that cannot start now gets a reservation at the
// earliest time that the running jobs' estimates allow. Any other job may start now if it does not
// delay that reservation.
//
// The jobs behind the first are promised nothing. The reservation itself may move in either
// direction, as jobs end early. With the option depth=n, the first n blocked jobs get reservations,
// as with Maui's RESERVATIONDEPTH and in Fluxion's hybrid policy. As many jobs before them that may
// not start yet get one besides, at their earliest place from their earliest start on.
//
// Where the queue's order changes, as under fair share, the first job may be another in each pass,
// and what was drained for the one before is lost. With keep=true a job that got a reservation has
// one until it starts, as with Maui's RESERVATIONPOLICY HIGHEST.
//
// Source: D. Lifka, The ANL/IBM SP scheduling system, JSSPP 1995.
package easy

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/scan"
)

// Spec describes the policy.
func Spec() backfill.PolicySpec {
	return backfill.PolicySpec{
		Name:    "easy",
		Doc:     "reserves for the first blocked jobs and starts any other that does not delay them",
		Promise: "the first blocked job is not delayed: if estimates are right it starts by the time reserved for it",
		Source:  "Lifka, JSSPP 1995",
		Options: []backfill.Option{
			{
				Name: "depth", Default: "1", Type: backfill.WholeNumber, Range: backfill.AtLeast(1),
				Doc: "how many blocked jobs get a reservation; 1 is EASY",
			},
			{
				Name: "keep", Default: "false", Type: backfill.Flag,
				Doc: "a job that got a reservation has one until it starts, whoever comes to the head of the queue, as " +
					"with Maui's HIGHEST",
			},
		},
		New: func(v backfill.Values) (backfill.Policy, error) {
			depth, pass := v.Int("depth"), scan.Depth
			if v.Flag("keep") {
				pass = scan.Keeping
			}
			return backfill.PolicyFunc(func(c *backfill.Cycle) { pass(c, depth) }), nil
		},
	}
}
