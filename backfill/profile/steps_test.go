package profile

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// array is a step function as an array: its value in each second, from zero on.
type array []int64

func (a array) add(from, to Time, amount int64) {
	for t := from; t < min(to, Time(len(a))); t++ {
		a[t] += amount
	}
}

func (a array) find(from Time, holds func(int64) bool) (Time, bool) {
	for t := from; int(t) < len(a); t++ {
		if holds(a[t]) {
			return t, true
		}
	}
	return 0, false
}

// TestStepsAreAnArray checks that large step functions and arrays have the same values after the
// same changes. Copies are made on the way; a change of one must not show in another.
func TestStepsAreAnArray(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		length := rapid.SampledFrom([]int{40, 400, 5000}).Draw(t, "length")
		instant := func() Time { return Time(random.IntN(length)) }
		type side struct {
			steps steps
			owner *owner
			array array
			spans [][3]int64
		}
		sides := []*side{{owner: new(owner), array: make(array, length)}}
		past := Time(0)
		for range rapid.IntRange(1, max(400, length)).Draw(t, "operations") {
			s := sides[random.IntN(len(sides))]
			switch op := random.IntN(200); {
			case op < 120 || len(s.spans) == 0 && op < 197:
				from, to := max(past, instant()), max(past, instant())
				if random.IntN(10) == 0 {
					to = Forever
				}
				if from < to {
					amount := int64(random.IntN(9)) - 4
					s.steps.add(s.owner, from, to, amount)
					s.array.add(from, to, amount)
					s.spans = append(s.spans, [3]int64{int64(from), int64(to), amount})
				}
			case op < 197:
				i := random.IntN(len(s.spans))
				span := s.spans[i]
				s.spans = append(s.spans[:i], s.spans[i+1:]...)
				from := max(past, Time(span[0]))
				if from < Time(span[1]) {
					s.steps.add(s.owner, from, Time(span[1]), -span[2])
					s.array.add(from, Time(span[1]), -span[2])
				}
			case op == 197 && len(sides) < 4:
				c := *s
				s.owner, c.owner = new(owner), new(owner)
				c.array = slices.Clone(s.array)
				c.spans = append([][3]int64(nil), s.spans...)
				sides = append(sides, &c)
			case op == 198:
				past = min(past+Time(random.IntN(20)), Time(length/2))
				for _, s := range sides {
					s.steps.forget(s.owner, past)
				}
			}
			s = sides[random.IntN(len(sides))]
			from := max(past, instant())
			compareSteps(t, &s.steps, s.array, from, from+1+Time(random.IntN(60)), int64(random.IntN(41))-20)
		}
		for _, s := range sides {
			for at := past; int(at) < len(s.array); at++ {
				require.Equal(t, s.array[at], s.steps.value(at))
			}
		}
	})
}

// compareSteps compares the answers of a step function and an array to every kind of question.
func compareSteps(t require.TestingT, s *steps, a array, from, to Time, need int64) {
	lowest := a[from]
	for t := from; t < min(to, Time(len(a))); t++ {
		lowest = min(lowest, a[t])
	}
	require.Equal(t, lowest, s.min(from, min(to, Time(len(a)))))
	want, ok := a.find(from, func(v int64) bool { return v < need })
	got, found := s.firstBelow(from, need)
	require.Equal(t, ok, found)
	require.Equal(t, want, got)
	compareLast(t, s, a[:min(int(to), len(a))], from, need)
	if a[from] >= need {
		return
	}
	want, ok = a.find(from, func(v int64) bool { return v >= need })
	got, found = s.nextAtLeast(from, need)
	require.Equal(t, ok, found)
	require.Equal(t, want, got)
}

// compareLast checks that lastBelow finds the last stretch of an array, from an instant on, that is
// below need.
func compareLast(t require.TestingT, s *steps, a array, from Time, need int64) {
	got, again, found := s.lastBelow(from, Time(len(a)), need)
	_, want := a.find(from, func(v int64) bool { return v < need })
	require.Equal(t, want, found)
	if !found {
		return
	}
	require.GreaterOrEqual(t, got, from)
	require.Less(t, a[got], need)
	end, ends := a.find(got, func(v int64) bool { return v >= need })
	require.Equal(t, ends, again < Forever, "the stretch ends before the array does")
	if ends {
		require.Equal(t, end, again)
		_, again := a.find(end, func(v int64) bool { return v < need })
		require.False(t, again)
	}
}
