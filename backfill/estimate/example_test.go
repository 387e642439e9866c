package estimate_test

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// Ann's jobs use from 1 to 60 % of the hour that she requests.
func Example() {
	set, err := estimate.New(estimate.Settings{All: "user", Running: "requested"}, nil, false, false, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	job := estimate.Job{Requested: 3600, Labels: map[string]string{"owner": "ann"}}
	for i := range 60 {
		set.Learn(estimate.Ended{Job: job, Ran: backfill.Time(36 * (i + 1)), At: backfill.Time(i)})
	}
	fmt.Printf("%+v\n", set.Estimate(&job))
	// Output: {Order:1728 Backfill:1728 Running:3600}
}
