package livepage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/access"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// hub has the last picture, and tells viewers what changes. Each difference is encoded once, for all,
// and each viewer waits for his own connection alone. Pictures that come too fast for all that look
// are left out: the next difference has what changed in them.
type hub struct {
	epoch string
	seats seats

	publishing sync.Mutex // held while a picture is made public; whoever holds it may lock mu

	mu      sync.Mutex
	next    *picture.Picture // is to be shown; nil: the last one is
	due     time.Time        // when there may be another difference
	timer   *time.Timer      // shows the next one then; nil: none is set
	version int
	last    *picture.Picture
	kept    []change      // the last differences, oldest first
	changed chan struct{} // is closed when there is another picture
	asked   time.Time     // when somebody asked for a picture last

	encoding sync.Mutex // held while the whole is encoded
	whole    *whole     // nil: nobody has asked for it
}

// change is a difference as an event.
type change struct {
	version int
	event   []byte
}

// whole is a picture as JSON.
type whole struct {
	version      int
	at           time.Time
	text, packed []byte
}

// The differences that are kept for viewers who come back or are slow.
const (
	mostKept      = 32
	mostKeptBytes = 8 << 20
)

// The price of differences: each costs every viewer its bytes and what a write costs, and all viewers
// have so many bytes a second. That is about a fiftieth of a processor of 2024.
const (
	priceOfEvent  = 32 << 10
	bytesASecond  = 16 << 20
	longestPeriod = 10 * time.Second // between two differences, however many look
)

const (
	// heartbeat is how often viewers hear that the server is there.
	heartbeat = 15 * time.Second
	// patience is how long a viewer may take for an event; whoever takes longer is cut off, and comes back.
	patience = 10 * time.Second
	// comes is how long after he was given a picture a viewer may ask for differences from it.
	comes = 30 * time.Second
	// stale is how long the whole picture may be told that was encoded before: differences follow.
	stale = 5 * time.Second
)

func newHub(epoch string) *hub { return &hub{epoch: epoch, changed: make(chan struct{})} }

// show makes a picture the last one, now or when there may be another difference.
func (h *hub) show(p *picture.Picture) {
	h.mu.Lock()
	h.next = p
	wait := time.Until(h.due)
	if wait > 0 {
		if h.timer == nil {
			h.timer = time.AfterFunc(wait, h.publish)
		}
		h.mu.Unlock()
		return
	}
	h.mu.Unlock()
	h.publish()
}

// close has nothing more be shown.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = nil
	if h.timer != nil {
		h.timer.Stop()
	}
}

