package generate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// Kind says which jobs a Lublin trace has.
type Kind string

// The kinds; "" is KindAll.
const (
	KindAll         Kind = "all"         // of one sort, with the parameters that fit all jobs of the logs
	KindBatch       Kind = "batch"       // batch jobs only
	KindInteractive Kind = "interactive" // interactive jobs only
	KindBoth        Kind = "both"        // batch and interactive jobs, told apart by their queue, 1 and 0
)

// Lublin generates a trace by the model of Uri Lublin and Dror Feitelson, "The Workload on Parallel
// Supercomputers: Modeling the Characteristics of Rigid Jobs", J. Parallel and Distributed
// Computing 63(11), 2003, with the parameters and the rules of the authors' program, lublin99.c:
//
//   - widths: serial with some probability, else 2^x with x from two uniform distributions, rounded
//     to a whole x with some probability;
//   - run times: e^x with x hyper-gamma, the mixture depending on the width; at most e^12 s;
//   - arrivals: gaps of e^x with x gamma in the rush hours, at most e^13 s. They are stretched in
//     half hours in which, by a gamma distribution over the day, fewer jobs come. The trace begins
//     at midnight.
//
// The program's parameters are for 128 processors. For another machine, the widest job and the
// break between the two uniform distributions are scaled by the same factor, as the authors advise,
// but the break is at least the square root of the widest job, as in their example of a small
// machine.
type Lublin struct {
	Jobs       int   // at least 1
	Processors int64 // at least 4
	Kind       Kind
	Seed       uint64
}

// lublinParameters are the parameters of one sort of jobs, named as in the program.
type lublinParameters struct {
	serial, pow2           float64 // probabilities
	uLow, uMed, uHi, uProb float64 // log2 of widths, for 128 processors; probability of the first part
	a1, b1, a2, b2, pa, pb float64 // hyper-gamma of the logarithm of run times; p = pa·width + pb
	aArr, bArr, aNum, bNum float64 // gamma of the logarithm of gaps; gamma of the half hours
	arriveRatio            float64 // of aArr in all hours to that in rush hours
	number                 string  // of the queue
}

func lublinAll() lublinParameters {
	return lublinParameters{
		serial: 0.244, pow2: 0.576, uLow: 0.8, uMed: 4.5, uHi: 7, uProb: 0.86,
		a1: 4.2, b1: 0.94, a2: 312, b2: 0.03, pa: -0.0054, pb: 0.78,
		aArr: 10.2303, bArr: 0.4871, aNum: 8.1737, bNum: 3.9631, arriveRatio: 1.0225, number: "0",
	}
}

func lublinBatch() lublinParameters {
	return lublinParameters{
		serial: 0.2927, pow2: 0.6686, uLow: 1.2, uMed: 5, uHi: 7, uProb: 0.875,
		a1: 6.57, b1: 0.823, a2: 639.1, b2: 0.0156, pa: -0.003, pb: 0.6986,
		aArr: 6.0415, bArr: 0.8531, aNum: 6.1271, bNum: 5.2740, arriveRatio: 1.0519, number: "1",
	}
}

func lublinInteractive() lublinParameters {
	return lublinParameters{
		serial: 0.1541, pow2: 0.625, uLow: 1, uMed: 3, uHi: 5.5, uProb: 0.705,
		a1: 3.8351, b1: 0.6605, a2: 7.073, b2: 0.6856, pa: -0.0118, pb: 0.9156,
		aArr: 6.5510, bArr: 0.6621, aNum: 8.9186, bNum: 3.6680, arriveRatio: 0.9797, number: "0",
	}
}

// sorts returns the sorts of jobs of a kind. Of two jobs at one instant, that of the first sort
// comes first.
func (k Kind) sorts() []lublinParameters {
	switch k {
	case KindAll, "":
		return []lublinParameters{lublinAll()}
	case KindBatch:
		return []lublinParameters{lublinBatch()}
	case KindInteractive:
		return []lublinParameters{lublinInteractive()}
	case KindBoth:
		return []lublinParameters{lublinInteractive(), lublinBatch()}
	default:
		return nil
	}
}

const (
	halfHours   = 48
	halfHour    = 1800 // seconds
	maxLogRun   = 12   // e^12 s are two days
	maxLogGap   = 13   // e^13 s are five days
	firstBucket = 11   // the day of the gamma distribution begins with this half hour
	mostJobs    = 5_000_000
	mostCPUs    = 1 << 40
)

