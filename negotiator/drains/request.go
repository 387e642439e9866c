package drains

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
)

// Request asks for drains, or for their end.
type Request struct {
	// Slots are names of slots, or of machines with all their slots.
	Slots []string `json:"slots"`
	// By and Until are as in [Drain]. A By that is past is now.
	By    int64 `json:"by,omitempty"`
	Until int64 `json:"until,omitempty"`
	// Cancel ends the drains of the slots, instead.
	Cancel bool `json:"cancel,omitempty"`
}

// BadRequest is a request that cannot be met, with the reason.
type BadRequest struct{ Err error }

func (e *BadRequest) Error() string { return e.Err.Error() }
func (e *BadRequest) Unwrap() error { return e.Err }

func badly(format string, args ...any) error { return &BadRequest{fmt.Errorf(format, args...)} }

// The bounds of requests, and of what is kept of them.
const (
	longestRequest = 64 << 10
	longestName    = 200
	mostNames      = 1000
	// Most is how many slots can have a drain.
	Most = 10_000
)

// Read reads a request as JSON.
func Read(text string) (r Request, err error) {
	if len(text) > longestRequest {
		return r, badly("a request of %d bytes: at most %d are allowed", len(text), longestRequest)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err = d.Decode(&r); err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return r, r.Validate()
		}
		err = errors.New("there is more behind it")
	}
	return r, badly("the request cannot be read: %s", inwords.JSON(err))
}

// Validate refuses a request that can be met in no pool.
func (r Request) Validate() error {
	switch {
	case len(r.Slots) == 0:
		return badly("name the slot, or the machine, that is to be drained")
	case len(r.Slots) > mostNames:
		return badly("%d names of slots: at most %d are allowed", len(r.Slots), mostNames)
	case slices.ContainsFunc(r.Slots, func(name string) bool { return len(name) > longestName || name == "" }):
		return badly("a slot's name must have from 1 to %d letters", longestName)
	case r.Cancel && (r.By != 0 || r.Until != 0):
		return badly("a drain is cancelled at once: leave out by when and until when")
	case r.Cancel:
		return nil
	case r.By < 1 || r.By > backfill.MaxTime:
		return badly("empty by %d: must be from 1 to %d", r.By, int64(backfill.MaxTime))
	case r.Until != 0 && (r.Until <= r.By || r.Until > backfill.MaxTime):
		return badly("closed until %d: must be later than %d, when the slot is to be empty", r.Until, r.By)
	}
	return nil
}

// Names returns the names by which a slot can be meant: its own, such as slot1@node7.site, and the
// machine's, such as node7.site and node7.
func Names(slot string) []string {
	_, machine, found := strings.Cut(slot, "@")
	if !found {
		return []string{slot}
	}
	names := []string{slot, machine}
	if i := strings.IndexAny(machine, ".@"); i > 0 { // a startd has a name of its own: slot1@n1@node7.site
		names = append(names, machine[:i])
	}
	return names
}

// find returns which of the slots the names mean, sorted. A name that means none is an error that
// says which one may be meant.
func find(names, slots []string) (found []string, err error) {
	means := map[string][]string{}
	for _, name := range names {
		means[name] = nil
	}
	for _, slot := range slots {
		for _, name := range Names(slot) {
			if _, asked := means[name]; asked {
				means[name] = append(means[name], slot)
			}
		}
	}
	for _, name := range names {
		if len(means[name]) == 0 {
			return nil, badly("there is no slot or machine %s in the pool%s", backfill.Printable(name, 100), similar(name, slots))
		}
		found = append(found, means[name]...)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// similar names what may be meant by a name that means no slot.
func similar(name string, slots []string) string {
	if len(slots) == 0 {
		return ": it has no slots"
	}
	var known []string
	for _, slot := range slots {
		known = append(known, Names(slot)...)
	}
	if meant := backfill.DidYouMean(name, known); meant != "" {
		return meant
	}
	return "; one of its slots is " + slices.Min(slots)
}
