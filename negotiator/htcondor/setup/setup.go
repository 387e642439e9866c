package setup

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
)

// Setup changes which negotiator works on this machine. The fields are set before.
type Setup struct {
	// Tool runs one of HTCondor's tools and returns what it prints.
	Tool func(ctx context.Context, name string, args ...string) (string, error)
	// Read reads HTCondor's configuration as it is now, and Check does all that a start would check.
	Read  func(ctx context.Context) (*condorconfig.Config, error)
	Check func(ctx context.Context) error
	// Template is configs/htcondor/backfill.conf, and Program the executable that condor_master is to
	// start.
	Template, Program string
	// UID is the user who runs this.
	UID int
	// Patience is how long a negotiator may take until its first cycle has ended.
	Patience time.Duration
	// Accounting has usage and priorities move along with the pool, by commands of Program; nil: back, if
	// they came along.
	Accounting *bool
	// Replace has them replace what was used and set meanwhile on the other side.
	Replace bool
	// DryRun has everything looked at and told, and nothing changed.
	DryRun bool
	// Say is told each step as it is done; nil: nobody is.
	Say  func(step string)
	Now  func() time.Time
	Wait func(ctx context.Context, d time.Duration) error

	path       string // of the file
	host       string
	executes   bool // this machine runs jobs, too
	ownDaemons bool // DC_DAEMON_LIST is set by others
	told       bool // condor_master knows of the change
	moves      bool // usage and priorities move along
	// moved is the file that says that they have; nil: nothing moves
	moved  *string
	report Report
}

// To has the negotiators work as a mode wants it. What it returns besides an error tells how far it got.
func (s *Setup) To(ctx context.Context, m Mode) (Report, error) {
	s.report = Report{Is: m, DryRun: s.DryRun}
	err := s.to(ctx, m)
	if err != nil {
		s.report.Error = err.Error()
	}
	return s.report, err
}

func (s *Setup) to(ctx context.Context, m Mode) error {
	c, err := s.Read(ctx)
	if err == nil {
		err = s.refuse(c, m)
	}
	if err != nil {
		return cli.Bad(err)
	}
	if !s.DryRun {
		unlock, err := lock(filepath.Dir(s.path))
		if err != nil {
			return cli.Bad(err)
		}
		defer unlock()
	}
	return s.toFrom(ctx, m, c)
}

// toFrom does as [Setup.To] says, from the configuration as it is, which nobody else changes meanwhile.
func (s *Setup) toFrom(ctx context.Context, m Mode, c *condorconfig.Config) error {
	before, err := read(s.path)
	if err != nil {
		return cli.Bad(err)
	}
	again := m == Same
	if again {
		m = before.mode
	}
	s.report.Was, s.report.Is, s.report.File = before.mode, m, s.path
	s.report.Again, s.report.Down = again, asleep(c)
	if again && (m == Stock || s.report.Down) {
		return nil // nothing is set up, or it will start with HTCondor
	}
	if s.report.Down && m != Stock {
		return errors.New("HTCondor does not run on this machine: start it, and run this again")
	}
	if err = s.mayMove(before, m); err != nil {
		return cli.Bad(err)
	}
	list, _ := c.Setting("DC_DAEMON_LIST")
	// Version 23.9 takes all that comes after a + for one name, so nothing can be added there.
	s.ownDaemons = strings.Trim(list.Value, "+ ") != "" && !s.wrote(list)
	content := s.content(m, before.moved && m == before.mode || s.moves && before.mode != Live)
	s.report.Lines = inForce(content)
	if m == Stock && s.report.Down {
		return s.away(ctx, before)
	}
	one, there, err := s.atWork(ctx, m, time.Time{})
	if there && m == Observe { // beside the negotiator that matches
		_, there, err = s.atWork(ctx, Stock, time.Time{})
	}
	if err != nil {
		return fmt.Errorf("the pool does not answer: is HTCondor up? %w", err)
	}
	if !there || before.text != content || again {
		if one, err = s.change(ctx, m, before, content); err != nil {
			return err
		}
	}
	s.report.Name, s.report.Policy = one.name, one.policy
	if m == Live {
		s.report.NotLending, err = s.notLending(ctx)
	}
	return err
}

// mayMove decides whether usage and priorities move along. It errs if they are to and cannot.
func (s *Setup) mayMove(before current, m Mode) error {
	switch {
	case s.Accounting == nil:
		s.moves = before.moved && m != Live
	case *s.Accounting && m == Live && before.mode == Live && !before.moved:
		return errors.New("usage and priorities move only when the negotiators change, and ours is at work already: run " +
			"negotiator setup --back, and then this again")
	default:
		s.moves = *s.Accounting
	}
	return nil
}

