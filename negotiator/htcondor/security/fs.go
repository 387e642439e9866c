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

// checkFS has the other side make a directory, and looks whose it is. Its name has
// our address, for newer clients, and ends in "_", which asks them to append the
// address that they dialled: nobody in between can pass our question on as its own.
func (s *Server) checkFS(stream *cedar.Stream) (string, error) {
	place := s.Directory
	if place == "" {
		place = "/tmp"
	}
	local := stream.Local().String()
	host, port, err := net.SplitHostPort(local)
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
	case suffix != "" && suffix != local:
		wrong = fmt.Errorf("it dialled %q, which is not this address", suffix)
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

// readMade reads whether the other side made the directory, and what it appended to
// the name.
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

// ownerOf is the user whose directory this is.
func (s *Server) ownerOf(name string) (string, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm() != 0o700 || info.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeSticky) != 0 {
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
	if err == nil && !isUser(who) {
		err = fmt.Errorf("%q is no user", who)
	}
	return who + "@" + s.Domain, err
}

// Owner is a user of this machine.
type Owner struct{ UID, GID int }

// proveFS shows which user of this machine we are: the server names a directory,
// we make it, and it looks whose it is. At is how the server was dialled, which
// newer ones want in the name.
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
		return errors.New("the server does not find the directory that was made for it: it must be on the same machine, with the same /tmp")
	default:
		return nil
	}
}

// makeDirectory makes one for the owner. The server's word is not enough to make
// it anywhere.
func makeDirectory(name string, owner *Owner) error {
	if !filepath.IsAbs(name) || filepath.Clean(name) != name || !strings.HasPrefix(filepath.Base(name), "FS_") {
		return fmt.Errorf("the server wants a directory %q, which is no name for one", name)
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
