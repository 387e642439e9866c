package witness_test

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/witness"
)

func read(t require.TestingT, folder string) (jobs []witness.Job, looks []witness.Look, found witness.Found) {
	found, err := witness.Read(folder, func(l witness.Line) error {
		if l.Job != nil {
			jobs = append(jobs, *l.Job)
		}
		if l.Look != nil {
			looks = append(looks, *l.Look)
		}
		return nil
	})
	require.NoError(t, err)
	return jobs, looks, found
}

func open(t require.TestingT, folder string, most int64) *witness.Record {
	r, err := witness.Open(folder, most)
	require.NoError(t, err)
	return r
}

func files(t require.TestingT, folder string) []string {
	all, err := filepath.Glob(filepath.Join(folder, "observed-*.jsonl.gz"))
	require.NoError(t, err)
	slices.Sort(all)
	return all
}

func job(n int) witness.Job {
	return witness.Job{Job: fmt.Sprintf("%d.0", n), User: "alice", Chunks: 1, Cpus: 1, Submit: int64(n), Would: int64(n)}
}

// TestRecordOutlivesProcesses: what processes wrote one after the other is read in that order, and
// the pool counts as watched without a gap if the next one looks soon.
func TestRecordOutlivesProcesses(t *testing.T) {
	folder := t.TempDir()
	_, err := witness.Read(folder, nil)
	require.ErrorIs(t, err, witness.ErrNone)
	_, err = witness.Read(filepath.Join(folder, "none"), nil)
	require.ErrorIs(t, err, os.ErrNotExist)

	r := open(t, folder, 1<<20)
	since, fresh := r.Begin(witness.Look{At: 1000, Policy: "easy"})
	require.Equal(t, []int64{1000, 1000}, []int64{since, fresh})
	require.NoError(t, r.Add(job(1)))
	require.NoError(t, r.End())
	since, _ = r.Begin(witness.Look{At: 1005, Policy: "easy"})
	require.EqualValues(t, 1000, since)
	require.NoError(t, r.Add(job(2)))
	require.NoError(t, r.End())
	jobs, _, _ := read(t, folder)
	require.Equal(t, []witness.Job{job(1), job(2)}, jobs, "nothing waits that a process would forget which is killed")
	r.Begin(witness.Look{At: 1010, Policy: "easy"})
	require.NoError(t, r.End())
	_, looks, _ := read(t, folder)
	require.Len(t, looks, 2, "nothing is said of jobs")
	require.NoError(t, r.Close())

	r = open(t, folder, 1<<20)
	since, fresh = r.Begin(witness.Look{At: 1100, Policy: "slack"})
	require.Equal(t, []int64{1000, 1010 - witness.Gap}, []int64{since, fresh}, "a restart is no gap")
	require.NoError(t, r.Add(job(3)))
	require.NoError(t, r.Close())

	r = open(t, folder, 1<<20)
	since, fresh = r.Begin(witness.Look{At: 1101 + witness.Gap})
	require.EqualValues(t, 1101+witness.Gap, since)
	require.EqualValues(t, 1101+witness.Gap, fresh)
	since, _ = r.Begin(witness.Look{At: 1000 + 9*witness.Gap})
	require.EqualValues(t, 1000+9*witness.Gap, since, "it hung")
	require.NoError(t, r.Close())

	jobs, looks, found := read(t, folder)
	require.Equal(t, []witness.Job{job(1), job(2), job(3)}, jobs)
	require.Len(t, looks, 5)
	require.Equal(t, "slack", looks[3].Policy)
	require.Equal(t, 1, found.Files)
	require.Empty(t, found.Damaged)
	info, err := os.Stat(files(t, folder)[0])
	require.NoError(t, err)
	require.Equal(t, info.Size(), found.Bytes)
	require.EqualValues(t, 0o600, info.Mode().Perm())
}

