package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// Site is how this machine's HTCondor configuration wants daemons to communicate.
type Site struct {
	// Config is HTCondor's configuration. It is empty on a machine without HTCondor.
	Config *condorconfig.Config
	// Settings are the negotiator's own.
	Settings config.Config
	// Inherited is what condor_master gave us.
	Inherited Inheritance
	// Reverse has daemons that are behind brokers connect to us; nil means that they cannot.
	Reverse security.Reverse

	tokens []string
	held   []int // descriptors of the copies of tokens
	keys   map[string]security.SigningKey
}

// ReadSecrets reads tokens and signing keys as root, also after [Become]. Root's tokens are copied
// to where only this process can read them.
func (s *Site) ReadSecrets() error { return asRoot(s.readSecrets) }

func (s *Site) readSecrets() error {
	if s.Settings.Token != "" {
		if _, err := os.Stat(s.Settings.Token); err != nil {
			return fmt.Errorf("token: %w", err)
		}
	}
	s.keys = security.ReadSigningKeys(
		s.Config.Text("SEC_TOKEN_POOL_SIGNING_KEY_FILE"), s.Config.Text("SEC_PASSWORD_DIRECTORY"))
	s.tokens = s.tokenPaths()
	if !rooted() {
		return nil
	}
	var err error
	if s.held, err = privateCopies(s.tokens); err != nil {
		return errors.Join(err, s.Forget())
	}
	s.tokens = nil
	for _, held := range s.held {
		s.tokens = append(s.tokens, fmt.Sprintf("/proc/self/fd/%d", held))
	}
	return nil
}

// Forget closes the copies of tokens. They must not be used any more.
func (s *Site) Forget() (err error) {
	for _, held := range s.held {
		err = errors.Join(err, unix.Close(held))
	}
	s.held = nil
	return err
}

// tokenPaths returns the files and folders of our tokens.
func (s *Site) tokenPaths() []string {
	if s.Settings.Token != "" {
		return []string{s.Settings.Token}
	}
	paths := []string{s.Config.Text("SEC_TOKEN_SYSTEM_DIRECTORY")}
	if own := s.Config.Text("SEC_TOKEN_DIRECTORY"); own != "" {
		paths = append(paths, own)
	} else if home, err := os.UserHomeDir(); err == nil {
		paths = append(paths, filepath.Join(home, ".condor", "tokens.d"))
	}
	return paths
}

// Client makes the client that starts our commands to other daemons.
func (s *Site) Client() (*security.Client, error) {
	c := &security.Client{
		Name: "NEGOTIATOR", Methods: security.ParseMethods(s.Config.Text("SEC_CLIENT_AUTHENTICATION_METHODS")),
		Tokens: s.tokens, User: condor, Family: s.Inherited.Family, InFamily: s.relatives().has,
		Network: s.Config.Text("PRIVATE_NETWORK_NAME"), Reverse: s.Reverse,
	}
	if s.Config.SetBySite("NEGOTIATOR_TIMEOUT") {
		c.Timeout = s.Settings.Timeout
	}
	if s.Settings.Token != "" && !slices.Contains(c.Methods, security.Token) {
		c.Methods = append(c.Methods, security.Token)
	}
	for name, target := range map[string]*security.Level{
		"SEC_CLIENT_AUTHENTICATION": &c.Wishes.Authentication,
		"SEC_CLIENT_ENCRYPTION":     &c.Wishes.Encryption,
		"SEC_CLIENT_INTEGRITY":      &c.Wishes.Integrity,
	} {
		level, err := security.ParseLevel(s.Config.Text(name))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		*target = level
	}
	return c, nil
}

// ofThisMachine reports whether a daemon runs on this machine.
func ofThisMachine(a cedar.Address) bool {
	ips, err := net.LookupIP(a.Host)
	if err != nil {
		return false
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(ips, func(ip net.IP) bool {
		return ip.IsLoopback() || slices.ContainsFunc(own, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && n.IP.Equal(ip)
		})
	})
}

// Name is the negotiator's name: the given one (-n), else that of the configuration, else the
// host's.
func (s *Site) Name(given string) string {
	name := cmp.Or(given, s.Config.Text("NEGOTIATOR_NAME"))
	switch {
	case name == "":
		return s.Host()
	case strings.Contains(name, "@"):
		return name
	default:
		return name + "@" + s.Host()
	}
}

