package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// ErrNoState says that no negotiator has kept its state in a folder.
var ErrNoState = errors.New("no negotiator has kept its state there")

// Accounting is the accounting in the state of a negotiator that does not run, which then cannot
// start.
type Accounting struct {
	*accountant.Accountant
	file *statefile.File
	lock *flock.Flock
}

// OpenAccounting opens the accounting in a state's folder, as it is: unlike [OpenState] it repairs
// nothing, and does not wait. If there is no state, fresh makes one; else the error is
// [ErrNoState]. If a negotiator has it open, the error is [ErrInUse].
func OpenAccounting(folder string, settings accountant.Settings, fresh bool) (a *Accounting, err error) {
	path := filepath.Join(folder, databaseFile)
	if _, err = os.Stat(path); errors.Is(err, fs.ErrNotExist) && fresh {
		err = os.MkdirAll(folder, 0o755)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", folder, ErrNoState)
	case err != nil:
		return nil, err
	}
	a = &Accounting{lock: newLock(folder)}
	locked, err := a.lock.TryLock()
	if err == nil && !locked {
		err = ErrInUse
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder, err)
	}
	if a.file, err = statefile.Open(path); err != nil {
		return nil, errors.Join(err, a.lock.Unlock())
	}
	if err = a.file.Intact(accountant.Bucket); err == nil {
		a.Accountant, err = accountant.Open(a.file, settings)
	}
	if err == nil {
		err = a.Unread()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), a.Close())
	}
	return a, nil
}

// Path is where the accounting is.
func (a *Accounting) Path() string { return a.file.Path() }

// CopyTo writes a copy of the whole state.
func (a *Accounting) CopyTo(path string) error { return a.file.CopyTo(path) }

// Close closes the file and gives the lock back.
func (a *Accounting) Close() error { return errors.Join(a.file.Close(), a.lock.Unlock()) }
