package pooltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
)

// Event is an entry of the pool's event log, which schedds and shadows write.
type Event struct {
	Type    int // EventTypeNumber: the constants below
	Job     JobID
	At      time.Time
	Part    int    // of a gang: which of its nodes, from 0
	Node    string // where it started: n1…; "" in a pool of one startd
	Slot    string // where it started: slot1_3
	Gang    bool   // the whole gang has started; its nodes started before
	Given   Resources
	Details Ad // the whole entry
}

// Types of events.
const (
	Submitted       = 0
	Executed        = 1
	Evicted         = 4
	Terminated      = 5
	ShadowFailed    = 7
	Aborted         = 9
	HeldEvent       = 12
	NodeExecuted    = 14
	NodeTerminated  = 15
	Disconnected    = 22
	Reconnected     = 23
	ReconnectFailed = 24
)

// Events returns the entries of the pool's event logs so far: schedd by schedd, in the order of its
// log.
func (p *Pool) Events() []Event {
	p.t.Helper()
	var all []Event
	for _, schedd := range p.schedds() {
		name := "EventLog"
		if short, _, named := strings.Cut(schedd, "@"); named {
			name += "." + short
		}
		events, err := readEvents(strings.NewReader(p.Log(name)), schedd)
		if err != nil {
			p.t.Fatalf("%s: %v", name, err)
		}
		all = append(all, events...)
	}
	return all
}

var socketName = regexp.MustCompile(`[?&]sock=(n\d+)\b`)

// readEvents parses an event log in JSON. An incomplete entry at the end, which is still being
// written, is left out.
func readEvents(r io.Reader, schedd string) ([]Event, error) {
	var events []Event
	for decoder := json.NewDecoder(r); ; {
		var ad Ad
		err := decoder.Decode(&ad)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return events, nil
		}
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", len(events)+1, err)
		}
		if _, ofJob := ad["Cluster"]; !ofJob || ad.Int("Proc") < 0 {
			continue // about the log itself, or a whole cluster
		}
		at, err := time.Parse("2006-01-02T15:04:05.999", ad.Text("EventTime"))
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", len(events)+1, err)
		}
		e := Event{
			Type: ad.Int("EventTypeNumber"), Job: JobID{schedd, ad.Int("Cluster"), ad.Int("Proc")}, At: at,
			Part: ad.Int("Node"), Gang: ad.Text("ExecuteHost") == "MPI_job", Details: ad,
		}
		e.Slot, _, _ = strings.Cut(ad.Text("SlotName"), "@")
		if found := socketName.FindStringSubmatch(ad.Text("ExecuteHost")); found != nil {
			e.Node = found[1]
		}
		if given, ok := ad["ExecuteProps"].(map[string]any); ok {
			e.Given = Resources{Cpus: Ad(given).Int("Cpus"), Memory: Ad(given).Int("Memory")}
		}
		events = append(events, e)
	}
}

// Resources are what a job holds or a node has: cores and MiB.
type Resources struct{ Cpus, Memory int }
