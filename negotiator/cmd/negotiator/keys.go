package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

const (
	keysHint = "q quit   p policy   ? help"
	keysHelp = `Keys

 q   quit, as Ctrl-C does: jobs that run are given up
 p   the policy and its options, or back
 ?   this help, or back

Expected starts suppose that each job runs for as long
as is planned with, and that nobody else arrives.

kill -HUP has it read its configuration anew. Into a
file or a pipe, the run is logged instead of drawn.
`
)

// heed acts on the keys that are read, until there are none any more.
func (v *view) heed(keys io.Reader, quit func()) {
	one := make([]byte, 1)
	for {
		if n, err := keys.Read(one); err != nil || n == 0 {
			return
		}
		switch one[0] {
		case 'q', 'Q':
			quit()
		case 'p', 'P':
			v.show(thePolicy)
		case '?', 'h':
			v.show(theKeys)
		}
	}
}

// interact has the view heed keys if standard input is a terminal in whose foreground this process
// is. It returns a function that gives the terminal back. After a stop (Ctrl-Z) it begins again.
func (v *view) interact(ctx context.Context, quit func()) (end func()) {
	in := os.Stdin
	if !cli.IsTerminal(in) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, goesOn...)
	ended := make(chan struct{})
	reading := false
	begin := func() func() {
		restore, err := readKeys(in)
		if err != nil { // in the background, say: there are no keys then
			return func() {}
		}
		if !reading {
			reading = true
			go v.heed(in, quit)
		}
		return restore
	}
	restore := begin()
	if reading {
		v.hint = v.in(faint, keysHint)
	}
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				restore()
				return
			case <-continued: // the shell has changed the terminal meanwhile
				restore()
				restore = begin()
				v.open()
			}
		}
	}()
	return func() {
		signal.Stop(continued)
		cancel()
		<-ended
	}
}

// aboutPolicy says what the active policy is, and what its options are set to.
func (a *active) aboutPolicy(width int) string {
	spec, order := a.policy.Main.Spec(), a.settings.Order
	var b strings.Builder
	if a.chooser != nil {
		is := a.chooser.InCharge()
		spec, order = a.chooser.Spec(), is.OrderName
		b.WriteString("In charge now: " + is.Policy.Spec().Name + ", order " + order + "\n\n")
	}
	_, _ = fmt.Fprintf(&b, "%s\n\norder       %s\nestimates   %v\n",
		text.WrapSoft("Policy "+spec.Name+": "+backfill.Printable(spec.Doc, longest), width), order,
		summaryOf(a.settings.EstimateSettings(), a.guarantees, 0))
	if len(spec.Options) == 0 {
		b.WriteString("\nIt has no options.\n")
	}
	for _, o := range spec.Options {
		value, given := a.settings.Options[o.Name]
		if !given {
			value = o.Default + ", by default"
		}
		about := text.WrapSoft(backfill.Printable(o.Doc, longest), max(1, width-4))
		_, _ = fmt.Fprintf(&b, "\n%s = %s\n    %s\n", o.Name, backfill.Printable(value, longest),
			strings.ReplaceAll(about, "\n", "\n    "))
	}
	return b.String()
}
