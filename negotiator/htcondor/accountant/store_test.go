package accountant

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// contents returns the accounts as they are stored in the file.
func contents(t *testing.T, db *statefile.File) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, db.View(func(tx *statefile.Tx) error {
		for name, text := range tx.Bucket(Bucket).All() {
			if name != clockKey {
				found[name] = string(text)
			}
		}
		return nil
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
	before := contents(t, a.file)
	require.Len(t, before, 10_001)
	require.NoError(t, a.Update(at(86400+3600), map[string]Use{"user7@d": {1, 1}}))
	after, changed := contents(t, a.file), []string(nil)
	for name, v := range after {
		if v != before[name] {
			changed = append(changed, name)
		}
	}
	require.ElementsMatch(t, []string{"user7@d", rootGroup}, changed)

	b, err := Open(a.file, DefaultSettings())
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
	b, err := Open(a.file, settings(t, "PRIORITY_HALFLIFE = 50"))
	require.NoError(t, err)
	require.NoError(t, b.Update(at(200), nil))
	require.InEpsilon(t, 8000, b.Priority("alice@d"), 1e-12)
	c, err := Open(b.file, settings(t, "PRIORITY_HALFLIFE = 50"))
	require.NoError(t, err)
	require.InEpsilon(t, 8000, c.Priority("alice@d"), 1e-12)
}

func TestUseGoesOnOverARestart(t *testing.T) {
	a := open(t, recorded)
	require.NoError(t, a.Update(at(0), map[string]Use{"physics.cms.alice@d": {1, 4}}))
	require.NoError(t, a.Update(at(10), map[string]Use{"physics.cms.alice@d": {1, 4}}))
	b, err := Open(a.file, settings(t, recorded))
	require.NoError(t, err)
	for _, x := range []*Accountant{a, b} {
		require.NoError(t, x.Update(at(50), nil))
		require.InDelta(t, 200.0, x.accounts["physics.cms.alice@d"].Weighted, 1e-9)
	}
	for name := range a.accounts {
		require.InEpsilon(t, a.Priority(name), b.Priority(name), 1e-12, name)
	}
}

// TestUnreadableAccountingIsAnError checks a record that no accountant writes, and without which the
// others mean nothing.
func TestUnreadableAccountingIsAnError(t *testing.T) {
	for _, text := range []string{`{"HalfLife":0}`, "{"} {
		db := database(t)
		a, err := Open(db, DefaultSettings())
		require.NoError(t, err)
		require.NoError(t, a.Update(at(0), map[string]Use{"bob@d": {1, 1}}))
		require.NoError(t, db.Update(func(tx *statefile.Tx) error { return tx.Bucket(Bucket).Put(clockKey, []byte(text)) }))
		_, err = Open(db, DefaultSettings())
		_, unreadable := errors.AsType[*UnreadableError](err)
		require.True(t, unreadable, text)
		require.ErrorContains(t, err, db.Path())
	}
}
