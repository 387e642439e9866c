package estimate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Settings name an estimator for each of the three uses of an estimate, and give the estimators'
// options. [Help] lists both.
type Settings struct {
	// All is the estimator for the uses that have none of their own; "" means requested.
	All string
	// Order is the estimator for the queue's order, Backfill for placing waiting jobs, and Running
	// for the expected ends of running jobs.
	Order, Backfill, Running string
	Options                  map[string]string
}

// Under returns the settings under a policy and an order, by its name: if none chooses an estimator for the
// order, it is the policy's own, where the order goes by run times. That is data of the policy, which
// knows nothing of estimators.
func (s Settings) Under(policy backfill.PolicySpec, order string) Settings {
	if s.All == "" && s.Order == "" && !policy.IgnoresOrder && !slices.Contains(withoutTimes, order) {
		s.Order = policy.Estimates
	}
	return s
}

// withoutTimes are orders that do not go by run times: those of arrival, width and user priorities.
var withoutTimes = []string{"fcfs", "fifo", "widest", "narrowest", "fairshare"}

// Validate returns an error that says what is wrong with the settings, under their names on the
// command line, and what can be chosen instead. A policy that gives guarantees plans with requested
// times alone, so Backfill and Running must be empty if guarantees is true. Validate does not check
// whether actual run times are known and files can be read: [New] does.
func (s Settings) Validate(guarantees bool) error {
	_, _, err := s.read(guarantees, true)
	return err
}

// Uses returns the estimators for order, backfill and running, as users write them, under a policy
// with or without guarantees. It errs exactly if Validate does.
func (s Settings) Uses(guarantees bool) (order, backfill, running string, err error) {
	uses, _, err := s.read(guarantees, true)
	return uses[0].String(), uses[1].String(), uses[2].String(), err
}

// Files returns the names of the files from which the settings take run times.
func (s Settings) Files() (names []string) {
	for _, text := range []string{s.All, s.Order, s.Backfill, s.Running} {
		if name, ok := strings.CutPrefix(text, "file:"); ok {
			names = append(names, name)
		}
	}
	return names
}

// read returns the estimators for order, backfill and running, in this order, and the options. It
// errs as Validate does, and also if actual run times are needed and oracle says that they are not
// known.
func (s Settings) read(guarantees, oracle bool) (uses [3]spec, o options, err error) {
	var errs []error
	parse := func(setting, text string) spec {
		named, wrong := parseSpec(text)
		switch {
		case wrong != nil:
		case named.kind().oracle && !oracle:
			wrong = fmt.Errorf("%s needs the actual run times, which only a simulation knows: choose %s", named,
				choices(false))
		case named.name == selective && setting != "estimates":
			wrong = fmt.Errorf("selective is for all three uses at once (--estimates): choose combined or %s here",
				requested)
		}
		if wrong != nil {
			errs = append(errs, fmt.Errorf("%s: %w", setting, wrong))
		}
		return named
	}
	uses = s.chosen(parse)
	if guarantees {
		for _, use := range [][2]string{{"estimates-backfill", s.Backfill}, {"estimates-running", s.Running}} {
			if use[1] != "" {
				errs = append(errs, fmt.Errorf("%s: %s: the policy gives guarantees, which only hold if it plans "+
					"with what jobs request: leave it out (--estimates and --estimates-order still change the "+
					"order), or choose a policy without guarantees, such as easy", use[0], use[1]))
			}
		}
		uses[1], uses[2] = spec{name: requested}, spec{name: requested}
	}
	o, err = readOptions(s.Options)
	return uses, o, errors.Join(append(errs, err)...)
}

// chosen returns the estimators for order, backfill and running, in this order, under a policy
// without guarantees. The callback parse is called with each setting that is not empty and its name
// on the command line.
func (s Settings) chosen(parse func(setting, text string) spec) [3]spec {
	all := spec{name: requested}
	if s.All != "" {
		all = parse("estimates", s.All)
	}
	uses := [3]spec{all, all, all}
	if all.name == selective {
		uses = [3]spec{{name: combinedName}, {name: combinedName}, {name: requested}}
	}
	for i, use := range [][2]string{
		{"estimates-order", s.Order},
		{"estimates-backfill", s.Backfill},
		{"estimates-running", s.Running},
	} {
		if use[1] != "" {
			uses[i] = parse(use[0], use[1])
		}
	}
	return uses
}

