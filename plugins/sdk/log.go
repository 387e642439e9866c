package sdk

import (
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/plugins/internal/wire"
)

// stderr is the standard error that the process began with. That which a policy
// prints to later goes through the connection to the host, and is lost with it.
var stderr = os.Stderr

// Logger is what a policy logs with. In a plugin its lines appear in the host's
// log, under the plugin's name, with their levels, keys and values; those below
// the level that the host shows are not sent. Elsewhere, in a test or linked in,
// it is hclog's default logger.
func Logger() hclog.Logger { return logger() }

var logger = sync.OnceValue(func() hclog.Logger {
	if handshake := wire.Handshake(); os.Getenv(handshake.MagicCookieKey) != handshake.MagicCookieValue {
		return hclog.Default()
	}
	return hclog.New(&hclog.LoggerOptions{
		Level: levelOf(os.Getenv(wire.LogLevel)), Output: stderr, JSONFormat: true,
	})
})

// levelOf is the level that the host shows. Where it does not say it, it gets all
// and leaves out what it likes.
func levelOf(name string) hclog.Level {
	if level := hclog.LevelFromString(name); level != hclog.NoLevel {
		return level
	}
	return hclog.Trace
}
