package access

import (
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// A host may show failuresAtOnce wrong tokens, and one more each failurePause; after that it is told
// to wait. Tokens cannot be guessed, so a right one is let in all the same: a stranger who shares an
// address with others cannot lock them out.
const (
	failuresAtOnce = 10
	failurePause   = 6 * time.Second
	mostHosts      = 4096
	tellAgain      = time.Minute
)

// failures counts wrong tokens by host.
type failures struct {
	mu     sync.Mutex
	free   map[netip.Prefix]time.Time // when the host's failures are forgotten
	told   time.Time
	untold int
}

// note counts a wrong token. It returns whether the host has shown too many, and how many are to be
// told of now; 0: none.
func (f *failures) note(host netip.Prefix, now time.Time) (tooMany bool, told int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.free == nil || len(f.free) >= mostHosts {
		kept := map[netip.Prefix]time.Time{}
		for other, free := range f.free {
			if free.After(now) && len(kept) < mostHosts/2 {
				kept[other] = free
			}
		}
		f.free = kept
	}
	free := f.free[host]
	if free.Before(now) {
		free = now
	}
	if free.Sub(now) >= failuresAtOnce*failurePause {
		tooMany = true
	} else {
		free = free.Add(failurePause)
	}
	f.free[host] = free
	f.untold++
	if now.Sub(f.told) >= tellAgain {
		told, f.told, f.untold = f.untold, now, 0
	}
	return tooMany, told
}

// addressOf returns the address that a request comes from, without its port.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// hostOf returns whom a request comes from: an address, or its /64 of IPv6, in which a host may
// choose addresses freely.
func hostOf(r *http.Request) netip.Prefix {
	ip, err := netip.ParseAddr(addressOf(r))
	if err != nil {
		return netip.Prefix{} // all without an address are one
	}
	ip = ip.Unmap().WithZone("")
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	host, _ := ip.Prefix(bits) // it is valid for a valid address
	return host
}
