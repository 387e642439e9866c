package observe

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// arrive has a schedd come that no look has seen; after how long it answers, or never.
func arrive(o *Observer, from sender, answers time.Duration) {
	name := fmt.Sprintf("s%d@test", len(o.schedds))
	s := &schedd{Schedd: Schedd{Name: name}, groups: map[string]*Group{}, keeper: keeper{sender: from}}
	s.reading, s.stop = make(chan reading, 1), func() {}
	o.schedds[name] = s
	if answers >= 0 {
		to := s.reading
		time.AfterFunc(answers, func() { to <- reading{question: question{jobs: o.wantedJobs()}, took: answers} })
	}
}

const never = -1

// hold returns how long a look waits for schedds.
func hold(t *testing.T, o *Observer) time.Duration {
	t.Helper()
	began := time.Now()
	o.hear(t.Context(), lookOf(1))
	return time.Since(began)
}

// TestInventedNewcomers says that schedds which are new in each look and never answer hold looks
// less and less, in all for two Holds and a 64th of one in each further look, while newcomers that
// the collector knows better are waited for as ever.
func TestInventedNewcomers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet()
		o.s.Hold = 6400 * time.Millisecond
		var all time.Duration
		for range 100 {
			for range 3 { // as many as there are, they are waited for together
				arrive(o, "", never)
			}
			all += hold(t, o)
		}
		require.LessOrEqual(t, all, 2*o.s.Hold+100*o.s.Hold/64)

		arrive(o, "mallory@unmapped", 2*o.s.Hold/64)
		require.Equal(t, o.s.Hold/64, hold(t, o), "it is nobody, too")
		arrive(o, "condor@family", o.s.Hold/2)
		require.Equal(t, o.s.Hold/2, hold(t, o))
		require.True(t, o.schedds[fmt.Sprintf("s%d@test", len(o.schedds)-1)].answered)
	})
}

// TestNewcomersThatAnswer says that newcomers are waited for longer again after looks in which all
// answered.
func TestNewcomersThatAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := quiet()
		o.s.Hold = 6400 * time.Millisecond
		for i := range 4 {
			arrive(o, "", never)
			require.Equal(t, o.s.Hold>>i, hold(t, o))
		}
		for range 4 {
			arrive(o, "", time.Millisecond)
			hold(t, o)
		}
		arrive(o, "", o.s.Hold-1)
		require.Equal(t, o.s.Hold-1, hold(t, o))
	})
}
