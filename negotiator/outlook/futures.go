package outlook

import (
	"context"
	"hash/fnv"
	"math/rand/v2"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// FuturesOptions say which futures [Outlook.Futures] plays.
type FuturesOptions struct {
	ahead.Futures
	// Seed determines what is drawn.
	Seed uint64
	// First begins each play, as in [ahead.Start]; may be nil.
	First *backfill.Round
	// Alone says that nobody else comes. Otherwise those come again who came in the last days, if at
	// least 50 are known, of some minutes.
	Alone bool
}

// Futures plays several futures, in each of which the run times, and how long jobs are on their way to
// their slots, are drawn from what is known of past ones, and others arrive as they did in the last days. It returns the range of starts of each
// waiting job; jobs that start in no future are missing. Without anything known jobs run for as long
// as they are taken to, and nobody arrives, so all futures are the same. A guarantee bounds the
// range, if the rules' policy gives any. What is drawn depends on the seed, the number of the future
// and the user's name or the job's ID alone. The callback rules is that of [ahead.Futures.Ranges].
func (o *Outlook) Futures(ctx context.Context, options FuturesOptions,
	rules func() (ahead.Rules, func(), error), b ahead.Bounds,
) (map[backfill.JobID]ahead.Range, error) {
	guarantees := false
	ranges, err := options.Ranges(ctx, func() (ahead.Rules, func(), error) {
		ours, done, err := rules()
		guarantees = err == nil && ours.Policy.Spec().Guarantees
		return ours, done, err
	}, func(i int) ahead.Start {
		d := drawn{o: o, seed: options.Seed, future: uint64(i)}
		start := o.StartWith(d.runTime)
		if len(o.delays.All()) > 0 {
			start.Begin = d.begins
		}
		start.First = options.First
		if !options.Alone {
			start.Arrivals = o.again(d.number(ofDays, 0))
		}
		return start
	}, b)
	if err != nil || !guarantees {
		return ranges, err
	}
	for _, j := range o.State().Settled() {
		if r, told := ranges[j.Job.ID]; told && j.Promised {
			latest := j.Guarantee
			ranges[j.Job.ID] = ahead.Range{Low: min(r.Low, latest), Mid: min(r.Mid, latest), High: min(r.High, latest)}
		}
	}
	return ranges, nil
}

// Learned reports whether anything is known of past run times: without, all futures are the same.
func (o *Outlook) Learned() bool { return o.past != nil && o.past.Len() > 0 }

// drawn are the run times of one future.
type drawn struct {
	o            *Outlook
	seed, future uint64
}

// What is drawn, apart from everything else that is drawn.
const (
	ofJob uint64 = iota
	ofUser
	ofDays
	ofDelay
)

// runTime draws how long a job runs in all that has run for so long. The jobs of a user have the same
// number in a future: they are often the same program with the same fault, so they end early
// together.
func (d *drawn) runTime(j *backfill.Job, so backfill.Time) backfill.Time {
	o := d.o
	if o.past == nil {
		return o.RunTime(j)
	}
	requested := o.Requested(j)
	spread := o.past.Spread(&estimate.Job{
		Requested: requested, Unestimated: j.Unestimated, Labels: j.Labels, Cpus: j.Width(),
	})
	if spread.Empty() {
		return o.RunTime(j)
	}
	var number uint64
	if whose := spread.Whose(); whose == "" {
		number = d.number(ofJob, uint64(j.ID))
	} else {
		h := fnv.New64a()
		_, _ = h.Write([]byte(whose))
		number = d.number(ofUser, h.Sum64())
	}
	return spread.Draw(number, requested, so)
}

// begins draws when a job begins to run that is started at the given instant.
func (d *drawn) begins(j *backfill.Job, started backfill.Time) backfill.Time {
	return started + d.o.delays.Draw(d.number(ofDelay, uint64(j.ID)))
}

// number draws a number for a job or a user.
func (d *drawn) number(what, whose uint64) uint64 {
	const apart = 0x9e3779b97f4a7c15 // seeds that follow each other are far apart
	var r rand.PCG
	r.Seed(d.seed+apart*(d.future*8+what+1), whose)
	r.Uint64()
	return r.Uint64()
}
