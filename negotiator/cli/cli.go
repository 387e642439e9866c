package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/hashicorp/go-hclog"
	"golang.org/x/term"

	"github.com/condor-backfill/condor-backfill/negotiator/cli/grammar"
)

// Exit codes of every command.
const (
	OK          = 0
	Failed      = 1
	BadInput    = 2
	Interrupted = 130
)

// inputError is an error caused by the user's input.
type inputError struct{ err error }

func (e *inputError) Error() string { return e.err.Error() }
func (e *inputError) Unwrap() error { return e.err }

// Bad marks an error as caused by the user's input; nil stays nil.
func Bad(err error) error {
	if err == nil {
		return nil
	}
	return &inputError{err}
}

// ErrTold is returned by a command that has already printed what failed.
var ErrTold = errors.New("failed; it was said why")

// Code returns the exit code for an error.
func Code(err error) int {
	var input *inputError
	switch {
	case err == nil:
		return OK
	case errors.Is(err, context.Canceled):
		return Interrupted
	case errors.As(err, &input):
		return BadInput
	default:
		return Failed
	}
}

// grace is how long an interrupted command may take to end in order.
const grace = 10 * time.Second

// Unhurried is the context of a command that puts back what it has done when it is interrupted: it
// may take as long as it needs for that, or until the second interrupt.
type Unhurried struct{ context.Context }

// Main parses the arguments into the commands, runs the command that they name, and returns the
// exit code. The options are for the parser, such as [Texts].
//
// A command that must end in order takes a context.Context, which ends at the first interrupt; the
// command then has ten seconds, or until the second interrupt; see also [Unhurried]. For other
// commands Main returns at the first interrupt, so that the process ends.
func Main(name, description string, commands any, args []string, options ...kong.Option) int {
	var measured measuring
	parser, err := kong.New(commands, append([]kong.Option{
		grammar.Common(), kong.Name(name), kong.Description(description), kong.Bind(&measured),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(lengthOfTime)),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
	}, options...)...)
	if err != nil {
		return report(os.Stderr, name, err)
	}
	command, err := parser.Parse(joined(args))
	if err == nil {
		err = nonzero(command.Flags())
	}
	if err != nil {
		err = Bad(fmt.Errorf("%s; see %s --help", inWords(err), asked(name, err)))
		return report(os.Stderr, name, errors.Join(err, measured.end()))
	}
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(interrupts)
	err = untilInterrupted(interrupts, func(ctx func(unhurried bool) context.Context) error {
		unbound := errors.Join(
			command.BindToProvider(func() (context.Context, error) { return ctx(false), nil }),
			command.BindToProvider(func() (Unhurried, error) { return Unhurried{ctx(true)}, nil }))
		if unbound != nil {
			return unbound
		}
		return command.Run()
	})
	return report(os.Stderr, name, errors.Join(err, measured.end()))
}

// nonzero returns an error if a flag with the tag nonzero is given as 0, which would be the same as not to
// give it.
func nonzero(flags []*kong.Flag) error {
	for _, flag := range flags {
		if flag.Tag.Has("nonzero") && flag.Set && flag.Target.IsZero() {
			return fmt.Errorf("--%s: 0 is no such number; leave it out to change nothing", flag.Name)
		}
	}
	return nil
}

// joined joins flags and the negative numbers behind them: --cpus -5 becomes --cpus=-5. The parser
// takes a lone -5 for a flag; joined, the command says which numbers it allows.
func joined(args []string) (all []string) {
	for i, arg := range args {
		if arg == "--" {
			return append(all, args[i:]...)
		}
		last := len(all) - 1
		_, err := strconv.ParseFloat(arg, 64)
		if err == nil && strings.HasPrefix(arg, "-") && last >= 0 && strings.HasPrefix(all[last], "--") &&
			!strings.Contains(all[last], "=") {
			all[last] += "=" + arg
			continue
		}
		all = append(all, arg)
	}
	return all
}

// asked returns the command, such as "negotiator explain", as far as the parser had recognized it
// before the error.
func asked(name string, err error) string {
	if parse, ok := errors.AsType[*kong.ParseError](err); ok && parse.Context != nil &&
		parse.Context.Selected() != nil {
		return parse.Context.Selected().FullPath()
	}
	return name
}

// untilInterrupted runs a command. At an interrupt, a command that has asked for its context is
// given time to end after the context is cancelled; any other is abandoned. It returns the
// command's error, or [context.Canceled] if the command did not end itself.
func untilInterrupted(interrupts <-chan os.Signal, run func(ctx func(unhurried bool) context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var orderly, patient atomic.Bool
	ended := make(chan error, 1)
	go func() {
		ended <- run(func(unhurried bool) context.Context {
			orderly.Store(true)
			patient.Store(unhurried)
			return ctx
		})
	}()
	select {
	case err := <-ended:
		return err
	case <-interrupts:
		cancel()
	}
	if !orderly.Load() {
		return context.Canceled
	}
	var late <-chan time.Time
	if !patient.Load() {
		late = time.After(grace)
	}
	select {
	case err := <-ended:
		return err
	case <-interrupts:
	case <-late:
	}
	return context.Canceled
}

// report prints an error, if there is one, and returns its exit code.
func report(out io.Writer, name string, err error) int {
	code := Code(err)
	switch {
	case code == OK, errors.Is(err, ErrTold):
	case code == Interrupted:
		_, _ = fmt.Fprintf(out, "%s: interrupted\n", name)
	default:
		_, _ = fmt.Fprintf(out, "%s: %s\n", name, Shown(err.Error()))
	}
	return code
}

// IsTerminal reports whether the file is a terminal that can be drawn on.
func IsTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// HasColours reports whether the file is a terminal in colour whose user wants it so
// (https://no-color.org).
func HasColours(f *os.File) bool { return IsTerminal(f) && os.Getenv("NO_COLOR") == "" }

// LogLevels are the valid log levels.
const LogLevels = "trace,debug,info,warn,error,off"

// Logger returns the root logger of a command. The level is one of LogLevels.
func Logger(name, level string, out io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: name, Level: hclog.LevelFromString(level), Output: out,
	})
}
