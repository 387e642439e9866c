package accountant

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
	"pgregory.net/rapid"
)

// contents returns the accounts as they are stored in the file.
func contents(t *testing.T, db *bbolt.DB) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, db.View(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucket).ForEach(func(k, v []byte) error {
			if string(k) != string(clockKey) {
				found[string(k)] = string(v)
			}
			return nil
		})
	}))
	return found
}

func TestIdleSubmittersAreNotWritten(t *testing.T) {
	a := open(t, "")
	use := map[string]Use{}
	for i := range 10_000 {
		use[fmt.Sprintf("user%d@d", i)] = Use{1, 8}
	}
	require.NoError(t, a.Update(at(0), use))
	require.NoError(t, a.Update(at(86400), nil))
	before := contents(t, a.db)
	require.Len(t, before, 10_001)
	require.NoError(t, a.Update(at(86400+3600), map[string]Use{"user7@d": {1, 1}}))
	after, changed := contents(t, a.db), []string(nil)
	for name, v := range after {
		if v != before[name] {
			changed = append(changed, name)
		}
	}
	require.ElementsMatch(t, []string{"user7@d", rootGroup}, changed)

	b, err := Open(a.db, DefaultSettings())
	require.NoError(t, err)
	require.Less(t, a.Priority("user8@d"), 1000*(0.25+4), "it has aged")
	for _, name := range []string{"user7@d", "user8@d"} {
		require.InEpsilon(t, a.Priority(name), b.Priority(name), 1e-12)
	}
}

func TestAnotherHalfLifeBeginsNow(t *testing.T) {
	a := open(t, "PRIORITY_HALFLIFE = 100")
	require.NoError(t, a.Update(at(0), nil))
	require.NoError(t, a.SetPriority("alice@d", 64))
	require.NoError(t, a.Update(at(100), nil))
	b, err := Open(a.db, settings(t, "PRIORITY_HALFLIFE = 50"))
	require.NoError(t, err)
	require.NoError(t, b.Update(at(200), nil))
	require.InEpsilon(t, 8000, b.Priority("alice@d"), 1e-12)
	c, err := Open(b.db, settings(t, "PRIORITY_HALFLIFE = 50"))
	require.NoError(t, err)
	require.InEpsilon(t, 8000, c.Priority("alice@d"), 1e-12)
}

func TestUseGoesOnOverARestart(t *testing.T) {
	a := open(t, recorded)
	require.NoError(t, a.Update(at(0), map[string]Use{"physics.cms.alice@d": {1, 4}}))
	require.NoError(t, a.Update(at(10), map[string]Use{"physics.cms.alice@d": {1, 4}}))
	b, err := Open(a.db, settings(t, recorded))
	require.NoError(t, err)
	for _, x := range []*Accountant{a, b} {
		require.NoError(t, x.Update(at(50), nil))
		require.InDelta(t, 200.0, x.accounts["physics.cms.alice@d"].Weighted, 1e-9)
	}
	for name := range a.accounts {
		require.InEpsilon(t, a.Priority(name), b.Priority(name), 1e-12, name)
	}
}

// sample returns the bytes of a database with some hundred pages.
func sample(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample")
	db, err := OpenFile(path, time.Second)
	require.NoError(t, err)
	a, err := Open(db, DefaultSettings())
	require.NoError(t, err)
	use := map[string]Use{}
	for i := range 500 {
		use[fmt.Sprintf("user%d@d", i)] = Use{1, 8}
	}
	for i := range int64(5) {
		require.NoError(t, a.Update(at(i*100), use))
	}
	require.NoError(t, db.Close())
	bytes, err := os.ReadFile(path)
	require.NoError(t, err)
	return bytes
}

// work opens a database and uses it.
func work(path string) error {
	db, err := OpenFile(path, time.Second)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // the file is thrown away
	db.NoSync = true
	a, err := Open(db, DefaultSettings())
	if err != nil {
		return err
	}
	return a.Update(at(1000), map[string]Use{"alice@d": {1, 1}})
}

func TestADamagedFileIsAnError(t *testing.T) {
	whole, path := sample(t), ""
	for name, damage := range map[string][]byte{
		"text":         []byte("this is no database, and too short for one"),
		"long text":    []byte(fmt.Sprintf("%20000s", "no")),
		"a quarter":    whole[:len(whole)/4],
		"a page":       whole[:4096],
		"no meta":      append(make([]byte, 8192), whole[8192:]...),
		"only meta":    append(append([]byte(nil), whole[:8192]...), make([]byte, len(whole)-8192)...),
		"not complete": whole[:8192+100],
	} {
		path = filepath.Join(t.TempDir(), "accounting") // it may stay locked
		require.NoError(t, os.WriteFile(path, damage, 0o600))
		err := work(path)
		require.ErrorContains(t, err, path, name)
		require.ErrorContains(t, err, "cannot be read", name)
	}
	path = filepath.Join(t.TempDir(), "accounting")
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	require.NoError(t, work(path))
	require.ErrorContains(t, work(t.TempDir()), "cannot be read")

	db, err := OpenFile(path, time.Second)
	require.NoError(t, err)
	require.ErrorContains(t, work(path), "another process has it open")
	require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
		return tx.Bucket(bucket).Put([]byte("bob@d"), []byte("{"))
	}))
	require.NoError(t, db.Close())
	require.ErrorContains(t, work(path), `the account of "bob@d"`)
}

// TestKeysOfBranchesEndInTheirPage damages the lengths of keys that only bbolt's own check reads.
func TestKeysOfBranchesEndInTheirPage(t *testing.T) {
	whole, damaged := sample(t), 0
	for page := 0; page < len(whole); page += 4096 {
		if binary.NativeEndian.Uint16(whole[page+8:]) != 1 { // no branch
			continue
		}
		for element := range int(binary.NativeEndian.Uint16(whole[page+10:])) {
			bytes := slices.Clone(whole)
			bytes[page+16+16*element+7] = 7 // 112 MiB
			path := filepath.Join(t.TempDir(), "accounting")
			require.NoError(t, os.WriteFile(path, bytes, 0o600))
			if err := work(path); err != nil { // otherwise the page is free
				require.ErrorContains(t, err, "has a key that does not lie in it")
				damaged++
			}
		}
	}
	require.Positive(t, damaged)
}

// TestDamageNeverPanics changes random bytes of a database.
func TestDamageNeverPanics(t *testing.T) {
	whole, dir, n := sample(t), t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		damaged := append([]byte(nil), whole...)
		for range rapid.IntRange(1, 20).Draw(t, "bytes") {
			page := rapid.IntRange(0, len(damaged)/4096-1).Draw(t, "page") * 4096
			at := rapid.OneOf(rapid.IntRange(0, 64), rapid.IntRange(0, 4095)).Draw(t, "at")
			damaged[page+at] = rapid.Byte().Draw(t, "byte")
		}
		n++
		path := filepath.Join(dir, strconv.Itoa(n)) // it may stay locked
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		if err := work(path); err != nil {
			require.ErrorContains(t, err, path)
		}
	})
}
