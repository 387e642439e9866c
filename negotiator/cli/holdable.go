package cli

import (
	"bytes"
	"io"
	"sync"
)

// Holdable is a writer that can hold back its output while a picture is drawn on the same terminal.
type Holdable struct {
	mu      sync.Mutex
	out     io.Writer
	holding bool
	held    bytes.Buffer
	last    int // offset of the last entry in held
}

// NewHoldable returns a writer to out.
func NewHoldable(out io.Writer) *Holdable { return &Holdable{out: out} }

// Write writes to out, or holds the text back until Release.
func (h *Holdable) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.holding {
		h.last = h.held.Len()
		return h.held.Write(p)
	}
	return h.out.Write(p)
}

// Hold starts to hold back output.
func (h *Holdable) Hold() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding = true
}

// Last returns the text of the last Write that was held back; "" if there is none.
func (h *Holdable) Last() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return string(h.held.Bytes()[min(h.last, h.held.Len()):])
}

// Release writes what was held back; from then on output is written at once.
func (h *Holdable) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holding, h.last = false, 0
	_, _ = h.held.WriteTo(h.out) // a log that cannot be written has nowhere to complain
}
