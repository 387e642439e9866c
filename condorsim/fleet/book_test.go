package fleet

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// In any order of events, of whichever jobs, also of clusters that were given up: a task is finished or
// comes to nothing only while a job stands for it, and once for each job; and each task is in one place.
func TestAnyOrderOfEvents(t *testing.T) {
	kinds := []int{
		submits, executes, evicted, terminated, shadowFailed, aborted, held, released, disconnected,
		lostTouch, clusterGone, paused, resumed, 6, 28, 40,
	}
	rapid.Check(t, func(t *rapid.T) {
		const n = 4
		b := newBook([]int{10, 11, 12, 13})
		var all []*submission
		open := map[int]bool{} // a job stands for the task, of which nothing was said
		done := map[int]int{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			var again []int
			for number, place := range b.at {
				if place == ending {
					again = append(again, number)
				}
			}
			if len(again) > 0 && rapid.Bool().Draw(t, "submit") {
				s := &submission{N: len(all), Cluster: len(all) + 1, Tasks: append(again, 99)}
				all = append(all, s)
				b.submitted(s)
				for _, number := range again {
					open[number] = true
				}
			}
			if len(all) == 0 {
				continue
			}
			s := rapid.SampledFrom(all).Draw(t, "cluster")
			e := event{
				kind: rapid.SampledFrom(kinds).Draw(t, "kind"), cluster: s.Cluster, code: rapid.IntRange(1, 2).Draw(t, "code"),
				proc: rapid.IntRange(-1, n+1).Draw(t, "proc"),
			}
			for _, told := range b.apply(s, e) {
				require.Contains(t, b.at, told.task)
				switch told.what {
				case finished, cameToNothing:
					require.True(t, open[told.task], "nothing stands for %d", told.task)
					open[told.task] = false
					require.Equal(t, ending, b.at[told.task])
					if told.what == finished {
						require.True(t, b.settle(told.task))
						done[told.task]++
					}
				default:
					require.True(t, open[told.task])
				}
			}
			c := b.counts()
			require.Equal(t, n, c.Waiting+c.Running+c.Held+c.Done)
			require.Equal(t, len(done), c.Done)
		}
		for number, times := range done {
			require.Equal(t, 1, times, number)
		}
	})
}
