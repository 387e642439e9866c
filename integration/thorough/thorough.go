// Package thorough says how much tests try. By default they try what finds nearly every fault, so
// that all tests together take little time. With the flag -thorough, which importing this package
// adds to a test binary, they try all, and with -from S on random cases that are not the usual ones: the
// search for faults (.ci/soak) sets both.
package thorough

import (
	"flag"
	"iter"
	"os"
	"strconv"
)

//nolint:gochecknoglobals // flags of the test binary
var (
	flagged = flag.Bool("thorough", false, "try all cases where by default some stand for all")
	from    = flag.Uint64("from", 0, "the least seed of random cases, to try others than always")
)

// On reports whether to try all.
func On() bool { return *flagged }

// Cases returns how many cases to try: quick by default, all with -thorough.
func Cases[N int | uint64](quick, all N) N {
	if On() {
		return all
	}
	return quick
}

// Properties sets how many cases are tried of each property of a package, unless RAPID_CHECKS or
// -rapid.checks does. The package's tests call it in an init function.
func Properties(quick int) {
	if os.Getenv("RAPID_CHECKS") != "" {
		return
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(quick)); err != nil {
		panic(err) // the package has no properties
	}
}

// Seeds returns the seeds of as many random cases as Cases does. They are the same each time, from 0 on;
// with the flag -from they are others.
func Seeds(quick, all uint64) iter.Seq[uint64] { return Share(0, quick, all) }

// Share returns some of the seeds of all cases, for a test that tries several policies, or orders, on
// the same cases: by default each has the cases of its turn, so that all cases are tried, but not by
// everyone.
func Share(turn int, quick, all uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for i := range Cases(quick, all) {
			if !yield(*from + (uint64(turn)*quick+i)%all) { //nolint:gosec // turns count from 0
				return
			}
		}
	}
}
