package condorconfig

import (
	"math"
	"time"
)

const shutdownThreshold = "NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD"

// ShutdownThreshold returns NEGOTIATOR_TRIM_SHUTDOWN_THRESHOLD; 0 if it is less, or cannot be read.
func (c *Config) ShutdownThreshold() time.Duration {
	n, _ := evaluated(c.Text(shutdownThreshold)).Number()
	return time.Duration(max(0, min(n, math.MaxInt32))) * time.Second
}

// unreadThreshold returns a warning if the threshold is no number. HTCondor's own negotiator also knows
// expressions over its own ad there.
func (c *Config) unreadThreshold() []string {
	text := c.Text(shutdownThreshold)
	if _, ok := evaluated(text).Number(); ok {
		return nil
	}
	return []string{shutdownThreshold + " = " + text + " is not heeded: it must be a number of seconds, and no expression " +
		"over the negotiator's ad"}
}
