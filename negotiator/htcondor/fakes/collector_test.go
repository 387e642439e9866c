package fakes

import (
	"strconv"
	"testing"

	"github.com/condor-backfill/condor-backfill/classad"
)

// BenchmarkNote notes an update of one ad among few and among many: it takes as long.
func BenchmarkNote(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			c := NewCollector(b)
			ads := make([]*classad.ClassAd, n)
			for i := range ads {
				ads[i] = classad.New()
				ads[i].SetString("Name", "u"+strconv.Itoa(i))
			}
			c.SetAds("Accounting", ads...)
			for i := 0; b.Loop(); i++ {
				c.note(Update{Command: 77, Ad: ads[i%n]})
			}
		})
	}
}
