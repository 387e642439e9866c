package daemon

import (
	"bufio"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// relatives are the daemons of this machine that our condor_master started, by the addresses that
// they write into files (SCHEDD_ADDRESS_FILE and the like). The family's session is for them alone:
// an ad's address proves nothing, as anybody can listen on this machine.
type relatives struct {
	parent     cedar.Address
	collectors []cedar.Address // of which those on this machine count
	files      []string
	own        int // the user whose files count, besides root's

	mu     sync.Mutex
	stamps []stamp
	known  []cedar.Address
}

// stamp tells whether a file has changed since it was read.
type stamp struct {
	inode   uint64
	changed syscall.Timespec // the content, the owner or the mode
}

// relatives returns the daemons of this machine that the site's configuration and condor_master
// name. Our own former address is none of them: somebody else may listen there now.
func (s *Site) relatives() *relatives {
	r := &relatives{own: os.Geteuid(), parent: s.Inherited.Address}
	r.collectors, _ = s.Collectors() // an error is told where the collectors are asked
	for name, file := range s.Config.Ending("_ADDRESS_FILE") {
		if !strings.Contains(name, "NEGOTIATOR") && filepath.IsAbs(file) {
			r.files = append(r.files, file)
		}
	}
	slices.Sort(r.files)
	return r
}

// has reports whether a daemon is a relative. It reads the files again if one has changed.
func (r *relatives) has(a cedar.Address) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if stamps := r.stamped(); !slices.Equal(stamps, r.stamps) {
		r.stamps, r.known = stamps, nil
		for _, file := range r.files {
			if one, err := readAddressFile(file, r.own); err == nil {
				r.known = append(r.known, one)
			}
		}
	}
	same := func(b cedar.Address) bool { return samePlace(a, b) }
	return same(r.parent) || slices.ContainsFunc(r.known, same) ||
		slices.ContainsFunc(r.collectors, same) && ofThisMachine(a)
}

func (r *relatives) stamped() []stamp {
	stamps := []stamp{{}} // never equal to those of relatives that have read nothing
	for _, file := range r.files {
		info, err := os.Lstat(file)
		if err != nil {
			stamps = append(stamps, stamp{})
			continue
		}
		var one stamp
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			one = stamp{stat.Ino, stat.Ctim}
		}
		stamps = append(stamps, one)
	}
	return stamps
}

// samePlace reports whether two addresses are the same daemon's: the host, the port, and the name
// behind a shared port are the same, and so are its brokers and its address in a private network,
// where it is called as well.
func samePlace(a, b cedar.Address) bool {
	return a.Sock == b.Sock && placeOf(a.Host, a.Port) == placeOf(b.Host, b.Port) &&
		slices.Equal(a.Brokers, b.Brokers) && a.Network == b.Network && a.Inside == b.Inside
}

// placeOf writes a host and port in one spelling.
func placeOf(host string, port int) string {
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
	}
	return net.JoinHostPort(strings.ToLower(host), strconv.Itoa(port))
}

// errUntrusted says that others can write a file.
var errUntrusted = errors.New("not only root and condor can write it")

// readAddressFile reads the address that a daemon wrote. A file that others than root and the user
// can write, or replace, is not trusted.
func readAddressFile(name string, user int) (cedar.Address, error) {
	folder, err := os.Stat(filepath.Dir(name))
	if err != nil {
		return cedar.Address{}, err
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return cedar.Address{}, err
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil {
		return cedar.Address{}, err
	}
	if !info.Mode().IsRegular() || !onlyBy(info, user) || !onlyBy(folder, user) {
		return cedar.Address{}, errUntrusted
	}
	line, err := bufio.NewReaderSize(f, 64<<10).ReadSlice('\n')
	if err != nil {
		return cedar.Address{}, err // it is being written
	}
	return cedar.ParseAddress(string(line))
}

// onlyBy reports whether nobody but root and the user can write a file or folder.
func onlyBy(info fs.FileInfo, user int) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == user) && info.Mode().Perm()&0o022 == 0
}
