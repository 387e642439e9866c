package sweep

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// Estimates are the run times that schedulers plan with, as the flags of condorsim run. Each
// estimator in the list All makes another scheduler.
type Estimates struct {
	All      oneOrMore         `yaml:"estimates"`
	Order    string            `yaml:"estimates_order"`
	Backfill string            `yaml:"estimates_backfill"`
	Running  string            `yaml:"estimates_running"`
	Options  map[string]string `yaml:"estimates_options"`
	// Trust says which stated run times count: enforced, record (the default) or all.
	Trust string `yaml:"estimate_trust"`
}

// oneOrMore is a text or a list of texts.
type oneOrMore []string

// UnmarshalYAML reads a text or a list of texts; errors give the place.
func (o *oneOrMore) UnmarshalYAML(node ast.Node) error {
	switch node.Type() {
	case ast.SequenceType:
		return yaml.NodeToValue(node, (*[]string)(o))
	case ast.MappingType, ast.MappingValueType:
		return &yaml.SyntaxError{
			Message: "a mapping is given where a text or a list is expected",
			Token:   node.GetToken(),
		}
	default:
		var one string
		err := yaml.NodeToValue(node, &one)
		*o = oneOrMore{one}
		return err
	}
}

// expand returns the settings of all schedulers that the estimates make: one for each text of All,
// with all options.
func (e *Estimates) expand() (all []estimate.Settings) {
	for _, one := range orElse(e.All, "") {
		all = append(all, estimate.Settings{
			All: one, Order: e.Order, Backfill: e.Backfill, Running: e.Running, Options: e.Options,
		})
	}
	return all
}

// possible returns all settings that the entry's schedulers may have: those that it names, with what its
// policies bring. A policy that is not linked in may bring any.
func (s *Scheduler) possible() (all []estimate.Settings) {
	for _, one := range s.expand() {
		spec, err := policies.Named(one.policy)
		if err != nil {
			spec = backfill.PolicySpec{Estimates: "learned"}
		}
		all = append(all, one.estimates.Under(spec, spec.OrderUnless(one.order)))
	}
	return all
}

// withOptions returns the settings with those of the options that their estimators use. The others
// may be for other estimators of the list, or for other schedulers on the trace.
func withOptions(s estimate.Settings, all map[string]string) estimate.Settings {
	s.Options = nil
	for option, value := range all {
		if s.GoesBy(option) {
			if s.Options == nil {
				s.Options = map[string]string{}
			}
			s.Options[option] = value
		}
	}
	return s
}

// settings returns a scheduler's settings on the trace: its own options, and where it has none,
// those of the trace.
func (t *Trace) settings(s estimate.Settings) estimate.Settings {
	options := maps.Clone(t.EstimatesOptions)
	if options == nil {
		return s
	}
	maps.Copy(options, s.Options)
	return withOptions(s, options)
}

// estimatesLabel returns what settings add to the label of a scheduler.
func estimatesLabel(s estimate.Settings) string {
	var label strings.Builder
	for _, choice := range []struct{ use, spec string }{
		{"", s.All},
		{"order-", s.Order},
		{"backfill-", s.Backfill},
		{"running-", s.Running},
	} {
		if choice.spec != "" {
			label.WriteString("-" + choice.use + strings.ReplaceAll(choice.spec, ":", ""))
		}
	}
	return label.String()
}

// estimatesKey returns the settings as a part of a cell's key; nil if they plan with requested
// times.
func estimatesKey(s estimate.Settings) *results.Estimates {
	key := results.Estimates(s)
	if key.String() == "" {
		return nil
	}
	return &key
}

// estimates checks the estimators of an entry one by one, so that each fault is reported at its
// place.
func (c *checker) estimates(path string, s *Scheduler) {
	e := &s.Estimates
	if e.All != nil && len(e.All) == 0 {
		c.say(path+".estimates", "there is no estimator")
	}
	for i, all := range e.All {
		c.err(at(path+".estimates")(i), estimate.Settings{All: all}.Validate(false))
	}
	c.err(path+".estimates_order", estimate.Settings{Order: e.Order}.Validate(false))
	c.err(path+".estimates_backfill", estimate.Settings{Backfill: e.Backfill}.Validate(false))
	c.err(path+".estimates_running", estimate.Settings{Running: e.Running}.Validate(false))
	if e.Trust != "" {
		_, err := estimate.ParseTrust(e.Trust)
		c.err(path+".estimate_trust", err)
	}
	c.err(path+".estimates_options", estimate.CheckOptions(e.Options, s.possible()...))
}

// past checks what a trace has for the schedulers' estimators: the history to learn from, and
// options. The first jobs may be taken out as history even if no estimator learns from them, so
// that schedulers with and without learning run the same jobs.
func (c *checker) past(path string, t *Trace, schedulers []estimate.Settings) {
	if !(t.HistoryShare >= 0 && t.HistoryShare < 1) { // also refuses NaN
		c.say(path+".history_share", "%v: must be from 0 to less than 1, as something must be left to run",
			t.HistoryShare)
	}
	if t.History != "" && !slices.ContainsFunc(schedulers, estimate.Settings.Learns) {
		c.say(path+".history", "no scheduler has an estimator that learns: give one %s, or leave the history out",
			estimate.Learners())
	}
	c.err(path+".estimates_options", estimate.CheckOptions(t.EstimatesOptions, schedulers...))
}

// open finds and opens a file of run times, for an estimator that reads them.
func (p Places) open(name string) (io.ReadCloser, error) {
	file, found := p.find(name)
	if !found {
		return nil, p.absent(name)
	}
	return file.open()
}

// estimators makes each estimator of a scheduler by itself, to find what is wrong with it under the
// policy; each fault is reported once.
func (c *checker) estimators(s scheduler, policy backfill.PolicySpec, places Places, told map[string]bool) {
	for _, choice := range []struct {
		path     string
		settings estimate.Settings
	}{
		{".estimates", estimate.Settings{All: s.estimates.All}},
		{".estimates_order", estimate.Settings{Order: s.estimates.Order}},
		{".estimates_backfill", estimate.Settings{Backfill: s.estimates.Backfill}},
		{".estimates_running", estimate.Settings{Running: s.estimates.Running}},
	} {
		path := s.path + choice.path
		if _, err := (&condorsim.Workload{}).Estimators(choice.settings, policy.Guarantees,
			places.open); err != nil && !told[path] {
			told[path] = true
			c.say(path, "%v", err)
		}
	}
}

// digests returns the digests of the files of run times that settings name.
func (p Places) digests(s estimate.Settings) (sums []string, err error) {
	for _, name := range s.Files() {
		file, _ := p.find(name) // it was found when it was checked
		sum, err := file.digest()
		if err != nil {
			return nil, err
		}
		sums = append(sums, sum)
	}
	return sums, nil
}
