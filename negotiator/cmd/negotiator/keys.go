package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// errBackground says that another process has the terminal.
var errBackground = errors.New("this process is not in the foreground of its terminal")

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

// interact has the view heed keys if standard input is a terminal, and leave the terminal while
// another process has it: after Ctrl-Z, and in the background. It returns a function that ends
// this.
func (v *view) interact(ctx context.Context, quit func()) (end func()) {
	if !cli.IsTerminal(os.Stdin) || len(goesOn) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stopped, continued := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(stopped, stops...)
	signal.Notify(continued, goesOn...)
	signal.Ignore(intrude...) // else who tidies up in the background is stopped
	v.mu.Lock()
	v.again = func() { // a shell tells nobody who was running that it is in the foreground now
		select {
		case continued <- nil:
		default:
		}
	}
	v.mu.Unlock()
	var reading atomic.Bool
	begin := func() func() {
		restore, err := readKeys(os.Stdin)
		if err != nil {
			v.leave(errors.Is(err, errBackground))
			return func() {}
		}
		if reading.CompareAndSwap(false, true) {
			go func() {
				defer reading.Store(false) // in the background nothing can be read
				v.heed(os.Stdin, quit)
			}()
		}
		v.mu.Lock()
		v.hint = v.in(faint, keysHint)
		v.mu.Unlock()
		v.leave(false)
		return restore
	}
	restore := begin()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				restore()
				return
			case <-stopped:
				v.leave(true)
				restore()
				restore = func() {} // the terminal is the shell's until it is begun with anew
				stop()
			case <-continued: // the shell may have changed the terminal meanwhile
				restore()
				restore = begin()
			}
		}
	}()
	return func() {
		signal.Stop(stopped)
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