// Trace generates the trace and gives it a name.
func (l Lublin) Trace(name string) (*workload.Trace, error) {
	sorts := l.Kind.sorts()
	var errs []error
	if len(sorts) == 0 {
		errs = append(errs, fmt.Errorf("kind of jobs %q: must be all, batch, interactive or both", string(l.Kind)))
	}
	errs = append(errs, checkSize(l.Jobs, l.Processors, 4))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(l.Seed, lublinStream))
	streams := make([]*arrivals, len(sorts))
	for i, p := range sorts {
		streams[i] = newArrivals(p, random)
	}
	t := newTrace(name, l.Jobs, workload.Machine{Processors: l.Processors}, fmt.Sprintf(
		"generated: Lublin-Feitelson model, jobs %s, seed %d", orAll(l.Kind), l.Seed))
	for id := range l.Jobs {
		at := 0
		for i, s := range streams {
			if s.next < streams[at].next {
				at = i
			}
		}
		p := sorts[at]
		job := workload.Job{ID: int64(id) + 1, Submit: int64(streams[at].next), Queue: p.number}
		streams[at].advance()
		job.Procs = min(p.width(l.Processors, random), l.Processors)
		job.Run = p.run(job.Procs, random)
		job.Estimate, job.Origin = max(job.Run, 1), workload.Assumed
		t.Jobs = append(t.Jobs, job)
	}
	return t, nil
}

func orAll(k Kind) Kind {
	if k == "" {
		return KindAll
	}
	return k
}

// width draws a number of processors.
func (p lublinParameters) width(processors int64, random *rand.Rand) int64 {
	u := random.Float64()
	if u <= p.serial {
		return 1
	}
	// The parameters are for the widest job of a machine of 2^7 processors.
	shift := math.Log2(float64(processors)) - 7
	hi := p.uHi + shift
	med := max(p.uMed+shift, hi/2)
	low := min(p.uLow, med)
	x := med + random.Float64()*(hi-med)
	if random.Float64() <= p.uProb {
		x = low + random.Float64()*(med-low)
	}
	if u <= p.serial+p.pow2 {
		x = math.Floor(x + 0.5)
	}
	return max(1, int64(math.Pow(2, x)+0.5))
}

// run draws a run time for a width.
func (p lublinParameters) run(procs int64, random *rand.Rand) int64 {
	first := min(max(p.pa*float64(procs)+p.pb, 0), 1)
	for {
		alpha, beta := p.a2, p.b2
		if random.Float64() <= first {
			alpha, beta = p.a1, p.b1
		}
		if x := gamma(alpha, beta, random); x <= maxLogRun {
			return int64(math.Exp(x))
		}
	}
}

// gamma draws from a gamma distribution with scale beta.
func gamma(alpha, beta float64, random *rand.Rand) float64 {
	return distuv.Gamma{Alpha: alpha, Beta: 1 / beta, Src: random}.Rand()
}

// arrivals is the arrival process of one sort of jobs.
type arrivals struct {
	p       lublinParameters
	random  *rand.Rand
	weights [halfHours]float64 // of the half hours; their mean is 1
	bucket  int                // the current half hour
	points  float64            // how much of this half hour's weight is used
	days    float64            // seconds until the half hour began
	next    float64            // seconds until the next job
}

func newArrivals(p lublinParameters, random *rand.Rand) *arrivals {
	a := &arrivals{p: p, random: random}
	sum := 0.0
	cdf := func(x float64) float64 { return mathext.GammaIncReg(p.aNum, x/p.bNum) }
	for i := firstBucket; i < firstBucket+halfHours; i++ {
		w := cdf(float64(i)+0.5) - cdf(float64(i)-0.5)
		a.weights[(i-1)%halfHours] = w
		sum += w
	}
	for i := range a.weights {
		a.weights[i] *= halfHours / sum
	}
	a.advance()
	return a
}

// advance goes to the next job's submission. A drawn gap, which is one of the rush hours, is a
// number of points, and each half hour that passes uses up its weight in points. So gaps are long
// in half hours of small weight.
func (a *arrivals) advance() {
	x := math.Inf(1)
	for x > maxLogGap {
		x = gamma(a.p.aArr*a.p.arriveRatio, a.p.bArr, a.random)
	}
	a.points += math.Exp(x) / halfHour
	for a.points > a.weights[a.bucket] {
		a.points -= a.weights[a.bucket]
		a.bucket = (a.bucket + 1) % halfHours
		a.days += halfHour
	}
	a.next = a.days + halfHour*(a.points/a.weights[a.bucket])
}

// checkSize checks the sizes that both generators need.
func checkSize(jobs int, processors, least int64) error {
	var errs []error
	if jobs < 1 || jobs > mostJobs {
		errs = append(errs, errors.New("jobs: "+strconv.Itoa(jobs)+": must be from 1 to "+strconv.Itoa(mostJobs)))
	}
	if processors < least || processors > mostCPUs {
		errs = append(errs, fmt.Errorf("cpus: %d: must be from %d to %d", processors, least, int64(mostCPUs)))
	}
	return errors.Join(errs...)
}

// Streams of random numbers.
const (
	lublinStream = 101 + iota
	simpleStream
)

// newTrace returns an empty trace with the header of a generated one.
func newTrace(name string, jobs int, m workload.Machine, note string) *workload.Trace {
	return &workload.Trace{
		Name: name, Machine: m, Jobs: make([]workload.Job, 0, jobs),
		Cleaning: workload.Cleaning{JobsRead: jobs, EstimateUnknown: jobs, JobsLeft: jobs},
		Header:   workload.Header{"Computer": "none, this is a synthetic trace", "Note": note},
		Statuses: map[int64]int{1: jobs},
	}
}
