package access

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// RefusedError says why an address is not served, and what to do.
type RefusedError struct {
	Address string
	// Missing is what the address would need.
	Missing []string
}

// Error names what is missing by the flags that give it.
func (e *RefusedError) Error() string {
	_, port, _ := net.SplitHostPort(e.Address)
	return fmt.Sprintf("--http %s (BACKFILL_HTTP): other machines can reach this address, so viewers must show a token, "+
		"and show it over TLS; missing: %s. Or serve at localhost:%s, which other machines reach through ssh -L or a "+
		"proxy that asks who they are", e.Address, strings.Join(e.Missing, ", and "), port)
}

// isLocal reports whether only this machine can reach an address (HOST:PORT).
func isLocal(ctx context.Context, address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("--http %s: must be HOST:PORT or :PORT", address)
	}
	if host == "" { // all addresses of this machine
		return false, nil
	}
	if ip, wrong := netip.ParseAddr(host); wrong == nil {
		return ip.Unmap().IsLoopback(), nil
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false, fmt.Errorf("--http %s: no such host: %w", address, err)
	}
	for _, ip := range ips {
		if !ip.Unmap().IsLoopback() {
			return false, nil
		}
	}
	return len(ips) > 0, nil
}
