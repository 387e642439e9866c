package daemon

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// promises is a saved state with promises to many jobs.
func promises() *track.SavedState {
	saved := &track.SavedState{Version: track.SavedVersion, Now: 5, Policy: "pc", Guarantees: true}
	for i := range int64(500) { // in the order of their keys
		saved.Jobs = append(saved.Jobs, track.SavedJob{Schedd: "s", Cluster: 1000 + i, Standing: backfill.Standing{Promised: true, Guarantee: 4711}})
	}
	return saved
}

const submitters, endedJobs = 300, 300

// stateFile returns the bytes of a state with promises, usage and run times.
func stateFile(t *testing.T) []byte {
	t.Helper()
	folder := t.TempDir()
	s, err := OpenState(t.Context(), folder, hclog.NewNullLogger())
	require.NoError(t, err)
	s.file.Unsynced()
	a, err := s.Accountant(accountant.DefaultSettings())
	require.NoError(t, err)
	use := map[string]accountant.Use{}
	for i := range submitters {
		use[fmt.Sprintf("user%d@d", i)] = accountant.Use{Slots: 1, Weight: 8}
	}
	require.NoError(t, a.Update(time.Unix(1, 0), use))
	require.NoError(t, a.Update(time.Unix(1e6, 0), use))
	var ended []estimate.Ended
	for i := range endedJobs {
		ended = append(ended, estimate.Ended{Job: estimate.Job{Name: strconv.Itoa(i), Requested: 100}, Ran: 7, At: 9})
	}
	require.NoError(t, s.Learn(ended))
	require.NoError(t, s.Save(promises()))
	require.NoError(t, s.Close())
	text, err := os.ReadFile(filepath.Join(folder, databaseFile))
	require.NoError(t, err)
	return text
}

// survivors says what is left of a state after it was damaged.
type survivors struct{ promises, usage, learned bool }

// afterDamage opens a damaged state, and returns what of it is left, and the log. What is left must
// be what was written, and what was damaged must lie beside it.
func afterDamage(t *testing.T, damaged []byte) (left survivors, log string) {
	t.Helper()
	folder, to := t.TempDir(), &buffer{}
	path := filepath.Join(folder, databaseFile)
	require.NoError(t, os.WriteFile(path, damaged, 0o600))
	s, err := OpenState(t.Context(), folder, logTo(to))
	require.NoError(t, err)
	defer s.Close() //nolint:errcheck // a test's
	saved, err := s.Saved()
	if err != nil {
		require.NoError(t, s.Forget(err))
		saved, err = s.Saved()
		require.NoError(t, err)
	}
	if saved != nil { // without a record that cannot be read
		written := promises()
		require.GreaterOrEqual(t, len(saved.Jobs), len(written.Jobs)-1)
		written.Jobs = slices.DeleteFunc(written.Jobs, func(j track.SavedJob) bool {
			return !slices.ContainsFunc(saved.Jobs, func(o track.SavedJob) bool { return o.Cluster == j.Cluster })
		})
		require.Equal(t, written, saved)
	}
	a, err := s.Accountant(accountant.DefaultSettings())
	require.NoError(t, err)
	learned, err := s.Learned()
	require.NoError(t, err)
	_, err = s.Delays()
	require.NoError(t, err)
	require.NoError(t, s.Save(promises()), "it can be written")
	left = survivors{saved != nil, a.Priority("user7@d") > a.Priority("new@d"), learned.Len() >= endedJobs-1}
	if strings.Contains(to.String(), "copy=") {
		copies, err := filepath.Glob(path + ".damaged-*")
		require.NoError(t, err)
		require.NotEmpty(t, copies)
		text, err := os.ReadFile(copies[0])
		require.NoError(t, err)
		if strings.Contains(to.String(), "A PART OF") { // bbolt writes the headers of a copy anew
			text, damaged = text[2*os.Getpagesize():], damaged[2*os.Getpagesize():]
		}
		require.True(t, bytes.HasPrefix(damaged, text), "a true copy")
	}
	return left, to.String()
}

