package active

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// About says what the policy is, and what its options are set to, in lines of this width.
func (p *Policy) About(width int) string {
	spec, order := p.Deciders.Main.Spec(), p.Settings.Order
	var b strings.Builder
	if p.Chooser != nil {
		leader := p.Chooser.InCharge()
		spec, order = p.Chooser.Spec(), leader.OrderName
		b.WriteString("In charge now: " + leader.Policy.Spec().Name + ", order " + order + "\n\n")
	}
	_, _ = fmt.Fprintf(&b, "%s\n\norder       %s\nestimates   %v\n",
		text.WrapSoft("Policy "+spec.Name+": "+cli.Line(spec.Doc), width), order,
		p.Settings.EstimateSettings().Summary(p.Guarantees, 0))
	if len(spec.Options) == 0 {
		b.WriteString("\nIt has no options.\n")
	}
	for _, o := range spec.Options {
		value, given := p.Settings.Options[o.Name]
		if !given {
			value = o.Default + ", by default"
		}
		about := text.WrapSoft(cli.Line(o.Doc), max(1, width-4))
		_, _ = fmt.Fprintf(&b, "\n%s = %s\n    %s\n", o.Name, cli.Line(value),
			strings.ReplaceAll(about, "\n", "\n    "))
	}
	return b.String()
}

// Process says how the process of the policy does, if it is a plugin; "": it is linked in. It waits for a
// decision that is under way.
func (p *Policy) Process() string {
	remote, ok := p.Deciders.Main.(*host.Remote)
	if !ok {
		return ""
	}
	s := remote.Stats()
	text := "no process runs"
	if s.PID != 0 {
		text = fmt.Sprint("process ", s.PID)
	}
	return fmt.Sprintf("%s; starts: %d, failures: %d; it has no more than this: %v", text, s.Starts, s.Failures, remote.Boundary())
}
