// Command retry-tests runs go test, and then runs each failed test once more, alone.
//
//	go run ./integration/retry-tests ./...
//	go run ./integration/retry-tests -logs /tmp/logs ./negotiator/... -race -skip Verdict
//
// It prints what go test prints. A test that passes the second time is flaky: it is not a failure,
// but the output of both tries is kept in the folder of logs, and the last lines say so:
//
//	flaky: PACKAGE.TEST (its output in FILE)
//
// The same lines are appended to the file "flaky" in that folder, so that several calls count
// together: more flaky tests than -most are a failure. The names of tests that failed twice are
// appended to the file "failed". If no test can be blamed (a panic, a leaked goroutine, a timeout),
// the package is tried again as a whole. Build failures and data races are not tried again: a
// report of a race is proof, not chance.
//
// The exit code is 0 if everything passed, 1 if something failed twice or too much was flaky, 2 for
// a wrong call, 130 after an interrupt.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	r := runner{out: os.Stdout, errs: os.Stderr, command: goTest}
	code := r.run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

func (r *runner) run(ctx context.Context, args []string) int {
	errs := r.errs
	flags := flag.NewFlagSet("retry-tests", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() {
		_, _ = fmt.Fprint(errs, "usage: retry [-logs DIR] [-most N] [-slowest N] PACKAGES… [FLAGS OF GO TEST…]\n\n"+
			"Runs go test, and once more, alone, each test that failed. Exit code 0: passed, perhaps\n"+
			"only then; 1: failed; 2: wrong call; 130: interrupted.\n\n")
		flags.PrintDefaults()
		_, _ = fmt.Fprint(errs, "\nexample:\n  go run ./integration/retry-tests -slowest 20 ./plugins/... -race\n")
	}
	flags.StringVar(&r.logs, "logs", "", "folder for the lists and what flaky tests printed; by default a new one")
	flags.IntVar(&r.most, "most", 3, "so many flaky tests are no failure, with those that are in the list already")
	slowest := flags.Int("slowest", 0, "list so many of the slowest tests")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	r.packages = flags.Args()
	if i := slices.IndexFunc(r.packages, func(arg string) bool { return strings.HasPrefix(arg, "-") }); i >= 0 {
		r.packages, r.flags = r.packages[:i], r.packages[i:]
	}
	if len(r.packages) == 0 {
		flags.Usage()
		return 2
	}
	err := r.makeLogs()
	if err != nil {
		_, _ = fmt.Fprintln(errs, "retry-tests: folder of logs:", err)
		return 2
	}
	err = r.all(ctx)
	r.printSlowest(*slowest)
	switch {
	case ctx.Err() != nil:
		return 130
	case err != nil:
		_, _ = fmt.Fprintln(errs, "retry-tests:", err)
		return 1
	}
	return 0
}

func (r *runner) makeLogs() (err error) {
	if r.logs == "" {
		r.logs, err = os.MkdirTemp("", "retry-")
		return err
	}
	return os.MkdirAll(r.logs, 0o755)
}

// runner runs go test for one call of the command.
type runner struct {
	out, errs       io.Writer
	logs            string
	most            int
	packages, flags []string
	command         func(ctx context.Context, args []string) *exec.Cmd
	times           []timed
}

func goTest(ctx context.Context, args []string) *exec.Cmd {
	return exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
}

// all runs all tests once, and each failed test once more. It errs if a test failed twice, if the
// first run had a failure that must not be repeated, or if more than most failed or were flaky.
func (r *runner) all(ctx context.Context) error {
	first, err := r.test(ctx, append(slices.Clone(r.packages), r.flags...))
	if err != nil || len(first.failures) == 0 {
		return err
	}
	known, err := r.known()
	if err != nil {
		return err
	}
	if n := len(first.failures); n+known > r.most {
		why := "%d failed and %d were flaky before; more than %d in one run are a failure, and are not tried again"
		return r.red(fmt.Sprintf(why, n, known, r.most), first.failures)
	}
	var flaky, twice, final []failure
	defer func() {
		for _, f := range flaky {
			_, _ = fmt.Fprintln(r.out, f.line)
		}
	}()
	for _, f := range first.failures {
		if f.final {
			final = append(final, f)
			continue
		}
		_, _ = fmt.Fprintf(r.out, "once more, alone: %s\n", f.name())
		again, err := r.test(ctx, f.args(r.flags))
		if err != nil {
			return err
		}
		if len(again.failures) > 0 || !again.passed[f.name()] {
			twice = append(twice, f)
			continue
		}
		if f.line, err = r.record(f); err != nil {
			return err
		}
		flaky = append(flaky, f)
	}
	return errors.Join(r.red("cannot be built, or has a data race", final), r.red("failed twice", twice))
}

// red adds failures to the list of failed tests and returns an error that names them; nil if there
// are none.
func (r *runner) red(why string, failures []failure) error {
	if len(failures) == 0 {
		return nil
	}
	list := names(failures)
	return errors.Join(fmt.Errorf("%s:\n  %s", why, strings.Join(list, "\n  ")), r.list("failed", list...))
}

// known returns the number of flaky tests listed by earlier calls.
func (r *runner) known() (int, error) {
	list, err := os.ReadFile(filepath.Join(r.logs, "flaky"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("list of flaky tests: %w", err)
	}
	return strings.Count(string(list), "\n"), nil
}

// record saves the output of a flaky test's failure, adds a line to the list of flaky tests, and
// returns the line.
func (r *runner) record(f failure) (line string, err error) {
	kept, err := os.CreateTemp(r.logs, strings.NewReplacer("/", "_", "*", "_").Replace(f.name())+"-*.txt")
	if err != nil {
		return "", fmt.Errorf("output of a flaky test: %w", err)
	}
	_, err = kept.WriteString(f.output)
	if err = errors.Join(err, kept.Close()); err != nil {
		return "", fmt.Errorf("output of a flaky test: %w", err)
	}
	line = fmt.Sprintf("flaky: %s (its output in %s)", f.name(), kept.Name())
	return line, r.list("flaky", line)
}

// list appends lines to a list (flaky or failed) in the folder of logs.
func (r *runner) list(name string, lines ...string) error {
	list, err := os.OpenFile(filepath.Join(r.logs, name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("list of %s tests: %w", name, err)
	}
	for _, line := range lines {
		_, err = fmt.Fprintln(list, line)
	}
	if err = errors.Join(err, list.Close()); err != nil {
		return fmt.Errorf("list of %s tests: %w", name, err)
	}
	return nil
}

// test runs go test once. Failed tests are no error, but are in the tally.
func (r *runner) test(ctx context.Context, args []string) (*tally, error) {
	command := r.command(ctx, args)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Stderr = r.errs
	events, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("go test: %w", err)
	}
	if err = command.Start(); err != nil {
		return nil, fmt.Errorf("go test: %w", err)
	}
	t := newTally(r.out)
	err = t.read(events)
	r.times = append(r.times, t.times...)
	exit := command.Wait()
	switch {
	case err != nil:
		return nil, fmt.Errorf("output of go test: %w", err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case exit != nil && len(t.failures) == 0:
		return nil, fmt.Errorf("go test: %w", exit) // for example an unknown flag
	default:
		return t, nil
	}
}

func (r *runner) printSlowest(n int) {
	slices.SortStableFunc(r.times, func(a, b timed) int { return int(b.seconds*1000) - int(a.seconds*1000) })
	for _, t := range r.times[:min(n, len(r.times))] {
		_, _ = fmt.Fprintf(r.out, "%8.2f s  %s\n", t.seconds, t.name)
	}
}
