package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/alecthomas/kong"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/cli/grammar"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/packed/kinds"
)

// The exit codes.
const (
	exitOK       = 0
	exitNo       = 1
	exitBadInput = 2
)

const description = `Evaluate, match, explain and measure ClassAds as HTCondor does.

Examples:
  classad eval --ad job.ad --target slot.ad 'TARGET.Memory >= RequestMemory'
  classad match job.ad slot.ad
  classad explain job.ad slots.ads
  classad fmt --to json slots.ads
  classad functions substr

A file holds ads: in brackets "[ a = 1; b = 2 ]", as lines "a = 1" with an empty line between ads, as JSON or ` +
	`as XML; - is the standard input. Every command has more examples in its --help, and those that report ` +
	`something --json.

Exit codes: 0 all well, 1 the ads do not match or the expression is not true, 2 bad input or usage.`

type cli struct {
	Eval      evalCommand      `cmd:"" help:"Evaluate an expression and print its value."`
	Match     matchCommand     `cmd:"" help:"Match two ads; exit code 1 if they do not."`
	Explain   explainCommand   `cmd:"" help:"Say why ads do not match; exit code 1 if they do not."`
	Refs      refsCommand      `cmd:"" help:"List the attributes that an expression depends on."`
	Flatten   flattenCommand   `cmd:"" help:"Evaluate what an ad alone decides of an expression, and print the rest."`
	Fmt       fmtCommand       `cmd:"" help:"Write ads in another form."`
	Functions functionsCommand `cmd:"" help:"Describe the functions of the language."`
	Bench     benchCommand     `cmd:"" help:"Measure how fast ads are parsed, matched, ranked and evaluated."`
}

// streams are the input and output of commands.
type streams struct {
	in  io.Reader
	out io.Writer
}

// errNo is an outcome, not a failure: the ads do not match, or the expression is not true.
var errNo = errors.New("no")

// run runs the program with these arguments, input and outputs, and returns the exit code.
func run(args []string, in io.Reader, out, errs io.Writer) int {
	var commands cli
	helped := false
	parser, err := kong.New(&commands, grammar.Common(), kong.Name("classad"), kong.Description(description),
		kong.Vars{"bench_folder": benchFolder},
		kong.Writers(out, errs), kong.Exit(func(int) { helped = true }),
		kong.ConfigureHelp(kong.HelpOptions{WrapUpperBound: 100}))
	if err != nil {
		return fail(errs, err)
	}
	command, err := parser.Parse(args)
	if helped {
		return exitOK
	}
	if err != nil {
		return fail(errs, err)
	}
	err = command.Run(streams{in: in, out: out})
	switch {
	case errors.Is(err, errNo):
		return exitNo
	case err != nil:
		return fail(errs, err)
	default:
		return exitOK
	}
}

func fail(errs io.Writer, err error) int {
	_, _ = fmt.Fprintln(errs, "classad:", err) // there is nowhere to report that this failed
	return exitBadInput
}

// printJSON prints one object.
func (s streams) printJSON(v any) error {
	encoder := json.NewEncoder(s.out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}

func (s streams) print(text string) error {
	_, err := io.WriteString(s.out, text)
	return err
}

// open opens a file, or the input for -; both may be compressed.
func (s streams) open(file string) (io.ReadCloser, error) {
	if file == "-" {
		return packed.Unpacked(io.NopCloser(s.in))
	}
	return packed.Open(func(name string) (io.ReadCloser, error) { return os.Open(name) }, file)
}

// ads reads the ads of an open file. If the first one has a fault, and the file looks like something else, the
// error says that.
func ads(r io.Reader, file string) iter.Seq2[*classad.ClassAd, error] {
	return func(yield func(*classad.ClassAd, error) bool) {
		text := bufio.NewReader(r)
		_, _ = text.Peek(1) // the first bytes; reading gives the error
		head, _ := text.Peek(text.Buffered())
		kind, first := kinds.Of(head), true
		for ad, err := range classad.ReadAds(text, file) {
			if err != nil && first && kind != nil {
				err = fmt.Errorf("%s: %s; %s", file, kind.Problem(), kind.Ads())
			}
			if first = false; !yield(ad, err) {
				return
			}
		}
	}
}

// readAds reads all ads of a file; there must be one.
func (s streams) readAds(file string) ([]*classad.ClassAd, error) {
	r, err := s.open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	var all []*classad.ClassAd
	for ad, err := range ads(r, file) {
		if err != nil {
			return nil, err
		}
		all = append(all, ad)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no ad", file)
	}
	return all, nil
}

// readAd reads the only ad of a file.
func (s streams) readAd(file string) (*classad.ClassAd, error) {
	ads, err := s.readAds(file)
	if err != nil {
		return nil, err
	}
	if len(ads) > 1 {
		return nil, fmt.Errorf("%s: more than one ad", file)
	}
	return ads[0], nil
}

// subject is an expression and the ad in which it stands.
type subject struct {
	Ad   string `help:"File with the ad in which the expression stands (MY)." placeholder:"FILE"`
	Attr string `help:"Take the expression of this attribute of the ad." placeholder:"NAME"`
	Expr string `arg:"" optional:"" help:"The expression, in the syntax of bracket ads."`
}

// read returns the expression and the ad, or a nil ad if there is none.
func (c *subject) read(s streams) (*classad.Expr, *classad.ClassAd, error) {
	switch {
	case (c.Expr == "") == (c.Attr == ""):
		return nil, nil, errors.New("either an expression or --attr is needed")
	case c.Attr != "" && c.Ad == "":
		return nil, nil, errors.New("--attr needs --ad")
	}
	var ad *classad.ClassAd
	if c.Ad != "" {
		var err error
		if ad, err = s.readAd(c.Ad); err != nil {
			return nil, nil, err
		}
	}
	if c.Attr == "" {
		e, err := parseExpr(c.Expr)
		return e, ad, err
	}
	e, ok := ad.Lookup(c.Attr)
	if !ok {
		return nil, nil, fmt.Errorf("%s: no attribute %s", c.Ad, c.Attr)
	}
	return e, ad, nil
}

// parseExpr parses an argument.
func parseExpr(text string) (*classad.Expr, error) {
	e, err := classad.ParseExpr(text)
	if syntax, ok := errors.AsType[*classad.SyntaxError](err); ok {
		syntax.File = "expression"
	}
	return e, err
}
