package backfill

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawLine draws a line of one kind, of few slopes, so that many cross or are the same.
func drawLine(t *rapid.T, kind curveKind, submit Time) *line {
	c := Curve{
		kind: kind, submit: submit, estimate: Time(rapid.SampledFrom([]int{1, 3, 60, 100, 300, 86_400}).Draw(t, "estimate")),
		scale: rapid.SampledFrom([]float64{1, 0.9, 1.01}).Draw(t, "scale"),
	}
	if kind == cube {
		c.width, c.again = float64(rapid.IntRange(0, 30).Draw(t, "width")), 1
	}
	return newLine(c)
}

// TestLeaders lists jobs of which the keys move, takes some away, gives some other lines, copies the
// list and goes back in time, and compares what it finds with all jobs sorted by their keys.
func TestLeaders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.SampledFrom([]curveKind{expansion, cube}).Draw(t, "kind")
		type copied struct {
			list  leaders
			owner *owner
			jobs  []mover
		}
		all := []*copied{{owner: new(owner)}}
		now := Time(1000)
		length := rapid.Map(rapid.IntRange(1, 40), func(n int) Time { return Time(n) })
		for id := range JobID(rapid.IntRange(1, 400).Draw(t, "steps")) {
			c := rapid.SampledFrom(all).Draw(t, "copy")
			switch n := len(c.jobs); rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				now += Time(rapid.SampledFrom([]int{1, 1, 2, 50, 10_000, -30}).Draw(t, "passes"))
			case 1:
				if n > 0 {
					i := rapid.IntRange(0, n-1).Draw(t, "gone")
					require.True(t, c.list.remove(c.owner, c.jobs[i].job, c.jobs[i].length))
					require.False(t, c.list.remove(c.owner, c.jobs[i].job, c.jobs[i].length))
					c.jobs = slices.Delete(c.jobs, i, i+1)
				}
			case 2:
				if n > 0 {
					m := &c.jobs[rapid.IntRange(0, n-1).Draw(t, "turned")]
					m.line = drawLine(t, kind, m.job.Submit)
					c.list.set(c.owner, *m, now)
				}
			case 3:
				if len(all) < 3 {
					c.owner = new(owner)
					twin := &copied{c.list, new(owner), slices.Clone(c.jobs)}
					twin.list.packs = slices.Clone(twin.list.packs)
					all = append(all, twin)
				}
			default:
				submit := max(0, now-Time(rapid.SampledFrom([]int{-5, 0, 0, 1, 70, 500}).Draw(t, "waited")))
				m := newMover(&Job{ID: id, Submit: submit}, drawLine(t, kind, submit), length.Draw(t, "length"))
				c.jobs = append(c.jobs, m)
				c.list.set(c.owner, m, now)
			}
			limit := length.Draw(t, "limit")
			want := []listed{}
			for i := range c.jobs {
				if c.jobs[i].length < limit {
					want = append(want, c.jobs[i].listed(now))
				}
			}
			slices.SortFunc(want, func(a, b listed) int { return a.compare(&b.queued) })
			require.Equal(t, len(c.jobs), c.list.size)
			var behind *queued
			for i := range min(3, len(want)) {
				got, found := c.list.next(c.owner, now, behind, limit)
				require.True(t, found)
				require.Equal(t, want[i], got)
				behind = &got.queued
			}
			if len(want) > 0 {
				_, found := c.list.next(c.owner, now, &want[len(want)-1].queued, limit)
				require.False(t, found)
			}
		}
	})
}

// TestAhead compares until when a job surely stays before another one with the keys of later instants.
func TestAhead(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	estimates, scales := []Time{1, 3, 60, 100, 300, 86_400}, []float64{1, 0.9, 1.01}
	ends := 0
	for i := range 20_000 {
		draw := func() (*Job, *line) {
			j := &Job{ID: JobID(random.IntN(9)), Submit: Time(random.IntN(1000))}
			return j, newLine(Curve{
				kind: expansion + curveKind(i%2), submit: j.Submit, estimate: estimates[random.IntN(len(estimates))],
				width: float64(random.IntN(30)), again: 1, scale: scales[random.IntN(len(scales))],
			})
		}
		a, first := draw()
		b, second := draw()
		before := func(now Time) bool {
			p, q := queued{first.Key(now), a}, queued{second.Key(now), b}
			return p.compare(&q) < 0
		}
		now := Time(random.IntN(1000))
		if !before(now) {
			continue
		}
		until := first.ahead(second, now)
		require.Greater(t, until, now)
		for _, later := range []Time{now + 1, now + 7, now + 1000, now + 1e6, now + 1e9, until - 2, until - 1} {
			if later >= now && later < min(until, 1<<40) {
				require.True(t, before(later), "%+v before %+v from %d until %d, at %d", first, second, now, until, later)
			}
		}
		if until > now+1 && until < Forever && !before(until+1) {
			ends++
		}
	}
	require.Greater(t, ends, 100, "of so many it is known to a second when they end to be first")
}

// TestLooksSeldom checks that a leader is not looked for again at each instant: what a long queue costs is
// when lines cross.
func TestLooksSeldom(t *testing.T) {
	var l leaders
	o := new(owner)
	for id := range JobID(packMost) {
		submit := Time(id)
		c := Curve{kind: cube, submit: submit, estimate: 100 + Time(id)*7, width: 4, again: 1, scale: 1}
		l.set(o, newMover(&Job{ID: id, Submit: submit}, newLine(c), 1), 100)
	}
	looks, from := 0, Time(math.MinInt64)
	for now := Time(1000); now < 101_000; now++ {
		l.next(o, now, nil, 2)
		if l.packs[0].from != from {
			looks, from = looks+1, l.packs[0].from
		}
	}
	require.Less(t, looks, 200)
}
