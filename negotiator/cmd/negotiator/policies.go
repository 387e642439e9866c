package main

import (
	"cmp"
	"encoding/json"
	"os"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
)

// policiesCommand is negotiator policies.
type policiesCommand struct {
	JSON bool `name:"json" help:"Print a JSON array."`
}

// policy is what is told of a policy.
type policy struct {
	Name       string         `json:"name"`
	Doc        string         `json:"doc"`
	Source     string         `json:"source"`
	Guarantees bool           `json:"guarantees"`
	UsesOrder  bool           `json:"uses_order"`
	Options    []policyOption `json:"options"`
}

type policyOption struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Doc     string `json:"doc"`
}

// Run lists the policies.
func (c *policiesCommand) Run() error {
	var all []policy
	for _, s := range policies.All() {
		p := policy{Name: s.Name, Doc: s.Doc, Source: s.Source, Guarantees: s.Guarantees, UsesOrder: !s.IgnoresOrder, Options: []policyOption{}}
		for _, o := range s.Options {
			p.Options = append(p.Options, policyOption{Name: o.Name, Default: o.Default, Doc: o.Doc})
		}
		all = append(all, p)
	}
	if c.JSON {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(all)
	}
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateRows = true
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, WidthMax: 60, WidthMaxEnforcer: text.WrapSoft}, {Number: 5, WidthMax: 50, WidthMaxEnforcer: text.WrapSoft}})
	t.AppendHeader(table.Row{"policy", "what it does", "guarantees", "order", "options"})
	for _, p := range all {
		var options []string
		for _, o := range p.Options {
			options = append(options, o.Name+"="+o.Default+": "+o.Doc)
		}
		promise, order := "none", "fcfs"
		if p.Guarantees {
			promise = "latest start"
		}
		if p.UsesOrder {
			order = "--order"
		}
		t.AppendRow(table.Row{p.Name, p.Doc + " (" + p.Source + ")", promise, order, cmp.Or(strings.Join(options, "\n"), "none")})
	}
	_, err := os.Stdout.WriteString(t.Render() + "\n\n" + negotiator.OrderHelp())
	return err
}

// configCommands are the commands that concern configuration files.
type configCommands struct {
	Check configCheck `cmd:"" help:"Say whether a configuration file is right."`
}

// configCheck is negotiator config check.
type configCheck struct {
	File string `arg:"" help:"YAML file."`
}

// Run reads the file as the negotiator would.
func (c *configCheck) Run() error {
	if err := config.CheckPolicy(c.File); err != nil {
		return cli.Bad(err)
	}
	_, err := os.Stdout.WriteString(c.File + ": ok\n")
	return err
}
