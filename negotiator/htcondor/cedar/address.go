package cedar

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad/ast"
)

// Address is where a daemon listens, which HTCondor calls a sinful string:
// "<127.0.0.1:9618?addrs=127.0.0.1-9618&noUDP&sock=collector>".
type Address struct {
	Host string // a name or an IP address
	Port int
	// Sock is the daemon's name behind a shared port; if empty, the daemon has its own port.
	Sock string
	// NoUDP tells others not to send commands as datagrams.
	NoUDP bool
	// Addrs are further IP addresses with ports at which the daemon can be reached, the most likely
	// first.
	Addrs []string
	// Alias is the host's name, for people and certificates.
	Alias string
	// Brokers are the daemon's contacts at brokers (CCB), as [ParseContact] reads them: who wants to
	// call it asks one of them to have it call back.
	Brokers []string
	// Network is the name of the private network that the daemon is in, and Inside its address
	// there; see [Address.From]. If Inside is empty, it is the same as outside.
	Network, Inside string
}

// maxAddress is the maximum length of an address's text.
const maxAddress = 64 << 10

// ParseAddress reads an address with or without the angle brackets around it.
func ParseAddress(text string) (Address, error) {
	if len(text) > maxAddress {
		return Address{}, fmt.Errorf("address %q…: is longer than %d bytes", text[:80], maxAddress)
	}
	bare := strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(bare, "<"); ok {
		if bare, ok = strings.CutSuffix(inner, ">"); !ok {
			return Address{}, fmt.Errorf("address %.200q: the > is missing", text)
		}
	}
	at, parameters, _ := strings.Cut(bare, "?")
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return Address{}, fmt.Errorf("address %.200q: must be <host:port?parameters>", text)
	}
	a := Address{Host: host}
	if a.Port, err = strconv.Atoi(port); err != nil || a.Port < 0 || a.Port > 65535 {
		return Address{}, fmt.Errorf("address %.200q: port %.80q: must be a number up to 65535", text, port)
	}
	if host == "" || strings.ContainsFunc(host,
		func(r rune) bool { return r <= ' ' || strings.ContainsRune("<>[]?&", r) }) {
		return Address{}, fmt.Errorf("address %.200q: host %.80q: must be a name or an IP address", text, host)
	}
	for pair := range strings.FieldsFuncSeq(parameters, func(r rune) bool { return r == '&' || r == ';' }) {
		if err = a.set(pair); err != nil {
			return Address{}, fmt.Errorf("address %.200q: %w", text, err)
		}
	}
	return a, nil
}

// set applies one parameter, KEY=VALUE or KEY; unknown keys are ignored.
func (a *Address) set(pair string) error {
	key, escaped, _ := strings.Cut(pair, "=")
	value, err := url.PathUnescape(escaped)
	if err != nil {
		return fmt.Errorf("parameter %.80s: %w", key, err)
	}
	switch key {
	case "sock":
		a.Sock = value
	case "alias":
		a.Alias = value
	case "noUDP":
		a.NoUDP = true
	case "CCBID":
		a.Brokers = append(a.Brokers, strings.Fields(value)...)
	case "PrivNet":
		a.Network = value
	case "PrivAddr":
		a.Inside = value
	case "addrs":
		for one := range strings.SplitSeq(value, "+") {
			at, err := parseDashed(one)
			if err != nil {
				return err
			}
			a.Addrs = append(a.Addrs, at)
		}
	}
	return nil
}

// parseDashed converts 127.0.0.1-9618 or [--1]-9618, where dashes stand for colons, to host:port.
func parseDashed(text string) (string, error) {
	at := strings.LastIndexByte(text, '-')
	if at < 0 {
		return "", fmt.Errorf("addrs: %.80q is no ip-port", text)
	}
	host, port := text[:at], text[at+1:]
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host = strings.ReplaceAll(strings.TrimSuffix(inner, "]"), "-", ":")
	}
	if number, err := strconv.Atoi(port); err != nil || number < 0 || number > 65535 {
		return "", fmt.Errorf("addrs: port %.80q: must be a number up to 65535", port)
	}
	if net.ParseIP(host) == nil {
		return "", fmt.Errorf("addrs: %.80q is no IP address", host)
	}
	return net.JoinHostPort(host, port), nil
}

// String returns the address in angle brackets, as in ads.
func (a Address) String() string {
	var parameters []string
	if len(a.Brokers) > 0 {
		parameters = append(parameters, "CCBID="+escape(strings.Join(a.Brokers, " ")))
	}
	if a.Inside != "" {
		parameters = append(parameters, "PrivAddr="+escape(a.Inside))
	}
	if a.Network != "" {
		parameters = append(parameters, "PrivNet="+escape(a.Network))
	}
	if len(a.Addrs) > 0 {
		var dashed []string
		for _, at := range a.Addrs {
			host, port, err := net.SplitHostPort(at)
			if err != nil {
				continue
			}
			if strings.Contains(host, ":") {
				host = "[" + strings.ReplaceAll(host, ":", "-") + "]"
			}
			dashed = append(dashed, host+"-"+port)
		}
		parameters = append(parameters, "addrs="+strings.Join(dashed, "+"))
	}
	if a.Alias != "" {
		parameters = append(parameters, "alias="+escape(a.Alias))
	}
	if a.NoUDP {
		parameters = append(parameters, "noUDP")
	}
	if a.Sock != "" {
		parameters = append(parameters, "sock="+escape(a.Sock))
	}
	text := net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
	if len(parameters) > 0 {
		text += "?" + strings.Join(parameters, "&")
	}
	return "<" + text + ">"
}

// V1 is the address in HTCondor's other form: a list of ads, the first address and then all by their
// protocols. Brokers and private networks are left out: it is for our own address, which has none.
func (a Address) V1() string {
	type place struct{ protocol, host, port string }
	protocol := func(host string) string {
		if strings.Contains(host, ":") {
			return "IPv6"
		}
		return "IPv4"
	}
	places := []place{{"primary", a.Host, strconv.Itoa(a.Port)}}
	if len(a.Addrs) == 0 {
		places = append(places, place{protocol(a.Host), a.Host, places[0].port})
	}
	for _, at := range a.Addrs {
		if host, port, err := net.SplitHostPort(at); err == nil {
			places = append(places, place{protocol(host), host, port})
		}
	}
	var more strings.Builder
	for _, named := range []struct{ name, text string }{{"alias", a.Alias}, {"spid", a.Sock}} {
		if named.text != "" {
			fmt.Fprintf(&more, " %s=%s;", named.name, ast.AppendString(nil, named.text, ast.Canonical))
		}
	}
	if a.NoUDP {
		more.WriteString(" noUDP=true;")
	}
	ads := make([]string, len(places))
	for i, at := range places {
		host := string(ast.AppendString(nil, at.host, ast.Canonical))
		ads[i] = fmt.Sprintf("[ p=%q; a=%s; port=%s; n=\"Internet\";%s ]", at.protocol, host, at.port, more.String())
	}
	return "{" + strings.Join(ads, ", ") + "}"
}

// escape encodes a parameter's value as HTCondor does.
func escape(value string) string {
	var b strings.Builder
	for i := range len(value) {
		switch c := value[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("#+-.:[]_", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

// reachable returns the addresses to dial, the most likely first.
func (a Address) reachable() []string {
	first := net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
	all := []string{first}
	for _, at := range a.Addrs {
		if !slices.Contains(all, at) && len(all) < maxPlaces {
			all = append(all, at)
		}
	}
	return all
}

// maxPlaces is the maximum number of a daemon's addresses that are tried.
const maxPlaces = 8
