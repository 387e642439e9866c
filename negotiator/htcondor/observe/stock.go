package observe

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
)

// maxStock bounds what is kept of all queues together, in bytes of memory. One host may have half of it,
// however many schedds it advertises.
const maxStock = 2 << 30

// stock is what is kept of all queues: of those that are being read, and else of what was read last.
// When it is too much, the schedds of the host that has most leave out ads, the one that has most
// first: a greedy one takes nothing from an honest one.
type stock struct {
	most int // bytes of memory

	mu       sync.Mutex
	size     int
	hosts    map[string]int // what each has of it
	readings map[*intake]bool
	kept     map[string]portion // by schedd
}

// portion is what is kept of a queue.
type portion struct {
	host string
	size int
}

func newStock(most int) *stock {
	return &stock{most: most, hosts: map[string]int{}, readings: map[*intake]bool{}, kept: map[string]portion{}}
}

// change notes that a host has so many bytes more.
func (s *stock) change(host string, bytes int) {
	s.size += bytes
	if s.hosts[host] += bytes; s.hosts[host] == 0 {
		delete(s.hosts, host)
	}
}

// begin notes that a queue is being read: what was read of it before does not count any more.
func (s *stock) begin(k *intake) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readings[k] = true
	before := s.kept[k.schedd]
	s.change(before.host, -before.size)
}

// end notes that a reading has ended; what was read before counts again.
func (s *stock) end(k *intake) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.readings[k] {
		return
	}
	k.ended = true
	delete(s.readings, k)
	s.change(k.host, -k.size)
	before := s.kept[k.schedd]
	s.change(before.host, before.size)
}

// keep notes what is kept of a schedd's queue from now on, which is not being read.
func (s *stock) keep(schedd string, p portion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.kept[schedd]
	s.change(before.host, -before.size)
	s.change(p.host, p.size)
	if s.kept[schedd] = p; p.size == 0 {
		delete(s.kept, schedd)
	}
}

// relieve leaves out ads while all queues together take too much, or those of the host of a reading.
func (s *stock) relieve(reading *intake) error {
	for s.size > s.most || s.hosts[reading.host] > s.most/2 {
		k := s.heaviest(reading)
		if k == nil || !k.relieve() {
			return fmt.Errorf("the queues of all schedds do not end after %d bytes of memory: %w", s.size, errNoRoom)
		}
	}
	return nil
}

// heaviest returns the reading that is to leave out ads: of the host that has most, the one that takes
// most; of several, the first by name. If there is room but for the host of a reading, it is one there.
func (s *stock) heaviest(reading *intake) (most *intake) {
	for k := range s.readings {
		if k.told || s.size <= s.most && k.host != reading.host {
			continue
		}
		if most == nil || cmp.Or(cmp.Compare(s.hosts[k.host], s.hosts[most.host]), cmp.Compare(k.size, most.size),
			strings.Compare(most.schedd, k.schedd)) > 0 {
			most = k
		}
	}
	return most
}

// total returns how much is kept.
func (s *stock) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size
}
