package profile

// Room is what a slot has to offer to one chunk: over all stretches of time in which the chunk is free and
// which reach into a span, when the first of them opens, how long the longest lasts, and when the last
// shuts. The stretch that never shuts counts by itself: when it opens is Endless. What there is not opens
// at [Forever], lasts for 0 seconds and shuts at 0.
type Room struct{ Opens, Lasts, Shuts, Endless Time }

// NoRoom is the room of a slot that has nothing to offer.
var NoRoom = Room{Opens: Forever, Endless: Forever}

// Add adds another one's room.
func (r *Room) Add(o Room) {
	r.Opens, r.Lasts = min(r.Opens, o.Opens), max(r.Lasts, o.Lasts)
	r.Shuts, r.Endless = max(r.Shuts, o.Shuts), min(r.Endless, o.Endless)
}

// RoomOn returns what a slot offers to a chunk in the stretches that reach into [from, to), which is not
// over at the origin. Where there are many, it may promise more than there is, but never less.
func RoomOn(p *View, id SlotID, chunk Vector, from, to Time) Room {
	all := Room{Opens: Forever, Endless: -Forever}
	if !p.Up(id) {
		return all
	}
	const many = 16
	room, free := NoRoom, p.slots[id].free
	at, found := enoughFrom(free, chunk, max(from, p.past))
	for n := 0; found && at < to; n++ {
		if n == many {
			return all
		}
		opens, shuts := p.enoughSince(free, chunk, at), freeUntil(free, chunk, at)
		if shuts == Forever {
			room.Endless = opens
			break
		}
		room.Add(Room{Opens: opens, Lasts: shuts - opens, Shuts: shuts, Endless: Forever})
		at, found = enoughFrom(free, chunk, shuts)
	}
	return room
}

// enoughFrom returns the first instant, from or later, at which the chunk is free; false if there is none.
func enoughFrom(free []steps, chunk Vector, from Time) (Time, bool) {
	for k := 0; k < len(chunk); k++ {
		if need := chunk[k]; need > 0 && free[k].value(from) < need {
			again, found := free[k].nextAtLeast(from, need)
			if !found {
				return 0, false
			}
			from, k = again, -1 // all of them anew
		}
	}
	return from, true
}

// enoughSince returns since when the chunk, which is free at an instant, has been free without a break; the
// origin if it always was.
func (p *View) enoughSince(free []steps, chunk Vector, at Time) Time {
	since := p.past
	for k, need := range chunk {
		if need == 0 {
			continue
		}
		if short, _, found := free[k].lastBelow(since, at, need); found {
			since, _ = free[k].nextAtLeast(short, need) // at the latest, at the given instant
		}
	}
	return since
}
