package cli

import (
	"bytes"
	"io"
	"sync"
)

// Holdable is a writer that can keep what is written to it for later, while a
// picture on the same terminal must not be torn.
type Holdable struct {
	mu      sync.Mutex
	out     io.Writer
	holding bool
	held    bytes.Buffer
	last    int // where the last entry in held begins
}

// NewHoldable makes a writer to out.
func NewHoldable(out io.Writer) *Holdable { return &Holdable{out: out} }

// Write writes, now or after Release.
func (h *Holdable) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holding {
		h.last = h.held.Len()
		return h.held.Write(p)
	}
	return h.out.Write(p)
}

// Hold keeps back what is written from now on.
func (h *Holdable) Hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding = true
}

// Last is what was written last of what is kept back.
func (h *Holdable) Last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.held.Bytes()[min(h.last, h.held.Len()):])
}

// Release writes what was kept back, and all that follows at once.
func (h *Holdable) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding, h.last = false, 0
	_, _ = h.held.WriteTo(h.out) // a log that cannot be written has nowhere to complain
}
