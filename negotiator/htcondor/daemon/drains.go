package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/drains"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// drainsBucket is the bucket of the slots that are drained, by slot.
const drainsBucket = "drains"

// kept are the slots that are drained. One at a time changes them.
type kept struct {
	changing sync.Mutex
	mu       sync.Mutex // guards book
	book     drains.Book
}

// now returns the slots that are drained, which do not change.
func (k *kept) now() drains.Book {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.book
}

func (k *kept) set(book drains.Book) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.book = book
}

// Drain has slots drained for a user, or ends that, as the request says in JSON. It is written down
// before it is answered. The ad has as Answer the drains of these slots as JSON, or BadQuestion, why
// there can be none, or why it Failed.
func (d *Daemon) Drain(ctx context.Context, user, request string) *classad.ClassAd {
	ctx, done := context.WithTimeout(ctx, whatIfPatience)
	defer done()
	listed, err := d.drain(ctx, user, request)
	if err != nil {
		d.log.Warn("a drain is refused", "asked_by", user, "request", backfill.Printable(request, shownRequest), "error", err)
	}
	return replyTo(listed, err)
}

// shownRequest is how much of a request is logged.
const shownRequest = 300

// Drains tells which slots are drained, in an ad as that of Drain.
func (d *Daemon) Drains(ctx context.Context) *classad.ClassAd {
	ctx, done := context.WithTimeout(ctx, whatIfPatience)
	defer done()
	var listed []drains.Listed
	err := d.look(ctx, func(n *negotiator.Negotiator) error {
		listed = d.drains.now().List(n.State(), nameIn(n))
		return nil
	})
	return replyTo(listed, err)
}

// nameIn returns the function that names a negotiator's jobs.
func nameIn(n *negotiator.Negotiator) func(backfill.JobID) string {
	return func(id backfill.JobID) string {
		if j := n.Job(id); j != nil {
			return j.Name
		}
		return fmt.Sprint(id)
	}
}

// replyTo puts an answer or an error into an ad.
func replyTo(answer any, err error) *classad.ClassAd {
	ad := classad.New()
	var text []byte
	if err == nil {
		text, err = json.Marshal(answer)
	}
	_, bad := errors.AsType[*drains.BadRequest](err)
	switch {
	case bad:
		ad.SetString("BadQuestion", err.Error())
	case err != nil:
		ad.SetString("Failed", err.Error())
	default:
		ad.SetString("Answer", string(text))
	}
	return ad
}

// drain carries a request out, and tells of the slots that it meant.
func (d *Daemon) drain(ctx context.Context, user, request string) (listed []drains.Listed, err error) {
	r, err := drains.Read(request)
	if err != nil {
		return nil, err
	}
	if d.o.Observe {
		return nil, errors.New("this negotiator only observes: another one starts jobs, and knows nothing of drains")
	}
	d.drains.changing.Lock()
	defer d.drains.changing.Unlock()
	var meant []string
	next := d.drains.now()
	err = d.look(ctx, func(n *negotiator.Negotiator) (failed error) {
		s := n.State()
		next, meant, failed = next.Apply(r, slotsUp(s), user, backfill.Time(time.Now().Unix()))
		if failed == nil {
			only := drains.Book{}
			for _, slot := range meant {
				if drain, drained := next[slot]; drained {
					only[slot] = drain
				}
			}
			listed = only.List(s, nameIn(n))
		}
		return failed
	})
	if err == nil {
		err = d.takeDrains(next)
	}
	if err != nil {
		return nil, err
	}
	d.logDrain(r, meant, user)
	d.Wakeup()
	return listed, nil
}

// slotsUp are the names of the slots that are in the pool.
func slotsUp(s *backfill.State) (names []string) {
	for _, slot := range s.Slots() {
		if s.SlotUp(slot.ID) {
			names = append(names, slot.Name)
		}
	}
	return names
}

// mostNamed is how many slots a line of the log names.
const mostNamed = 20

func (d *Daemon) logDrain(r drains.Request, slots []string, user string) {
	names := strings.Join(slots[:min(len(slots), mostNamed)], " ")
	if more := len(slots) - mostNamed; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	if r.Cancel {
		d.log.Info("drains are cancelled", "slots", names, "asked_by", user)
		return
	}
	about := []any{"slots", names, "by", dated(&r.By, time.Local)}
	if r.Until != 0 {
		about = append(about, "until", dated(&r.Until, time.Local))
	}
	d.log.Info("slots are drained", append(about, "asked_by", user)...)
}

// takeDrains writes a book of drains down, and has it heeded from the next look at the pool on.
func (d *Daemon) takeDrains(book drains.Book) error {
	if d.o.State != nil {
		if err := d.o.State.SaveDrains(book); err != nil {
			return err
		}
	}
	d.drains.set(book)
	if pool := d.pool.Load(); pool != nil {
		(*pool).Drain(book)
	}
	d.change(func(s *status) { s.drains = len(book) })
	return nil
}

// restoreDrains takes up the drains that are written down, for a pool that has not been looked at.
func (d *Daemon) restoreDrains(pool Pool) error {
	d.drains.changing.Lock()
	defer d.drains.changing.Unlock()
	if d.o.State != nil {
		book, err := d.o.State.Drains()
		if err != nil {
			return err
		}
		d.drains.set(book)
	}
	book := d.drains.now()
	pool.Drain(book)
	d.change(func(s *status) { s.drains = len(book) })
	return nil
}

