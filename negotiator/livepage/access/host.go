package access

import (
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// Hosts are the names that requests may call this machine by, in lower case.
type Hosts []string

// NewHosts returns the names for a server at an address (HOST:PORT) of a host: both of these, the
// machine's own name, localhost, and what each is in short.
func NewHosts(address, host string, others ...string) Hosts {
	at, _, _ := net.SplitHostPort(address)
	own, _ := os.Hostname()
	var names Hosts
	for _, name := range append([]string{"localhost", at, host, own}, others...) {
		name = strings.ToLower(name)
		short, _, _ := strings.Cut(name, ".")
		names = append(names, name, short)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" || name == "*" })
}

// Called reports whether a request to a host means this machine. A page of a stranger whose name
// leads here (DNS rebinding) is kept from reading; no such name is an IP address.
func (h Hosts) Called(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "" || err == nil || slices.Contains(h, host)
}
