package daemon

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// TestAccountingOfNoNegotiator opens the accounting beside a negotiator that works, which is
// refused, and when it has ended; meanwhile no other can start. The negotiator then finds what was
// put there.
func TestAccountingOfNoNegotiator(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "spool", "backfill")
	settings := accountant.DefaultSettings()
	_, err := OpenAccounting(folder, settings, false)
	require.ErrorIs(t, err, ErrNoState)
	require.NoDirExists(t, folder)

	a, err := OpenAccounting(folder, settings, true)
	require.NoError(t, err)
	_, err = OpenState(t.Context(), folder, hclog.NewNullLogger())
	require.ErrorIs(t, err, ErrInUse)
	alice := accountant.Record{Name: "alice@d", Real: 9, Factor: 5}
	leftOut, err := a.Adopt(accountant.Statement{Updated: 7, Records: []accountant.Record{alice}})
	require.NoError(t, leftOut)
	require.NoError(t, err)
	require.NoError(t, a.Close())

	s, err := OpenState(t.Context(), folder, hclog.NewNullLogger())
	require.NoError(t, err)
	theirs, err := s.Accountant(settings)
	require.NoError(t, err)
	require.InDelta(t, 45, theirs.Priority("alice@d"), 0)
	_, err = OpenAccounting(folder, settings, true)
	require.ErrorIs(t, err, ErrInUse)
	require.NoError(t, s.Close())

	a, err = OpenAccounting(folder, settings, false)
	require.NoError(t, err)
	require.NoError(t, a.CopyTo(a.Path()+".copy"))
	require.NoError(t, a.Close())
	path := filepath.Join(folder, databaseFile)
	require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o600))
	_, err = OpenAccounting(folder, settings, false)
	require.ErrorIs(t, err, statefile.ErrDamaged)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "damaged", string(text), "it stays as it is")
	require.NoError(t, os.Rename(path+".copy", path))
	a, err = OpenAccounting(folder, settings, false)
	require.NoError(t, err, "the lock was given back")
	require.InDelta(t, 45, a.Priority("alice@d"), 0)
	require.NoError(t, a.Close())
}
