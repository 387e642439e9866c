package security

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// checkFS asks the other side to create a directory and returns the user who owns it. The name
// contains our address, for newer clients, and ends in "_", which asks them to append the address
// that they dialled. A man in the middle therefore cannot pass our request on as its own.
func (s *Server) checkFS(stream *cedar.Stream) (string, error) {
	place := s.Directory
	if place == "" {
		place = "/tmp"
	}
	local, _ := stream.Addresses()
	host, port, err := net.SplitHostPort(local.String())
	if err != nil {
		return "", err
	}
	var unique [9]byte
	if err = draw(s.Random, unique[:]); err != nil {
		return "", err
	}
	name := filepath.Join(place, fmt.Sprintf("FS_%s_%s_%x_", host, port, unique))
	stream.PutString(name)
	if err = stream.Send(); err != nil {
		return "", err
	}
	status, suffix, err := readMade(stream)
	if err != nil {
		return "", err
	}
	user, wrong := "", errors.New("it could not make the directory")
	switch {
	case status != 0:
	case suffix != "" && suffix != local.String():
		wrong = fmt.Errorf("it dialled %.80q, which is not this address", suffix)
	default:
		user, wrong = s.ownerOf(name + suffix)
	}
	verdict := int64(0)
	if wrong != nil {
		verdict = -1
	}
	stream.PutInt(verdict)
	if err = stream.Send(); err != nil {
		return "", err
	}
	return user, wrong
}

// readMade reads whether the other side created the directory, and what it appended to the name.
func readMade(stream *cedar.Stream) (status int64, suffix string, err error) {
	if status, err = stream.Int(); err != nil {
		return 0, "", err
	}
	more, err := stream.More()
	if err == nil && more {
		suffix, err = stream.Text()
	}
	if err == nil {
		err = stream.End()
	}
	return status, suffix, err
}

// ownerOf returns the user who owns a directory, as USER@DOMAIN. Anything but a directory of mode
// 0700 is an error.
func (s *Server) ownerOf(name string) (string, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 ||
		info.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeSticky) != 0 {
		return "", fmt.Errorf("%s: must be a directory with mode 0700", name)
	}
	find := s.UserOf
	if find == nil {
		find = func(uid int) (string, error) {
			u, unknown := user.LookupId(strconv.Itoa(uid))
			if unknown != nil {
				return "", unknown
			}
			return u.Username, nil
		}
	}
	who, err := find(int(stat.Uid))
	if err != nil {
		return "", err
	}
	return s.account(who + "@" + s.Domain)
}

// Owner is a user of this machine.
type Owner struct{ UID, GID int }

// proveFS shows which user of this machine we are: the server names a directory, we create it, and
// the server checks its owner. at is the address that was dialled, which newer servers want in the
// name.
func proveFS(s *cedar.Stream, at string, create func(name string) error) error {
	name, err := s.Text()
	if err == nil {
		err = s.End()
	}
	if err != nil {
		return err
	}
	suffix := ""
	if strings.HasSuffix(name, "_") {
		suffix = at
	}
	made := create(name + suffix)
	if made == nil {
		defer os.Remove(name + suffix) //nolint:errcheck // it may be gone
	}
	if made == nil {
		s.PutInt(0)
	} else {
		s.PutInt(-1)
	}
	if suffix != "" {
		s.PutString(suffix)
	}
	if err = s.Send(); err != nil {
		return err
	}
	verdict, err := s.Int()
	if err == nil {
		err = s.End()
	}
	switch {
	case err != nil:
		return err
	case made != nil:
		return made
	case verdict != 0:
		return errors.New("the server does not find the directory that was made for it: it must be on the same " +
			"machine, with the same /tmp")
	default:
		return nil
	}
}

// makeDirectory creates a directory for the owner. It checks the name, because the server alone
// must not decide where directories are created.
func makeDirectory(name string, owner *Owner) error {
	if !filepath.IsAbs(name) || filepath.Clean(name) != name || !strings.HasPrefix(filepath.Base(name), "FS_") {
		return fmt.Errorf("the server wants a directory %.80q, which is no name for one", name)
	}
	if err := os.Mkdir(name, 0o700); err != nil {
		return err
	}
	if owner == nil || os.Getuid() != 0 {
		return nil
	}
	if err := os.Lchown(name, owner.UID, owner.GID); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}