// TestAnyPrefixIsRead: of a record that was cut off anywhere, all whole frames are read and nothing
// else; and a process that goes on with it appends to them.
func TestAnyPrefixIsRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		folder := t.TempDir()
		r := open(rt, folder, witness.Least)
		var ends []int64 // of frames
		var counts []int // of jobs up to there
		jobs := 0
		for i := range rapid.IntRange(1, 6).Draw(rt, "frames") {
			r.Begin(witness.Look{At: int64(1000 + 60*i)})
			for range rapid.IntRange(0, 3).Draw(rt, "jobs") {
				jobs++
				require.NoError(rt, r.Add(job(jobs)))
			}
			require.NoError(rt, r.End())
			_, _, found := read(rt, folder)
			ends, counts = append(ends, found.Bytes), append(counts, jobs)
		}
		file := files(rt, folder)[0]
		cut := rapid.Int64Range(0, ends[len(ends)-1]).Draw(rt, "cut") // as kill -9 leaves it
		require.NoError(rt, os.Truncate(file, cut))
		whole := 0
		for whole < len(ends) && ends[whole] <= cut {
			whole++
		}
		want := 0
		if whole > 0 {
			want = counts[whole-1]
		}
		got, looks, found := read(rt, folder)
		require.Len(rt, got, want)
		require.Len(rt, looks, whole)
		require.Empty(rt, found.Damaged)

		r = open(rt, folder, witness.Least)
		r.Begin(witness.Look{At: 5000})
		require.NoError(rt, r.Add(job(999)))
		require.NoError(rt, r.Close())
		got, looks, found = read(rt, folder)
		require.Len(rt, got, want+1)
		require.Equal(rt, job(999), got[want])
		require.Len(rt, looks, whole+1)
		require.Empty(rt, found.Damaged)
	})
}

// TestDamageCostsOneSegment: bytes that were changed are told, what is before them and the other
// segments are read, and a writer leaves them alone.
func TestDamageCostsOneSegment(t *testing.T) {
	folder := t.TempDir()
	r := open(t, folder, witness.Least)
	for i := range 3 {
		r.Begin(witness.Look{At: int64(1000 + 60*i)})
		require.NoError(t, r.Add(job(i)))
		require.NoError(t, r.End())
	}
	require.NoError(t, r.Close())
	file := files(t, folder)[0]
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	damaged := slices.Clone(text)
	damaged[len(text)/3+30] ^= 0x55
	require.NoError(t, os.WriteFile(file, damaged, 0o600))
	jobs, _, found := read(t, folder)
	require.Len(t, jobs, 1)
	require.Len(t, found.Damaged, 1)
	require.Regexp(t, `^observed-00000001\.jsonl\.gz: .*, from byte \d+ on$`, found.Damaged[0])

	r = open(t, folder, witness.Least)
	r.Begin(witness.Look{At: 2000})
	require.NoError(t, r.Add(job(7)))
	require.NoError(t, r.Close())
	require.Len(t, files(t, folder), 2)
	still, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, damaged, still)
	jobs, _, found = read(t, folder)
	require.Equal(t, []witness.Job{job(0), job(7)}, jobs)
	require.Len(t, found.Damaged, 1)

	require.NoError(t, os.WriteFile(file, []byte("no record at all"), 0o600))
	jobs, _, found = read(t, folder)
	require.Equal(t, []witness.Job{job(7)}, jobs)
	require.Len(t, found.Damaged, 1)
}

