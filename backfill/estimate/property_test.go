package estimate_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
)

// model is a simple version of the estimators: for each estimate, it goes through all jobs that
// ended.
type model struct {
	percentile, threshold, window, bound int
	maxAge                               backfill.Time
	ended                                []estimate.Ended
}

func (m *model) learn(e estimate.Ended) {
	if n := len(m.ended); n > 0 {
		e.At = max(e.At, m.ended[n-1].At)
	}
	m.ended = append(m.ended, e)
}

// of returns the jobs that have ended, are not forgotten, are alike and belong to the same history
// as the job: the first of the labels that they have is the same, and has the same value.
func (m *model) of(j *estimate.Job, alike func(*estimate.Job) bool, labels ...string) (same []estimate.Ended) {
	first := func(j *estimate.Job) string {
		for _, label := range labels {
			if value, ok := j.Labels[label]; ok {
				return label + "=" + value
			}
		}
		return ""
	}
	if first(j) == "" {
		return nil
	}
	for _, e := range m.ended[max(0, len(m.ended)-m.bound):] {
		tooOld := m.maxAge > 0 && e.At < m.ended[len(m.ended)-1].At-m.maxAge
		if first(&e.Job) == first(j) && alike(&e.Job) && !tooOld {
			same = append(same, e)
		}
	}
	return same
}

// accuracy returns the ratio by which the study adjusts a job's request (A in its text).
func (m *model) accuracy(j *estimate.Job, labels ...string) *big.Rat {
	same := m.of(j, func(e *estimate.Job) bool { return e.Unestimated == j.Unestimated }, labels...)
	if m.window > 0 {
		same = same[max(0, len(same)-m.window):]
	}
	if len(same) < m.threshold {
		return big.NewRat(1, 1)
	}
	var all []*big.Rat
	for _, e := range same {
		all = append(all, big.NewRat(int64(min(e.Ran, e.Requested)), int64(e.Requested)))
	}
	slices.SortFunc(all, func(a, b *big.Rat) int { return a.Cmp(b) })
	for i, r := range all {
		if 100*(i+1) >= m.percentile*len(all) { // at least this percentage of the ratios is at most r
			return r
		}
	}
	panic("there is no such percentile")
}

func (m *model) estimate(spec string, j *estimate.Job) backfill.Time {
	one, mean := big.NewRat(1, 1), new(big.Rat)
	user, project := m.accuracy(j, "owner"), m.accuracy(j, "project", "account", "group")
	switch spec {
	case "user":
		mean = user
	case "project":
		mean = project
	case "combined":
		switch {
		case user.Cmp(one) == 0:
			mean = project
		case project.Cmp(one) == 0:
			mean = user
		default:
			mean.Mul(mean.Add(user, project), big.NewRat(1, 2))
		}
	case "tsafrir":
		last := m.of(j, func(*estimate.Job) bool { return true }, "owner")
		if len(last) < 2 {
			return j.Requested
		}
		a, b := last[len(last)-1].Ran, last[len(last)-2].Ran
		return max(1, min(j.Requested, (a+b+1)/2))
	}
	exact := mean.Mul(mean, big.NewRat(int64(j.Requested), 1))
	up := new(big.Int).Add(exact.Num(), new(big.Int).Sub(exact.Denom(), big.NewInt(1)))
	return max(1, backfill.Time(up.Div(up, exact.Denom()).Int64()))
}

// learned are the estimators that learn.
var learned = []string{"user", "project", "combined", "tsafrir"} // learned itself is in learned_test.go

func anyModel(t *rapid.T) *model {
	m := &model{
		percentile: rapid.SampledFrom([]int{1, 50, 80, 99, 100}).Draw(t, "percentile"), threshold: rapid.IntRange(1,
			6).Draw(t, "threshold"),
		bound: rapid.IntRange(1, 60).Draw(t, "bound"), maxAge: backfill.Time(rapid.SampledFrom([]int{
			0, 0, 1, 20,
			100,
		}).Draw(t, "max-age")),
	}
	if rapid.Bool().Draw(t, "some window") {
		m.window = m.threshold + rapid.IntRange(0, 6).Draw(t, "window")
	}
	return m
}

func (m *model) settings(spec string) estimate.Settings {
	s := estimate.Settings{All: spec, Options: options(fmt.Sprintf("percentile=%d threshold=%d window=%d max-age=%d",
		m.percentile, m.threshold, m.window, m.maxAge))}
	maps.DeleteFunc(s.Options, func(option, _ string) bool { return !s.GoesBy(option) })
	return s
}

// anyTime draws a time that is short, so that ratios are often equal, or of any length.
func anyTime(t *rapid.T, label string, low, high backfill.Time) backfill.Time {
	return backfill.Time(rapid.OneOf(rapid.Int64Range(int64(low), 12),
		rapid.Int64Range(int64(low), int64(high))).Draw(t, label))
}

func anyJob(t *rapid.T) estimate.Job {
	j := estimate.Job{
		Name:        rapid.SampledFrom([]string{"1.0", "2.0", "3.0"}).Draw(t, "name"),
		Requested:   anyTime(t, "requested", 1, 1<<40),
		Unestimated: rapid.IntRange(0, 4).Draw(t, "unestimated") == 0,
	}
	for _, label := range []string{"owner", "project", "group"} {
		if value := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, label); value != "" {
			if j.Labels == nil {
				j.Labels = map[string]string{}
			}
			j.Labels[label] = value
		}
	}
	return j
}

