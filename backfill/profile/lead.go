package profile

import "slices"

// Several jobs may begin on a slot in one second, one after another, in an order that nobody knows
// before. Each of them finds enough, whenever its turn comes, if beside the chunks of all the greatest
// of their [Request.Spare]s is free, resource by resource. So that much is occupied in that second, and
// not the sum: it is not used up. One more job needs its chunks beside that, and of its own spare what is
// above the greatest so far.

// leads are what jobs need on a slot beside their chunks when they begin, by second. A slot on which
// nobody needs more than chunks has none.
type leads struct {
	owner *owner
	all   []lead // by second; only the owner may change it in place
}

// lead is how many jobs need the same beside their chunks in a second.
type lead struct {
	at    Time
	spare Vector
	jobs  int
}

// Lead notes that so many more jobs, or fewer, begin on a slot at an instant and need spare free then
// beside their chunks. In that second the slot's greatest spare is occupied.
func (p *Profile) Lead(on SlotID, at Time, spare Vector, jobs int) {
	s, change := &p.slots[on], make(Vector, len(spare))
	for k := range spare {
		change[k] = -s.leads.greatest(at, k)
	}
	s.leads.count(p.owner, at, spare, jobs)
	for k := range spare {
		change[k] += s.leads.greatest(at, k)
	}
	p.places += jobs
	if !change.Zero() {
		sign := int64(-1)
		if jobs < 0 {
			sign = 1
			for k := range change {
				change[k] = -change[k]
			}
		}
		p.shift(s.single, change, at, at+1, sign)
	}
}

// from returns the leads from an instant on.
func (l *leads) from(at Time) []lead {
	low, high := 0, len(l.all)
	for low < high {
		if mid := (low + high) / 2; l.all[mid].at < at {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return l.all[low:]
}

// greatest returns the most of a resource that a job needs beside its chunks when it begins in a second.
func (l *leads) greatest(at Time, k int) (most int64) {
	for _, one := range l.from(at) {
		if one.at > at {
			break
		}
		most = max(most, one.spare[k])
	}
	return most
}

// count adds to the number of jobs that need the same in a second.
func (l *leads) count(o *owner, at Time, spare Vector, jobs int) {
	if l.owner != o {
		l.owner, l.all = o, slices.Clone(l.all)
	}
	i := len(l.all) - len(l.from(at))
	for ; i < len(l.all) && l.all[i].at == at; i++ {
		if slices.Equal(l.all[i].spare, spare) {
			if l.all[i].jobs += jobs; l.all[i].jobs == 0 {
				l.all = slices.Delete(l.all, i, i+1)
			}
			return
		}
	}
	l.all = slices.Insert(l.all, i, lead{at, spare, jobs})
}

// beside returns how much of a resource chunks may take of a slot in the second in which they begin, if
// over must be free beside them.
func (s *slot) beside(k int, at Time, over int64) int64 {
	if len(s.leads.all) > 0 {
		over = max(0, over-s.leads.greatest(at, k))
	}
	return s.free[k].value(at) - over
}

// enoughOf returns the first instant from start on at which chunks may take so much of a resource of a
// slot, if over must be free beside them; false if there is none before limit.
func (s *slot) enoughOf(k int, start, limit Time, take, over int64) (Time, bool) {
	if s.free[k].value(start) >= take+over || s.beside(k, start, over) >= take {
		return start, true
	}
	again, found := s.free[k].nextAtLeast(start, take+over)
	if !found {
		again = limit
	}
	for _, one := range s.leads.from(start + 1) { // of what they occupy, chunks may have a part beside them
		if one.at >= min(again, limit) {
			break
		}
		if one.spare[k] > 0 && s.beside(k, one.at, over) >= take {
			return one.at, true
		}
	}
	return again, again < limit
}

// lessOf returns the first instant from start on, and before limit, at which chunks may not take so much
// of a resource of a slot, if over must be free beside them; limit if there is none.
func (s *slot) lessOf(k int, start, limit Time, take, over int64) Time {
	for start < limit {
		short, ok := s.free[k].firstBelow(start, take+over)
		if !ok {
			break
		}
		if s.beside(k, short, over) < take {
			return min(short, limit)
		}
		start = short + 1
	}
	return limit
}