// TestCorruptions damages a state in several ways. Each is told of, or does no harm.
func TestCorruptions(t *testing.T) {
	whole, page := stateFile(t), os.Getpagesize()
	all, none := survivors{true, true, true}, survivors{}
	highest := func(b []byte) int { // the bytes in use, by the newer header
		at := func(page int) (used, transaction uint64) {
			header := b[page+16:]
			return binary.NativeEndian.Uint64(header[40:]), binary.NativeEndian.Uint64(header[48:])
		}
		used, transaction := at(0)
		if other, later := at(page); later > transaction {
			used = other
		}
		return int(used) * page
	}
	find := func(b []byte, text string) int {
		at := bytes.LastIndex(b, []byte(text))
		require.Positive(t, at)
		return at
	}
	const told, part = "THE STATE IS DAMAGED", "A PART OF THE STATE CANNOT BE USED"
	for name, test := range map[string]struct {
		damage func(b []byte) []byte
		left   survivors
		log    string
	}{
		"none":                           {func(b []byte) []byte { return b }, all, ""},
		"truncated to nothing":           {func([]byte) []byte { return nil }, none, told},
		"truncated in the middle":        {func(b []byte) []byte { return b[:highest(b)/2] }, none, told},
		"truncated by a page":            {func(b []byte) []byte { return b[:highest(b)-page] }, none, told},
		"truncated behind its last page": {func(b []byte) []byte { return b[:highest(b)] }, all, ""},
		"both headers":                   {func(b []byte) []byte { b[36]++; b[page+36]++; return b }, none, told},
		"an older header": {func(b []byte) []byte {
			b[36+page*(1-headerInUse(b, page))]++
			return b
		}, all, "one of the two headers of the file is broken"},
		"the header in use": {func(b []byte) []byte { // the promises were written last
			b[36+page*headerInUse(b, page)]++
			return b
		}, survivors{false, true, true}, "what was written last may be missing"},
		"a bit in a promise": {func(b []byte) []byte {
			b[find(b, `"guarantee":4711`)+13] ^= 1
			return b
		}, survivors{false, true, true}, part},
		"a bit in an account": {func(b []byte) []byte {
			b[find(b, `"Real":`)+7] ^= 1
			return b
		}, survivors{true, false, true}, part},
		"a zeroed page": {func(b []byte) []byte {
			at := find(b, `"guarantee":4711`) / page * page
			clear(b[at : at+page])
			return b
		}, none, told},
	} {
		t.Run(name, func(t *testing.T) {
			left, log := afterDamage(t, test.damage(slices.Clone(whole)))
			require.Contains(t, log, test.log)
			require.Equal(t, test.left, left)
			if test.log == "" {
				require.Empty(t, log)
			}
		})
	}
}

// TestEveryByteOfTheState flips a bit of bytes all over a state, and cuts it off at lengths all
// over it: each time the log names the file, or the state is what was written. It does so at all
// bytes of the pages' headers, and at a part of the others; with EVERY_BYTE=1 in the environment at
// all of them, which takes minutes.
func TestEveryByteOfTheState(t *testing.T) {
	folder, page := t.TempDir(), os.Getpagesize()
	path := filepath.Join(folder, databaseFile)
	s, err := OpenState(t.Context(), folder, hclog.NewNullLogger())
	require.NoError(t, err)
	for round := range 3 { // so that there are free pages, and pages that were written twice
		a, failed := s.Accountant(accountant.DefaultSettings())
		require.NoError(t, failed)
		use := map[string]accountant.Use{"user@d": {Slots: 1, Weight: 8}}
		require.NoError(t, a.Update(time.Unix(int64(round)*1000, 0), use))
		require.NoError(t, s.Learn([]estimate.Ended{{Job: estimate.Job{Name: "job", Requested: 100}, Ran: 7, At: 9}}))
		saved := promises()
		saved.Jobs, saved.Now = saved.Jobs[round:10], saved.Now+1
		require.NoError(t, s.Save(saved))
	}
	want := everything(t, s)
	require.Len(t, want, 18)
	require.NoError(t, s.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)

	told, silent := 0, 0
	see := func(what string, at int, damaged []byte) {
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		log := &buffer{}
		s, err := OpenState(t.Context(), folder, logTo(log))
		require.NoError(t, err)
		if log.String() == "" {
			silent++
			require.Equal(t, want, everything(t, s), "%s %d", what, at)
		} else {
			told++
			require.Contains(t, log.String(), path, "%s %d", what, at)
			copies, err := filepath.Glob(path + ".damaged-*")
			require.NoError(t, err)
			for _, aside := range copies {
				require.NoError(t, os.Remove(aside))
			}
		}
		require.NoError(t, s.Close())
	}
	step := 127
	if os.Getenv("EVERY_BYTE") != "" {
		step = 1
	}
	for at := range whole {
		if at%step != 0 && at%page >= 16 {
			continue
		}
		damaged := slices.Clone(whole)
		damaged[at] ^= 1 << (at / step % 8)
		see("a bit of byte", at, damaged)
		see("cut off after byte", at, whole[:at])
	}
	require.Positive(t, told)
	require.Positive(t, silent, "some pages are free")
	t.Logf("of %d bytes: %d times told, %d times harmless", len(whole), told, silent)
}

