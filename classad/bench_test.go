package classad_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/classadtest"
)

const slotAd = `[ Name = "slot1@node7"; Arch = "X86_64"; OpSys = "LINUX"; Cpus = 16; Memory = 64000; Disk = 100000000;
	GPUs = 0; KFlops = 1000000; LoadAvg = 0.5; State = "Unclaimed"; Activity = "Idle"; HasFileTransfer = true;
	FileSystemDomain = "cluster"; UidDomain = "cluster"; KeyboardIdle = 10000;
	Requirements = START && (WithinResourceLimits);
	START = TARGET.Owner isnt "mallory" && (TARGET.NumJobStarts < 5 || TARGET.NumJobStarts is undefined);
	WithinResourceLimits = TARGET.RequestCpus <= MY.Cpus && TARGET.RequestMemory <= MY.Memory &&
		TARGET.RequestDisk <= MY.Disk; Rank = 0.0 ]`

const jobAd = `[ Owner = "ann"; ClusterId = 7; ProcId = 0; RequestCpus = 4; DiskUsage = 43; ImageSize = 43;
	RequestDisk = DiskUsage;
	RequestMemory = ifThenElse(MemoryUsage isnt undefined, MemoryUsage, (ImageSize + 1023) / 1024);
	FileSystemDomain = "elsewhere"; Rank = TARGET.KFlops;
	Requirements = (TARGET.Arch == "X86_64") && (TARGET.OpSys == "LINUX") && (TARGET.Disk >= RequestDisk) &&
		(TARGET.Memory >= RequestMemory) && (TARGET.Cpus >= RequestCpus) &&
		((TARGET.FileSystemDomain == MY.FileSystemDomain) || (TARGET.HasFileTransfer)) ]`

func parseAd(tb testing.TB, text string) *classad.ClassAd {
	tb.Helper()
	ad, err := classad.Parse(text)
	require.NoError(tb, err)
	return ad
}

func BenchmarkParseAd(b *testing.B) {
	for name, parse := range map[string]func(string) (*classad.ClassAd, error){
		"brackets": classad.Parse, "lines": classad.ParseOld,
	} {
		b.Run(name, func(b *testing.B) {
			text := slotAd
			if name == "lines" {
				text = parseAd(b, slotAd).Format(classad.Lines)
			}
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_, err := parse(text)
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	job, slot := parseAd(b, jobAd), parseAd(b, slotAd)
	require.True(b, classad.Match(job, slot))
	b.ReportAllocs()
	for b.Loop() {
		classad.Match(job, slot)
	}
}

func BenchmarkEval(b *testing.B) {
	scope := classad.Scope{My: parseAd(b, jobAd), Target: parseAd(b, slotAd)}
	for _, text := range []string{
		`1 + 2 * 3`,
		`ImageSize`,
		`TARGET.Memory >= RequestMemory && TARGET.Arch == "X86_64"`,
		`stringListMember("linux", "windows, linux")`,
	} {
		b.Run(text, func(b *testing.B) {
			e := classad.MustParseExpr(text)
			b.ReportAllocs()
			for b.Loop() {
				e.Eval(scope)
			}
		})
	}
}

// TestPool matches real ads in bulk and compares the numbers with those of the reference.
func TestPool(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: 400,000 matches of pool ads take seconds")
	}
	p := pool(t)
	for name, parse := range map[string]func() ([]*classad.ClassAd, error){
		"lines":    p.ParseLines,
		"brackets": p.ParseBrackets,
	} {
		slots, err := parse()
		require.NoError(t, err)
		pairs, err := p.Check(slots)
		require.NoError(t, err, name)
		t.Logf("%s: %d pairs agree", name, pairs)
	}
}

func BenchmarkPool(b *testing.B) { benchmarkPool(b, pool(b)) }

// BenchmarkSynthetic has the same rows as BenchmarkPool, for generated ads.
func BenchmarkSynthetic(b *testing.B) { benchmarkPool(b, classadtest.Synthetic(1, 250)) }

func benchmarkPool(b *testing.B, p *classadtest.Pool) {
	b.Helper()
	slots, err := p.ParseLines()
	require.NoError(b, err)
	bytes := classadtest.Bytes(p.Lines)
	parse := func(f func() ([]*classad.ClassAd, error)) func(*testing.B) {
		return func(b *testing.B) {
			b.Helper()
			b.SetBytes(int64(bytes))
			for b.Loop() {
				_, err := f()
				require.NoError(b, err)
			}
		}
	}
	b.Run("parse/lines", parse(p.ParseLines))
	b.Run("parse/brackets", parse(p.ParseBrackets))
	for name, style := range map[string]classad.Style{"unparse": classad.Brackets, "unparse/lines": classad.Lines} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(bytes))
			for b.Loop() {
				for _, slot := range slots {
					_ = slot.Format(style)
				}
			}
		})
	}
	pairs := func(do func(job, slot *classad.ClassAd)) func(*testing.B) {
		return func(b *testing.B) {
			b.Helper()
			for b.Loop() {
				for _, job := range p.Jobs {
					for _, slot := range slots {
						do(job, slot)
					}
				}
			}
			n := float64(b.N * len(p.Jobs) * len(slots))
			b.ReportMetric(b.Elapsed().Seconds()*1e9/n, "ns/pair")
		}
	}
	b.Run("match", pairs(func(job, slot *classad.ClassAd) { classad.Match(job, slot) }))
	b.Run("rank", pairs(func(job, slot *classad.ClassAd) { classad.Rank(job, slot) }))
	for i, e := range p.Exprs {
		b.Run(fmt.Sprintf("expr/%02d", i), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				e.Eval(p.Scope(slots))
			}
		})
	}
}

// The generated pool is always the same, has matches, and both forms of its ads are equivalent.
func TestSyntheticPool(t *testing.T) {
	p, again := classadtest.Synthetic(1, 10), classadtest.Synthetic(1, 10)
	require.Equal(t, p.Lines, again.Lines)
	require.NotEqual(t, p.Lines, classadtest.Synthetic(2, 10).Lines)
	lines, err := p.ParseLines()
	require.NoError(t, err)
	brackets, err := p.ParseBrackets()
	require.NoError(t, err)
	matches := 0
	for i, slot := range lines {
		require.Equal(t, slot.String(), brackets[i].String())
		for _, job := range p.Jobs {
			if classad.Match(job, slot) {
				matches++
			}
		}
	}
	require.Positive(t, matches)
	require.Less(t, matches, len(lines)*len(p.Jobs)/2)
	for i, e := range p.Exprs {
		require.NotEqual(t, classad.Error, e.Eval(p.Scope(lines)).Kind(), p.Texts[i])
	}
}

func pool(tb testing.TB) *classadtest.Pool {
	tb.Helper()
	p, err := classadtest.ReadPool("../../shared/classad-bench")
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skipf("skipped: the pool's ads are not here (%v)", err)
	}
	require.NoError(tb, err)
	return p
}
