package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/condorsim/sweep"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// list prints the cells (simulations of the sweep) and whether they are finished.
func (c *sweepCommand) list(w io.Writer, plan *sweep.Sweep, out string) error {
	state := plan.Split(out)
	todo := map[int]bool{}
	for _, i := range state.Todo {
		todo[i] = true
	}
	cells, err := c.only(plan, plan.All())
	if err != nil {
		return cli.Bad(err)
	}
	type listed struct {
		results.Key
		Finished bool `json:"finished"`
	}
	list := make([]listed, 0, len(cells))
	for _, i := range cells {
		list = append(list, listed{plan.Manifest.Cells[i], !todo[i] && !c.Fresh})
	}
	if c.JSON {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", " ")
		return encoder.Encode(struct {
			Name    string              `json:"name"`
			Out     string              `json:"out"`
			Traces  []results.TraceFile `json:"traces"`
			Skipped []string            `json:"skipped"`
			Cells   []listed            `json:"cells"`
		}{plan.Manifest.Name, out, plan.Manifest.Traces, append([]string{}, plan.Manifest.Skipped...), list})
	}
	for _, l := range list {
		state := "to do"
		if l.Finished {
			state = "finished"
		}
		if _, err = fmt.Fprintf(w, "%-8s %s\n", state, l.ID); err != nil {
			return fmt.Errorf("print the list: %w", err)
		}
	}
	return nil
}
