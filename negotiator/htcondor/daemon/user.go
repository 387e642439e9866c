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

// condor is the user whose files HTCondor's are, where nothing else is said.
const condor = "condor"

// Owner is the user that HTCondor's daemons are: CONDOR_IDS (UID.GID), of the
// environment or the configuration, else the user condor.
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

// Become makes this process, which is root's, and its children another user's. Root is
// kept back for one thing: to read secrets anew, see [Site.ReadSecrets].
func Become(o security.Owner) error {
	if o.UID == 0 {
		return nil
	}
	err := errors.Join(syscall.Setgroups([]int{o.GID}), syscall.Setresgid(o.GID, o.GID, o.GID))
	if err == nil {
		err = syscall.Setresuid(o.UID, o.UID, 0)
	}
	if err != nil {
		return fmt.Errorf("become user %d.%d: %w", o.UID, o.GID, err)
	}
	return nil
}
