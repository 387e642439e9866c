package liveview

import (
	"cmp"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// Show says what is shown of a run.
type Show struct {
	Name  string // of the workload
	Clock instant.Clock
	Jobs  int // how many there are in all
	Job   func(backfill.JobID) Job
	Speed string // simulated seconds in a second
	// FallbackInUse names the fallback of a policy that was given up; "": it was not.
	FallbackInUse func() string
	// News is the last entry of the log; "": there is none.
	News func() string
	// Look says when and where waiting jobs are expected to start, as far as that is known.
	Look func(*negotiator.Report) map[backfill.JobID]ahead.Beginning
	// Policy describes the active policy in lines of this width; it is called between cycles.
	Policy func(width int) string
}

// Job is a job with the cpus that all its chunks take.
type Job struct {
	*negotiator.Job
	Cpus int64
}

// View is the live picture on a terminal. Each cycle draws it over the last one, on the terminal's
// alternate screen, so that nothing of it stays. It is as high as the terminal, and says how many
// rows have no room.
type View struct {
	Show
	out  io.Writer
	size func() (width, height int)
	// coloured says that the terminal has colours, and its user wants them.
	coloured   bool
	scavenging map[backfill.JobID]negotiator.Placement // the scavengers that run
	on         map[string][]string                     // the jobs that run on each slot
	held       map[string]string                       // why jobs are held, by label
	ended      int
	cycles     int

	mu      sync.Mutex // what is below, and writing; keys come between cycles
	screens map[screen]string
	showing screen
	away    bool   // on the main screen, where nothing is drawn
	again   func() // called instead: it may be time to come back
	hint    string // what the keys do; "": there are none
}

// screen is one of the pictures between which the user chooses.
type screen int

const (
	theSchedule screen = iota
	thePolicy
	theKeys
)

// Control sequences of terminals (ECMA-48 and xterm).
const (
	otherScreen = "\x1b[?1049h\x1b[?25l" // and no cursor
	backAgain   = "\x1b[?25h\x1b[?1049l"
	home        = "\x1b[H"
	clearLine   = "\x1b[K"
	clearRest   = "\x1b[J"
)

// New draws on a terminal until [View.Close].
func New(out *os.File, show Show) *View {
	v := makeView(out, show)
	v.away = true
	v.coloured = cli.HasColours(out)
	v.size = func() (int, int) {
		width, height, err := term.GetSize(int(out.Fd()))
		if err != nil {
			return 80, 24
		}
		return width, height
	}
	v.leave(false)
	return v
}

// makeView makes a view for any writer, 80 columns by 24 lines.
func makeView(out io.Writer, show Show) *View {
	return &View{
		Show: show, out: out, on: map[string][]string{}, held: map[string]string{},
		size:    func() (int, int) { return 80, 24 },
		screens: map[screen]string{theKeys: keysHelp}, again: func() {},
	}
}

// leave goes to the main screen, and draws nothing there; or back to the alternate one, and draws.
// If the terminal is gone, Cycle returns the error.
func (v *View) leave(away bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.away == away {
		return
	}
	v.away = away
	if away {
		_, _ = io.WriteString(v.out, backAgain)
		return
	}
	_, _ = io.WriteString(v.out, otherScreen)
	_ = v.refresh()
}

// Close returns to the main screen.
func (v *View) Close() { v.leave(true) }

// Cycle draws the pool as a cycle left it.
func (v *View) Cycle(r *negotiator.Report) error {
	v.follow(r)
	width, _ := v.room()
	schedule, policy := v.draw(r), v.Policy(width)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.screens[theSchedule], v.screens[thePolicy] = schedule, policy
	return v.refresh()
}

// show draws a screen; if it is shown already, the schedule again.
func (v *View) show(s screen) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.showing == s {
		s = theSchedule
	}
	v.showing = s
	_ = v.refresh() // the next cycle returns the error
}

// refresh writes the screen that is shown. The lock must be held.
func (v *View) refresh() error {
	if v.away {
		v.again()
		return nil
	}
	_, err := io.WriteString(v.out, v.fit(v.screens[v.showing]))
	return err
}

// follow updates the counts, which jobs run on each slot, and which are held.
func (v *View) follow(r *negotiator.Report) {
	v.cycles++
	v.ended += len(r.Delta.Completed) + len(r.Delta.Removed)
	for _, h := range r.Held {
		v.held[label(h.Job)] = h.Reason
	}
	for _, m := range r.Matches {
		delete(v.held, label(m.Job))
	}
	v.scavenge(r.Scavengers)
	clear(v.on)
	jobs, all := r.State.Snapshot().Jobs, r.State.Slots()
	slices.SortStableFunc(jobs, func(a, b backfill.JobState) int { return cmp.Compare(a.Start, b.Start) })
	for _, j := range jobs {
		for _, c := range j.Placement {
			if name := all[c.Slot].Name; j.Running && !j.Pinned {
				v.on[name] = append(v.on[name], label(v.Job(j.Job.ID).Job))
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.scavenging)) {
		for _, on := range v.scavenging[id] {
			v.on[on.Name()] = append(v.on[on.Name()], label(v.Job(id).Job)+" (scavenges)")
		}
	}
}

// scavenge updates which scavengers run, and counts those that ended.
func (v *View) scavenge(s *negotiator.Scavenged) {
	if s == nil {
		return
	}
	v.ended += len(s.Completed) + len(s.Removed)
	for _, id := range slices.Concat(s.Completed, s.Removed, s.Back) {
		delete(v.scavenging, id)
	}
	for _, m := range s.Matches {
		if v.scavenging == nil {
			v.scavenging = map[backfill.JobID]negotiator.Placement{}
		}
		v.scavenging[m.Job.ID] = m.Placement
	}
}

func label(j *negotiator.Job) string { return strings.TrimSpace(j.Name + " " + Command(j)) }

// room returns the columns and lines that there are for a picture. The last column stays free, as
// some terminals go to the next line behind it; so does the line of the cursor, or of the hint.
func (v *View) room() (width, height int) {
	width, height = v.size()
	return max(1, width-1), max(1, height-1)
}

// fit cuts a picture to the terminal's size and adds the hint and the control sequences.
func (v *View) fit(picture string) string {
	width, height := v.room()
	lines := strings.Split(strings.TrimRight(picture, "\n"), "\n")
	lines = lines[:min(len(lines), height)]
	var b strings.Builder
	b.WriteString(home)
	for _, line := range lines {
		b.WriteString(text.Snip(line, width, "…") + clearLine + "\n")
	}
	b.WriteString(clearRest)
	if v.hint != "" && height > 1 {
		b.WriteString(strings.Repeat("\n", height-len(lines)) + text.Snip(v.hint, width, "…"))
	}
	return b.String()
}
