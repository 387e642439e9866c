package observe

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// TestMoreThanThereIsRoomFor says that a schedd whose answer has more bytes than can be kept and
// skipped is read less and less often until an answer is within the bound, that others are read
// meanwhile, and that what is known of its jobs stands.
func TestMoreThanThereIsRoomFor(t *testing.T) {
	p := newSite(t, "s@test", "t@test")
	p.most = 1 << 20
	runs := job("JobStatus = 2\nRemoteHost = \"slot1@n\"\n")
	jobs := []string{runs}
	for i := range 200 {
		jobs = append(jobs, job(fmt.Sprintf("ProcId = %d\nRequirements = MY.Environment =!= 1\nEnvironment = \"%d%s\"\n", i+1, i,
			strings.Repeat("e", 4000))))
	}
	for range 2 { // the second time it rests no longer than the first
		p.schedds[0].SetJobs(runs)
		require.True(t, p.see().Schedds["s@test"].Read)
		p.schedds[0].SetJobs(jobs...)
		for i, rest := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, maxRest, maxRest} {
			look := p.see()
			s := look.Schedds["s@test"]
			require.ErrorIs(t, s.Failed, cedar.ErrTooMuch)
			require.ErrorContains(t, s.Failed, "it is left alone for "+rest.String())
			require.Contains(t, fmt.Sprint(look.Problems), "it is left alone for "+rest.String())
			require.Len(t, s.Groups, 1)
			require.True(t, s.Groups[0].Runs())
			require.True(t, look.Schedds["t@test"].Read)
			require.Equal(t, i+1, p.Observer.schedds["s@test"].excesses)
			p.at = p.at.Add(rest - 2*time.Second)
			p.see()
			require.Equal(t, i+1, p.Observer.schedds["s@test"].excesses, "a second too early")
		}
	}
	require.Equal(t, 12, strings.Count(p.log.String(), "says more of its queue than there is room for"))
}

// TestALongQueueIsReadLessOften says that a schedd rests by the length of its answers, also if
// these are within all bounds.
func TestALongQueueIsReadLessOften(t *testing.T) {
	for text, rest := range map[int]time.Duration{freeText: 0, freeText + 9*textPerSecond: 9 * time.Second} {
		p := newSite(t, "s@test")
		p.schedds[0].SetJobs(job(""))
		p.see()
		s := p.Observer.schedds["s@test"]
		require.True(t, p.accept(s, reading{question: question{jobs: p.wantedJobs()}, text: text - s.text}))
		s.text = text
		require.True(t, p.see().Schedds["s@test"].Read, "it was charged at the end of the look")
		for range int(rest/time.Second) - 1 {
			look := p.see()
			require.False(t, look.Schedds["s@test"].Read)
			require.NoError(t, look.Schedds["s@test"].Failed)
			require.Len(t, look.Schedds["s@test"].Groups, 1)
			require.Equal(t, []string{"schedd s@test has a long queue: its jobs are read once in 9s"}, look.Problems)
		}
		require.True(t, p.see().Schedds["s@test"].Read)
	}
}

// TestDoubts says how many quick answers in a row it takes until looks wait again for a schedd that
// was late several times.
func TestDoubts(t *testing.T) {
	const hold = 5 * time.Second
	s := &schedd{reading: make(chan reading, 1)}
	up := make(chan struct{})
	close(up)
	for _, needed := range []int{1, 2, 4, 8, 16, 32, 32} {
		_, answered := s.answer(up, hold)
		require.False(t, answered)
		for i := range needed {
			require.True(t, s.lags, "%d of %d", i, needed)
			s.reading <- reading{took: time.Second}
			_, answered = s.answer(up, hold)
			require.True(t, answered)
		}
		require.False(t, s.lags)
	}
}