// inForce returns the lines of the file that set something.
func inForce(content string) []string {
	return slices.DeleteFunc(strings.Split(content, "\n"), func(line string) bool {
		return line == "" || strings.HasPrefix(line, "#")
	})
}

// toPutBack is how long putting back may take at least.
const toPutBack = time.Minute

// change writes the file and has condor_master heed it. If that fails, or no negotiator is at work in
// time, it puts back what was. An interrupt ends it in the same way. The file says that usage and
// priorities have moved once they have: whoever is killed before that runs the same again.
func (s *Setup) change(ctx context.Context, m Mode, before current, content string) (found, error) {
	former := s.report.Was
	s.moved = nil
	if s.moving(former, m) != nil {
		s.moved = &content
	}
	var err error
	switch {
	case s.moved == nil:
		err = s.put(content)
	case m == Live:
		err = s.put(s.content(m, false))
	}
	if err != nil {
		return found{}, err
	}
	if s.moved == nil || m == Live {
		err = s.sound(ctx, m)
	}
	if err != nil {
		err = cli.Bad(err)
	} else {
		var one found
		if one, err = s.handOver(ctx, former, m); err == nil || s.DryRun {
			return one, err
		}
	}
	undo := context.WithoutCancel(ctx)
	s.moves = false // the negotiator that comes back has its own, as it left it
	s.Patience = max(s.Patience, toPutBack)
	wrong := s.put(before.text)
	if wrong == nil && s.told {
		_, wrong = s.handOver(undo, m, former)
	}
	switch {
	case wrong != nil:
		err = fmt.Errorf("%w; and to put back what was failed, too: %w", err, wrong)
	case s.told:
		err = fmt.Errorf("%w. All was put back: the %s is at work again", err, titles[former])
	}
	return found{}, err
}

// put replaces the file.
func (s *Setup) put(content string) error {
	if content == "" {
		s.did("remove %s", s.path)
	} else {
		s.did("write %s", s.path)
	}
	if s.DryRun {
		return nil
	}
	return write(s.path, content)
}

// sound errs if the configuration with the file is not what it should be.
func (s *Setup) sound(ctx context.Context, m Mode) error {
	if m == Stock || s.DryRun {
		return nil
	}
	c, err := s.Read(ctx)
	if err != nil {
		return err
	}
	err = s.heeded(c, m)
	if on, _ := c.Bool("BACKFILL_OBSERVE"); err == nil && on && m == Live {
		set, _ := c.Setting("BACKFILL_OBSERVE")
		err = fmt.Errorf("BACKFILL_OBSERVE = %s (%s): nothing would be matched; take that line out", set.Value, place(set))
	}
	if err == nil {
		err = s.Check(ctx)
	}
	return err
}

// handOver has condor_master go from one mode to another, as the file says by now, and waits until the
// negotiators work: those that are started by it, if any are. A negotiator that should work and does
// not is started, too: somebody may have stopped it, or a former change was cut off.
func (s *Setup) handOver(ctx context.Context, former, m Mode) (found, error) {
	began := s.Now().Truncate(time.Second)
	since := func(started bool) time.Time {
		if started {
			return began
		}
		return time.Time{}
	}
	_, up, _ := s.atWork(ctx, pools(m), time.Time{})
	restart := !up || pools(former) != pools(m) || former == m && m != Observe
	if err := s.replace(ctx, restart, s.moving(former, m)); err != nil || s.DryRun {
		return found{}, err
	}
	one, err := s.await(ctx, pools(m), since(restart))
	if err == nil && m == Observe {
		return s.await(ctx, Observe, since(former != Observe || s.report.Again))
	}
	return one, err
}

// away takes the file away while HTCondor is down: its own negotiator comes up with it. The accounting
// moves back before.
func (s *Setup) away(ctx context.Context, before current) error {
	if before.mode == Stock {
		return nil
	}
	if back := s.moving(before.mode, Stock); back != nil {
		if err := s.run(ctx, back); err != nil {
			return err
		}
	}
	return s.put("")
}

// moving returns the command that has usage and priorities move along, nil if there is none.
func (s *Setup) moving(former, m Mode) []string {
	if !s.moves || pools(former) == pools(m) {
		return nil
	}
	command := []string{s.Program, "export-accounting"}
	if m == Live {
		command[1] = "import-accounting"
	}
	if s.Replace {
		command = append(command, "--replace")
	}
	return command
}

// pools returns the mode of the negotiator that is the pool's: an observer is beside HTCondor's own.
func pools(m Mode) Mode {
	if m == Live {
		return Live
	}
	return Stock
}