// everything returns all records of a state, and the last number of the runs.
func everything(t *testing.T, s *State) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, s.file.View(func(tx *statefile.Tx) error {
		for name := range losses {
			if b := tx.Bucket(name); b != nil {
				all[name] = strconv.FormatUint(b.Last(), 10)
				for key, text := range b.All() {
					all[name+"/"+key] = string(text)
					require.Equal(t, text, b.Get(key), "it can be found")
				}
			}
		}
		return nil
	}))
	return all
}

// headerInUse returns the number of the newer header.
func headerInUse(b []byte, page int) int {
	if binary.NativeEndian.Uint64(b[16+48:]) > binary.NativeEndian.Uint64(b[page+16+48:]) {
		return 0
	}
	return 1
}

// TestGarbage writes records that this program does not write, as a fault of it would. A bad record
// of a job, an account or a run costs no other one.
func TestGarbage(t *testing.T) {
	for name, test := range map[string]struct {
		bucket, key, text string
		left              survivors
		log               string
	}{
		"job":            {ledger, "job/s/1000.0", "{", survivors{true, true, true}, "A PART OF THE STATE CANNOT BE READ"},
		"no job":         {ledger, "job/s/1000.0", "null", survivors{true, true, true}, `it is of \"job//0.0\"`},
		"meta":           {ledger, metaKey, "7", survivors{false, true, true}, "guarantees, reservations"},
		"account":        {accountant.Bucket, "user9@d", "{", survivors{true, true, true}, "USAGE OF SOME SUBMITTERS"},
		"clock":          {accountant.Bucket, " clock", "", survivors{true, false, true}, "usage, priorities"},
		"run time":       {runs, runKey(5), "no job\n", survivors{true, true, true}, "SOME OF WHAT WAS LEARNED"},
		"slot":           {ledger, "slot/slot1@a", "7", survivors{true, true, true}, "A PART OF THE STATE CANNOT BE READ"},
		"delays":         {delays, delaysKey, "[1,", survivors{true, true, true}, "what was learned of how long starts take"},
		"unknown bucket": {"unknown", "key", "text", survivors{true, true, true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state")
			require.NoError(t, os.WriteFile(path, stateFile(t), 0o600))
			db, err := bbolt.Open(path, 0o600, nil)
			require.NoError(t, err)
			require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
				b, failed := tx.CreateBucketIfNotExists([]byte(test.bucket))
				require.NoError(t, failed)
				return b.Put([]byte(test.key), []byte(test.text))
			}))
			require.NoError(t, db.Close())
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			left, log := afterDamage(t, text)
			require.Equal(t, test.left, left, log)
			require.Contains(t, log, test.log)
		})
	}
}

