//go:build unix

package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// nobody is the number of that user where no list of users says another.
const nobody = 65534

// credential is as whom a plugin runs; its zero value is the user of this process.
type credential struct{ *syscall.Credential }

// identity returns as whom a plugin runs, and the name of that user; "" if it is that of this
// process, since no other is named, or only root may choose.
func identity(name string) (credential, string, error) {
	if name == "" || !maySwitch() {
		return credential{}, "", nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		if byNumber, numberErr := user.LookupId(name); numberErr == nil {
			u, err = byNumber, nil
		}
	}
	if err != nil && name == Nobody {
		u, err = &user.User{Uid: strconv.Itoa(nobody), Gid: strconv.Itoa(nobody)}, nil
	}
	if err != nil {
		return credential{}, "", fmt.Errorf("run it as the user of plugins.user (BACKFILL_PLUGIN_USER): %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(u.Gid, 10, 32)
	switch {
	case err != nil || gidErr != nil:
		return credential{}, "", fmt.Errorf("run it as user %s: its numbers are %s and %s", name, u.Uid, u.Gid)
	case uid == 0:
		return credential{}, "", fmt.Errorf("run it as user %s (plugins.user, BACKFILL_PLUGIN_USER): "+
			"a plugin must not be root", name)
	case int(uid) == os.Geteuid():
		return credential{}, "", nil
	}
	return credential{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, name, nil
}

// run makes a command run as the user.
func (who credential) run(cmd *exec.Cmd) { cmd.SysProcAttr.Credential = who.Credential }

// own gives a file to the user.
func (who credential) own(path string) error {
	if who.Credential == nil {
		return nil
	}
	return os.Chown(path, int(who.Uid), int(who.Gid))
}

// explain adds to the error of a start what the user may not do.
func (who credential) explain(err error, path string) error {
	if who.Credential == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if folder := who.barrier(path); folder != "" {
		return who.denied("enter "+folder, err)
	}
	if info, statErr := os.Stat(path); statErr == nil && !who.may(info, read|execute) {
		return who.denied("read and execute it", err)
	}
	return err
}

func (who credential) denied(what string, err error) error {
	name := strconv.Itoa(int(who.Uid))
	if u, lookupErr := user.LookupId(name); lookupErr == nil {
		name = u.Username
	}
	return hostError{fmt.Errorf("user %s, as whom plugins run, may not %s: change its mode, keep the plugin elsewhere, or "+
		"name another user under plugins.user (BACKFILL_PLUGIN_USER): %w", name, what, err)}
}

// barrier returns the outermost folder above a path that the user may not enter, as far as modes
// tell; "": none.
func (who credential) barrier(path string) (folder string) {
	for above := filepath.Dir(path); who.Credential != nil && above != path; path, above = above, filepath.Dir(above) {
		if info, err := os.Stat(above); err == nil && !who.may(info, enter) {
			folder = above
		}
	}
	return folder
}

// The rights of a mode.
const read, execute, enter fs.FileMode = 4, 1, 1

// may reports whether a file's mode gives the user these rights.
func (who credential) may(info fs.FileInfo, rights fs.FileMode) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	mode := info.Mode().Perm()
	switch {
	case !ok || who.Credential == nil:
		return true
	case owner.Uid == who.Uid:
		mode >>= 6
	case owner.Gid == who.Gid:
		mode >>= 3
	}
	return mode&rights == rights
}
