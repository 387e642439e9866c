package record

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
)

// TestEntries: what was told is there, each ad and each set of labels once and before it is referred to.
func TestEntries(t *testing.T) {
	recorder, path := newRecorder(t, Options{Wait: true})
	p := newTiny(t, recorder)
	for range 5 {
		p.submit(6)
	}
	require.NoError(t, recorder.Close())
	ads, labels, jobs, kinds := map[uint64]string{}, map[uint64]bool{}, 0, []string{}
	for _, e := range entries(t, path) {
		switch e := e.GetEntry().(type) {
		case *recordv1.Entry_Ad:
			require.NotContains(t, ads, e.Ad.GetNumber())
			for _, text := range ads {
				require.NotEqual(t, text, e.Ad.GetText())
			}
			ads[e.Ad.GetNumber()] = e.Ad.GetText()
		case *recordv1.Entry_Labels:
			labels[e.Labels.GetNumber()] = true
		case *recordv1.Entry_Told:
			kinds = append(kinds, "told")
			for _, j := range e.Told.GetSubmitted() {
				jobs++
				require.Contains(t, ads[j.GetAd()], "alice")
				require.True(t, labels[j.GetLabels()])
			}
			for _, s := range e.Told.GetSlotsUp() {
				require.Contains(t, ads[s.GetAd()], s.GetName())
			}
		case *recordv1.Entry_Round:
			require.NotContains(t, string(e.Round.GetSettled()), "alice", "labels are not in rounds")
			kinds = append(kinds, "round")
		case *recordv1.Entry_Begin:
			require.Equal(t, "slack", e.Begin.GetPolicy().GetName())
			require.Equal(t, "conservative", e.Begin.GetPolicy().GetFallback())
			kinds = append(kinds, "begin")
		case *recordv1.Entry_End:
			kinds = append(kinds, "end "+e.End.GetReason())
		}
	}
	require.Equal(t, 30, jobs)
	require.Len(t, labels, 3)
	require.Equal(t, append(append([]string{"begin"}, slices.Repeat([]string{"told", "round"}, 6)...), "end ended"), kinds)
}

// TestIndex: what a file has stands behind its last frame, if it was closed.
func TestIndex(t *testing.T) {
	recorder, path := newRecorder(t, Options{Wait: true})
	p := newTiny(t, recorder)
	for range 3000 {
		p.submit(2)
	}
	_, err := ReadIndex(path)
	require.ErrorIs(t, err, ErrNoIndex)
	require.NoError(t, recorder.Close())
	index, err := ReadIndex(path)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 3001, 3001, 3001}, []int64{index.GetFrom(), index.GetTo(), index.GetCycles(), index.GetRounds()})
	require.Greater(t, len(index.GetFrames()), 2)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, at := range index.GetFrames() {
		require.Equal(t, "\x28\xb5\x2f\xfd", string(text[at:at+4]))
	}
	for _, damaged := range [][]byte{text[:len(text)-1], text[len(text)-9:], nil, []byte("\xff\xff\xff\xffcbix")} {
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		_, err = ReadIndex(path)
		require.ErrorIs(t, err, ErrNoIndex)
	}
}

// TestWhatWasToldIsWritten: a tick has what is there written, so that a killed process loses no more.
func TestWhatWasToldIsWritten(t *testing.T) {
	tick := make(chan time.Time)
	recorder, path := newRecorder(t, Options{Tick: tick})
	p := newTiny(t, recorder)
	p.submit(3)
	tick <- midnight()
	poll.Until(t, "the entries", func() (int, bool) {
		r, err := Open(path)
		if err != nil {
			return 0, false
		}
		defer r.Close()
		n := 0
		for {
			if _, err = r.Next(); err != nil {
				return n, n >= 10 && errors.Is(err, io.EOF)
			}
			n++
		}
	})
	require.NoError(t, recorder.Close())
}

