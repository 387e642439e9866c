package negotiator

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// BenchmarkPilotsEnd is 2,000 pilots with different ends and 20,000 jobs of 100 kinds and many lengths:
// the first cycle, and the next ones, in which ten jobs end and ten pilots come for ten that have ended.
func BenchmarkPilotsEnd(b *testing.B) {
	for _, policy := range []string{"easy", "slack"} {
		b.Run(policy, func(b *testing.B) {
			for b.Loop() {
				first, next := pilotsEnd(b, policy)
				b.ReportMetric(first.Seconds(), "s/first")
				b.ReportMetric(next.Seconds(), "s/next")
			}
		})
	}
}

// BenchmarkAllEndsMove is 4,000 pilots, 20,000 jobs, a tenth of them without an estimate of their own, and 5,000
// that fit no pilot: the cycle in which the ends of all pilots come earlier, and the one in which all come
// later again, in processor time.
func BenchmarkAllEndsMove(b *testing.B) {
	for _, policy := range []string{"easy", "slack"} {
		b.Run(policy, func(b *testing.B) {
			for b.Loop() {
				earlier, later := allEndsMove(b, policy)
				b.ReportMetric(earlier.Seconds(), "s/earlier")
				b.ReportMetric(later.Seconds(), "s/later")
			}
		})
	}
}

// allEndsMove returns how long the cycles take in which all ends come earlier, and later again.
func allEndsMove(b *testing.B, policy string) (earlier, later time.Duration) {
	b.Helper()
	const pilots, jobs, misfits = 4000, 20_000, 5000
	c := Config{Policy: linked(b, policy), Fallback: linked(b, map[string]string{"easy": "easy", "slack": "conservative"}[policy])}
	c.Planning = backfill.Planning{Depth: 10_000, Horizon: 90, Reorder: true}
	c.DefaultEstimate = 30_000
	c.Schema = DefaultSchema()
	c.Schema.Resources = []string{"cpus", "memory"}
	n, wrong := New(c)
	require.NoError(b, wrong)
	ends := func(now, earlier backfill.Time) Delta {
		d := Delta{Now: now}
		for i := range pilots {
			ad, err := classad.ParseOld(fmt.Sprintf("Name = \"p%d\"\nCpus = 8\nMemory = 16000\nRequirements = true", i))
			require.NoError(b, err)
			s, err := c.Schema.SlotFromAd(ad)
			require.NoError(b, err)
			s.End = 80_000 + 37*backfill.Time(i%4000) - earlier
			d.SlotsUp = append(d.SlotsUp, s)
		}
		return d
	}
	d := ends(1, 0)
	for i := range jobs + misfits {
		memory := 1000 + i%100
		if i >= jobs {
			memory = 20_000
		}
		text := fmt.Sprintf("ClusterId = %d\nProcId = 0\nQDate = 0\nRequestCpus = %d\nRequestMemory = %d\n"+
			"Requirements = TARGET.Memory >= RequestMemory", i+1, 1+i%4, memory)
		if i%10 != 0 {
			text += fmt.Sprintf("\nEstimatedRunTime = %d", 600+97*(i%700))
		}
		ad, err := classad.ParseOld(text)
		require.NoError(b, err)
		j, err := c.Schema.JobFromAd(backfill.JobID(i), ad)
		require.NoError(b, err)
		d.Submitted = append(d.Submitted, j)
	}
	_, err := n.RunCycle(b.Context(), d)
	require.NoError(b, err)
	used := func() time.Duration {
		var u syscall.Rusage
		require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	cycle := func(d Delta) time.Duration {
		began := used()
		_, err := n.RunCycle(b.Context(), d)
		require.NoError(b, err)
		return used() - began
	}
	return cycle(ends(2, 3000)), cycle(ends(3, 0))
}

// pilotsEnd returns how long the first cycle takes, and the next ones on average.
func pilotsEnd(b *testing.B, policy string) (first, next time.Duration) {
	b.Helper()
	const pilots, jobs, cycles = 2000, 20_000, 10
	c := Config{Policy: linked(b, policy), Fallback: linked(b, map[string]string{"easy": "easy", "slack": "conservative"}[policy])}
	c.Planning = backfill.Planning{Depth: 10_000, Horizon: 90, Reorder: true}
	c.Schema = DefaultSchema()
	c.Schema.Resources = []string{"cpus", "memory"}
	n, wrong := New(c)
	require.NoError(b, wrong)
	pilot := func(i int) *Slot {
		ad, err := classad.ParseOld(fmt.Sprintf("Name = \"p%d\"\nCpus = 8\nMemory = 16000\nGLIDEIN_ToDie = %d\n"+
			"Requirements = CurrentTime < GLIDEIN_ToDie - 600", i, 10_000+37*(i%4000)))
		require.NoError(b, err)
		s, err := c.Schema.SlotFromAd(ad)
		require.NoError(b, err)
		s.End = backfill.Time(c.Schema.EndOf(s.Ad, 1, nil))
		return s
	}
	d := Delta{Now: 1}
	for i := range pilots {
		d.SlotsUp = append(d.SlotsUp, pilot(i))
	}
	for i := range jobs {
		ad, err := classad.ParseOld(fmt.Sprintf("ClusterId = %d\nProcId = 0\nQDate = 0\nRequestCpus = %d\nRequestMemory = %d\n"+
			"Requirements = TARGET.Memory >= RequestMemory\nEstimatedRunTime = %d", i+1, 1+i%4, 1000+i%100, 600+97*(i%700)))
		require.NoError(b, err)
		j, err := c.Schema.JobFromAd(backfill.JobID(i), ad)
		require.NoError(b, err)
		d.Submitted = append(d.Submitted, j)
	}
	began := b.Elapsed()
	r, err := n.RunCycle(b.Context(), d)
	require.NoError(b, err)
	first = b.Elapsed() - began
	var running []backfill.JobID
	for _, m := range r.Matches {
		running = append(running, m.Job.ID)
	}
	require.Greater(b, len(running), 1000)
	began = b.Elapsed()
	for k := range cycles {
		d := Delta{Now: backfill.Time(2 + k), Completed: running[10*k : 10*k+10]}
		for i := range 10 {
			d.SlotsUp = append(d.SlotsUp, pilot(pilots+10*k+i))
		}
		_, err = n.RunCycle(b.Context(), d)
		require.NoError(b, err)
	}
	return first, (b.Elapsed() - began) / cycles
}
