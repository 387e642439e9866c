package access

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// RefusedError says why nothing is served at an address, and what to do.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }
func (e *RefusedError) Unwrap() error { return e.Err }

// lacking is the error of an address that others can reach. It names what is missing by the flags that
// give it.
func lacking(address string, missing []string) error {
	_, port, _ := net.SplitHostPort(address)
	return fmt.Errorf("--http %s (BACKFILL_HTTP): other machines can reach this address, so viewers must show a token, "+
		"and show it over TLS; missing: %s. Or serve at localhost:%s, which other machines reach through ssh -L or a "+
		"proxy that asks who they are", address, strings.Join(missing, ", and "), port)
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
