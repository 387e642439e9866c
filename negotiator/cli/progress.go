package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
)

// Tell prints a message about progress if standard error is a terminal.
func Tell(format string, args ...any) {
	if IsTerminal(os.Stderr) {
		_, _ = fmt.Fprintf(os.Stderr, format+"\n", args...) // nobody may be there to read
	}
}

// patience is how long work may take before a bar is shown.
const patience = 2 * time.Second

// Progress is a progress bar for long work. It appears only on a terminal, and only after two
// seconds.
type Progress struct {
	out     io.Writer // nil: no bar
	what    string
	begun   time.Time
	writer  progress.Writer
	tracker *progress.Tracker
	ended   bool
	over    chan struct{} // closed when the bar was drawn for the last time
}

// NewProgress returns a bar on standard error with a text beside it.
func NewProgress(what string) *Progress {
	p := &Progress{what: what, begun: time.Now()}
	if IsTerminal(os.Stderr) {
		p.out = os.Stderr
	}
	return p
}

// Update moves the bar to done out of total. It is cheap.
func (p *Progress) Update(done, total int64) {
	if p.out == nil {
		return
	}
	if p.writer == nil {
		if time.Since(p.begun) < patience {
			return
		}
		p.writer = progress.NewWriter()
		p.writer.SetOutputWriter(p.out)
		p.writer.SetUpdateFrequency(100 * time.Millisecond)
		p.writer.SetTrackerLength(40)
		p.writer.Style().Visibility.Speed = true
		p.tracker = &progress.Tracker{Message: p.what, Total: total}
		p.writer.AppendTracker(p.tracker)
		p.over = make(chan struct{})
		go func() {
			defer close(p.over)
			p.writer.Render()
		}()
	}
	p.tracker.SetValue(done)
}

// Say changes the text beside the bar.
func (p *Progress) Say(what string) {
	p.what = what
	if p.tracker != nil {
		p.tracker.UpdateMessage(what)
	}
}

// Line prints a line that the bar is not drawn over, as it would be otherwise. It reports false if there is no
// bar.
func (p *Progress) Line(text string) bool {
	if p.writer == nil || p.ended {
		return false
	}
	p.writer.Log(text) // the text is no format, as nothing is behind it
	return true
}

// Done ends the bar.
func (p *Progress) Done() {
	if p.writer == nil {
		return
	}
	p.ended = true
	if p.tracker.Value() < p.tracker.Total {
		p.tracker.MarkAsErrored() // the work was given up
	} else {
		p.tracker.MarkAsDone()
	}
	for {
		p.writer.Stop() // it has no effect before the first drawing
		select {
		case <-p.over:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
