package host

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	// lineCost is what a line costs besides its bytes: the log adds a time and a name, and a processor
	// works on it.
	lineCost = 128
	// step is how many bytes are read at once.
	step = 4 << 10
)

// pace bounds how fast the output of a process is read, from all its pipes together: a process that
// writes more waits for room in a pipe. Once the process has ended, what the pipes hold is read at
// once.
type pace struct {
	log   hclog.Logger
	ended <-chan struct{}

	mu    sync.Mutex
	spent int       // since then, in bytes
	since time.Time // the last second began
	told  time.Time // that the process is held up
	rest  int       // spent after the end
}

// limit returns the reader of a pipe.
func (p *pace) limit(pipe io.Reader) io.Reader { return paced{pipe, p} }

type paced struct {
	pipe io.Reader
	*pace
}

func (r paced) Read(b []byte) (int, error) {
	n, err := r.pipe.Read(b[:min(len(b), step)])
	if !r.pay(n + lineCost*bytes.Count(b[:n], []byte{'\n'})) {
		return n, io.EOF
	}
	return n, err
}

// pay waits until what was read is paid for, or the process ends. It reports whether more may be
// read: a pipe that is written to after the end holds no last words.
func (p *pace) pay(cost int) bool {
	for {
		wait, more := p.spend(cost, time.Now())
		if wait <= 0 {
			return more
		}
		cost = 0
		select {
		case <-p.ended:
		case <-time.After(wait):
		}
	}
}

// spend counts a cost and returns how long to wait for the next second; 0: not at all.
func (p *pace) spend(cost int, now time.Time) (wait time.Duration, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent += cost
	if p.since.IsZero() {
		p.since = now
	}
	if seconds := now.Sub(p.since) / time.Second; seconds > 0 {
		p.spent = int(max(0, int64(p.spent)-int64(seconds)*maxLog))
		p.since = now
	}
	select {
	case <-p.ended:
		p.rest += cost
		return 0, p.rest <= 2*maxLog
	default:
	}
	if p.spent <= maxLog {
		return 0, true
	}
	if now.Sub(p.told) >= time.Minute {
		p.told = now
		p.log.Warn("the policy plugin writes too much to its log; it is held up")
	}
	return p.since.Add(time.Second).Sub(now), true
}
