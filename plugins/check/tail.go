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

// tailLines is how much of a log is kept.
const tailLines = 16

// tail keeps the last lines that were written to it.
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

// Accept takes a line of the log: what the plugin says, and how its process ended, but
// not what go-plugin and the host do about it.
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
	lines := strings.SplitAfter(text.String(), "\n") // a stack is of use at its top
	_, _ = t.Write([]byte(strings.Join(lines[:min(len(lines), tailLines)], "")))
}

// log makes the logger of the plugin's host: what the plugin says goes to the tail, and
// what the user wants to the user.
func (c *checker) log() {
	out, level := c.options.Log, c.options.LogLevel
	if out == nil || level == hclog.Off { // of what is below the level the plugin sends nothing
		out, level = io.Discard, hclog.Error
	}
	logger := hclog.NewInterceptLogger(&hclog.LoggerOptions{Name: "check", Level: level, Output: out})
	logger.RegisterSink(&c.tail)
	c.logger = logger
}