// tendDrains forgets drains that are over, and those of slots that have left the pool for good. An
// error is only logged. It must be called between cycles, or within one.
func (d *Daemon) tendDrains(s *backfill.State) {
	if len(d.drains.now()) == 0 || !d.drains.changing.TryLock() {
		return // who changes them looks at the negotiator, perhaps, and waits for the end of this cycle
	}
	defer d.drains.changing.Unlock()
	up := map[string]bool{}
	for _, name := range slotsUp(s) {
		up[name] = true
	}
	book, dropped, changed := d.drains.now().Tend(s.Now(), func(slot string) bool { return up[slot] })
	if !changed {
		return
	}
	if err := d.takeDrains(book); err != nil {
		d.log.Error("what became of drains could not be written down", "error", err)
		return
	}
	for _, drain := range dropped[:min(len(dropped), mostLines)] {
		why := "its time is over"
		if !drain.Over(s.Now()) {
			why = "the pool has no such slot any more"
		}
		d.log.Info("a drain has ended", "slot", drain.Slot, "why", why)
	}
}

// SaveDrains writes down which slots are drained.
func (s *State) SaveDrains(book drains.Book) error {
	var out statefile.LeftOut
	err := s.file.Update(func(tx *statefile.Tx) error {
		b, failed := tx.Make(drainsBucket)
		if failed != nil {
			return failed
		}
		var over []string
		for key := range b.All() {
			if _, still := book[key]; !still {
				over = append(over, key)
			}
		}
		for _, key := range over {
			if failed = b.Delete(key); failed != nil {
				return failed
			}
		}
		for _, drain := range book.All() {
			text, wrong := json.Marshal(drain)
			if wrong == nil {
				wrong = statefile.Fits(drain.Slot, text)
			}
			if wrong != nil {
				out.Add(drain.Slot, wrong)
			} else if failed = b.Put(drain.Slot, text); failed != nil {
				return failed
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("write the drains down: %w", err)
	}
	return out.Told("the drains")
}

// Drains reads which slots are drained. A record that cannot be read is left out, and told in the log.
func (s *State) Drains() (drains.Book, error) {
	var all []drains.Drain
	var out statefile.LeftOut
	err := s.file.View(func(tx *statefile.Tx) error {
		b := tx.Bucket(drainsBucket)
		if b == nil {
			return nil
		}
		for key, text := range b.All() {
			var drain drains.Drain
			wrong := json.Unmarshal(text, &drain)
			if wrong == nil && drain.Slot != key {
				wrong = fmt.Errorf("it is of %q", backfill.Printable(drain.Slot, shownName))
			}
			if wrong != nil {
				out.Add(key, wrong)
				continue
			}
			all = append(all, drain)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the drains: %w", err)
	}
	if lost := out.Told("the drains"); lost != nil {
		s.logger.Error("A PART OF THE STATE CANNOT BE READ: these slots are not drained any more", "error", lost)
	}
	return drains.BookOf(all), nil
}

// describeDrains adds to an ad which slots are drained, the first of them.
func describeDrains(ad *classad.ClassAd, drained []string) {
	for i, text := range drained[:min(len(drained), mostLines)] {
		ad.SetString(fmt.Sprintf("DrainedSlot%d", i+1), text)
	}
}

// ReadDrained reads what describeDrains wrote.
func ReadDrained(ad *classad.ClassAd) (all []string) {
	for i := 1; ; i++ {
		text, ok := ad.Literal(fmt.Sprintf("DrainedSlot%d", i)).Text()
		if !ok {
			return all
		}
		all = append(all, text)
	}
}

// firstDrained returns a function that says which slot that a waiting job may use is drained first, if
// that is before the job would end if it began now; "": none is.
func (d *Daemon) firstDrained(s *backfill.State) func(*backfill.Job) string {
	book := d.drains.now().All()
	ids := map[string]backfill.SlotID{}
	if len(book) > 0 {
		for _, slot := range s.Slots() {
			ids[slot.Name] = slot.ID
		}
	}
	first := map[*backfill.Candidates]*drains.Drain{} // of each set, nil: none
	return func(job *backfill.Job) string {
		if len(book) == 0 {
			return ""
		}
		set := s.Request(job).Candidates
		drain, known := first[set]
		if !known {
			for i := 0; i < len(book) && drain == nil && set != nil; i++ {
				if id, there := ids[book[i].Slot]; there && holds(set, id) {
					drain = &book[i]
				}
			}
			first[set] = drain
		}
		if drain == nil || int64(s.Now()+job.Estimate) <= drain.By {
			return ""
		}
		return drain.Slot + " is " + drain.Why(time.Local)
	}
}

// holds tells whether a slot is one of a set.
func holds(set *backfill.Candidates, slot backfill.SlotID) bool {
	_, found := slices.BinarySearch(set.Slots, slot)
	return found
}

// drainedFor says of the slots that a job may use which are drained before it would end if it began
// now. The caller has the lock of cycles.
func (d *Daemon) drainedFor(id backfill.JobID) (texts []string) {
	book, s := d.drains.now(), d.n.State()
	job := s.Job(id)
	if len(book) == 0 || job == nil || !s.IsWaiting(id) {
		return nil
	}
	candidates := s.Request(job).Candidates
	if candidates == nil {
		return nil
	}
	slots, may := s.Slots(), map[string]bool{}
	for _, slot := range candidates.Slots {
		may[slots[slot].Name] = true
	}
	for _, drain := range book.All() {
		if may[drain.Slot] && int64(s.Now()+job.Estimate) > drain.By {
			texts = append(texts, drain.Slot+" is "+drain.Why(time.Local))
		}
	}
	return texts
}
