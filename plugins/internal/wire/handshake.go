// Package wire is what both sides of the plugin boundary must agree on beside
// the protocol itself: the handshake, the bounds, and how the contract's types
// are written as messages.
package wire

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-plugin"
)

const (
	// PluginName is the name under which a plugin serves its policy.
	PluginName = "policy"
	// ServeArg is the hidden first argument that makes an executable serve one
	// of its linked-in policies, named by the second.
	ServeArg = "plugin-serve"
	// Version is that of the protocol.
	Version = 1
	// MaxMessage bounds a message. The state of a pool with a hundred thousand
	// jobs takes about ten megabytes.
	MaxMessage = 256 << 20
	// MaxAnswer bounds a message of a plugin. Reservations for a hundred thousand
	// jobs take about five megabytes.
	MaxAnswer = 32 << 20
	// MaxDescription bounds a plugin's description. No sensible one has more than
	// some hundred kilobytes.
	MaxDescription = 1 << 20
)

// SocketDir makes a directory for a plugin's socket. One of its own keeps the socket
// from other users, and a killed plugin's socket from lying about.
func SocketDir() (string, error) {
	const name, longest = "backfill-1234567890", 104 - len("/plugin1234567890\x00") // the least that systems have for a socket's path
	parent := os.TempDir()
	if len(parent)+len("/")+len(name) > longest {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "backfill-")
	if err != nil {
		return "", fmt.Errorf("make a directory for the plugin's socket: %w", err)
	}
	return dir, nil
}

// Handshake tells a policy plugin from any other executable. The cookie is no
// secret.
func Handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{
		MagicCookieKey:   "CONDOR_BACKFILL_POLICY",
		MagicCookieValue: "9e7c1f0a-policyv1",
	}
}

// Versions are the versions of the protocol that this side speaks, with what it
// serves or asks for in each. A plugin and a host use the latest that both speak.
func Versions(p plugin.Plugin) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{Version: {PluginName: p}}
}

// ErrMismatch says that a plugin does not fit this host.
var ErrMismatch = errors.New("rebuild it with this host's plugins/sdk")

// CheckHello refuses the line with which a plugin begins to speak, if it is none
// or this host cannot understand what would follow.
func CheckHello(line string) error {
	line = strings.TrimSpace(line)
	fields := strings.Split(line, "|")
	if len(fields) < 4 {
		return unasked(line)
	}
	core, err := strconv.Atoi(fields[0])
	version, err2 := strconv.Atoi(fields[1])
	known := slices.Sorted(maps.Keys(Versions(nil)))
	switch {
	case err != nil || err2 != nil:
		return unasked(line)
	case core != plugin.CoreProtocolVersion:
		return fmt.Errorf("it shakes hands as in version %d of go-plugin's protocol, this host as in version %d: %w", core, plugin.CoreProtocolVersion, ErrMismatch)
	case !slices.Contains(known, version):
		return fmt.Errorf("it speaks version %d of the policy protocol, this host %s: %w", version, strings.Trim(fmt.Sprint(known), "[]"), ErrMismatch)
	case len(fields) < 5 || fields[4] != string(plugin.ProtocolGRPC):
		return fmt.Errorf("it does not serve its policy over gRPC: %w", ErrMismatch)
	}
	return nil
}

func unasked(line string) error {
	return fmt.Errorf("it printed %.80q instead of a handshake: nothing may be printed before sdk.Serve does that", line)
}
