// Package wire is what both sides of the plugin boundary must agree on beside
// the protocol itself: the handshake, the bounds, and how the contract's types
// are written as messages.
package wire

import "github.com/hashicorp/go-plugin"

const (
	// PluginName is the name under which a plugin serves its policy.
	PluginName = "policy"
	// ServeArg is the hidden first argument that makes an executable serve one
	// of its linked-in policies, named by the second.
	ServeArg = "plugin-serve"
	// MaxMessage bounds a message. The state of a pool with a hundred thousand
	// jobs takes about ten megabytes.
	MaxMessage = 256 << 20
)

// Handshake tells a policy plugin from any other executable. The cookie is no
// secret.
func Handshake() plugin.HandshakeConfig {
	return plugin.HandshakeConfig{
		ProtocolVersion:  1,
		MagicCookieKey:   "CONDOR_BACKFILL_POLICY",
		MagicCookieValue: "9e7c1f0a-policyv1",
	}
}