// TestWhatWasThereStays: a record at a path where there is one already is kept under another name; also if it was
// torn.
func TestWhatWasThereStays(t *testing.T) {
	recorder, path := newRecorder(t, Options{})
	newTiny(t, recorder).submit(3)
	require.NoError(t, recorder.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text[:len(text)-5], 0o600))
	again, err := New(Options{Path: path, Clock: midnight}, func() About { return About{} })
	require.NoError(t, err)
	newTiny(t, again).submit(3)
	require.NoError(t, again.Close())
	former, err := Former(path)
	require.NoError(t, err)
	require.Equal(t, []string{path + ".20270115T080000Z"}, former)
	kept, err := os.ReadFile(former[0])
	require.NoError(t, err)
	require.Equal(t, text[:len(text)-5], kept)
	require.NotEmpty(t, entries(t, path))
	require.NoError(t, os.WriteFile(path+".20270115T080000Z-10", nil, 0o600))
	require.NoError(t, os.WriteFile(path+".20270115T080000Z-9", nil, 0o600))
	require.NoError(t, os.WriteFile(path+".20280115T080000Z.bak", nil, 0o600))
	former, err = Former(path)
	require.NoError(t, err)
	require.Equal(t, []string{
		path + ".20270115T080000Z", path + ".20270115T080000Z-9", path + ".20270115T080000Z-10",
	}, former)
}

// TestAFullDisk: what cannot be written stops the record, is told once, and reaches nothing else.
func TestAFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("skipped: a full disk; %v", err)
	}
	told := make(chan error, 2)
	w := newWriter(Options{Path: "x.rec", Clock: midnight, Failed: func(err error) { told <- err }})
	go w.run(&files{o: w.o, file: full, always: true})
	recorder := &Recorder{writer: w, about: func() About { return About{} }}
	p := newTiny(t, recorder)
	for range 400 {
		p.submit(6)
	}
	require.ErrorContains(t, recorder.Close(), "the record x.rec has stopped: write /dev/full: no space left on device")
	require.ErrorContains(t, <-told, "no space left")
	require.Error(t, recorder.Err())
	p.submit(3)
	require.Empty(t, told)
	require.True(t, recorder.writer.stopped())
}

// TestADiskThatDoesNotFollow: cycles do not wait for a disk; the record stops.
func TestADiskThatDoesNotFollow(t *testing.T) {
	w := newWriter(Options{Path: "x.rec", Clock: midnight}) // nobody writes
	for range mostWaiting/1024 + 2 {
		w.append(make([]byte, 1024))
	}
	require.True(t, w.stopped())
	require.ErrorContains(t, w.err(), "does not follow: 64 MiB wait")
}

func TestWrongPaths(t *testing.T) {
	about := func() About { return About{} }
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "no", "x"): "check the path",
		t.TempDir():                           "is a directory",
		"/dev/null":                           "is no file that can be kept",
	} {
		_, err := New(Options{Path: path, Clock: midnight}, about)
		require.ErrorContains(t, err, want)
	}
	for text, want := range map[string]string{
		"":                              "has no whole frame yet",
		"hello":                         "is no record; give a file that was written with --record",
		"condor-backfill record 2\n...": "is a record of another version than 1",
		"\x00\x01\x02\x03":              "binary file",
	} {
		_, err := NewReader(strings.NewReader(text), "x")
		require.ErrorContains(t, err, "x: ")
		require.ErrorContains(t, err, want)
	}
}

// TestNames: a pseudonym takes the place of each word, and says nothing of it.
func TestNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.names")
	n, err := openNames(path)
	require.NoError(t, err)
	require.Equal(t, "slot1_3@host1.host2-host3.host4", n.text(hostKind, "slot1_3@node017.uni-x.de"))
	require.Equal(t, "user1@host2", n.text(userKind, "alice@uni"))
	require.Equal(t, `[ Iwd = "/word1/user1"; A = TARGET.OpSys == "LINUX" && Owner == "user1"; 'b"c' = "word2\"word3" ]`,
		n.ad(`[ Iwd = "/data/Alice"; A = TARGET.OpSys == "LINUX" && Owner == "ALICE"; 'b"c' = "one\"two" ]`))
	require.NoError(t, n.close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(text, "user\tbob\tuser1"...), 0o600))
	again, err := openNames(path)
	require.NoError(t, err)
	require.Equal(t, "user1", again.text(wordKind, "alice"))
	require.Equal(t, "user2", again.text(userKind, "bob"))
	require.NoError(t, again.close())
	third, err := openNames(path)
	require.NoError(t, err)
	require.Equal(t, "user2", third.text(wordKind, "bob"))
	require.NoError(t, third.close())
}

