package profileevents

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// instants are the starts and ends in the profile, ascending.
type instants []backfill.Time

// before is how many there are before t.
func (s instants) before(t backfill.Time) int {
	i, _ := slices.BinarySearch(s, t)
	return i
}

func (s *instants) add(t backfill.Time) { *s = slices.Insert(*s, s.before(t), t) }

func (s *instants) remove(t backfill.Time) {
	i := s.before(t)
	*s = slices.Delete(*s, i, i+1)
}

// advance puts one of them earlier.
func (s instants) advance(from, to backfill.Time) {
	i, k := s.before(to), s.before(from)
	copy(s[i+1:k+1], s[i:k])
	s[i] = to
}
