package delay

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// places returns those of the first n places at which Here sleeps.
func places(setting string, n uint64) (sleeping []uint64) {
	d := parse(setting)
	for place := range n {
		if hash(d.seed^place) < d.below {
			sleeping = append(sleeping, place)
		}
	}
	return sleeping
}

func TestPlacesFollowFromTheSeed(t *testing.T) {
	seven := places("7/25", 10_000)
	require.Equal(t, seven, places("7/25", 10_000))
	require.NotEqual(t, seven, places("8/25", 10_000))
	require.InDelta(t, 400, len(seven), 60)
	require.Len(t, places("7/1", 10_000), 10_000)
	for _, off := range []string{"", "7", "7/0", "seven/25", "7/-1"} {
		require.Empty(t, places(off, 10_000), off)
	}
}

func TestHalfOfTheVisitsSleepForAShortTime(t *testing.T) {
	sleeping := 0
	for visit := range uint64(1000) {
		if pause := pauseAt(7, visit); pause > 0 {
			require.GreaterOrEqual(t, pause, 5*time.Millisecond)
			require.Less(t, pause, 65*time.Millisecond)
			sleeping++
		}
	}
	require.InDelta(t, 500, sleeping, 80)
}

func TestALoopGetsOn(t *testing.T) {
	everywhere(t)
	began := time.Now()
	for range 10_000_000 {
		Here(42)
	}
	took := time.Since(began)
	require.Greater(t, took, 200*time.Millisecond)
	require.LessOrEqual(t, here.visits[42], byte(visited))
}

func TestDelaysTakeNoTimeOfAMadeUpClock(t *testing.T) {
	everywhere(t)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		go time.Sleep(time.Millisecond)
		for range visited {
			Here(7)
		}
		require.Zero(t, time.Since(began))
		time.Sleep(time.Millisecond) // the bubble ends when everything in it has ended
	})
}

// everywhere makes every place sleep during a test.
func everywhere(t *testing.T) {
	t.Helper()
	before := here
	here = parse("7/1")
	t.Cleanup(func() { here = before })
}
