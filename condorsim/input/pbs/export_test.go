package pbs

import (
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/settle"
)

// Records returns what a log says of each job, whatever the machine has.
func Records(text string) ([]settle.Record, error) {
	r, err := read(strings.NewReader(text), "log")
	if err != nil {
		return nil, err
	}
	return r.records(), nil
}
