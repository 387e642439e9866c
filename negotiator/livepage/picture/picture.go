package picture

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/meter/shapes"
)

// Moment is an instant in the pool's seconds: since 1970 on a real pool, of the trace in a simulation.
// The zero Moment is none.
type Moment struct {
	At    int64
	Known bool
}

// At returns the moment of an instant; none if that never comes.
func At(t backfill.Time) Moment {
	if t >= backfill.Forever {
		return Moment{}
	}
	return Moment{int64(t), true}
}

// Of returns the moment of an instant that may be missing.
func Of(t *int64) Moment {
	if t == nil {
		return Moment{}
	}
	return At(backfill.Time(*t))
}

// IsZero reports whether there is no moment; JSON leaves it out.
func (m Moment) IsZero() bool { return !m.Known }

// MarshalJSON writes the seconds, or null.
func (m Moment) MarshalJSON() ([]byte, error) {
	if !m.Known {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, m.At, 10), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Moment) UnmarshalJSON(text []byte) error {
	var at *int64
	if err := json.Unmarshal(text, &at); err != nil {
		return err
	}
	*m = Moment{}
	if at != nil {
		*m = Moment{*at, true}
	}
	return nil
}

// Picture is a pool as of the end of a cycle. It never changes.
type Picture struct {
	Head  Head
	Slots []Slot // by ID
	// Jobs are those that wait, in the order of the queue, and then the others by ID. Of a long queue
	// they have the first.
	Jobs []Job
	// Counts returns what waiting jobs want of slots, and what of those is idle. It is found out when
	// somebody first asks.
	Counts func() shapes.Counts
}

// Head says which pool it is, when, and how much there is of what.
type Head struct {
	Pool string `json:"pool"`
	// Simulated says that the pool is simulated, and Speed how many of its seconds pass in one.
	Simulated bool   `json:"simulated"`
	Speed     string `json:"speed,omitempty"`
	Now       int64  `json:"now"`
	// Clocks say which dates instants have; none: none are known.
	Clocks     []instant.Stretch `json:"clocks"`
	Policy     string            `json:"policy"`
	Order      string            `json:"order"`
	Guarantees bool              `json:"guarantees"`
	// Fallback decides in the place of a policy that was given up; "": it was not.
	Fallback string `json:"fallback,omitempty"`
	// Resources are their names, cpus first; Capacity and Use are how much is up and in use of each.
	Resources []string `json:"resources"`
	Capacity  []int64  `json:"capacity"`
	Use       []int64  `json:"use"`
	// Slots counts those that are up. Waiting counts all that wait, Reserved those of them with a
	// reservation, and Further those that the picture does not have.
	Slots    int `json:"slots"`
	Running  int `json:"running"`
	Waiting  int `json:"waiting"`
	Reserved int `json:"reserved"`
	Held     int `json:"held"`
	Further  int `json:"further"`
	Ended    int `json:"ended"`
	// ReservedIdle counts the cpus that are idle since reservations will take them.
	ReservedIdle int64    `json:"reserved_idle"`
	Problems     []string `json:"problems"`
	// Parts are what each of several negotiators of the pool has; none: there is one. Whole adds them up.
	Parts []Part `json:"parts,omitempty"`
	Whole *Has   `json:"whole,omitempty"`
	// Over says that a simulation has ended: nothing will change any more.
	Over bool `json:"over,omitempty"`
}

// Slot is a slot of the pool.
type Slot struct {
	ID   backfill.SlotID `json:"id"`
	Name string          `json:"name"`
	// Machine is the startd, whose slots share a machine: what the name has behind its first @, or all of it.
	Machine  string          `json:"machine"`
	Capacity backfill.Vector `json:"capacity"`
	Down     bool            `json:"down,omitempty"`
	// End is when the slot ends.
	End   Moment `json:"end,omitzero"`
	Drain *Drain `json:"drain,omitempty"`
}

// Drain has a slot empty from an instant on, until another one if that is known.
type Drain struct {
	From  int64  `json:"from"`
	Until Moment `json:"until,omitzero"`
	Why   string `json:"why"`
}

