package sweep

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/papers"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// checker collects the faults of a sweep's file.
type checker struct{ faults []fault }

func (c *checker) say(path, format string, args ...any) {
	c.faults = append(c.faults, fault{path, fmt.Sprintf(format, args...)})
}

// err adds an error as a fault, unless it is nil.
func (c *checker) err(path string, err error) {
	if err != nil {
		c.say(path, "%v", err)
	}
}

// oneOf adds a fault if a text is given that is not one of those known.
func (c *checker) oneOf(path, text string, known ...string) {
	if text != "" && !slices.Contains(known, text) {
		c.say(path, "%q%s: must be one of %s", text, backfill.DidYouMean(text, known), strings.Join(known, ", "))
	}
}

// names matches names of traces, labels and sweeps, which become names of files.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`) //nolint:gochecknoglobals // a constant

const longestName = 60

// size returns the number of cells if all traces are there, without listing them.
func (f *File) size() float64 {
	schedulers := 0
	for i := range f.Schedulers {
		s := &f.Schedulers[i]
		schedulers += max(1, len(s.Policies)) * max(1, len(s.Orders)) * max(1, len(s.All))
	}
	n := float64(schedulers)
	for _, axis := range []int{len(f.Traces), len(f.loads()), len(f.estimates()), len(f.seeds())} {
		n *= float64(axis)
	}
	return n
}

func isName(text string) bool { return names.MatchString(text) && len(text) <= longestName }

func (c *checker) name(path, name string) {
	if !isName(name) {
		c.say(path, "%q cannot be a name: it must be of letters, digits, dots, underscores and hyphens, %d at most",
			name, longestName)
	}
}

// unique adds a fault for each element whose text occurs earlier in the list. It ignores case,
// since texts become names of files.
func unique[T any](c *checker, list []T, path func(i int) string, text func(T) string) {
	seen := map[string]bool{}
	for i, v := range list {
		folded := strings.ToLower(text(v))
		if seen[folded] {
			c.say(path(i), "%s is there twice", text(v))
		}
		seen[folded] = true
	}
}

// at returns a function that gives the path of a list's element by its index.
func at(list string) func(i int) string {
	return func(i int) string { return fmt.Sprintf("%s[%d]", list, i) }
}

// faults returns all that is wrong with a file and can be found without looking at other files.
func (f *File) faults() []fault {
	c := &checker{}
	c.name("name", f.Name)
	c.oneOf("paper", f.Paper, papers.Names()...)
	for i, kind := range f.FST {
		if kind == "" {
			c.say(at("fst")(i), "must be one of strict, relaxed")
		}
		c.oneOf(at("fst")(i), kind, "strict", "relaxed")
	}
	unique(c, f.FST, at("fst"), func(s string) string { return s })
	if f.size() > results.MaxCells {
		c.say("traces", "a sweep has at most %d cells: traces × loads × estimate models × scales of "+
			"estimates × seeds × schedulers",
			results.MaxCells)
		return c.faults
	}
	if f.CountEvents && len(f.FST) > 0 {
		c.say("count_events", "profile events and fair start times cannot be had in one sweep: make two of it")
	}
	if len(f.Traces) == 0 {
		c.say("traces", "there is no trace to run")
	}
	var schedulers []estimate.Settings
	for i := range f.Schedulers {
		schedulers = append(schedulers, f.Schedulers[i].possible()...)
	}
	for i := range f.Traces {
		c.trace(at("traces")(i), &f.Traces[i])
		c.past(at("traces")(i), &f.Traces[i], schedulers)
	}
	unique(c, f.Traces, func(i int) string { return at("traces")(i) + ".name" }, func(t Trace) string { return t.Name })
	c.schedulers(f)
	c.fairStarts(f)
	c.events(f)
	c.axes(f)
	return c.faults
}