// GoesBy reports whether one of the estimators uses the option of this name; "" means any option.
// It also returns true if one of the estimators is unknown, as that might use any option.
func (s Settings) GoesBy(option string) bool {
	wrong := false
	uses := s.chosen(func(_, text string) spec {
		named, err := parseSpec(text)
		wrong = wrong || err != nil
		return named
	})
	return wrong || slices.ContainsFunc(uses[:], func(u spec) bool { return u.kind().goesBy(option) })
}

// Learns reports whether one of the estimators learns from jobs that ended.
func (s Settings) Learns() bool { return s.GoesBy("") }

// Labels returns the labels that the estimators go by besides those in their options.
func (s Settings) Labels() []string {
	if s.GoesBy(countsCensored) { // which learned alone has
		return []string{executable}
	}
	return nil
}

// PredictsAgain reports whether one of the estimators predicts run times of waiting jobs anew when others
// end; see [Set.PredictsAgain]. It returns false if the settings are wrong.
func (s Settings) PredictsAgain() bool {
	o, err := readOptions(s.Options)
	return err == nil && o.predictAgain && s.GoesBy(predictAgain)
}

// Learners returns the names of the estimators that learn from jobs that ended, as a list for a
// sentence: "a, b or c".
func Learners() string { return readers("") }

// CheckOptions returns an error if one of the given options is wrong, or if no estimator of the
// settings uses it: such an option has no effect until other estimators are chosen.
func CheckOptions(given map[string]string, chosen ...Settings) error {
	if _, err := readOptions(given); err != nil {
		return err
	}
	for _, option := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(chosen, func(s Settings) bool { return s.GoesBy(option) }) {
			return &backfill.OptionsError{Err: fmt.Errorf("%s: option %s=%s: no estimator that was chosen goes by "+
				"it: choose %s, or leave the option out",
				whoseOptions, option, given[option], readers(option))}
		}
	}
	return nil
}

// Options returns the options of all estimators.
func Options() []backfill.Option {
	return []backfill.Option{
		{
			Name: "percentile", Default: "80", Type: backfill.WholeNumber, Range: backfill.Range{Low: 1, High: 100},
			Doc: "percentile of past jobs' actual over requested time that counts",
		},
		{
			Name: "threshold", Default: "50", Type: backfill.WholeNumber, Range: backfill.AtLeast(1),
			Doc: "past jobs of a key without which nothing is adjusted",
		},
		{
			Name: "window", Default: "0", Type: backfill.WholeNumber, Range: backfill.AtLeast(0),
			Doc: "last jobs of a key that count; 0: all",
		},
		{
			Name: maxAge, Default: "0", Type: backfill.LengthOfTime,
			Doc: "time since their end after which jobs are forgotten; 0: never",
		},
		{
			Name: userKey, Default: "owner", Type: backfill.List, Check: someLabel,
			Doc: "labels that name the user; the first that a job has counts",
		},
		{
			Name: projectKey, Default: "project,account,group", Type: backfill.List, Check: someLabel,
			Doc: "labels that name the project; likewise",
		},
		{
			Name: correct, Default: backfill.AtLimit.String(), Type: backfill.Choice, Choices: backfill.Corrections(),
			Doc: "what is expected of a running job that has outlived its prediction",
		},
		{
			Name: predictAgain, Default: "true", Type: backfill.Flag,
			Doc: "when a job ends, its user's waiting jobs are predicted anew",
		},
		{
			Name: countsCensored, Default: "true", Type: backfill.Flag,
			Doc: "running jobs count, too, by how long they have run so far",
		},
	}
}

// whoseOptions is the flag that sets the options on the command line.
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
		percentile: v.Int("percentile"), threshold: v.Int("threshold"), window: v.Int("window"), maxAge: v.Time(maxAge),
		userKeys: v.List(userKey), projectKeys: v.List(projectKey),
		predictAgain: v.Flag(predictAgain), censored: v.Flag(countsCensored),
	}
	if o.correct, err = backfill.CorrectionNamed(v.Choice(correct)); err != nil {
		return o, err
	}
	if 0 < o.window && o.window < o.threshold {
		return o, &backfill.OptionsError{Err: fmt.Errorf("%s: option window=%d with threshold=%d: nothing would "+
			"ever be adjusted: choose a window of at least the threshold, or 0 for all jobs",
			whoseOptions, o.window, o.threshold)}
	}
	return o, nil
}
