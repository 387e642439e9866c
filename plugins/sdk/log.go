package sdk

import (
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// stderr is the standard error with which the process was started. go-plugin replaces os.Stderr by
// one that goes through the connection to the host, and what is printed there is lost if the
// connection breaks.
var stderr = os.Stderr

// Logger returns the logger for a policy. In a plugin its lines appear in the host's log, under the
// plugin's name, with their levels, keys and values; lines below the host's level are not sent.
// Elsewhere, in a test or linked in, it is hclog's default logger.
func Logger() hclog.Logger { return logger() }

var logger = sync.OnceValue(func() hclog.Logger {
	if handshake := wire.Handshake(); os.Getenv(handshake.MagicCookieKey) != handshake.MagicCookieValue {
		return hclog.Default()
	}
	return hclog.New(&hclog.LoggerOptions{
		Level: levelOf(os.Getenv(wire.LogLevel)), Output: stderr, JSONFormat: true,
	})
})

// levelOf returns the level that the host logs, by its name. For any other text it returns the
// lowest level, and the host filters.
func levelOf(name string) hclog.Level {
	if level := hclog.LevelFromString(name); level != hclog.NoLevel {
		return level
	}
	return hclog.Trace
}
