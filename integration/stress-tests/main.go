// Command stress-tests searches for tests that lose races. It runs go test with delays at some
// statements of the project's own code, programs and tests alike; a seed determines which ones and
// for how long. If a test then fails, it waited too briefly or for the wrong thing, or the program
// did. On Linux the delays do not advance the fake clocks of testing/synctest.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/condor-backfill/condor-backfill/integration/stress-tests/delay"
)

const (
	module = "github.com/condor-backfill/condor-backfill"

	failed   = 1
	badInput = 2

	usage = `Usage: stress-tests [-seed N] [-every N] [-in REGEXP] PACKAGES... [FLAGS OF GO TEST...]

Runs go test with delays of 5 to 65 ms at some statements, to find tests that lose races.

  go run ./integration/stress-tests ./plugins/... -race
  go run ./integration/stress-tests -seed 7 ./plugins/host -run TestLife

The exit code is 0 if all tests passed, 1 if one failed, 2 for bad input.

`
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// options are the command line.
type options struct {
	seed, every uint64
	in          string
	rest        []string // packages, then flags of go test
}

func run(ctx context.Context, args []string, out, errs io.Writer) (code int) {
	report := func(format string, about ...any) { _, _ = fmt.Fprintf(errs, "stress-tests: "+format+"\n", about...) }
	var o options
	flags := flag.NewFlagSet("stress-tests", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() { _, _ = io.WriteString(errs, usage); flags.PrintDefaults() }
	flags.Uint64Var(&o.seed, "seed", 0, "what the delays follow from; another one each time if it is not given")
	flags.Uint64Var(&o.every, "every", 25,
		"one in this many statements may sleep; 200 suits tests that start many processes")
	flags.StringVar(&o.in, "in", "", "delays only in files whose import path and name match, to narrow a fault down")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0
	} else if err != nil {
		return badInput
	}
	o.rest = flags.Args()
	if o.seed == 0 {
		o.seed = uint64(rand.Uint32())
	}
	in, err := regexp.Compile(o.in)
	if err != nil || o.every == 0 || len(o.packages()) == 0 {
		report("%v", cmp.Or(err, errors.New("it needs packages, and -every of at least 1; see -h")))
		return badInput
	}
	folder, err := os.MkdirTemp("", "stress-")
	if err != nil {
		report("%v", err)
		return failed
	}
	defer os.RemoveAll(folder) //nolint:errcheck // a temporary folder
	overlay, err := writeOverlay(ctx, folder, o.packages(), in)
	if err != nil {
		report("%v", err)
		return badInput
	}
	report("seed %d", o.seed)
	if code = o.test(ctx, overlay, out, errs); code != 0 {
		report("failed; to repeat it: %s", o.command())
	}
	return code
}

// packages returns the arguments before the flags of go test.
func (o *options) packages() []string {
	isFlag := func(arg string) bool { return strings.HasPrefix(arg, "-") }
	if first := slices.IndexFunc(o.rest, isFlag); first >= 0 {
		return o.rest[:first]
	}
	return o.rest
}

// command returns the command line that repeats this run.
func (o *options) command() string {
	words := []string{
		"go run ./integration/stress-tests", "-seed", strconv.FormatUint(o.seed, 10), "-every",
		strconv.FormatUint(o.every, 10),
	}
	if o.in != "" {
		words = append(words, "-in", quoted(o.in))
	}
	for _, arg := range o.rest {
		words = append(words, quoted(arg))
	}
	return strings.Join(words, " ")
}

// quoted quotes a word for a shell, if that is needed.
func quoted(word string) string {
	if !strings.ContainsAny(word, " |&;<>$*?()[]'\"\\") {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// test runs go test with the overlay of files that have delays, and returns the exit code. GOFLAGS
// has the overlay, so that programs which tests build have delays, too.
func (o *options) test(ctx context.Context, overlay string, out, errs io.Writer) int {
	command := exec.CommandContext(ctx, "go", append([]string{"test", "-vet=off", "-count=1"}, o.rest...)...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%d/%d", delay.Env, o.seed, o.every),
		fmt.Sprintf("GOFLAGS=%s '-overlay=%s'", os.Getenv("GOFLAGS"), overlay))
	command.Stdout, command.Stderr = out, errs
	err := command.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == badInput {
		return badInput
	}
	if err != nil {
		return failed
	}
	return 0
}

// writeOverlay writes copies with delays of the given packages' files, and of those of this
// project's other concurrent packages, which a test may build. It returns the file for go's flag
// -overlay. Delays in backfill and classad would only slow down what policies compute.
func writeOverlay(ctx context.Context, folder string, packages []string, in *regexp.Regexp) (file string, err error) {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	err = eachFile(ctx, append(slices.Clone(packages), module+"/negotiator/...", module+"/plugins/...",
		module+"/condorsim/..."),
		func(name, original string) error {
			if !in.MatchString(name) {
				return nil
			}
			source, failure := os.ReadFile(original)
			if failure != nil {
				return failure
			}
			delayed, failure := instrument(name, source)
			if delayed == nil || failure != nil {
				return failure
			}
			replacement := filepath.Join(folder, fmt.Sprintf("%d.go", len(overlay.Replace)))
			overlay.Replace[original] = replacement
			return os.WriteFile(replacement, delayed, 0o600)
		})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	file = filepath.Join(folder, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
}

// eachFile calls the callback for each Go file of the packages, tests included, that is built on
// this system, with the file's name (import path and file) and its path.
func eachFile(ctx context.Context, packages []string, do func(name, original string) error) error {
	list := exec.CommandContext(ctx, "go",
		append([]string{"list", "-json=Dir,ImportPath,GoFiles,TestGoFiles,XTestGoFiles"}, packages...)...)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var listed struct {
			Dir, ImportPath                    string
			GoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := decoder.Decode(&listed); err != nil {
			return err
		}
		if listed.ImportPath == delayPackage {
			continue // the package cannot import itself
		}
		for _, file := range slices.Concat(listed.GoFiles, listed.TestGoFiles, listed.XTestGoFiles) {
			if err := do(path.Join(listed.ImportPath, file), filepath.Join(listed.Dir, file)); err != nil {
				return err
			}
		}
	}
	return nil
}
