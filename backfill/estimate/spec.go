package estimate

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Estimator describes an estimator that users can choose.
type Estimator struct {
	Name string
	// Argument names the argument that follows the name and a colon; "" means that there is none.
	Argument string
	// Doc says in one line which run time the estimator gives.
	Doc    string
	oracle bool // the estimator needs the actual run times
	// reads are the names of the options that the estimator uses. It learns if there are any.
	reads []string
	// outlived says that jobs may outlive what the estimator gives, so that it matters what is
	// expected then.
	outlived bool
}

const (
	requested    = "requested"
	combinedName = "combined"
	selective    = "selective"
	learnedName  = "learned"

	maxAge         = "max-age"
	userKey        = "user-key"
	projectKey     = "project-key"
	predictAgain   = "predict-again"
	countsCensored = "censored"
	correct        = "correct"
)

// Estimators returns all estimators.
func Estimators() []Estimator {
	accuracies := func(keys ...string) []string {
		return append([]string{"percentile", "threshold", "window", maxAge}, keys...)
	}
	both := accuracies(userKey, projectKey)
	return []Estimator{
		{Name: requested, Doc: "what the job requests"},
		{
			Name: "user", Doc: "request × how much of theirs the user's past jobs used (80th percentile)",
			reads: accuracies(userKey), outlived: true,
		},
		{Name: "project", Doc: "the same for the project's past jobs", reads: accuracies(projectKey), outlived: true},
		{Name: combinedName, Doc: "request × the mean of the two, or the one that is known", reads: both, outlived: true},
		{Name: selective, Doc: "combined for order and backfill, requested for running jobs", reads: both, outlived: true},
		{
			Name: "tsafrir", Doc: "the mean of the user's last two run times, at most the request",
			reads: []string{maxAge, userKey}, outlived: true,
		},
		{
			Name: learnedName, Doc: "a mean of like jobs' last run times, first of the user's with the same executable",
			reads: []string{userKey, predictAgain, countsCensored}, outlived: true,
		},
		{
			Name: "file", Argument: "PATH", Doc: "what a file says, in lines of name,seconds; other jobs: the request",
			outlived: true,
		},
		{Name: "accurate", Doc: "the actual run time (simulations only)", oracle: true},
		{
			Name: "mix", Argument: "A", Doc: "A × actual + (1 − A) × request, A from 0 to 1 (simulations only)",
			oracle: true,
		},
	}
}

// usage returns the estimator as users write it, such as mix:A.
func (e Estimator) usage() string {
	if e.Argument == "" {
		return e.Name
	}
	return e.Name + ":" + e.Argument
}

// Names returns the estimators as users write them, such as mix:A. Those that need the actual run
// times are left out unless oracle is true.
func Names(oracle bool) (all []string) {
	for _, e := range Estimators() {
		if oracle || !e.oracle {
			all = append(all, e.usage())
		}
	}
	return all
}

func choices(oracle bool) string {
	return oneOf(Names(oracle))
}

func oneOf(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// readers returns the names of the estimators that use an option, as a list for a sentence: "a, b
// or c". The option "" means any option.
func readers(option string) string {
	var names []string
	for _, e := range Estimators() {
		if e.goesBy(option) {
			names = append(names, e.Name)
		}
	}
	return oneOf(names)
}

// goesBy reports whether the estimator uses an option. For the option "", it reports whether the
// estimator uses any, which means that it learns.
func (e Estimator) goesBy(option string) bool {
	return slices.Contains(e.reads, option) || option == "" && len(e.reads) > 0 || option == correct && e.outlived
}

// spec is an estimator that the user chose: its name and its argument, "" if it has none.
type spec struct{ name, argument string }

func (s spec) String() string {
	if s.argument == "" {
		return s.name
	}
	return s.name + ":" + s.argument
}

// kind returns the description of the estimator; the zero value if the name is unknown.
func (s spec) kind() Estimator {
	all := Estimators()
	i := slices.IndexFunc(all, func(e Estimator) bool { return e.Name == s.name })
	if i < 0 {
		return Estimator{}
	}
	return all[i]
}

// parseSpec parses an estimator as users write it, such as mix:0.5. It does not check that a file
// exists.
func parseSpec(text string) (spec, error) {
	name, argument, colon := strings.Cut(text, ":")
	s := spec{name, argument}
	kind := s.kind()
	if kind.Name == "" {
		var names []string
		for _, e := range Estimators() {
			names = append(names, e.Name)
		}
		return s, fmt.Errorf("unknown estimator %q%s: choose one of %s", text, backfill.DidYouMean(name, names),
			choices(true))
	}
	switch {
	case kind.Argument == "" && colon:
		return s, fmt.Errorf("%q: nothing goes behind %s", text, name)
	case kind.Argument != "" && argument == "":
		return s, fmt.Errorf("%q: must be written as %s", text, kind.usage())
	case name == "mix":
		if _, err := parseShare(argument); err != nil {
			return s, fmt.Errorf("%q: A %w", text, err)
		}
	}
	return s, nil
}

// million is the denominator of shares, which are whole numbers of millionths.
const million = 1_000_000

// parseShare parses a number from 0 to 1 with at most six decimals, and returns it in millionths.
func parseShare(text string) (backfill.Time, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.") != "" || x < 0 || x > 1 {
		return 0, errors.New("must be a number from 0 to 1")
	}
	millionths := math.Round(x * million)
	if millionths/million != x {
		return 0, errors.New("must have at most six decimals")
	}
	return backfill.Time(millionths), nil
}

