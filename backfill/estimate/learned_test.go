package estimate_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// textbook predicts as the definition of learned says: for each prediction it goes through all jobs that
// ended and all that run, in exact fractions.
type textbook struct {
	censored bool
	bound    int
	ended    []estimate.Ended
	running  map[backfill.JobID]estimate.Run
}

// keysOf returns the keys of a job, finest first; a key that the job does not have is "".
func keysOf(j *estimate.Job) (keys [5]string) {
	all := "with a request"
	if j.Unestimated {
		all = "without"
	}
	keys[4] = all
	user, program := j.Labels["owner"], j.Labels["executable"]
	if user == "" {
		return keys
	}
	request, cpus := big.NewInt(int64(j.Requested)).String(), big.NewInt(j.Cpus).String()
	keys[3] = all + "|" + user
	keys[2] = keys[3] + "|" + request
	if j.Cpus > 0 {
		keys[1] = keys[2] + "|" + cpus
		if program != "" {
			keys[0] = keys[1] + "|" + program
		}
	}
	return keys
}

type sample struct{ weight, value *big.Rat }

func least(a, b *big.Rat) *big.Rat {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func whole(t backfill.Time) *big.Rat { return new(big.Rat).SetInt64(int64(t)) }

// mean returns the prediction before it is rounded; nil: nothing is known.
func (m *textbook) mean(j *estimate.Job, now backfill.Time) *big.Rat {
	request := whole(j.Requested)
	runs := slices.SortedFunc(maps.Values(m.running), func(a, b estimate.Run) int { // the latest first
		return -cmp.Or(cmp.Compare(a.Since, b.Since), backfill.Compare(a.Planned, b.Planned))
	})
	var perKey [][]sample
	for level, key := range keysOf(j) {
		if key == "" {
			continue
		}
		scale := func(t, requested backfill.Time) *big.Rat {
			r := whole(t)
			if level >= 3 {
				r.Mul(r.Quo(r, whole(requested)), request)
			}
			return r
		}
		var samples []sample
		weight := big.NewRat(1, 1)
		for i := len(m.ended) - 1; i >= max(0, len(m.ended)-m.bound) && len(samples) < 8; i-- {
			if e := m.ended[i]; keysOf(&e.Job)[level] == key {
				samples = append(samples, sample{new(big.Rat).Set(weight), least(request, scale(e.Ran, e.Requested))})
				weight.Mul(weight, big.NewRat(4, 5))
			}
		}
		ended, counted := samples, 0
		for _, r := range runs {
			if !m.censored || counted == 8 || keysOf(&r.Job)[level] != key {
				continue
			}
			counted++
			so := scale(max(0, now-r.Since), r.Requested)
			above := new(big.Rat)
			for _, s := range ended {
				if s.value.Cmp(so) > 0 {
					above.Add(above, s.weight)
				}
			}
			if above.Sign() == 0 {
				samples = append(samples, sample{big.NewRat(1, 1), least(request, new(big.Rat).Mul(so, big.NewRat(2, 1)))})
			}
			for _, s := range ended {
				if s.value.Cmp(so) > 0 {
					samples = append(samples, sample{new(big.Rat).Quo(s.weight, above), s.value})
				}
			}
		}
		if len(samples) > 0 {
			perKey = append(perKey, samples)
		}
	}
	if len(perKey) == 0 {
		return nil
	}
	mean, rest := new(big.Rat), big.NewRat(1, 1)
	for i, samples := range perKey {
		sum, n := new(big.Rat), new(big.Rat)
		for _, s := range samples {
			n.Add(n, s.weight)
			sum.Add(sum, new(big.Rat).Mul(s.weight, s.value))
		}
		takes := new(big.Rat).Set(rest)
		if i < len(perKey)-1 {
			takes.Mul(takes, new(big.Rat).Quo(n, new(big.Rat).Add(n, big.NewRat(1, 1))))
		}
		mean.Add(mean, new(big.Rat).Mul(takes, sum.Quo(sum, n)))
		rest.Sub(rest, takes)
	}
	return mean
}

// agree checks that a prediction is the textbook's. A mean that is hardly above a whole number may be taken
// for that number.
func (m *textbook) agree(t require.TestingT, set *estimate.Set, j estimate.Job, now backfill.Time) {
	got := set.Estimate(&j, now).Order
	mean := m.mean(&j, now)
	if mean == nil {
		require.Equal(t, j.Requested, got)
		return
	}
	hardly := new(big.Rat).Quo(mean, whole(1<<45))
	require.Contains(t, []backfill.Time{up(mean), up(new(big.Rat).Sub(mean, hardly))}, got,
		"the mean is %s", mean.FloatString(9))
}

func up(r *big.Rat) backfill.Time {
	whole, rest := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	return max(1, backfill.Time(whole.Int64()))
}

// anyLike draws a job that is often like others.
func anyLike(t *rapid.T) estimate.Job {
	j := estimate.Job{
		Requested: rapid.SampledFrom([]backfill.Time{1, 10, 3600, 86400, 1 << 40}).Draw(t, "requested"),
		Cpus:      rapid.Int64Range(0, 2).Draw(t, "cpus"), Labels: map[string]string{},
		Unestimated: rapid.IntRange(0, 7).Draw(t, "unestimated") == 0,
	}
	for _, label := range []string{"owner", "executable"} {
		if value := rapid.SampledFrom([]string{"", "a", "a", "b"}).Draw(t, label); value != "" {
			j.Labels[label] = value
		}
	}
	return j
}

func run(j estimate.Job, id backfill.JobID, since backfill.Time) estimate.Run {
	return estimate.Run{Job: j, Since: since, Planned: &backfill.Job{ID: id, Submit: backfill.Time(id % 3)}}
}

// TestLearnedIsItsTextbook: whatever has ended, runs and has been forgotten, predictions are those of the
// definition; and those of a set that is made anew from the history and told of the jobs that run.
func TestLearnedIsItsTextbook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &textbook{
			censored: rapid.Bool().Draw(t, "censored"), running: map[backfill.JobID]estimate.Run{},
			bound: rapid.SampledFrom([]int{1, 3, 20, 1000}).Draw(t, "bound"),
		}
		s := estimate.Settings{All: "learned"}
		if !m.censored {
			s.Options = options("censored=false")
		}
		h := estimate.NewHistory(m.bound)
		set := made(t, s, h)
		var now backfill.Time
		for i := range rapid.IntRange(0, 60).Draw(t, "steps") {
			now += backfill.Time(rapid.SampledFrom([]int{0, 0, 1, 7, 5000}).Draw(t, "later"))
			j := anyLike(t)
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0:
				r := run(j, backfill.JobID(i), now-backfill.Time(rapid.SampledFrom([]int{0, 0, 1, 900}).Draw(t, "ago")))
				m.running[r.Planned.ID] = r
				set.Started(r)
			case 1:
				id := backfill.JobID(rapid.IntRange(0, i).Draw(t, "leaves"))
				delete(m.running, id)
				set.Left(id)
			case 2:
				e := estimate.Ended{Job: j, Ran: anyTime(t, "ran", 0, 2*j.Requested), At: now}
				e.Ran = min(e.Ran, backfill.MaxTime)
				m.ended = append(m.ended, e)
				set.Learn(e)
			default:
				m.agree(t, set, j, now)
			}
		}
		anew := made(t, s, set.History())
		for _, r := range m.running {
			anew.Started(r)
		}
		for range 5 {
			j := anyLike(t)
			m.agree(t, set, j, now)
			require.Equal(t, set.Estimate(&j, now), anew.Estimate(&j, now))
			require.Equal(t, set.Basis(&j, now), anew.Basis(&j, now))
		}
	})
}

