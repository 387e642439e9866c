package estimate

import (
	"errors"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Settings name an estimator for each of the three uses of an estimate, and their
// options. [Help] lists both.
type Settings struct {
	// All is for the uses that are not named by themselves; "": requested.
	All string
	// Order is for the queue's order, Backfill for how long a waiting job is taken to
	// run where it is placed, Running for when a running job is taken to end.
	Order, Backfill, Running string
	Options                  map[string]string
}

// Validate names what is wrong with settings, by the names that the settings have on
// the command line, and what can be chosen. A policy that gives guarantees plans with
// requested times alone: what Settings name for backfill or running, it refuses.
// Whether run times are known, and files can be read, [New] says.
func (s Settings) Validate(guarantees bool) error {
	_, _, err := s.read(guarantees, true)
	return err
}

// Uses are the estimators for order, backfill and running, as they are written, under a
// policy that gives guarantees, or not. Errors are those of Validate.
func (s Settings) Uses(guarantees bool) (order, backfill, running string, err error) {
	uses, _, err := s.read(guarantees, true)
	return uses[0].String(), uses[1].String(), uses[2].String(), err
}

// Files are the names of the files that the settings have run times in.
func (s Settings) Files() (names []string) {
	for _, text := range []string{s.All, s.Order, s.Backfill, s.Running} {
		if name, is := strings.CutPrefix(text, "file:"); is {
			names = append(names, name)
		}
	}
	return names
}

// read is what the settings mean: the estimators for order, backfill and running, and
// the options.
func (s Settings) read(guarantees, oracle bool) (uses [3]spec, o options, err error) {
	var errs []error
	parse := func(setting, text string) spec {
		named, wrong := parseSpec(text)
		switch {
		case wrong != nil:
		case named.kind().oracle && !oracle:
			wrong = fmt.Errorf("%s needs the actual run times, which only a simulation knows: choose %s", named, choices(false))
		case named.name == selective && setting != "estimates":
			wrong = fmt.Errorf("selective is for all three uses at once (--estimates): choose combined or %s here", requested)
		}
		if wrong != nil {
			errs = append(errs, fmt.Errorf("%s: %w", setting, wrong))
		}
		return named
	}
	all := spec{name: requested}
	if s.All != "" {
		all = parse("estimates", s.All)
	}
	uses = [3]spec{all, all, all}
	if all.name == selective {
		uses = [3]spec{{name: combinedName}, {name: combinedName}, {name: requested}}
	}
	for i, use := range []struct{ setting, named string }{
		{"estimates-order", s.Order}, {"estimates-backfill", s.Backfill}, {"estimates-running", s.Running},
	} {
		order := i == 0
		if use.named != "" {
			uses[i] = parse(use.setting, use.named)
			if guarantees && !order {
				errs = append(errs, fmt.Errorf("%s: %s: the policy gives guarantees, which only hold if it plans with what jobs request: leave it out (--estimates and --estimates-order still change the order), or choose a policy without guarantees, such as easy", use.setting, use.named))
			}
		}
		if guarantees && !order {
			uses[i] = spec{name: requested}
		}
	}
	o, err = readOptions(s.Options)
	return uses, o, errors.Join(append(errs, err)...)
}

// Options are what can be set for the estimators, all together.
func Options() []backfill.Option {
	return []backfill.Option{
		{Name: "percentile", Default: "80", Type: backfill.WholeNumber, Range: backfill.Range{Low: 1, High: 100}, Doc: "percentile of past jobs' actual over requested time that counts"},
		{Name: "threshold", Default: "50", Type: backfill.WholeNumber, Range: backfill.AtLeast(1), Doc: "past jobs of a key without which nothing is adjusted"},
		{Name: "window", Default: "0", Type: backfill.WholeNumber, Range: backfill.AtLeast(0), Doc: "last jobs of a key that count; 0: all"},
		{Name: "max-age", Default: "0", Type: backfill.LengthOfTime, Doc: "time since their end after which jobs are forgotten; 0: never"},
		{Name: "user-key", Default: "owner", Type: backfill.List, Check: someLabel, Doc: "labels that name the user; the first that a job has counts"},
		{Name: "project-key", Default: "project,account,group", Type: backfill.List, Check: someLabel, Doc: "labels that name the project; likewise"},
	}
}

// whoseOptions is how the options are called on the command line.
const whoseOptions = "estimates-opt"

func someLabel(value string) error {
	for _, c := range value {
		if c != ',' && c != ' ' {
			return nil
		}
	}
	return errors.New("must name at least one label, such as owner or executable")
}

func readOptions(given map[string]string) (o options, err error) {
	v, err := backfill.ReadOptions(whoseOptions, Options(), given)
	if err != nil {
		return o, err
	}
	o = options{
		percentile: v.Int("percentile"), threshold: v.Int("threshold"), window: v.Int("window"), maxAge: v.Time("max-age"),
		userKeys: v.List("user-key"), projectKeys: v.List("project-key"),
	}
	if 0 < o.window && o.window < o.threshold {
		return o, &backfill.OptionsError{Err: fmt.Errorf("%s: option window=%d with threshold=%d: nothing would ever be adjusted: choose a window of at least the threshold, or 0 for all jobs",
			whoseOptions, o.window, o.threshold)}
	}
	return o, nil
}
