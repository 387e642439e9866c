package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"github.com/hashicorp/go-hclog"
	"github.com/mattn/go-isatty"
)

// Exit codes of every command.
const (
	OK          = 0
	Failed      = 1
	BadInput    = 2
	Interrupted = 130
)

// inputError is the fault of what the user gave.
type inputError struct{ err error }

func (e *inputError) Error() string { return e.err.Error() }
func (e *inputError) Unwrap() error { return e.err }

// Bad marks an error as the fault of what the user gave; nil stays nil.
func Bad(err error) error {
	if err == nil {
		return nil
	}
	return &inputError{err}
}

// Code is the exit code for an error.
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

// Main parses the arguments into the grammar, runs the command that they name,
// and returns the exit code. Commands may ask for a context.Context, which ends
// at the first interrupt; a second one ends the process at once.
func Main(name, description string, grammar any, args []string) int {
	parser, err := kong.New(grammar, kong.Name(name), kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}))
	if err != nil {
		return report(os.Stderr, name, err)
	}
	command, err := parser.Parse(args)
	if err != nil {
		return report(os.Stderr, name, Bad(fmt.Errorf("%w; see %s --help", err, name)))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // the second interrupt has its usual effect
	command.BindTo(ctx, (*context.Context)(nil))
	return report(os.Stderr, name, command.Run())
}

// report prints an error, if there is one, and returns its exit code.
func report(out io.Writer, name string, err error) int {
	code := Code(err)
	switch code {
	case OK:
	case Interrupted:
		_, _ = fmt.Fprintf(out, "%s: interrupted\n", name)
	default:
		_, _ = fmt.Fprintf(out, "%s: %s\n", name, strings.TrimRight(err.Error(), "\n"))
	}
	return code
}

// IsTerminal reports whether a person looks at the file.
func IsTerminal(f *os.File) bool {
	return isatty.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb"
}

// LogLevels are the levels that can be set.
const LogLevels = "trace,debug,info,warn,error,off"

// Logger returns the root logger of a command. The level is one of LogLevels.
func Logger(name, level string, out io.Writer) hclog.Logger {
	return hclog.New(&hclog.LoggerOptions{
		Name: name, Level: hclog.LevelFromString(level), Output: out,
		Exclude: func(level hclog.Level, message string, _ ...any) bool {
			// go-plugin says so of every plugin that ends when it should.
			return level == hclog.Info && message == "plugin process exited"
		},
	})
}