// Piece is how many cpus a job has, or will have, on a slot.
type Piece struct {
	Slot backfill.SlotID
	Cpus int64
}

// MarshalJSON writes [slot, cpus].
func (p Piece) MarshalJSON() ([]byte, error) { return json.Marshal([2]int64{int64(p.Slot), p.Cpus}) }

// UnmarshalJSON reads what MarshalJSON writes.
func (p *Piece) UnmarshalJSON(text []byte) error {
	var pair [2]int64
	err := json.Unmarshal(text, &pair)
	*p = Piece{backfill.SlotID(pair[0]), pair[1]} //nolint:gosec // an ID that was written
	return err
}

// Matched is the situation of a job that was started and is not seen to run yet.
const Matched = "matched"

// Bar is a job as far as it is drawn.
type Bar struct {
	ID    backfill.JobID `json:"id"`
	Name  string         `json:"job"`
	Owner string         `json:"owner"`
	Group string         `json:"group,omitempty"`
	// Situation is one of runs, matched, takes over, scavenges, reserved, waits and held.
	Situation string `json:"situation"`
	Cpus      int64  `json:"cpus"` // of all chunks
	Submit    int64  `json:"submit"`
	// Start and End are those of the play in which all jobs run for as long as they are taken to; so jobs
	// that are drawn by them are never in each other's way. A job that no play reaches has those of its
	// reservation, and one that runs its actual start.
	Start Moment `json:"start,omitzero"`
	End   Moment `json:"end,omitzero"`
	// Likely is the start that a waiting job is told, if that is another one: the middle of many futures.
	// Reserved is the start of its reservation, if that is another one than Start.
	Likely   Moment `json:"likely,omitzero"`
	Reserved Moment `json:"reserved,omitzero"`
	// Low and High are where a waiting job starts in eight of ten futures. Of a job that runs, High is
	// when it ends at the latest, if that is later than expected.
	Low       Moment `json:"low,omitzero"`
	High      Moment `json:"high,omitzero"`
	Guarantee Moment `json:"guarantee,omitzero"`
	// At is where it runs, or is expected to.
	At []Piece `json:"at,omitempty"`
}

// Job is a job with all that tables show.
type Job struct {
	Bar
	Autocluster int
	Position    int // in the queue, from 1 on; 0: it is not in it
	// Memory, in MiB, and Gpus are those of all chunks.
	Memory, Gpus int64
	Chunks       int
	Requested    int64 // seconds
	Predicted    int64 // seconds; 0: as requested
	Reason       string
	Behind       string // the job at the head of the queue, for which it waits
	Places       string // names of the slots, shortened
}

// Find returns the index of the job of a name, which may have a queue behind an @; -1: there is none.
func (p *Picture) Find(name string) int {
	for i := range p.Jobs {
		if p.Jobs[i].Name == name {
			return i
		}
	}
	for i := range p.Jobs {
		if short, _, several := strings.Cut(p.Jobs[i].Name, "@"); several && short == name {
			return i
		}
	}
	return -1
}

// Told is the start that the job is told, or its actual one.
func (b *Bar) Told() Moment {
	if b.Likely.Known {
		return b.Likely
	}
	return b.Start
}

// Waits reports whether the job has not started.
func (b *Bar) Waits() bool {
	return b.Situation == backfill.Waits.String() || b.Situation == backfill.Reserved.String() ||
		b.Situation == backfill.HeldBack.String()
}

// starts returns the function that says which start a waiting job is told.
func (p *Picture) starts() func(backfill.JobID) (backfill.Time, bool) {
	all := make(map[backfill.JobID]backfill.Time, len(p.Jobs))
	for i := range p.Jobs {
		if j := &p.Jobs[i]; j.Waits() && j.Told().Known {
			all[j.ID] = backfill.Time(j.Told().At)
		}
	}
	return func(id backfill.JobID) (start backfill.Time, known bool) {
		start, known = all[id]
		return start, known
	}
}
