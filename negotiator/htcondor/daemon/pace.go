package daemon

import (
	"runtime"
	"sync"
	"time"
)

// pace bounds how much of the machine a kind of work takes that is done beside the cycles:
// strangers decide how much there is to do. In the long run it takes its share. It may be used
// concurrently.
type pace struct {
	share float64 // how many processors it may take
	now   func() time.Time

	mu   sync.Mutex
	busy bool      // it is being done
	due  time.Time // when what was done so far is paid for
}

// mostSaved is for how long a share that nobody takes is saved, so that a few cycles in quick
// succession are each followed by all the work.
const mostSaved = time.Minute

// retry is when to try again while the work is done for somebody else.
const retry = time.Second

// besideShare is how many processors everything that is worked out beside the cycles without being
// asked may take in the long run: a twentieth of the machine, and of two processors if there is
// one. A third of it is for starts, which need not wait for ranges: those take many plays.
func besideShare() float64 { return max(2, float64(runtime.GOMAXPROCS(0))) / 20 }

// do does work that keeps a number of processors busy, unless it is done already or was done so
// lately that it must wait. The result tells whether it did.
func (p *pace) do(processors int, work func()) bool {
	began, may := p.begin()
	if !may {
		return false
	}
	work()
	p.mu.Lock()
	defer p.mu.Unlock()
	took := p.now().Sub(began)
	if saved := began.Add(-mostSaved); p.due.Before(saved) {
		p.due = saved
	}
	p.busy, p.due = false, p.due.Add(time.Duration(float64(took)*float64(processors)/p.share))
	return true
}

func (p *pace) begin() (now time.Time, may bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now = p.now()
	may = !p.busy && !now.Before(p.due)
	p.busy = p.busy || may
	return now, may
}

// wait returns how long the work must wait now.
func (p *pace) wait() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy {
		return retry
	}
	return max(0, p.due.Sub(p.now()))
}
