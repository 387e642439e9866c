package livepage

import "sync"

// mostViewers is how many viewers are told of differences at a time.
const mostViewers = 256

// seats bound the viewers who are told of differences, so that no host keeps the others out: when all
// are taken, a new one gets that of the host with most, unless that is its own.
type seats struct {
	mu    sync.Mutex
	taken []*seat // the oldest first
}

// seat is a viewer's.
type seat struct {
	host string
	cut  chan struct{} // is closed when another one has it
}

// take takes a seat; nil if there is none.
func (s *seats) take(host string) *seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.taken) >= mostViewers && !s.clear(host) {
		return nil
	}
	taken := &seat{host: host, cut: make(chan struct{})}
	s.taken = append(s.taken, taken)
	return taken
}

// clear frees the oldest seat of the host that has most, for another host that has fewer.
func (s *seats) clear(host string) bool {
	number := map[string]int{}
	for _, one := range s.taken {
		number[one.host]++
	}
	fullest := -1
	for i, one := range s.taken {
		if number[one.host] > number[host]+1 && (fullest < 0 || number[one.host] > number[s.taken[fullest].host]) {
			fullest = i
		}
	}
	if fullest < 0 {
		return false
	}
	close(s.taken[fullest].cut)
	s.taken = append(s.taken[:fullest], s.taken[fullest+1:]...)
	return true
}

// leave frees a seat; one that another has already is left alone.
func (s *seats) leave(gone *seat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range s.taken {
		if one == gone {
			s.taken = append(s.taken[:i], s.taken[i+1:]...)
			return
		}
	}
}

// number is how many are taken.
func (s *seats) number() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.taken)
}