func (c *checker) trace(path string, t *Trace) {
	c.name(path+".name", t.Name)
	kinds := 0
	for _, given := range []bool{t.File != "", t.Ads != "", t.Merge != nil, t.Generate != nil} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		c.say(path, "a trace has one of file, ads, merge and generate; this one has %d of them", kinds)
	}
	if t.Merge != nil {
		c.merge(path, t)
	}
	c.source(path, t.Source)
	if t.Pool != "" && t.Nodes != nil {
		c.say(path+".nodes", "there is a pool already")
	}
	if (t.Pool != "" || t.Nodes != nil) && (t.CPUs != 0 || t.Memory != 0 || t.GPUs != 0) {
		c.say(path, "cpus, memory and gpus are those of one machine, and the pool says what there is instead")
	}
	if len(t.With)+len(t.Without) > 0 && t.Pool == "" && t.Nodes == nil {
		c.say(path, "with and without change the slots of a pool, and there is none: name one as pool, or give nodes")
	}
	if t.MemoryShare != 0 && (t.Pool != "" || t.Nodes != nil || t.Memory != 0) {
		c.say(path+".memory_share", "memory, pool and nodes say what memory there is: leave them out, or this")
	}
	c.err(path+".memory_share", workload.Transform{MemoryShare: t.MemoryShare}.Validate())
	c.err(path+".load", workload.Transform{Load: t.Load}.Validate())
	if t.Load != 0 && t.Generate != nil {
		c.say(path+".load", "say it in generate")
	}
	c.err(path+".scale_estimates", workload.Transform{EstimateScale: t.ScaleEstimates}.Validate())
	if t.Generate != nil {
		c.generate(path+".generate", t.Generate)
		if t.Source != (Source{}) {
			c.say(path, "a trace that is made up is said all of in generate")
		}
	}
	if n := t.Nodes; n != nil {
		const most = 1 << 20
		if n.Count < 1 || n.Count > most || n.CPUs < 1 || n.CPUs > most || n.Memory < 0 || n.Memory > most<<20 {
			c.say(path+".nodes", "nodes need a count and cpus from 1 to %d, and memory in MiB", most)
		}
	}
}

func (c *checker) merge(path string, t *Trace) {
	if len(t.Merge) == 0 {
		c.say(path+".merge", "there is nothing to merge")
	}
	if t.CPUs == 0 && t.Pool == "" && t.Nodes == nil {
		c.say(path, "what the merged traces run on is not said: give cpus")
	}
	if t.Max != 0 || t.From+t.Until != "" {
		c.say(path, "max, from and until belong to each of the merged traces")
	}
	for i, part := range t.Merge {
		if part.File == "" {
			c.say(at(path+".merge")(i), "there is no file to merge")
		}
		c.source(at(path+".merge")(i), part)
	}
}

func (c *checker) source(path string, s Source) {
	c.oneOf(path+".clean", s.Clean, "papers", "partial", "cancelled", "none", "strong")
	c.oneOf(path+".procs_field", s.ProcsField, "allocated", "requested")
	c.oneOf(path+".overrun", s.Overrun, "raise", "kill")
	c.oneOf(path+".dependencies", s.Dependencies, "honour", "ignore")
	if s.EstimateAttr != "" {
		_, err := history.ParseEstimates(s.estimates())
		c.err(path+".estimate_attr", err)
	}
	s.Clean, s.ProcsField, s.Overrun, s.Dependencies = "", "", "", ""
	c.err(path, s.options().Validate())
	c.err(path+".from", workload.CheckBound(s.From))
	c.err(path+".until", workload.CheckBound(s.Until))
	if s.Max < 0 {
		c.say(path+".max", "%d: must be a number of jobs", s.Max)
	}
}

func (c *checker) schedulers(f *File) {
	if len(f.Schedulers) == 0 {
		c.say("schedulers", "there is no scheduler to run")
	}
	var labels, places []string
	for i := range f.Schedulers {
		path, s := at("schedulers")(i), &f.Schedulers[i]
		c.scheduler(path, s)
		all := s.expand()
		if s.Label != "" && len(all) > 1 {
			c.say(path+".label", "one label for %d schedulers: leave it out, or write them one by one", len(all))
			all = all[:1]
		}
		for _, one := range all {
			if !isName(one.label) {
				c.say(path, "%q cannot be a label: give one of letters, digits, dots, underscores and hyphens, "+
					"%d at most", one.label, longestName)
			}
			labels, places = append(labels, one.label), append(places, path)
		}
	}
	unique(c, labels, func(i int) string { return places[i] }, func(s string) string { return "the label " + s })
	if f.Baseline != "" && !slices.Contains(labels, f.Baseline) {
		c.say("baseline", "%q is no scheduler's label%s: there are %s", f.Baseline,
			backfill.DidYouMean(f.Baseline, labels), strings.Join(labels, ", "))
	}
}