// Host is this machine's name.
func (s *Site) Host() string {
	if name := s.Config.Text("FULL_HOSTNAME"); name != "" {
		return name
	}
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// Listen opens the command port, and returns its listener and its address.
func (s *Site) Listen(ctx context.Context) (net.Listener, cedar.Address, error) {
	host, known := s.Config.Lookup("IP_ADDRESS")
	if !known {
		host = s.facing()
	}
	bind := host
	if all, err := s.Config.Bool("BIND_ALL_INTERFACES"); err == nil && all {
		bind = ""
	}
	low, high := s.ports()
	var config net.ListenConfig
	for port := low; ; port++ {
		l, err := config.Listen(ctx, "tcp", net.JoinHostPort(bind, strconv.Itoa(port)))
		if err == nil {
			a := cedar.Address{Host: host, Port: l.Addr().(*net.TCPAddr).Port, NoUDP: true}
			return l, a, nil
		}
		if port >= high {
			return nil, cedar.Address{}, fmt.Errorf("open the command port: %w", err)
		}
	}
}

// ports returns the range of ports that the configuration allows; 0, 0 for any.
func (s *Site) ports() (low, high int) {
	for _, names := range [][2]string{{"IN_LOWPORT", "IN_HIGHPORT"}, {"LOWPORT", "HIGHPORT"}} {
		from, errLow := s.Config.Int(names[0])
		to, errHigh := s.Config.Int(names[1])
		if errLow == nil && errHigh == nil && from > 0 && from <= to && to < 1<<16 {
			return int(from), int(to)
		}
	}
	return 0, 0
}

// facing returns the IP address from which this machine reaches the collector; 127.0.0.1 if that
// cannot be found out.
func (s *Site) facing() string {
	const local = "127.0.0.1"
	all, err := s.Collectors()
	if err != nil {
		return local
	}
	conn, err := net.Dial("udp", net.JoinHostPort(all[0].Host, strconv.Itoa(all[0].Port))) // sends nothing
	if err != nil {
		return local
	}
	defer conn.Close() //nolint:errcheck // nothing was sent
	return conn.LocalAddr().(*net.UDPAddr).IP.String()
}

// Differences returns the knobs that take effect only at a restart and have another value in the
// given configuration.
func (s *Site) Differences(c *condorconfig.Config) (names []string) {
	for _, name := range condorconfig.AtStart() {
		if s.Config.Text(name) != c.Text(name) {
			names = append(names, name)
		}
	}
	return names
}

// Permissions reads who may give us commands. It looks up hosts' names for at most 5 seconds, since
// condor_reconfig waits for it.
func Permissions(c *condorconfig.Config) *condorconfig.Permissions {
	ctx, cancel := context.WithTimeout(context.Background(), lookUpPatience)
	defer cancel()
	return c.Permissions(func(host string) ([]netip.Addr, error) {
		addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		for i, a := range addresses {
			addresses[i] = a.Unmap()
		}
		return addresses, err
	})
}

// Master returns the client for condor_master; nil if it did not start us, or gave no address.
func (s *Site) Master(c *security.Client) Master {
	if s.Inherited.Parent == 0 || s.Inherited.Address.Host == "" {
		return nil
	}
	return client.Master{Security: c, Address: s.masterAddress, Session: s.Inherited.Session}
}

// masterAddress returns the present address of the condor_master that started us. Behind a shared
// port it may be another one than we were told: if the shared port had not started by then, for
// instance since another program had its port, that one has the port 0. condor_master keeps its name
// there, and writes its address down when it changes.
func (s *Site) masterAddress() cedar.Address {
	told := s.Inherited.Address
	now, err := readAddressFile(s.Config.Text("MASTER_ADDRESS_FILE"), os.Geteuid())
	if err == nil && told.Sock != "" && now.Sock == told.Sock {
		return now
	}
	return told
}

// Answers returns a function that tells whether a daemon is at an address. A daemon that refuses
// the command, or does not answer in time, counts as being there, but not a machine to which there is
// no connection in time, as to one without power.
func Answers(c *security.Client) func(context.Context, string) bool {
	return func(ctx context.Context, address string) bool {
		const nop = 60011
		a, err := cedar.ParseAddress(address)
		if err != nil {
			return false
		}
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		stream, err := c.Start(ctx, a, nop, nil)
		if err == nil {
			stream.Close()
			return true
		}
		if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
			return false
		}
		denied, refused := errors.AsType[*security.DeniedError](err)
		timeout, isNet := errors.AsType[net.Error](err)
		return refused && denied != nil || ctx.Err() != nil || isNet && timeout.Timeout()
	}
}
