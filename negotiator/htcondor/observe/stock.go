package observe

import "sync"

// maxStock bounds what is kept of all queues together, in bytes of memory. One host may have half
// of it, however many schedds it advertises.
const maxStock = 2 << 30

// stock is what is kept of all queues: of those that are being read, and else of what was read
// last. When it is too much, the schedds of the host that has most leave out ads, the one that has
// most first: a greedy one takes nothing from an honest one. All readings share its lock, so
// nothing is done under it that takes longer with more ads.
type stock struct {
	most int // bytes of memory

	mu     sync.Mutex
	size   int
	hosts  map[string]*host
	greedy heaviest[*host]    // those with readings that may leave out ads
	kept   map[string]portion // by schedd
}

// host is what is kept of the queues of all schedds of a host.
type host struct {
	weight
	readings heaviest[*share] // those that may leave out ads
}

// share is what a reading has of the stock.
type share struct {
	weight
	host    string
	reading *intake
	settled bool // it leaves out nothing any more
	ended   bool
}

// portion is what is kept of a queue; earlier is what besides is kept of earlier answers of the look.
type portion struct {
	host          string
	size, earlier int
}

func newStock(most int) *stock {
	return &stock{most: most, hosts: map[string]*host{}, kept: map[string]portion{}}
}

// host returns the host of this name, a new one if there is none yet.
func (s *stock) host(name string) *host {
	h := s.hosts[name]
	if h == nil {
		h = &host{weight: weight{name: name}}
		s.hosts[name] = h
	}
	return h
}

// change notes that a host has so many bytes more, and whether it has readings that may leave out
// ads.
func (s *stock) change(name string, bytes int) {
	h := s.host(name)
	s.size += bytes
	s.greedy.grow(h, bytes)
	switch {
	case len(h.readings) == 0 && h.size == 0:
		delete(s.hosts, name)
		fallthrough
	case len(h.readings) == 0:
		s.greedy.drop(h)
	case h.place == 0:
		s.greedy.put(h)
	}
}

// begin notes that a queue is being read: what was read of it before does not count any more.
func (s *stock) begin(k *intake) *share {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &share{weight: weight{name: k.schedd}, host: k.host, reading: k}
	s.host(r.host).readings.put(r)
	s.change(r.host, 0)
	before := s.kept[r.name]
	s.change(before.host, -before.size)
	return r
}

// note notes what a reading takes now. It reports whether somebody still waits for the reading.
func (s *stock) note(r *share, size int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.ended {
		more, h := size-r.size, s.host(r.host)
		if r.place == 0 && !r.settled {
			h.readings.put(r)
		}
		h.readings.grow(r, more)
		s.change(r.host, more)
	}
	return !r.ended
}

// settle notes that a reading has nothing to leave out; for good, or until it takes more.
func (s *stock) settle(r *share, forGood bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.settled = r.settled || forGood
	s.leave(r)
}

func (s *stock) leave(r *share) {
	s.host(r.host).readings.drop(r)
	s.change(r.host, 0)
}

// end notes that a reading has ended; what was read before counts again.
func (s *stock) end(r *share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ended {
		return
	}
	r.ended = true
	s.leave(r)
	s.change(r.host, -r.size)
	before := s.kept[r.name]
	s.change(before.host, before.size)
}

// keep notes what is kept of a schedd's queue from now on, which is not being read. It reports
// whether there is room for the earlier answers of a look, which may not fill the stock: else
// nothing of them is to be kept.
func (s *stock) keep(schedd string, p portion) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.kept[schedd]
	s.change(before.host, -before.size-before.earlier)
	s.change(p.host, p.size)
	fits := p.earlier == 0 || s.size+p.earlier <= s.most/2 && s.host(p.host).size+p.earlier <= s.most/4
	if !fits {
		p.earlier = 0
	}
	s.change(p.host, p.earlier)
	if s.kept[schedd] = p; p.size+p.earlier == 0 {
		delete(s.kept, schedd)
	}
	return fits
}

// crowds returns the reading that is to leave out ads so that another one has room: of the host
// that has most, the one that takes most, if all queues together take too much, or the one of the
// same host, if that does. It returns nil if there is room.
func (s *stock) crowds(r *share) *intake {
	s.mu.Lock()
	defer s.mu.Unlock()
	var h *host
	switch own := s.hosts[r.host]; {
	case s.size > s.most:
		h = s.greedy.first()
	case own != nil && own.size > s.most/2:
		h = own
	}
	if h == nil || len(h.readings) == 0 {
		return nil
	}
	return h.readings.first().reading
}

// total returns how much is kept.
func (s *stock) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}
