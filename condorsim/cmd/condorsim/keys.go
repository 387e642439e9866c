package main

import (
	"io"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/sweep"
)

// keysCommand is condorsim keys.
type keysCommand struct {
	Of string `arg:"" enum:"sweep,pool" help:"The file of a sweep, or the description of a pool: sweep or pool."`
}

// Run prints them.
func (c *keysCommand) Run(p *process) error {
	text := sweep.Keys()
	if c.Of == "pool" {
		text = pools.Keys()
	}
	_, err := io.WriteString(p.out, text)
	return err
}
