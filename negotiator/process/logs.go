package process

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
)

// openLog logs to the terminal, or to the files in HTCondor's configuration if condor_master started
// us.
func (p *process) openLog() error {
	level := hclog.LevelFromString(cmp.Or(p.site.Settings.LogLevel, p.debugLevel()))
	if p.options.Terminal || p.Source.HTCondor() == nil || p.site.Inherited.Parent == 0 {
		p.Logger = daemon.NewLogger(level, p.options.Log)
		return nil
	}
	return p.openFiles(level)
}

// tell has the log, too, say why a negotiator that condor_master started does not begin: what goes to stderr
// stands among all daemons' lines in the log of condor_master. It does nothing if there is no log to find.
func (p *process) tell(why error) {
	if p.options.Terminal || p.Source.HTCondor() == nil || p.site.Inherited.Parent == 0 {
		return
	}
	if p.file == nil {
		if p.giveUpRoot() != nil { // what root wrote could not be written on
			return
		}
		r, _, _ := rotation(p.site.Config, "MAX_NEGOTIATOR_LOG", "MAX_NUM_NEGOTIATOR_LOG", "TRUNC_NEGOTIATOR_LOG_ON_OPEN")
		file, err := daemon.OpenLog(p.site.Config.Text("NEGOTIATOR_LOG"), r, false)
		if err != nil {
			return
		}
		p.file = file
	}
	daemon.NewLogger(hclog.Info, p.file).Error("THE CONFIGURATION CANNOT BE USED: nothing is matched until it is repaired", "error", why)
	_ = p.file.Close() // the line is written already
}

// openFiles opens the log and the match log that HTCondor's configuration names, at a start.
func (p *process) openFiles(level hclog.Level) error {
	r, afresh, err := rotation(p.site.Config, "MAX_NEGOTIATOR_LOG", "MAX_NUM_NEGOTIATOR_LOG", "TRUNC_NEGOTIATOR_LOG_ON_OPEN")
	if err != nil {
		return err
	}
	if p.file, err = daemon.OpenLog(p.site.Config.Text("NEGOTIATOR_LOG"), r, afresh); err != nil {
		return fmt.Errorf("NEGOTIATOR_LOG: %w", err)
	}
	p.Logger = daemon.NewLogger(level, p.file)
	return p.openMatchLog(p.site.Config, true)
}

// openMatchLog opens the match log that a configuration names, in the place of the present one, which
// stays if that fails. At a start what was in it may be dropped. An observer has none: it matches
// nothing, and the file is that of another negotiator.
func (p *process) openMatchLog(c *condorconfig.Config, start bool) error {
	if p.file == nil || p.site.Settings.Observe {
		return nil
	}
	p.noting.Store(daemon.Matches(c.List("NEGOTIATOR_DEBUG")))
	var next *daemon.LogFile
	switch path := c.Text("NEGOTIATOR_MATCH_LOG"); path {
	case "":
	case c.Text("NEGOTIATOR_LOG"): // two that rotate one file would lose lines
		next = p.file
	default:
		r, afresh, err := rotation(
			c, "MAX_NEGOTIATOR_MATCH_LOG", "MAX_NUM_NEGOTIATOR_MATCH_LOG", "TRUNC_NEGOTIATOR_MATCH_LOG_ON_OPEN")
		if err != nil {
			return err
		}
		if next, err = daemon.OpenLog(path, r, afresh && start); err != nil {
			return fmt.Errorf("NEGOTIATOR_MATCH_LOG: %w", err)
		}
	}
	p.closeMatchLog(p.matchLog.Swap(next))
	return nil
}

func (p *process) closeMatchLog(l *daemon.LogFile) {
	if l != nil && l != p.file {
		_ = l.Close() // every line is written already
	}
}

// note adds a line about a match to the match log, if there is one, and to the log if its flags have
// D_MATCH, as they do by default. Either has a budget for rejections.
func (p *process) note(line string) {
	l := p.matchLog.Load()
	for _, line := range p.notes.Admit(line) {
		if l != nil {
			l.Note(line)
		}
		if p.noting.Load() && l != p.file {
			p.file.Note(line)
		}
	}
}

// reopenLogs goes on with the log files that a configuration names.
func (p *process) reopenLogs(c *condorconfig.Config) {
	if p.file == nil {
		return
	}
	r, _, err := rotation(c, "MAX_NEGOTIATOR_LOG", "MAX_NUM_NEGOTIATOR_LOG", "TRUNC_NEGOTIATOR_LOG_ON_OPEN")
	if err == nil {
		err = p.file.Reopen(c.Text("NEGOTIATOR_LOG"), r)
	}
	if err != nil {
		p.Logger.Warn("the log stays where it is", "error", err)
	}
	if err = p.openMatchLog(c, false); err != nil {
		p.Logger.Warn("the match log stays where it is", "error", err)
	}
}

func (p *process) closeLogs() {
	daemon.Tell(p.Logger)
	p.closeMatchLog(p.matchLog.Swap(nil))
	if p.file != nil {
		_ = p.file.Close() // every line is written already
	}
}

// rotation returns when a log begins a new file, and whether it is emptied at a start, by the names of
// the knobs.
func rotation(c *condorconfig.Config, most, number, truncate string) (r daemon.Rotation, afresh bool, err error) {
	size, every, errSize := c.LogSize(most)
	n, errKeep := c.Int(number)
	afresh, errAfresh := c.Bool(truncate)
	return daemon.Rotation{Size: size, Every: every, Keep: int(n)}, afresh, errors.Join(errSize, errKeep, errAfresh)
}

// debugLevel returns the log level by NEGOTIATOR_DEBUG; info without HTCondor's configuration.
func (p *process) debugLevel() string {
	if c := p.Source.HTCondor(); c != nil {
		return daemon.Level(c.List("NEGOTIATOR_DEBUG")).String()
	}
	return "info"
}
