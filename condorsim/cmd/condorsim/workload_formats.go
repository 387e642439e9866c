package main

import (
	"io"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
)

// formatsCommand is condorsim workload formats.
type formatsCommand struct{}

// Run prints the description.
func (*formatsCommand) Run(p *process) error {
	_, err := io.WriteString(p.out, formats.Describe())
	return err
}