// publish shows the next picture.
func (h *hub) publish() {
	h.publishing.Lock()
	defer h.publishing.Unlock()
	viewers := h.seats.number()
	h.mu.Lock()
	p, before, version := h.next, h.last, h.version+1
	h.next, h.timer = nil, nil
	watched := before != nil && (viewers > 0 || time.Since(h.asked) < comes)
	h.mu.Unlock()
	if p == nil {
		return
	}
	var event []byte
	if watched {
		event = h.encode(version, p.Since(before))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version, h.last = version, p
	if event == nil {
		h.kept = nil
	} else {
		h.keep(change{version, event})
		price := (len(event) + priceOfEvent) * viewers
		h.due = time.Now().Add(min(longestPeriod, time.Duration(price)*time.Second/bytesASecond))
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// encode makes an event of a difference; nil if that has no JSON.
func (h *hub) encode(version int, d picture.Difference) []byte {
	text, err := json.Marshal(struct {
		Version int `json:"version"`
		picture.Difference
	}{version, d})
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, "id: %s.%d\nevent: difference\ndata: %s\n\n", h.epoch, version, text)
}

// keep keeps a difference, and forgets the oldest ones if there are too many.
func (h *hub) keep(c change) {
	h.kept = append(h.kept, c)
	size := 0
	for i, one := range slices.Backward(h.kept) {
		size += len(one.event)
		if size > mostKeptBytes && i < len(h.kept)-1 || len(h.kept)-i > mostKept {
			h.kept = append([]change{}, h.kept[i+1:]...)
			return
		}
	}
}

// picture answers with the last picture, or one from which differences lead to it.
func (h *hub) picture(out http.ResponseWriter, r *http.Request) {
	w, err := h.encoded()
	if err != nil {
		answer(out, nil, err)
		return
	}
	text := w.text
	out.Header().Set("Content-Type", "application/json")
	out.Header().Set("Vary", "Accept-Encoding")
	if TakesGzip(r.Header) {
		out.Header().Set("Content-Encoding", "gzip")
		text = w.packed
	}
	out.Header().Set("Content-Length", strconv.Itoa(len(text)))
	send(out, text)
}

// encoded returns a picture as JSON.
func (h *hub) encoded() (*whole, error) {
	h.encoding.Lock()
	defer h.encoding.Unlock()
	h.mu.Lock()
	now := time.Now()
	h.asked = now
	last, version, oldest := h.last, h.version, h.version
	if len(h.kept) > 0 {
		oldest = h.kept[0].version - 1
	}
	h.mu.Unlock()
	if last == nil {
		return nil, errNothing
	}
	if w := h.whole; w != nil && w.version >= oldest && (w.version == version || now.Sub(w.at) < stale) {
		return w, nil
	}
	text, err := json.Marshal(struct {
		Epoch   string         `json:"epoch"`
		Version int            `json:"version"`
		Head    picture.Head   `json:"head"`
		Slots   []picture.Slot `json:"slots"`
		Jobs    []picture.Bar  `json:"jobs"`
	}{h.epoch, version, last.Head, notNil(last.Slots), last.Bars()})
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err == nil {
		_, err = z.Write(text)
	}
	if err != nil {
		return nil, err
	}
	if err = z.Close(); err != nil {
		return nil, err
	}
	h.whole = &whole{version, now, text, packed.Bytes()}
	return h.whole, nil
}

// notNil returns a list that is no null in JSON.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
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

// The events that are no differences.
var (
	resetEvent = []byte("event: reset\ndata: {}\n\n")
	beat       = []byte(": still there\n\n")
)

// events tells a viewer of differences until he leaves, is too slow, or may not look any more.
func (h *hub) events(out http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		out.Header().Set("Allow", http.MethodGet)
		access.Refuse(out, http.StatusMethodNotAllowed, "only GET is served here")
		return
	}
	viewer := access.Of(r.Context())
	taken := h.seats.take(hostOf(r, viewer))
	if taken == nil {
		out.Header().Set("Retry-After", "10")
		access.Refuse(out, http.StatusServiceUnavailable, "too many viewers: ask again in a while")
		return
	}
	defer h.seats.leave(taken)
	server.Leave(r.Context()) // its place is for others: seats bound those who stay
	c := http.NewResponseController(out)
	if c.SetReadDeadline(time.Time{}) != nil { // it has said all
		return
	}
	version, known := h.from(r)
	out.Header().Set("Content-Type", "text/event-stream")
	out.Header().Set("X-Accel-Buffering", "no")
	write := func(texts ...[]byte) bool {
		_ = c.SetWriteDeadline(time.Now().Add(patience))
		for _, text := range texts {
			if _, err := out.Write(text); err != nil {
				return false
			}
		}
		return c.Flush() == nil
	}
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for begun := false; ; begun = true {
		events, now, more, there := h.since(version)
		if !known || !there {
			events, known = [][]byte{resetEvent}, true
		}
		version = now
		if (len(events) > 0 || !begun) && !write(events...) {
			return
		}
		select {
		case <-more:
		case <-tick.C:
			if !viewer.Good() || !write(beat) {
				return
			}
		case <-taken.cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// hostOf returns by what a viewer counts: his name if he has one, else his address.
func hostOf(r *http.Request, v access.Viewer) string {
	if v.User != "" {
		return "user " + v.User
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// from returns the version that a viewer has; false if it is of another server.
func (h *hub) from(r *http.Request) (version int, known bool) {
	epoch, text := r.URL.Query().Get("epoch"), r.URL.Query().Get("version")
	if last := r.Header.Get("Last-Event-ID"); last != "" {
		epoch, text, _ = strings.Cut(last, ".")
	}
	version, err := strconv.Atoi(text)
	return version, err == nil && epoch == h.epoch
}
