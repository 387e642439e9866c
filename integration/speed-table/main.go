// Command speed-table measures how fast the simulator and the core are on this machine, and writes
// the figures into a Markdown file, between the lines that say so:
//
//	go run ./integration/speed-table                        # all parts of backfill/README.md
//	go run ./integration/speed-table -traces FOLDER -runs 1 # one run of each instead of three
//	go run ./integration/speed-table -parts queue           # one of traces, queue and slots
//
// Each part of the file begins with a line <!-- speed: PART --> and ends with <!-- /speed -->; what is
// between them is replaced, all else stays. The part "machine" names the machine, the version of Go and the
// commit. The figures of part "traces" are of whole processes, those of "queue" and "slots" are of
// benchmarks of backfill/policies.
//
// The exit code is 0 if the file was written, 1 if something could not be measured, 2 for a wrong call, 130
// after an interrupt. The file is written last and as a whole.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}

// parts are what can be measured, in the order of the file.
var parts = []string{"traces", "queue", "slots"}

// run is the command; it returns its exit code.
func run(ctx context.Context, args []string, errs io.Writer) int {
	flags := flag.NewFlagSet("speed-table", flag.ContinueOnError)
	flags.SetOutput(errs)
	traces := flags.String("traces", "../shared/traces", "folder of the traces")
	runs := flags.Int("runs", 3, "runs of each simulation of less than 10 s; longer ones run once")
	limit := flags.Duration("limit", 5*time.Minute, "when a simulation is given up")
	file := flags.String("file", "backfill/README.md", "the file that gets the figures")
	which := flags.String("parts", strings.Join(parts, ","), "what to measure")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	chosen := strings.Split(*which, ",")
	for _, part := range chosen {
		if !slices.Contains(parts, part) {
			return fail(errs, 2, fmt.Errorf("-parts: there is no part %q: name some of %s", part, strings.Join(parts, ", ")))
		}
	}
	if flags.NArg() > 0 || *runs < 1 || *limit <= 0 {
		return fail(errs, 2, errors.New("-runs must be 1 or more, -limit some time, and there are no other arguments"))
	}
	text, err := os.ReadFile(*file)
	if err != nil {
		return fail(errs, 2, fmt.Errorf("the file for the figures: %w", err))
	}
	if slices.Contains(chosen, "traces") {
		for _, w := range workloads {
			if _, err = os.Stat(w.file(*traces)); err != nil {
				return fail(errs, 2, fmt.Errorf("the folder of traces: %w; name another with -traces", err))
			}
		}
	}
	m := meter{ctx: ctx, traces: *traces, runs: *runs, limit: *limit, errs: errs}
	page := string(text)
	for _, part := range append([]string{"machine"}, chosen...) {
		var table string
		if table, err = m.measure(part); err == nil {
			page, err = replace(page, part, table)
		}
		switch {
		case ctx.Err() != nil:
			return 130
		case err != nil:
			return fail(errs, 1, fmt.Errorf("%s: %w", part, err))
		}
	}
	if err := write(*file, page); err != nil {
		return fail(errs, 1, err)
	}
	return 0
}

func fail(errs io.Writer, code int, err error) int {
	_, _ = fmt.Fprintln(errs, "speed-table:", err)
	return code
}

// write replaces a file as a whole, if it is a link the one that it leads to.
func write(file, text string) error {
	file, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-*")
	if err != nil {
		return err
	}
	_, err = part.WriteString(text)
	if err = errors.Join(err, part.Chmod(0o644), part.Close()); err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		_ = os.Remove(part.Name())
	}
	return err
}

// replace puts a table between the marks of a part.
func replace(page, part, table string) (string, error) {
	begin, end := "<!-- speed: "+part+" -->\n", "<!-- /speed -->"
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("the file has no lines %q and, behind it, %q", strings.TrimSpace(begin), end)
	}
	return before + begin + "\n" + table + "\n" + end + after, nil
}

// machine describes where the figures come from, in one line.
func (m *meter) machine() string {
	name := "a processor of unknown name"
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if _, rest, found := strings.Cut(string(info), "model name"); found {
			line, _, _ := strings.Cut(rest, "\n")
			name = strings.TrimSpace(strings.TrimLeft(line, "\t :"))
		}
	}
	commit := "a tree without a commit"
	if out, err := m.output("git", "rev-parse", "--short=8", "HEAD"); err == nil {
		commit = "commit " + strings.TrimSpace(string(out))
	}
	return fmt.Sprintf("Measured on %s, with %d of its processors, %s/%s, %s, at %s.\n", name, runtime.NumCPU(),
		runtime.GOOS, runtime.GOARCH, runtime.Version(), commit)
}
