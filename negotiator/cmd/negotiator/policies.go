package main

import (
	"cmp"
	"encoding/json"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill"
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
	Promise    string         `json:"promise"`
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
		all = append(all, describePolicy(s))
	}
	if c.JSON {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(all)
	}
	_, err := os.Stdout.WriteString(describe(all) + "\n" + negotiator.OrderHelp())
	return err
}

// describePolicy tells of one policy.
func describePolicy(s backfill.Spec) policy {
	p := policy{
		Name: s.Name, Doc: s.Doc, Promise: s.Promise, Source: s.Source,
		Guarantees: s.Guarantees, UsesOrder: !s.IgnoresOrder, Options: []policyOption{},
	}
	for _, o := range s.Options {
		p.Options = append(p.Options, policyOption{Name: o.Name, Default: o.Default, Doc: o.Doc})
	}
	return p
}

// describe lists policies in tables that fit a hundred columns.
func describe(all []policy) string {
	list := wrappedTable([]int{12, 25, 22, 17, 7}, "policy", "what it does", "what it promises", "source", "queue")
	options := wrappedTable([]int{12, 20, 14, 41}, "policy", "option", "default", "what it sets")
	for _, p := range all {
		queue := "order of jobs"
		if p.UsesOrder {
			queue = "--order"
		}
		list.AppendRow(table.Row{p.Name, p.Doc, p.Promise, p.Source, queue})
		for _, o := range p.Options {
			options.AppendRow(table.Row{p.Name, o.Name, cmp.Or(o.Default, "none"), o.Doc})
		}
	}
	return list.Render() + "\n\nOptions of the policies (--policy-opt OPTION=VALUE):\n\n" + options.Render() + "\n"
}

// wrappedTable is a table whose columns are no wider than said.
func wrappedTable(widths []int, header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Options.SeparateRows = true
	t.AppendHeader(header)
	var columns []table.ColumnConfig
	for i, width := range widths {
		columns = append(columns, table.ColumnConfig{Number: i + 1, WidthMax: width, WidthMaxEnforcer: text.WrapSoft})
	}
	t.SetColumnConfigs(columns)
	return t
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