func anyEnded(t *rapid.T, at backfill.Time) estimate.Ended {
	j := anyJob(t)
	return estimate.Ended{
		Job: j, Ran: anyTime(t, "ran", 0, j.Requested),
		At: at + backfill.Time(rapid.IntRange(-3, 9).Draw(t, "at")),
	}
}

// TestEstimatorsAreTheirModel checks that each estimator that learns gives the same estimates as
// its model, whatever it has learned from.
func TestEstimatorsAreTheirModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyModel(t)
		spec := rapid.SampledFrom(learned).Draw(t, "spec")
		set := made(t, m.settings(spec), estimate.NewHistory(m.bound))
		var at backfill.Time
		for range rapid.IntRange(0, 120).Draw(t, "steps") {
			if rapid.IntRange(0, 3).Draw(t, "asked") == 0 {
				j := anyJob(t)
				require.Equal(t, m.estimate(spec, &j), planned(t, set, j))
				continue
			}
			e := anyEnded(t, at)
			at = e.At
			m.learn(e)
			set.Learn(e)
		}
		for _, user := range []string{"a", "b"} {
			for _, requested := range []backfill.Time{1, 7, 1000, 1 << 40} {
				j := job(user, user, requested)
				require.Equal(t, m.estimate(spec, &j), planned(t, set, j))
			}
		}
	})
}

// TestLawsOfEstimates checks that every estimate is from 1 to the request and is the same if asked
// again, that combined lies between user and project, that selective is combined for order and
// backfill and the request for running jobs, and that mix lies between actual and requested time.
func TestLawsOfEstimates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyModel(t)
		sets := map[string]*estimate.Set{}
		for _, spec := range []string{
			"requested", "accurate", "mix:0.25", "selective", "user", "project", "combined",
			"tsafrir",
		} {
			sets[spec] = made(t, m.settings(spec), estimate.NewHistory(m.bound))
		}
		for range rapid.IntRange(0, 60).Draw(t, "jobs that ended") {
			e := anyEnded(t, 0)
			for _, set := range sets {
				set.Learn(e)
			}
		}
		j := anyJob(t)
		j.Actual = anyTime(t, "actual", 0, 1<<40)
		for spec, set := range sets {
			uses := set.Estimate(&j, 0)
			for _, use := range []backfill.Time{uses.Order, uses.Backfill, uses.Running} {
				require.True(t, 1 <= use && use <= j.Requested, "%s: %d of %d", spec, use, j.Requested)
			}
			require.Equal(t, uses, set.Estimate(&j, 0), "%s: asking changes nothing", spec)
		}
		user, project, combined := sets["user"].Estimate(&j, 0).Order, sets["project"].Estimate(&j, 0).Order,
			sets["combined"].Estimate(&j, 0).Order
		require.True(t, min(user, project) <= combined && combined <= max(user, project))
		require.Equal(t, estimate.Uses{Order: combined, Backfill: combined, Running: j.Requested},
			sets["selective"].Estimate(&j, 0))
		mix, actual := sets["mix:0.25"].Estimate(&j, 0).Order, sets["accurate"].Estimate(&j, 0).Order
		require.True(t, actual <= mix && mix <= j.Requested)
	})
}

// TestHistoryIsAllThatIsKnown checks that estimates follow from the history alone. Three sets must
// agree: one that has learned from all jobs itself, one that took over the history of another
// estimator, and one whose history was written and read.
func TestHistoryIsAllThatIsKnown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := anyModel(t)
		before, after := rapid.SampledFrom(learned).Draw(t, "before"), rapid.SampledFrom(learned).Draw(t, "after")
		first := made(t, m.settings(before), estimate.NewHistory(m.bound))
		all := made(t, m.settings(after), estimate.NewHistory(m.bound))
		for range rapid.IntRange(0, 80).Draw(t, "before") {
			e := anyEnded(t, 0)
			first.Learn(e)
			all.Learn(e)
			first.Estimate(&e.Job, 0)
		}
		written := text(t, first.History())
		read, err := estimate.ReadHistory(bytes.NewReader(written), "state", m.bound)
		require.NoError(t, err)
		require.Equal(t, string(written), string(text(t, read)))

		sets := []*estimate.Set{all, made(t, m.settings(after), first.History()), made(t, m.settings(after), read)}
		for range rapid.IntRange(0, 80).Draw(t, "after") {
			e := anyEnded(t, 100)
			for _, set := range sets {
				set.Learn(e)
				require.Equal(t, all.Estimate(&e.Job, 0), set.Estimate(&e.Job, 0))
			}
		}
		for _, set := range sets {
			require.LessOrEqual(t, set.History().Len(), m.bound)
			require.Equal(t, string(text(t, all.History())), string(text(t, set.History())))
		}
	})
}

func text(t require.TestingT, h *estimate.History) []byte {
	var b bytes.Buffer
	require.NoError(t, h.Write(&b))
	return b.Bytes()
}
