package check

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// tailLines is the number of lines of the log that are kept.
const tailLines = 16

// tail keeps the last lines written to it.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range bytes.Lines(p) {
		t.lines = append(t.lines, strings.TrimRight(string(line), "\n"))
	}
	t.lines = t.lines[max(0, len(t.lines)-tailLines):]
	return len(p), nil
}

func (t *tail) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = nil
}

func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}

// Accept records a line of the log if it is the plugin's or says how its process ended; lines about
// what go-plugin and the host do are dropped.
func (t *tail) Accept(name string, level hclog.Level, message string, args ...any) {
	switch {
	case strings.HasPrefix(message, "plugin process exited"):
		if strings.Contains(fmt.Sprint(args...), "signal: killed") { // by the host
			return
		}
	case strings.Contains(message, "the policy plugin"), // the host's own
		message == "configuring server automatic mTLS", message == "plugin address",
		strings.Count(name, ".") < 2 && level < hclog.Info:
		return
	}
	var text strings.Builder
	text.WriteString(message)
	for i := 0; i+1 < len(args); i += 2 {
		if key := args[i]; key != "plugin" && key != "id" && key != "timestamp" {
			_, _ = fmt.Fprintf(&text, " %v=%v", key, args[i+1])
		}
	}
	lines := strings.SplitAfter(text.String(), "\n") // the top of a stack is the useful part
	_, _ = t.Write([]byte(strings.Join(lines[:min(len(lines), tailLines)], "")))
}

// log creates the logger of the plugin's host: the plugin's lines go to the tail, and what the user
// asked for goes to the user.
func (c *checker) log() {
	out, level := c.options.Log, c.options.LogLevel
	if out == nil || level == hclog.Off { // the plugin does not send lines below the level
		out, level = io.Discard, hclog.Error
	}
	logger := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "check", Level: level, Output: out})
	logger.RegisterSink(&c.tail)
	c.logger = logger
}