// like returns a job of ann's.
func like(executable string, requested backfill.Time, cpus int64) estimate.Job {
	j := job("ann", "", requested)
	j.Cpus = cpus
	if executable != "" {
		j.Labels["executable"] = executable
	}
	return j
}

func TestLearnedPredicts(t *testing.T) {
	ended := func(j estimate.Job, ran backfill.Time) estimate.Ended { return estimate.Ended{Job: j, Ran: ran} }
	bob := job("bob", "", 1000)
	for _, tt := range []struct {
		name  string
		ended []estimate.Ended
		runs  []estimate.Run // since instant 0; it is 100 now
		asked estimate.Job
		want  backfill.Time
	}{
		{"nothing is known: the request", nil, nil, like("a", 500, 1), 500},
		{"one job that is like it in all: what it ran", []estimate.Ended{ended(like("a", 500, 1), 30)}, nil, like("a", 500, 1), 30},
		{"no less than 1", []estimate.Ended{ended(like("a", 500, 1), 0)}, nil, like("a", 500, 1), 1},
		{"no more than the request", []estimate.Ended{ended(like("a", 500, 1), 900)}, nil, like("a", 500, 1), 500},
		{
			"of another user's jobs the share of the request counts",
			[]estimate.Ended{ended(bob, 100)},
			nil,
			like("a", 500, 1), 50,
		},
		{
			// Executable: 1 of 2 parts at 100. Its cpus and request: n = 1.8, mean (40 + 0.8 × 100) / 1.8, so 120 of
			// 2.8 of a half; its request the same, the user the rest of it.
			"half by the executable, the rest by what is less alike",
			[]estimate.Ended{ended(like("a", 1000, 1), 100), ended(like("b", 1000, 1), 40)},
			nil, like("a", 1000, 1), 84,
		},
		{
			"without its cpus, by user and request",
			[]estimate.Ended{ended(like("a", 1000, 1), 100), ended(like("a", 1000, 2), 100)},
			nil, like("a", 1000, 0), 100,
		},
		{
			"a job that runs for 100 s ends at 200 s if none ran longer", nil,
			[]estimate.Run{run(like("a", 1000, 1), 1, 0)},
			like("a", 1000, 1), 200,
		},
		{
			"and no later than at the request", nil,
			[]estimate.Run{run(like("a", 150, 1), 1, 0)},
			like("a", 150, 1), 150,
		},
		{
			"else as those that ran longer: two parts of two at 300, and none at 50",
			[]estimate.Ended{ended(like("a", 1000, 1), 300)},
			[]estimate.Run{run(like("a", 1000, 1), 1, 0)},
			like("a", 1000, 1), 300,
		},
		{
			"jobs without a request are only like such jobs",
			[]estimate.Ended{ended(estimate.Job{Requested: 1000, Unestimated: true, Labels: bob.Labels}, 7)},
			nil, bob, 1000,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := made(t, estimate.Settings{All: "learned"}, nil)
			for _, e := range tt.ended {
				set.Learn(e)
			}
			for _, r := range tt.runs {
				set.Started(r)
			}
			require.Equal(t, tt.want, set.Estimate(&tt.asked, 100).Order)
		})
	}
}

