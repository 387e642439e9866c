package catalogue

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/plugins/choose"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// startTimeout is how long a plugin may take to describe itself.
const startTimeout = 5 * time.Second

// Policy is what is told of a policy. From is the path of a plugin, or linkedIn. A plugin
// that could not be asked has only From and the reason, Error.
type Policy struct {
	Name       string   `json:"name"`
	Doc        string   `json:"doc"`
	Promise    string   `json:"promise"`
	Source     string   `json:"source"`
	Guarantees bool     `json:"guarantees"`
	UsesOrder  bool     `json:"uses_order"`
	Order      string   `json:"order"`     // unless another is chosen; "": fcfs
	Estimates  string   `json:"estimates"` // for the order in simulations, unless others are chosen; "": requests
	From       string   `json:"from"`
	Options    []Option `json:"options"`
	Error      string   `json:"error,omitempty"`
}

const linkedIn = "linked in"

// Option is one option of a policy; a bound that it does not have is null.
type Option struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Default string   `json:"default"`
	Low     *float64 `json:"low"`
	High    *float64 `json:"high"`
	Choices []string `json:"choices"`
	Doc     string   `json:"doc"`

	accepts string
}

// Find describes the named policies; if none is named, all that are linked in or lie in the
// directories.
func Find(ctx context.Context, names, dirs []string) ([]Policy, error) {
	request := choose.Request{
		Dirs: dirs,
		Plugins: choose.Plugins{Run: host.Options{
			StartTimeout: startTimeout, Logger: hclog.NewNullLogger(), User: host.Nobody,
		}},
	}
	var all []Policy
	for _, name := range names {
		if name == auto.Name {
			all = append(all, describePolicy(auto.Spec(), linkedIn))
			continue
		}
		request.Policy = name
		spec, path, err := choose.Describe(ctx, request)
		if err != nil {
			return nil, err
		}
		all = append(all, describePolicy(spec, cmp.Or(path, linkedIn)))
	}
	if len(names) > 0 {
		return all, nil
	}
	for _, spec := range append(policies.All(), auto.Spec()) {
		all = append(all, describePolicy(spec, linkedIn))
	}
	paths, err := host.List(dirs)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		request.Policy = path
		spec, _, err := choose.Describe(ctx, request)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			why := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "start "), path+": ")
			all = append(all, Policy{From: path, Options: []Option{}, Error: why})
		default:
			all = append(all, describePolicy(spec, path))
		}
	}
	return all, nil
}

// describePolicy puts a policy's description into the form in which it is printed.
func describePolicy(s backfill.PolicySpec, from string) Policy {
	p := Policy{
		Name: s.Name, Doc: s.Doc, Promise: s.Promise, Source: s.Source,
		Guarantees: s.Guarantees, UsesOrder: !s.IgnoresOrder, Order: s.Order,
		Estimates: s.Estimates, From: from, Options: []Option{},
	}
	for _, o := range s.Options {
		low, high := o.Range.Bounds()
		p.Options = append(p.Options, Option{
			Name: o.Name, Type: o.Type.String(), Default: o.Default, Low: low, High: high,
			Choices: append([]string{}, o.Choices...), Doc: o.Doc, accepts: o.Accepts(),
		})
	}
	return p
}

// Tables lists policies in tables that fit a hundred columns.
func Tables(all []Policy) string {
	list := wrappedTable([]int{12, 25, 22, 16, 9}, "policy", "what it does", "what it promises", "source", "queue")
	plugins := wrappedTable([]int{12, 38, 40}, "policy", "plugin", "why it cannot be used")
	options := wrappedTable([]int{11, 20, 14, 16, 23}, "policy", "option", "default", "values", "what it sets")
	for _, p := range all {
		if p.From != linkedIn {
			plugins.AppendRow(table.Row{p.Name, cli.Shown(p.From), cli.Shown(p.Error)})
		}
		if p.Error != "" {
			continue
		}
		queue := "by submit time; no user priority, JobPrio or nice_user"
		if p.UsesOrder {
			queue = "--order"
		}
		switch {
		case p.Name == auto.Name:
			queue = "the order that is chosen; no user priority, JobPrio or nice_user"
		case p.Order != "":
			queue = "--order, else " + p.Order
		}
		if p.Estimates != "" && p.Name != auto.Name {
			queue += "; run times " + p.Estimates
		}
		list.AppendRow(table.Row{p.Name, p.Doc, p.Promise, p.Source, queue})
		for _, o := range p.Options {
			options.AppendRow(table.Row{p.Name, o.Name, cmp.Or(o.Default, "none"), o.accepts, o.Doc})
		}
	}
	out := list.Render() + "\n"
	if plugins.Length() > 0 {
		out += "\nPlugins:\n\n" + plugins.Render() + "\n"
	}
	if options.Length() > 0 {
		out += "\nOptions of the policies (--policy-opt OPTION=VALUE):\n\n" + options.Render() + "\n"
	}
	return out
}

// wrappedTable makes a table whose columns are no wider than the given widths.
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
