package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"syscall"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// condor is the default user of HTCondor's daemons and files.
const condor = "condor"

// Owner returns the user as whom HTCondor's daemons run: CONDOR_IDS (UID.GID) from the environment,
// else ids from the configuration, else the user condor.
func Owner(ids string) (security.Owner, error) {
	if fromEnvironment := os.Getenv("CONDOR_IDS"); fromEnvironment != "" {
		ids = fromEnvironment
	}
	if ids == "" {
		u, err := user.Lookup(condor)
		if err != nil {
			return security.Owner{}, fmt.Errorf("%w: make that user, or set CONDOR_IDS = UID.GID", err)
		}
		ids = u.Uid + "." + u.Gid
	}
	uid, gid, _ := strings.Cut(ids, ".")
	owner := security.Owner{}
	var errUID, errGID error
	owner.UID, errUID = strconv.Atoi(uid)
	owner.GID, errGID = strconv.Atoi(gid)
	if errUID != nil || errGID != nil || owner.UID < 0 || owner.GID < 0 {
		return security.Owner{}, fmt.Errorf("CONDOR_IDS = %s: must be UID.GID, such as 64.64", ids)
	}
	return owner, nil
}

// Become changes the user of this process and its children from root to o. The saved user stays
// root, so that [Site.ReadSecrets] can read secrets again.
func Become(o security.Owner) error {
	if o.UID == 0 {
		return nil
	}
	err := errors.Join(syscall.Setgroups([]int{o.GID}), syscall.Setresgid(o.GID, o.GID, o.GID))
	if err == nil {
		err = syscall.Setresuid(o.UID, o.UID, 0)
	}
	if err == nil {
		err = conceal()
	}
	if err != nil {
		return fmt.Errorf("become user %d.%d: %w", o.UID, o.GID, err)
	}
	return nil
}
