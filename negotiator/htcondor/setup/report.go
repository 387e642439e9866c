package setup

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
)

// Report tells what was done, or in a dry run what would be.
type Report struct {
	Was    Mode     `json:"was"`
	Is     Mode     `json:"is"`
	DryRun bool     `json:"dry_run"`
	File   string   `json:"file"`
	Lines  []string `json:"lines"` // in force in the file
	Did    []string `json:"did"`   // nil: nothing was to do
	// Name and Policy are of the negotiator that works now; HTCondor's own has no policy.
	Name   string `json:"name"`
	Policy string `json:"policy"`
	// Again says that the same was to start anew, and Down that HTCondor does not run here.
	Again bool `json:"again,omitempty"`
	Down  bool `json:"down,omitempty"`
	// Moved says that usage and priorities moved along.
	Moved bool `json:"accounting_moved"`
	// NotLending are machines whose START does not heed leases, in order.
	NotLending []string `json:"start_missing"`
	Error      string   `json:"error,omitempty"`
}

// titles are what negotiators are called.
var titles = map[Mode]string{
	Stock: "negotiator of HTCondor", Observe: "negotiator that observes", Live: "backfill negotiator",
}

// did notes a step.
func (s *Setup) did(format string, args ...any) {
	step := fmt.Sprintf(format, args...)
	s.report.Did = append(s.report.Did, step)
	if s.Say != nil {
		s.Say(step)
	}
}

// shown is how many machines are named; --json has them all.
const shown = 5

// Words says what came of it, in lines.
func (r Report) Words() string {
	var text strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }
	switch {
	case r.Again && r.Is == Stock:
		line("Nothing is to do: no negotiator of ours is set up here.")
	case r.Down:
		line("HTCondor does not run on this machine: the %s will be at work when it starts.", titles[r.Is])
	case r.Did == nil:
		line("Nothing is to do: the %s is at work.", titles[r.Is])
	case r.DryRun && len(r.Lines) > 0:
		line("These lines of the file would be in force:\n  %s", strings.Join(r.Lines, "\n  "))
	case r.DryRun:
	case r.Is == Observe:
		line("%s plans beside HTCondor's own negotiator, and matches nothing (policy %s).", r.Name, r.Policy)
		line("Look at it tomorrow:  negotiator start-times; negotiator start-times --accuracy")
		line("Judge it in a week:   negotiator observe-report")
		line("Then let it match:    negotiator setup --live")
		line("Or take it away:      negotiator setup --back")
	case r.Is == Live:
		line("%s plans and matches (policy %s).", r.Name, r.Policy)
		line("To go back:  negotiator setup --back")
		if !r.Moved && r.Was != Live {
			line("Usage and priorities of HTCondor's own negotiator come along with --move-accounting, or by " +
				"negotiator import-accounting.")
		}
	default:
		line("HTCondor's own negotiator is at work: %s.", r.Name)
		if r.Was == Live && !r.Moved {
			line("Its user priorities (condor_userprio) go on as it left them: what was used and set meanwhile does not " +
				"count there, unless --move-accounting or negotiator export-accounting takes it along. It is kept in the " +
				"folder of BACKFILL_STATE, for the next time.")
		}
	}
	if n := len(r.NotLending); n > 0 {
		names := slices.Clone(r.NotLending[:min(n, shown)])
		if n > shown {
			names = append(names, "…")
		}
		line("\nOn %d machines short jobs of users who submit others, too, start slowly: %s. Add this line there, after all others about START, "+
			"and run condor_reconfig:\n  %s\nTo check:  condor_status -af:r Machine Start", n, strings.Join(names, ", "),
			condorconfig.StartLine)
	}
	return text.String()
}
