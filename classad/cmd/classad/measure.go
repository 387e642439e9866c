package main

import (
	"runtime"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/classadtest"
)

// measured is the result of bench.
type measured struct {
	Pool          string     `json:"pool"`
	Checked       bool       `json:"checked"` // the answers are those of HTCondor's library
	Slots         int        `json:"slots"`
	Jobs          int        `json:"jobs"`
	Timings       int        `json:"timings"`
	ParseLines    throughput `json:"parse_lines"`
	ParseBrackets throughput `json:"parse_brackets"`
	Unparse       throughput `json:"unparse"`
	BytesPerAd    float64    `json:"bytes_per_ad"`
	// CompiledBytesPerAd is the additional memory of an ad whose expressions have been evaluated.
	CompiledBytesPerAd float64        `json:"compiled_bytes_per_ad"`
	MatchPerSecond     float64        `json:"match_pairs_per_second"`
	RankPerSecond      float64        `json:"rank_pairs_per_second"`
	Expressions        []measuredExpr `json:"expressions"`
	MeanExprNs         float64        `json:"mean_expression_ns"`
	ParseExprNs        float64        `json:"parse_expression_ns"`
}

// throughput is the speed of reading or writing ads; the bytes are those of their texts.
type throughput struct {
	AdsPerSecond       float64 `json:"ads_per_second"`
	MegabytesPerSecond float64 `json:"megabytes_per_second"`
}

// measuredExpr is the cost of one evaluation of an expression.
type measuredExpr struct {
	Expr   string  `json:"expr"`
	Ns     float64 `json:"ns"`
	Allocs float64 `json:"allocs"`
}

// bench measures a pool: the processor time of the process, as the median of several timings.
type bench struct {
	pool    *classadtest.Pool
	timings int
	evals   int // of each expression
	err     error
}

// time runs the work several times and returns the median time. Garbage collection of earlier
// garbage is not counted.
func (b *bench) time(work func() error) time.Duration {
	return b.timeAfter(func() error { return nil }, work)
}

// timeAfter does what [bench.time] does, with a preparation before each timing, which is not
// counted.
func (b *bench) timeAfter(prepare, work func() error) time.Duration {
	times := make([]time.Duration, 0, b.timings)
	for range b.timings {
		if b.err != nil {
			return 1
		}
		if b.err = prepare(); b.err != nil {
			return 1
		}
		runtime.GC()
		start := b.cpu()
		if err := work(); err != nil {
			b.err = err
		}
		times = append(times, b.cpu()-start)
	}
	slices.Sort(times)
	return max(1, times[len(times)/2])
}

func (b *bench) cpu() time.Duration {
	t, err := cpuTime()
	if err != nil {
		b.err = err
	}
	return t
}

func perSecond(n int, t time.Duration) float64 { return float64(n) / t.Seconds() }

func (b *bench) run() (measured, error) {
	p := b.pool
	m := measured{Jobs: len(p.Jobs), Slots: len(p.Lines), Timings: b.timings, Checked: p.HasAnswers()}
	before := heap()
	slots, err := p.ParseLines()
	if err != nil {
		return m, err
	}
	parsed := heap()
	if _, err = p.Check(slots); err != nil {
		return m, err
	}
	for _, job := range p.Jobs { // without answers the check evaluates nothing
		for _, slot := range slots {
			classad.Match(job, slot)
		}
	}
	m.BytesPerAd = (parsed - before) / float64(len(slots))
	m.CompiledBytesPerAd = (heap() - parsed) / float64(len(slots))
	runtime.KeepAlive(slots)
	m.ParseLines = b.throughput(p.Lines, func() error { return discard(p.ParseLines()) })
	m.ParseBrackets = b.throughput(p.Brackets, func() error { return discard(p.ParseBrackets()) })
	m.Unparse = b.throughput(p.Brackets, func() error {
		for _, slot := range slots {
			_ = slot.String()
		}
		return nil
	})
	m.MatchPerSecond = b.pairs(func(job, slot *classad.ClassAd) { classad.Match(job, slot) })
	m.RankPerSecond = b.pairs(func(job, slot *classad.ClassAd) { classad.Rank(job, slot) })
	b.expressions(&m, slots)
	return m, b.err
}

// heap returns the memory in use.
func heap() float64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return float64(s.HeapAlloc)
}

func discard(ads []*classad.ClassAd, err error) error {
	runtime.KeepAlive(ads) // keep all until the last one is made
	return err
}

func (b *bench) throughput(texts []string, work func() error) throughput {
	t := b.time(work)
	return throughput{
		AdsPerSecond:       perSecond(len(texts), t),
		MegabytesPerSecond: perSecond(classadtest.Bytes(texts), t) / 1e6,
	}
}

// pairs measures an operation on every job and every slot. The slots are parsed anew before each
// timing, so that compiling their expressions counts.
func (b *bench) pairs(do func(job, slot *classad.ClassAd)) float64 {
	var slots []*classad.ClassAd
	t := b.timeAfter(func() (err error) {
		slots, err = b.pool.ParseLines()
		return err
	}, func() error {
		for _, job := range b.pool.Jobs {
			for _, slot := range slots {
				do(job, slot)
			}
		}
		return nil
	})
	return perSecond(len(b.pool.Jobs)*len(b.pool.Lines), t)
}

func (b *bench) expressions(m *measured, slots []*classad.ClassAd) {
	scope := b.pool.Scope(slots)
	for i, e := range b.pool.Exprs {
		var before, after runtime.MemStats
		t := b.time(func() error {
			runtime.ReadMemStats(&before)
			for range b.evals {
				e.Eval(scope)
			}
			runtime.ReadMemStats(&after)
			return nil
		})
		x := measuredExpr{
			Expr:   b.pool.Texts[i],
			Ns:     float64(t.Nanoseconds()) / float64(b.evals),
			Allocs: float64(after.Mallocs-before.Mallocs) / float64(b.evals),
		}
		m.MeanExprNs += x.Ns / float64(len(b.pool.Exprs))
		m.Expressions = append(m.Expressions, x)
	}
	repeats := max(1, b.evals/100)
	t := b.time(func() error {
		for range repeats {
			if _, err := b.pool.ParseExprs(); err != nil {
				return err
			}
		}
		return nil
	})
	m.ParseExprNs = float64(t.Nanoseconds()) / float64(max(1, repeats*len(b.pool.Texts)))
}
