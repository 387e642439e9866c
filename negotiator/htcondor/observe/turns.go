package observe

import (
	"cmp"
	"context"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// An honest host has one schedd, or a few, most often behind one port; ads of thousands cost
// nothing. So of one host and port so many schedds are asked in a look, and the others by turns.
// Those that have told a queue there count apart, since ads can name schedds that are not there.
const mostOfPort = 50

// So many schedds of one host and port are asked at once, so many of one host, and so many in all.
// The last two do not count for those that answer.
const (
	atOnceOfPort = 16
	atOnceOfHost = 64
	atOnceOfAll  = 256
)

// turns say which schedds a look asks.
type turns struct {
	look  int
	asked map[string]int // by crowd
	places
}

// crowd names those among whom a schedd has turns.
func (o *Observer) crowd(s *schedd) string {
	known := s.answered && (s.Failed == nil || o.now().Sub(s.failing) < scheddGrace)
	return s.port() + strconv.FormatBool(known)
}

// port returns the host and port of a schedd.
func (s *schedd) port() string { return net.JoinHostPort(s.Address.Host, strconv.Itoa(s.Address.Port)) }

// beginTurns begins a look. Schedds that are still asked have their turn in this one.
func (o *Observer) beginTurns() {
	o.turns.look++
	o.turns.asked = map[string]int{}
	for _, s := range o.schedds {
		if s.reading != nil {
			o.takeTurn(s)
		}
	}
}

func (o *Observer) takeTurn(s *schedd) {
	s.turn = o.turns.look
	o.turns.asked[o.crowd(s)]++
}

// isTurnOf tells whether this look asks a schedd.
func (o *Observer) isTurnOf(s *schedd) bool {
	if s.turn != o.turns.look && o.turns.asked[o.crowd(s)] < mostOfPort {
		o.takeTurn(s)
	}
	return s.turn == o.turns.look
}

// askAll begins to read the queues of all schedds whose turn it is: first those whom the collector
// knows best, and then who was not asked for the longest time.
func (o *Observer) askAll(ctx context.Context) {
	all := slices.Collect(maps.Values(o.schedds))
	if len(all) > mostOfPort {
		slices.SortFunc(all, func(a, b *schedd) int {
			return cmp.Or(cmp.Compare(b.keeper.sender.trust(), a.keeper.sender.trust()), cmp.Compare(a.turn, b.turn),
				strings.Compare(a.Name, b.Name))
		})
	}
	for _, s := range all {
		o.ask(ctx, s)
	}
}

// tellTurns says how many schedds are not asked in this look, of which hosts and ports.
func (o *Observer) tellTurns(l *look, wait map[string]int) {
	for _, port := range slices.Sorted(maps.Keys(wait)) {
		l.problem("more than %d schedds are advertised at %s: %d wait for their turns to be asked", mostOfPort, port, wait[port])
	}
}

// places are taken by those who do something at once.
type places struct {
	mu  sync.Mutex
	all map[string]*place
}

type place struct {
	taken chan struct{}
	users int // those who have or wait for it
}

// take waits for a place of this name, of which there are so many. It reports whether there was one
// before the context ended; then it is to be left.
func (p *places) take(ctx context.Context, name string, many int) (leave func(), ok bool) {
	p.mu.Lock()
	if p.all == nil {
		p.all = map[string]*place{}
	}
	found := p.all[name]
	if found == nil {
		found = &place{taken: make(chan struct{}, many)}
		p.all[name] = found
	}
	found.users++
	p.mu.Unlock()
	done := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if found.users--; found.users == 0 {
			delete(p.all, name)
		}
	}
	select {
	case found.taken <- struct{}{}:
		return func() { <-found.taken; done() }, true
	case <-ctx.Done():
		done()
		return nil, false
	}
}

// room is a kind of places that asking a schedd takes.
type room struct {
	name string
	many int
}

func (o *Observer) roomsFor(s *schedd) []room {
	rooms := []room{{o.crowd(s), atOnceOfPort}}
	if !s.answered || s.Failed != nil || s.lags {
		rooms = append(rooms, room{s.Address.Host, atOnceOfHost}, room{"", atOnceOfAll})
	}
	return rooms
}

// within runs something in places of all these rooms, as soon as there are; not if the context ends
// before.
func (p *places) within(ctx context.Context, rooms []room, run func()) {
	if len(rooms) == 0 {
		run()
		return
	}
	if leave, ok := p.take(ctx, rooms[0].name, rooms[0].many); ok {
		defer leave()
		p.within(ctx, rooms[1:], run)
	}
}
