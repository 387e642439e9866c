package livepage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// hub has the last picture, and tells viewers what changes. Each difference is encoded once, for all.
type hub struct {
	epoch string

	mu      sync.Mutex
	version int
	last    *picture.Picture
	whole   []byte        // the last picture as JSON; nil: nobody has asked for it
	kept    []change      // the last differences, oldest first
	changed chan struct{} // is closed when there is another picture
	viewers int
}

// change is a difference as an event.
type change struct {
	version int
	event   []byte
}

// mostKept is how many differences are kept for viewers who come back.
const mostKept = 32

// heartbeat is how often viewers hear that the server is there.
const heartbeat = 15 * time.Second

func newHub(epoch string) *hub { return &hub{epoch: epoch, changed: make(chan struct{})} }

// show makes a picture the last one.
func (h *hub) show(p *picture.Picture) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.last
	h.version++
	h.last, h.whole = p, nil
	if before != nil && h.viewers > 0 {
		text, err := json.Marshal(struct {
			Version int `json:"version"`
			picture.Difference
		}{h.version, p.Since(before)})
		if err == nil {
			event := fmt.Appendf(nil, "id: %s.%d\nevent: difference\ndata: %s\n\n", h.epoch, h.version, text)
			h.kept = append(h.kept, change{h.version, event})
			h.kept = h.kept[max(0, len(h.kept)-mostKept):]
		}
	} else {
		h.kept = nil
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// picture answers with the last picture.
func (h *hub) picture(out http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	if h.last == nil {
		h.mu.Unlock()
		answer(out, nil, errNothing)
		return
	}
	if h.whole == nil {
		h.whole, _ = json.Marshal(struct {
			Epoch   string         `json:"epoch"`
			Version int            `json:"version"`
			Head    picture.Head   `json:"head"`
			Slots   []picture.Slot `json:"slots"`
			Jobs    []picture.Bar  `json:"jobs"`
		}{h.epoch, h.version, h.last.Head, h.last.Slots, h.last.Bars()})
	}
	text := h.whole
	h.mu.Unlock()
	out.Header().Set("Content-Type", "application/json")
	_, _ = out.Write(text)
}

// since returns the events after a version, and what is closed when there are more. It returns false
// if they are not known any more.
func (h *hub) since(version int) (events [][]byte, now int, more <-chan struct{}, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if version > h.version || version < h.version && (len(h.kept) == 0 || h.kept[0].version > version+1) {
		return nil, h.version, h.changed, false
	}
	for _, c := range h.kept {
		if c.version > version {
			events = append(events, c.event)
		}
	}
	return events, h.version, h.changed, true
}

// events tells a viewer of differences until he leaves.
func (h *hub) events(out http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(out)
	version, known := h.from(r)
	out.Header().Set("Content-Type", "text/event-stream")
	out.Header().Set("X-Accel-Buffering", "no")
	h.mu.Lock()
	h.viewers++
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		h.viewers--
		h.mu.Unlock()
	}()
	write := func(text []byte) bool {
		_ = c.SetWriteDeadline(time.Now().Add(10 * time.Second))
		_, err := out.Write(text)
		return err == nil
	}
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		events, now, more, there := h.since(version)
		if !known || !there {
			events, known = [][]byte{[]byte("event: reset\ndata: {}\n\n")}, true
		}
		version = now
		for _, event := range events {
			if !write(event) {
				return
			}
		}
		if c.Flush() != nil {
			return
		}
		select {
		case <-more:
		case <-tick.C:
			if !write([]byte(": still there\n\n")) {
				return
			}
		case <-r.Context().Done():
			return
		}
	}
}

// from returns the version that a viewer has; false if it is of another server.
func (h *hub) from(r *http.Request) (version int, known bool) {
	epoch, text := r.FormValue("epoch"), r.FormValue("version")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		epoch, text, _ = strings.Cut(last, ".")
	}
	version, err := strconv.Atoi(text)
	return version, err == nil && epoch == h.epoch
}