// TestLearnedForgetsWhoLeaves: jobs that are back in the queue count no more, and one that starts again
// counts from then on.
func TestLearnedForgetsWhoLeaves(t *testing.T) {
	set := made(t, estimate.Settings{All: "learned"}, nil)
	require.True(t, set.HeedsRunning())
	require.True(t, set.PredictsAgain())
	j := like("a", 1000, 1)
	set.Started(run(j, 1, 0))
	set.Started(run(j, 1, 50))
	require.EqualValues(t, 100, set.Estimate(&j, 100).Order)
	set.Left(1)
	set.Left(2)
	require.EqualValues(t, 1000, set.Estimate(&j, 100).Order)

	set = made(t, estimate.Settings{All: "learned", Options: options("censored=false predict-again=false")}, nil)
	require.False(t, set.HeedsRunning())
	require.False(t, set.PredictsAgain())
	set.Started(run(j, 1, 0))
	require.EqualValues(t, 1000, set.Estimate(&j, 100).Order)
}

// TestLearnedGoesByWhatIsStated: jobs whose requests are stretched are like those that state the same.
func TestLearnedGoesByWhatIsStated(t *testing.T) {
	set := made(t, estimate.Settings{All: "learned"}, nil)
	set.Learn(estimate.Ended{Job: like("a", 100, 1), Ran: 400})
	j := like("a", 300, 1)
	j.Stated = 100
	require.EqualValues(t, 300, set.Estimate(&j, 0).Order)
	require.Len(t, set.Basis(&j, 0).Parts, 5)
}

func TestBasis(t *testing.T) {
	set := made(t, estimate.Settings{All: "user", Order: "learned"}, nil)
	j := like("a", 1000, 1)
	require.Equal(t, estimate.Basis{Estimator: "learned", Predicted: 1000}, set.Basis(&j, 0))
	set.Learn(estimate.Ended{Job: j, Ran: 100})
	set.Started(run(like("b", 1000, 1), 1, 0))
	b := set.Basis(&j, 0)
	require.Equal(t, set.Estimate(&j, 0).Order, b.Predicted)
	require.Equal(t, estimate.Part{Alike: "of the user with the same executable, request and cpus", Ended: 1, Share: 0.5}, b.Parts[0])
	require.Equal(t, 1, b.Parts[1].Running)
	sum := 0.0
	for _, p := range b.Parts {
		sum += p.Share
	}
	require.InDelta(t, 1, sum, 1e-9)

	set = made(t, estimate.Settings{All: "user"}, nil)
	require.Equal(t, estimate.Basis{Estimator: "user", Predicted: 1000}, set.Basis(&j, 0))
	_, ok := set.UserOf(j.Labels)
	require.False(t, ok)
}

// A user who submits a million different jobs has learned remember no more than the history holds, in at
// most 700 bytes for each job there, and forget it again with them.
func TestLearnedIsBounded(t *testing.T) {
	const bound = 20_000
	jobs := thorough.Cases(100_000, 1_000_000)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	grown := func(spec string) (bytes int64, set *estimate.Set) {
		before := heap()
		set = made(t, estimate.Settings{All: spec}, estimate.NewHistory(bound))
		for i := range jobs {
			j := like(fmt.Sprint("program", i), backfill.Time(1+i), int64(1+i))
			set.Learn(estimate.Ended{Job: j, Ran: 1, At: backfill.Time(i)})
		}
		return heap() - before, set
	}
	history, plain := grown("requested")
	all, set := grown("learned")
	t.Logf("%d bytes for each job of the history", (all-history)/bound)
	require.Less(t, all-history, int64(700*bound))
	require.Equal(t, plain.History().Len(), set.History().Len())
	before := heap()
	for i := range bound {
		set.Started(run(like(fmt.Sprint("running", i), backfill.Time(1+i), int64(1+i)), backfill.JobID(i), backfill.Time(i)))
	}
	require.Less(t, heap()-before, int64(1500*bound), "each is kept with its name, its labels and its place")
	for i := range bound {
		set.Left(backfill.JobID(i))
	}
	for i := range bound {
		set.Learn(estimate.Ended{Job: job("bob", "", 100), Ran: 1, At: backfill.Time(jobs + i)})
	}
	j := like("program1", 2, 2)
	require.Len(t, set.Basis(&j, 0).Parts, 1, "of ann nothing is known any more")
}