// scheduler checks one entry of the schedulers in a sweep's file.
func (c *checker) scheduler(path string, s *Scheduler) {
	if (s.Policy == "") == (len(s.Policies) == 0) {
		c.say(path, "a scheduler has either a policy or policies")
	}
	if s.Order != "" && s.Orders != nil {
		c.say(path+".order", "a scheduler has either an order or orders")
	}
	if s.Orders != nil && len(s.Orders) == 0 {
		c.say(path+".orders", "there is no order")
	}
	c.estimates(path, s)
	_, err := profile.ParseRule(s.placement())
	c.err(path+".placement", err)
	if s.Order != "" {
		c.order(path+".order", s.Order)
	}
	for n, order := range s.Orders {
		c.order(at(path+".orders")(n), order)
	}
	c.priorities(path, s)
}

// priorities checks how a scheduler's entry simulates the priorities of users.
func (c *checker) priorities(path string, s *Scheduler) {
	fair := s.Order == negotiator.FairShare || slices.Contains(s.Orders, negotiator.FairShare)
	for _, key := range []struct {
		name  string
		given bool
		alone condorsim.Priorities
	}{
		{".priority_halflife", s.HalfLife != 0, condorsim.Priorities{HalfLife: backfill.Time(s.HalfLife)}},
		{".priority_factors", s.Factors != nil, condorsim.Priorities{Factors: s.Factors}},
	} {
		if key.given && !fair {
			c.say(path+key.name, "it is of the order fairshare, and this scheduler has another")
		}
		c.err(path+key.name, key.alone.Validate())
	}
}

// events adds a fault for each policy whose profile events are asked for and that has none.
func (c *checker) events(f *File) {
	for _, s := range f.schedulers() {
		if f.CountEvents && s.policy != condorsim.HistoryPolicy { // of which more is said elsewhere
			c.err(s.policyPath, condorsim.CheckEvents(s.policy))
		}
	}
}

// fairStarts adds a fault if fair start times are asked for under an order that has none.
func (c *checker) fairStarts(f *File) {
	for _, s := range f.schedulers() {
		if len(f.FST) > 0 && s.order == negotiator.FairShare {
			c.err(s.orderPath, condorsim.ErrFairOrder)
		}
		if len(f.FST) > 0 && s.estimates.PredictsAgain() {
			c.err(s.policyPath, condorsim.ErrFairAgain)
		}
	}
}

func (c *checker) order(path, name string) {
	c.err(path, condorsim.CheckOrder(name))
}

// axes checks the dimensions of the matrix that are plain lists.
func (c *checker) axes(f *File) {
	for _, axis := range []struct {
		name  string
		empty bool
	}{
		{"loads", f.Loads != nil && len(f.Loads) == 0},
		{"estimate_models", f.EstimateModels != nil && len(f.EstimateModels) == 0},
		{"scale_estimates", f.ScaleEstimates != nil && len(f.ScaleEstimates) == 0},
		{"seeds", f.Seeds != nil && len(f.Seeds) == 0},
	} {
		if axis.empty {
			c.say(axis.name, "the list is empty, and so is the matrix; leave it out to have one")
		}
	}
	for i, load := range f.Loads {
		switch {
		case math.IsNaN(load) || math.IsInf(load, 0) || load <= 0:
			c.say(at("loads")(i), "%v: a load must be a positive number", load)
		default:
			c.err(at("loads")(i), workload.Options{Load: load}.Validate())
		}
	}
	unique(c, f.Loads, at("loads"), formatLoad)
	for i, model := range f.EstimateModels {
		c.err(at("estimate_models")(i), workload.Transform{Estimates: workload.EstimateModel(model)}.Validate())
	}
	unique(c, f.EstimateModels, at("estimate_models"), func(s string) string { return s })
	c.scales(f)
	c.err("jitter_keys", condorsim.Jitter{Keys: f.JitterKeys}.Validate())
	unique(c, f.Seeds, at("seeds"), func(s uint64) string { return strconv.FormatUint(s, 10) })
}

// scales checks what estimates are multiplied by: 1 is as they are.
func (c *checker) scales(f *File) {
	for i, scale := range f.ScaleEstimates {
		if scale == 0 {
			c.say(at("scale_estimates")(i), "0: estimates are multiplied by it; 1 leaves them as they are")
		}
		c.err(at("scale_estimates")(i), workload.Transform{EstimateScale: scale}.Validate())
	}
	unique(c, f.ScaleEstimates, at("scale_estimates"), formatLoad)
	for i, t := range f.Traces {
		if f.ScaleEstimates != nil && t.ScaleEstimates != 0 {
			c.say(at("traces")(i)+".scale_estimates", "the sweep has a list of them for all traces: leave out one of both")
		}
	}
}
