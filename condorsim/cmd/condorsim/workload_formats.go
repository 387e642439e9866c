package main

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
)

// formatsCommand is condorsim workload formats.
type formatsCommand struct{}

// Run prints the description.
func (*formatsCommand) Run() error {
	_, err := fmt.Print(formats.Describe())
	return err
}
