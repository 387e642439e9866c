// Package wire is what both sides of the plugin boundary share besides the protocol itself: the
// handshake, the limits, and the encoding of package backfill's types as messages.
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

// Unservable begins what a plugin prints, instead of the handshake, if the description of its policy is wrong.
const Unservable = "this policy cannot be served: "

const (
	// PluginName is the name under which a plugin serves its policy.
	PluginName = "policy"
	// ServeArg is the hidden first argument that makes an executable serve one of its linked-in
	// policies, which the second argument names.
	ServeArg = "plugin-serve"
	// Version is the version of the protocol.
	Version = 1
	// MaxMessage is the maximum size of a message. The state of a pool with a hundred thousand jobs
	// takes about ten megabytes.
	MaxMessage = 256 << 20
	// MaxAnswer is the maximum size of a plugin's message. Reservations for a hundred thousand jobs
	// take about five megabytes.
	MaxAnswer = 32 << 20
	// MaxDescription is the maximum size of a plugin's description. Sensible ones have at most some
	// hundred kilobytes.
	MaxDescription = 1 << 20
)

// SocketDirs is the start of the names of directories that [SocketDir] creates; a number follows.
const SocketDirs = "backfill-plugin-"

// SocketDir creates a directory for a plugin's socket in another one, or in /tmp if the socket's path
// would be too long. A directory of its own keeps other users away from the socket, and makes it
// easy to remove the socket of a killed plugin.
func SocketDir(parent string) (string, error) {
	// the shortest limit of a socket's path among systems
	const name, longest = "backfill-plugin-1234567890", 104 - len("/plugin1234567890\x00")
	if len(parent)+len("/")+len(name) > longest {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, SocketDirs)
	if err != nil {
		return "", fmt.Errorf("make a directory for the plugin's socket: %w", err)
	}
	return dir, nil
}

// Handshake identifies policy plugins among other executables. The cookie is not a secret.
func Handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{
		MagicCookieKey:   "CONDOR_BACKFILL_POLICY",
		MagicCookieValue: "9e7c1f0a-policyv1",
	}
}

// Versions returns the versions of the protocol that this side speaks, each with the plugin that it
// serves or asks for. A plugin and a host use the latest common version.
func Versions(p plugin.Plugin) map[int]plugin.PluginSet {
	return map[int]plugin.PluginSet{Version: {PluginName: p}}
}

// ErrMismatch says that a plugin and this host do not fit together.
var ErrMismatch = errors.New("rebuild it with this host's plugins/sdk")

// CheckHello returns an error if the first line of a plugin is not a handshake, or if this host
// could not understand what follows.
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
		return fmt.Errorf("it shakes hands as in version %d of go-plugin's protocol, this host as in version %d: %w",
			core, plugin.CoreProtocolVersion, ErrMismatch)
	case !slices.Contains(known, version):
		return fmt.Errorf("it speaks version %d of the policy protocol, this host %s: %w", version,
			strings.Trim(fmt.Sprint(known), "[]"), ErrMismatch)
	case len(fields) < 5 || fields[4] != string(plugin.ProtocolGRPC):
		return fmt.Errorf("it does not serve its policy over gRPC: %w", ErrMismatch)
	}
	return nil
}

func unasked(line string) error {
	return fmt.Errorf("it printed %.80q instead of a handshake: nothing may be printed before sdk.Serve does that",
		line)
}