// TestTheOldestGoes: a record never takes more than its room, however long it is written, and keeps
// what is newest. A busy pool's week fits in what it takes by default.
func TestTheOldestGoes(t *testing.T) {
	folder := t.TempDir()
	const most = witness.Least
	r := open(t, folder, most)
	jobs, written := 25_000, int64(0)
	for i := range jobs {
		if i%100 == 0 {
			require.NoError(t, r.End())
			r.Begin(witness.Look{At: int64(1000 + i)})
		}
		started := witness.Job{
			Job: fmt.Sprintf("%d.%d", 1000+i/50, i%50), User: fmt.Sprintf("user%d@site.example", i*7%40), Chunks: 1,
			Cpus: int64(1 + i%8), Submit: int64(1_760_000_000 + i), Since: 1_750_000_000,
			Held: fmt.Sprintf("%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)})), // takes room
		}
		started.Would = started.Submit + int64(i*31%4000)
		require.NoError(t, r.Add(started))
		started.Start = started.Would + int64(i*17%900)
		require.NoError(t, r.Add(started))
		if i%1000 == 0 {
			size := int64(0)
			for _, file := range files(t, folder) {
				info, err := os.Stat(file)
				require.NoError(t, err)
				size += info.Size()
			}
			require.LessOrEqual(t, size, int64(most))
			written = max(written, size)
		}
	}
	require.NoError(t, r.Close())
	kept, _, found := read(t, folder)
	require.Empty(t, found.Damaged)
	require.Equal(t, fmt.Sprintf("%d.%d", 1000+(jobs-1)/50, (jobs-1)%50), kept[len(kept)-1].Job)
	require.Less(t, len(kept), 2*jobs)
	require.Greater(t, len(kept), 5_000)
	require.Greater(t, written, int64(most*6/8))
}

// TestAWeekFits: a week of two starts a second, after waits of up to an hour, fits in what a record
// takes by default, 64 MiB.
func TestAWeekFits(t *testing.T) {
	folder := t.TempDir()
	r := open(t, folder, 64<<20)
	const seconds, rate, began = 3600, 2, 1_760_000_000
	later := map[int64][]witness.Job{} // starts, by their time
	number := 0
	for at := int64(began); at < began+seconds; at += 5 {
		r.Begin(witness.Look{At: at, Policy: "slack", Order: "fairshare", Waiting: 5000, Slots: 900, Largest: 64})
		for range 5 * rate {
			number++
			j := witness.Job{
				Job: fmt.Sprintf("%d.%d", 100_000+number*7919%5000, number%200), Schedd: "submit1.site.example",
				User: fmt.Sprintf("user%d", number*104_729%60), Chunks: 1, Cpus: 1 << (number * 31 % 5),
				Submit: at - int64(number*7919%1800), Since: began, Would: at,
			}
			require.NoError(t, r.Add(j))
			j.Start = at + int64(number*15_485_863%1700)
			due := j.Start/5*5 + 5
			later[due] = append(later[due], j)
		}
		for _, j := range later[at] {
			require.NoError(t, r.Add(j))
		}
		delete(later, at)
		require.NoError(t, r.End())
	}
	require.NoError(t, r.Close())
	_, _, found := read(t, folder)
	perJob := float64(found.Bytes) / float64(number)
	t.Logf("%.1f bytes a job", perJob)
	require.Less(t, perJob*rate*7*86_400, float64(64<<20))
}

// TestNamesAreBounded: strangers choose names, which must not fill the record.
func TestNamesAreBounded(t *testing.T) {
	folder := t.TempDir()
	r := open(t, folder, witness.Least)
	r.Begin(witness.Look{At: 1})
	require.NoError(t, r.Add(witness.Job{Job: strings.Repeat("ä", 5000), User: "<b>\n\"", Held: strings.Repeat("x", 5000)}))
	require.NoError(t, r.Close())
	jobs, _, _ := read(t, folder)
	require.Equal(t, strings.Repeat("ä", 60), jobs[0].Job)
	require.Equal(t, "<b>\n\"", jobs[0].User)
	require.Len(t, jobs[0].Held, 120)
}

// TestAFullDisk: what cannot be written is lost, and told; the record goes on later.
func TestAFullDisk(t *testing.T) {
	folder := t.TempDir()
	r := open(t, folder, witness.Least)
	require.NoError(t, os.RemoveAll(folder))
	r.Begin(witness.Look{At: 1000})
	require.NoError(t, r.Add(job(1)))
	require.ErrorContains(t, r.End(), "write the observer's record: ")
	require.NoError(t, os.Mkdir(folder, 0o700))
	r.Begin(witness.Look{At: 2000})
	require.NoError(t, r.Add(job(2)))
	require.NoError(t, r.Close())
	jobs, _, _ := read(t, folder)
	require.Equal(t, []witness.Job{job(2)}, jobs)
}

// TestMerge: of several lines about a job, what came first counts, in any order.
func TestMerge(t *testing.T) {
	lines := []witness.Job{
		{Job: "1.0", Submit: 5, Since: 1, Would: 20},
		{Job: "1.0", Submit: 5, Since: 9, Would: 30, Promise: 90, Told: 30},
		{Job: "1.0", Submit: 5, Since: 1, Promise: 80, Told: 10},
		{Job: "1.0", Submit: 5, Since: 1, Start: 40, Planned: 70},
		{Job: "1.0", Submit: 5, Since: 1, Start: 60, Planned: 65},
		{Job: "1.0", Submit: 5, Since: 1, Start: 39, Found: true},
	}
	want := witness.Job{Job: "1.0", Submit: 5, Since: 9, Would: 20, Promise: 80, Told: 10, Start: 40, Planned: 70}
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Permutation(lines).Draw(t, "order")
		all := order[0]
		for _, l := range order[1:] {
			require.Equal(t, all.Key(), l.Key())
			all.Merge(l)
		}
		require.Equal(t, want, all)
	})
}