// TestQueuesStayInOrder: whatever queues come in whatever order, their pseudonyms are in the order of their names.
func TestQueuesStayInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &names{err: errors.New("not written")}
		all := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-d]{1,4}`), 1, 60, rapid.ID).Draw(t, "queues")
		pseudonyms := map[string]string{}
		for _, name := range all {
			pseudonyms[name] = n.queue(name)
		}
		slices.Sort(all)
		for i, name := range all {
			require.Equal(t, pseudonyms[name], n.queue(name))
			if i > 0 {
				require.Less(t, pseudonyms[all[i-1]], pseudonyms[name])
			}
		}
	})
}

// TestKeys: keys are read as they were written, whatever they are; what ended is forgotten.
func TestKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		writes, reads := NewKeys(), NewKeys()
		job := rapid.Map(rapid.OneOf(rapid.Int64Range(0, 2000), rapid.Int64()), func(n int64) backfill.JobID { return backfill.JobID(n) })
		key := rapid.OneOf(rapid.Map(rapid.Int64Range(-5, 1000), func(n int64) float64 { return float64(n) }), rapid.Float64())
		for range rapid.IntRange(1, 10).Draw(t, "rounds") {
			var round, read backfill.Round
			for _, id := range rapid.SliceOfN(job, 0, 30).Draw(t, "jobs") {
				round.Keys = append(round.Keys, backfill.JobKey{Job: id, Key: key.Draw(t, "key")})
			}
			for _, id := range rapid.SliceOfN(job, 0, 10).Draw(t, "ended") {
				round.Events = append(round.Events, backfill.Event{Kind: backfill.Completed, JobID: id})
			}
			read.Events = round.Events
			var entry recordv1.Round
			writes.pack(&round, &entry)
			require.NoError(t, reads.Unpack(&entry, &read))
			require.Equal(t, round.Keys, read.Keys)
		}
		all := backfill.Round{}
		for number := range writes.pages {
			for n := range int64(pageJobs) {
				all.Events = append(all.Events, backfill.Event{Kind: backfill.Removed, JobID: backfill.JobID(number*pageJobs + n)})
			}
		}
		writes.forget(&all)
		for _, p := range writes.pages {
			require.Zero(t, p.jobs)
		}
	})
}

// BenchmarkKeys packs the keys of 100,000 jobs in a line that moves.
func BenchmarkKeys(b *testing.B) {
	keys, round := NewKeys(), backfill.Round{}
	for i := range 100_000 {
		round.Keys = append(round.Keys, backfill.JobKey{Job: backfill.JobID(i), Key: float64(i)})
	}
	for b.Loop() {
		for i := range round.Keys {
			round.Keys[i].Key++
		}
		var entry recordv1.Round
		keys.pack(&round, &entry)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/key")
}

// BenchmarkCycle runs cycles in which a job arrives and one ends, recorded and not.
func BenchmarkCycle(b *testing.B) {
	for _, how := range []string{"plain", "recorded"} {
		b.Run(how, func(b *testing.B) {
			var recorder negotiator.Recorder
			if how == "recorded" {
				recorder, _ = newRecorder(b, Options{Wait: true})
			}
			p := newTiny(b, recorder)
			for b.Loop() {
				p.submit(1)
			}
		})
	}
}

// FuzzReader: no text makes a reader panic, or read for ever.
func FuzzReader(f *testing.F) {
	recorder, path := newRecorder(f, Options{Wait: true})
	p := newTiny(f, recorder)
	p.submit(3)
	require.NoError(f, recorder.Close())
	packedText, err := os.ReadFile(path)
	require.NoError(f, err)
	f.Add(packedText)
	plain := []byte(Magic)
	for _, e := range entries(f, path) {
		text, err := e.MarshalVT()
		require.NoError(f, err)
		plain = append(append(plain, byte(len(text)&0x7f|0x80), byte(len(text)>>7&0x7f)), text...)
	}
	f.Add(plain)
	f.Add([]byte(Magic + "\xff\xff\xff\xff\x0f"))
	f.Add([]byte(Magic + Magic + "\x00"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		r, err := NewReader(bytes.NewReader(text), "x")
		if err != nil {
			return
		}
		defer r.Close()
		for range len(text) * 1000 {
			if _, err = r.Next(); err != nil {
				return
			}
		}
	})
}
