package generate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// Widths says how wide the jobs of a Simple trace are.
type Widths string

// The widths; "" is WidthsPowers.
const (
	WidthsPowers  Widths = "powers"  // 1, 2, 4, … up to the widest, each as often
	WidthsUniform Widths = "uniform" // 1 to the widest, each as often
)

// Simple generates a trace by a few independent distributions, for experiments about one of them.
type Simple struct {
	Jobs       int   // at least 2
	Processors int64 // at least 1
	Memory     int64 // MiB of the machine; 0: none
	Seed       uint64

	// Load is the processor seconds that the jobs need over those that the machine has from the
	// first submission to the last.
	Load float64
	// Shape is the shape of the Weibull distribution of the gaps between submissions: 1, or 0,
	// makes them a Poisson process; less makes jobs come in bursts.
	Shape float64

	Widths Widths
	Widest int64 // of the jobs; 0: as wide as the machine

	// RunMedian is the median of the run times in seconds, which are log-normal, and
	// RunSigma the standard deviation of their logarithm.
	RunMedian, RunSigma float64
	// RunLongest is the longest run time; 0: a week.
	RunLongest int64

	// Users is the number of users. They have jobs by Zipf's law: the k-th has a share proportional
	// to 1/k^ZipfExponent. 0: no user is known.
	Users        int
	ZipfExponent float64 // 0: 1.2
}

// UsualJobs and UsualProcessors are how much is generated unless more is said.
const (
	UsualJobs       = 10_000
	UsualProcessors = 128
)

// UsualSimple returns the trace that is generated if nothing but its size is said.
func UsualSimple(jobs int, processors int64) Simple {
	return Simple{
		Jobs: jobs, Processors: processors, Load: 0.9, Shape: 1, RunMedian: 1800, RunSigma: 1.5, Users: 20,
		ZipfExponent: zipf,
	}
}

const (
	week      = 7 * 24 * 3600
	mostUsers = 100_000
	zipf      = 1.2

	longestTrace = 1e12 // in seconds; readers accept no more
)

// validate returns an error with all that is wrong, by the names of flags, or nil.
func (s Simple) validate() error {
	errs := []error{checkSize(s.Jobs, s.Processors, 1)}
	check := func(ok bool, what string, value any, rule string) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s: %v: must be %s", what, value, rule))
		}
	}
	within := func(f, low, high float64) bool { return low <= f && f <= high }
	check(s.Jobs != 1, "jobs", s.Jobs, "at least 2, so that there is a load")
	check(s.Memory >= 0 && s.Memory <= mostCPUs, "memory", s.Memory, "0 (none) or a number of MiB")
	check(within(s.Load, 0.001, 1000), "load", s.Load, "from 0.001 to 1000")
	check(s.Shape == 0 || within(s.Shape, 0.1, 10), "shape", s.Shape, "from 0.1 to 10")
	check(s.Widths == "" || s.Widths == WidthsPowers || s.Widths == WidthsUniform, "widths",
		strconv.Quote(string(s.Widths)), "powers or uniform")
	check(s.Widest >= 0 && s.Widest <= s.Processors, "widest", s.Widest,
		"0 (the machine) or a number of its processors")
	check(within(s.RunMedian, 1, 1e9), "run-median", s.RunMedian, "from 1 to 1e9 seconds")
	check(within(s.RunSigma, 0, 10), "run-sigma", s.RunSigma, "from 0 to 10")
	check(s.RunLongest >= 0 && s.RunLongest <= 1e9, "run-longest", s.RunLongest, "0 (a week) or up to 1e9 seconds")
	check(s.Users >= 0 && s.Users <= mostUsers, "users", s.Users, "from 0 to "+strconv.Itoa(mostUsers))
	check(s.ZipfExponent == 0 || within(s.ZipfExponent, 0.01, 10), "zipf", s.ZipfExponent,
		"from 0.01 to 10")
	return errors.Join(errs...)
}

// Trace generates the trace and gives it a name.
func (s Simple) Trace(name string) (*workload.Trace, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(s.Seed, simpleStream))
	t := newTrace(name, s.Jobs, workload.Machine{Processors: s.Processors, Memory: s.Memory}, fmt.Sprintf(
		"generated: log-normal run times of median %v s and sigma %v, widths %s, offered load %v, seed %d",
		s.RunMedian, s.RunSigma, s.widths(), s.Load, s.Seed))
	users := newZipf(s.Users, s.ZipfExponent)
	work, gaps, since := 0.0, 0.0, make([]float64, s.Jobs)
	for i := range s.Jobs {
		job := workload.Job{ID: int64(i) + 1, Procs: s.width(random), Run: s.run(random), User: users.draw(random)}
		job.Estimate, job.Origin = max(job.Run, 1), workload.Assumed
		work += float64(job.Procs) * float64(job.Run)
		if i > 0 { // the first one is submitted at 0
			gaps += s.gap(random)
		}
		since[i] = gaps
		t.Jobs = append(t.Jobs, job)
	}
	span := work / (s.Load * float64(s.Processors))
	if span > longestTrace {
		return nil, fmt.Errorf("the trace would take %.3g seconds: ask for more load, fewer jobs or shorter ones", span)
	}
	second := span / gaps // makes the load exact
	for i := range t.Jobs {
		t.Jobs[i].Submit = int64(math.Round(since[i] * second))
	}
	return t, nil
}

func (s Simple) widths() Widths {
	if s.Widths == "" {
		return WidthsPowers
	}
	return s.Widths
}

// width draws a number of processors.
func (s Simple) width(random *rand.Rand) int64 {
	widest := s.Widest
	if widest == 0 {
		widest = s.Processors
	}
	if s.widths() == WidthsUniform {
		return 1 + random.Int64N(widest)
	}
	powers := 1
	for int64(1)<<powers <= widest {
		powers++
	}
	return int64(1) << random.IntN(powers)
}

// run draws a run time.
func (s Simple) run(random *rand.Rand) int64 {
	longest := s.RunLongest
	if longest == 0 {
		longest = week
	}
	seconds := s.RunMedian * math.Exp(s.RunSigma*random.NormFloat64())
	return int64(math.Round(min(max(seconds, 1), float64(longest))))
}

// gap draws a time between submissions, in an arbitrary unit.
func (s Simple) gap(random *rand.Rand) float64 {
	if s.Shape == 0 || s.Shape == 1 {
		return random.ExpFloat64()
	}
	return math.Pow(random.ExpFloat64(), 1/s.Shape)
}

// zipfUsers draws users by Zipf's law. The standard library's needs an exponent above 1.
type zipfUsers struct {
	names []string
	sums  []float64 // of the shares, up to each user
}

func newZipf(users int, exponent float64) *zipfUsers {
	if exponent == 0 {
		exponent = zipf
	}
	z := &zipfUsers{}
	sum := 0.0
	for k := range users {
		sum += math.Pow(float64(k+1), -exponent)
		z.names, z.sums = append(z.names, strconv.Itoa(k+1)), append(z.sums, sum)
	}
	return z
}

// draw returns a user; "" if there are none.
func (z *zipfUsers) draw(random *rand.Rand) string {
	if len(z.names) == 0 {
		return ""
	}
	u := random.Float64() * z.sums[len(z.sums)-1]
	k, _ := slices.BinarySearch(z.sums, u)
	return z.names[min(k, len(z.names)-1)]
}