// TestOneBadRecordInAHundred says that a schedd, slot or job that a file cannot hold, or that no file gives
// back as it was, costs no other one, and that this is told once.
func TestOneBadRecordInAHundred(t *testing.T) {
	saved := &track.SavedState{Version: track.SavedVersion, Now: 5, Policy: "pc"}
	for i := range int64(99) {
		saved.Slots = append(saved.Slots, track.SavedSlot{Name: fmt.Sprintf("slot%02d@a", i)})
		saved.Schedds = append(saved.Schedds, track.SavedSchedd{Name: fmt.Sprintf("s%02d", i), Address: "<127.0.0.1:9618>"})
		saved.Jobs = append(saved.Jobs, track.SavedJob{Schedd: "s", Cluster: 100 + i})
	}
	for what, bad := range map[string]string{"too long a key": strings.Repeat("x", 33<<10), "no UTF-8": "x\xff"} {
		t.Run(what, func(t *testing.T) {
			folder, log := t.TempDir(), &buffer{}
			s, err := OpenState(t.Context(), folder, logTo(log))
			require.NoError(t, err)
			all := *saved
			all.Slots = append(slices.Clone(saved.Slots), track.SavedSlot{Name: bad})
			all.Jobs = append(slices.Clone(saved.Jobs), track.SavedJob{Schedd: bad})
			all.Schedds = append(slices.Clone(saved.Schedds), track.SavedSchedd{Name: bad, Address: bad})
			require.NoError(t, s.Save(&all))
			require.NoError(t, s.Save(&all))
			require.NoError(t, s.Close())
			s, err = OpenState(t.Context(), folder, logTo(log))
			require.NoError(t, err)
			got, err := s.Saved()
			require.NoError(t, err)
			require.Equal(t, saved, got)
			require.NoError(t, s.Close())
			require.Equal(t, 1, strings.Count(log.String(), "A PART OF THE STATE CANNOT BE"), log.String())
			require.Contains(t, log.String(), "(3 in all)")
			require.Less(t, len(log.String()), 1000)
		})
	}
}

// lockedState makes a folder whose state a backup has locked.
func lockedState(t *testing.T) (folder string, backup *os.File) {
	t.Helper()
	folder = t.TempDir()
	path := filepath.Join(folder, databaseFile)
	require.NoError(t, os.WriteFile(path, stateFile(t), 0o600))
	backup, err := os.Open(path)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(backup.Fd()), syscall.LOCK_SH))
	return folder, backup
}

// TestALockedStateIsWaitedFor: a backup that locks the file delays the start and costs nothing.
func TestALockedStateIsWaitedFor(t *testing.T) {
	folder, backup := lockedState(t)
	log := &buffer{}
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(57*time.Second, func() { _ = backup.Close() })
		began := time.Now()
		s, err := OpenState(t.Context(), folder, logTo(log))
		require.NoError(t, err)
		require.Equal(t, time.Minute, time.Since(began))
		saved, err := s.Saved()
		require.NoError(t, err)
		require.Equal(t, promises(), saved)
		require.NoError(t, s.Close())
	})
	require.Contains(t, log.String(), "THE STATE CANNOT BE OPENED")
	require.Contains(t, log.String(), "perhaps a backup")
	require.Len(t, entries(t, folder), 2, "the lock and the file")
}

// TestAStateThatStaysLockedIsAnError: after two minutes, or as soon as the process is to end.
func TestAStateThatStaysLockedIsAnError(t *testing.T) {
	folder, backup := lockedState(t)
	defer backup.Close() //nolint:errcheck // it was only read
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := OpenState(t.Context(), folder, hclog.NewNullLogger())
		require.ErrorContains(t, err, "another process has it open or has locked it")
		require.ErrorContains(t, err, folder)
		require.Equal(t, statePatience, time.Since(began))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = OpenState(ctx, folder, hclog.NewNullLogger())
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	require.Len(t, entries(t, folder), 2, "the lock and the file")
}

// TestNoDescriptorsAreNoDamage: the state stays where it is while the process has too many files.
func TestNoDescriptorsAreNoDamage(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, databaseFile), stateFile(t), 0o600))
	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	none := limit
	none.Cur = 3
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
	synctest.Test(t, func(t *testing.T) {
		time.AfterFunc(9*time.Second, func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit) })
		s, err := OpenState(t.Context(), folder, hclog.NewNullLogger())
		require.NoError(t, err)
		require.NoError(t, s.Close())
	})
	require.Len(t, entries(t, folder), 2, "the lock and the file")
}

func entries(t *testing.T, folder string) []os.DirEntry {
	t.Helper()
	all, err := os.ReadDir(folder)
	require.NoError(t, err)
	return all
}
