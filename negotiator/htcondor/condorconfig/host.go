package condorconfig

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// hosts are the addresses that the HOST of an entry stands for.
type hosts []netip.Prefix

// everywhere are all addresses.
var everywhere = hosts{netip.PrefixFrom(netip.IPv4Unspecified(), 0), netip.PrefixFrom(netip.IPv6Unspecified(), 0)}

// covers reports whether an address is one of the hosts. IPv4 addresses inside of IPv6 count as
// IPv4, and zones do not count.
func (h hosts) covers(from netip.Addr) bool {
	from = from.Unmap().WithZone("")
	return slices.ContainsFunc(h, func(n netip.Prefix) bool { return n.Contains(from) })
}

// Why a HOST cannot be read.
var (
	errPattern = errors.New("patterns of hosts' names are not known here, name the hosts or their network")
	errNoHost  = errors.New("is neither an address, nor a network, nor a host's name")
)

// readHost reads the HOST of an entry: *, an address, a network, an address that ends in *, or a
// name, whose addresses lookUp returns.
func readHost(text string, lookUp LookUp) (hosts, error) {
	if text == "*" {
		return everywhere, nil
	}
	if one, ok := readNetwork(text); ok {
		return hosts{one}, nil
	}
	switch {
	case !isName(strings.ReplaceAll(text, "*", "x")):
		return nil, errNoHost
	case strings.Contains(text, "*"):
		return nil, errPattern
	}
	addresses, err := lookUp(text)
	if err != nil {
		return nil, err
	}
	var all hosts
	for _, a := range addresses {
		a = a.Unmap().WithZone("")
		all = append(all, netip.PrefixFrom(a, a.BitLen()))
	}
	return all, nil
}

// readNetwork reads an address, or a network such as 10.0.0.0/16, 10.0.0.0/255.255.0.0, 10.0.* or
// fe80:*, in any spelling; an IPv6 address may be in brackets. IPv4 addresses inside of IPv6 become
// IPv4. It returns false for anything else.
func readNetwork(text string) (netip.Prefix, bool) {
	at, mask, masked := strings.Cut(text, "/")
	if inner, ok := strings.CutPrefix(at, "["); ok && strings.HasSuffix(inner, "]") {
		at = strings.TrimSuffix(inner, "]")
	}
	if start, ok := strings.CutSuffix(at, "*"); ok && !masked {
		return readStart(start)
	}
	from, err := netip.ParseAddr(at)
	if err != nil {
		return netip.Prefix{}, false
	}
	bits := from.BitLen()
	if masked {
		if bits, err = readMask(mask, from); err != nil {
			return netip.Prefix{}, false
		}
	}
	from = from.WithZone("")
	if from.Is4In6() {
		from, bits = from.Unmap(), bits-96 // fewer bits than 96 reach beyond IPv4: no prefix
	}
	network := netip.PrefixFrom(from, bits)
	return network.Masked(), network.IsValid()
}

// readMask returns the length of a network's mask, 16 or 255.255.0.0.
func readMask(mask string, network netip.Addr) (int, error) {
	parsed, err := netip.ParseAddr(mask)
	if err != nil {
		bits, wrong := strconv.ParseUint(mask, 10, 8)
		return int(bits), wrong
	}
	ones, bits := net.IPMask(parsed.AsSlice()).Size()
	if bits != network.BitLen() {
		return 0, errNoHost
	}
	return ones, nil
}

// readStart returns the network of all addresses that begin with whole parts: 10.0. or fe80:.
func readStart(start string) (netip.Prefix, bool) {
	separator, width, parts, zero := ".", 8, 4, "0."
	if strings.Contains(start, ":") {
		separator, width, parts, zero = ":", 16, 8, "0:"
	}
	given := strings.Count(start, separator)
	if !strings.HasSuffix(start, separator) || given >= parts {
		return netip.Prefix{}, false
	}
	whole := strings.TrimSuffix(start+strings.Repeat(zero, parts-given), separator)
	from, err := netip.ParseAddr(whole)
	if err != nil || from.Is4In6() || strings.Contains(whole, "::") {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(from, given*width).Masked(), true
}

// isName reports whether a text can be a host's name. A text whose last part is a number cannot: it
// is a misspelt address, which a resolver might read in its own way (010.0.0.1).
func isName(text string) bool {
	for _, r := range text {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r) {
			return false
		}
	}
	text = strings.TrimSuffix(text, ".")
	last := text[strings.LastIndexByte(text, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return last != "" && strings.Trim(last, "0123456789") != "" && err != nil
}

// once makes a function that looks up each host only once, found or not.
func once(lookUp LookUp) LookUp {
	type found struct {
		addresses []netip.Addr
		err       error
	}
	known := map[string]found{}
	return func(host string) ([]netip.Addr, error) {
		one, ok := known[host]
		if !ok {
			one.addresses, one.err = lookUp(host)
			known[host] = one
		}
		return one.addresses, one.err
	}
}