// maker makes the estimators of a set. It makes each learner once, even if several estimators need
// it.
type maker struct {
	set           *Set
	options       options
	open          func(name string) (io.ReadCloser, error)
	user, project *accuracy
	last          *learned // the last one made
}

// estimator makes an estimator, and adds the learners that it needs to the set. Its estimates may
// be below 1 or above the request.
func (m *maker) estimator(s spec) (estimator, error) {
	if s.name == learnedName {
		m.last = newLearned(m.options)
		m.set.learners = append(m.set.learners, m.last)
		return m.last.estimate, nil
	}
	estimate, err := m.timeless(s)
	if err != nil {
		return nil, err
	}
	return func(j *Job, _ backfill.Time) backfill.Time { return estimate(j) }, nil
}

// timeless makes an estimator that does not go by the instant, see estimator.
func (m *maker) timeless(s spec) (func(*Job) backfill.Time, error) {
	switch s.name {
	case "user":
		return m.byUser().estimate, nil
	case "project":
		return m.byProject().estimate, nil
	case combinedName:
		return combined(m.byUser(), m.byProject()), nil
	case "tsafrir":
		l := newLastTwo(m.options)
		m.set.learners = append(m.set.learners, l)
		return l.estimate, nil
	case "file":
		return m.file(s.argument)
	case "accurate":
		return func(j *Job) backfill.Time { return j.Actual }, nil
	case "mix":
		a, err := parseShare(s.argument)
		if err != nil {
			return nil, err
		}
		return func(j *Job) backfill.Time {
			actual := max(0, min(j.Actual, j.Requested))
			return (a*actual + (million-a)*j.Requested + million - 1) / million
		}, nil
	default:
		return func(j *Job) backfill.Time { return j.Requested }, nil
	}
}

func (m *maker) byUser() *accuracy {
	if m.user == nil {
		m.user = newAccuracy(m.options, m.options.userKeys)
		m.set.learners = append(m.set.learners, m.user)
	}
	return m.user
}

func (m *maker) byProject() *accuracy {
	if m.project == nil {
		m.project = newAccuracy(m.options, m.options.projectKeys)
		m.set.learners = append(m.set.learners, m.project)
	}
	return m.project
}

func (m *maker) file(name string) (func(*Job) backfill.Time, error) {
	if m.open == nil {
		return nil, fmt.Errorf("read the estimates: %s: files cannot be read here", name)
	}
	r, err := m.open(name)
	if err != nil {
		return nil, fmt.Errorf("read the estimates: %w", err)
	}
	defer r.Close() //nolint:errcheck // only read
	known, err := readFile(r, name)
	if err != nil {
		return nil, fmt.Errorf("read the estimates: %w", err)
	}
	m.set.files = append(m.set.files, known)
	return fromFile(known.known), nil
}

// Help returns a text for users about the estimators and their options.
func Help() string {
	var text strings.Builder
	text.WriteString("Run times to plan with (--estimates), from what users request and what is known of past " +
		"jobs:\n\n")
	for _, e := range Estimators() {
		fmt.Fprintf(&text, "  %-16s %s\n", e.usage(), e.Doc)
	}
	text.WriteString(`
There are three uses, and each can have an estimator of its own: --estimates-order for the queue's
order, --estimates-backfill for how long a waiting job is taken to run, --estimates-running for when
a running job is taken to end. With policies that give guarantees, estimates change the order alone.
Jobs are ended at what they request, never at what was foretold.

Options (--estimates-opt NAME=VALUE):

`)
	for _, o := range Options() {
		fmt.Fprintf(&text, "  %-16s %s [%s]\n", o.Name, o.Doc, o.Default)
	}
	text.WriteString(`
An option that no estimator which was chosen goes by is refused. learned goes by
predict-again, censored and user-key alone, tsafrir by max-age and user-key, user by no project-key,
project by no user-key; what does not learn goes by none.
What a job may outlive goes by correct: all but requested, accurate and mix. At correct=request, a
running job that has outlived what was foretold is taken to end at its request; at double, the time
is doubled until it is not over; at tsafrir, it goes up by 1, 5, 15, 30 min, 1, 2, 5, 10, 20, 50 and
100 h, one after the other. None goes beyond the request before that is over.
`)
	return text.String()
}
