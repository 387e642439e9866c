package classad_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
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
				text = parseAd(b, slotAd).Long()
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
		t.Skip("skipped: 200,000 matches of pool ads take seconds")
	}
	jobs, slots := poolAds(t, "jobs.long.gz"), poolAds(t, "slots.new.gz")
	f, err := os.Open(filepath.Join(pool, "expected.jsonl"))
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	lines := bufio.NewScanner(f)
	checked := 0
	for lines.Scan() {
		var want struct {
			Job     *int
			Matches int
			JobSum  float64 `json:"job_rank_sum"`
			SlotSum float64 `json:"slot_rank_sum"`
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &want))
		if want.Job == nil {
			continue
		}
		job, matches, jobSum, slotSum := jobs[*want.Job], 0, 0.0, 0.0
		for _, slot := range slots {
			if classad.Match(job, slot) {
				matches++
				jobSum += classad.Rank(job, slot)
				slotSum += classad.Rank(slot, job)
			}
		}
		require.Equal(t, want.Matches, matches, "job %d", *want.Job)
		require.InDelta(t, want.JobSum, jobSum, 1e-6*(1+math.Abs(want.JobSum)), "job %d", *want.Job)
		require.InDelta(t, want.SlotSum, slotSum, 1e-6*(1+math.Abs(want.SlotSum)), "job %d", *want.Job)
		checked++
	}
	require.NoError(t, lines.Err())
	require.Len(t, jobs, checked)
	t.Logf("%d jobs against %d slots agree", checked, len(slots))
}

func BenchmarkPoolMatch(b *testing.B) {
	jobs, slots := poolAds(b, "jobs.long.gz"), poolAds(b, "slots.new.gz")
	for i := 0; b.Loop(); i++ {
		classad.Match(jobs[i%len(jobs)], slots[i/len(jobs)%len(slots)])
	}
}

const pool = "../../shared/classad-bench"

func poolAds(tb testing.TB, name string) []*classad.ClassAd {
	tb.Helper()
	f, err := os.Open(filepath.Join(pool, name))
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skipf("skipped: the pool's ads in %s are not here (%v)", name, err)
	}
	require.NoError(tb, err)
	defer func() { require.NoError(tb, f.Close()) }()
	r, err := gzip.NewReader(f)
	require.NoError(tb, err)
	var ads []*classad.ClassAd
	for ad, err := range classad.ReadAds(r, name) {
		require.NoError(tb, err)
		ads = append(ads, ad)
	}
	return ads
}
