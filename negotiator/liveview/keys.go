package liveview

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"

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
func (v *View) heed(keys io.Reader, quit func()) {
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

// Interact has the view heed keys if the input is a terminal, and leave the terminal while another
// process has it: after Ctrl-Z, and in the background. It returns a function that ends this.
func (v *View) Interact(ctx context.Context, in *os.File, quit func()) (end func()) {
	if !cli.IsTerminal(in) || len(goesOn) == 0 {
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
		restore, err := readKeys(in)
		if err != nil {
			v.leave(errors.Is(err, errBackground))
			return func() {}
		}
		if reading.CompareAndSwap(false, true) {
			go func() {
				defer reading.Store(false) // in the background nothing can be read
				v.heed(in, quit)
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
