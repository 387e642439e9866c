package rehearsal

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// again returns the command that runs a saved round alone, as it is configured at that time.
func (p *Rehearsal) again(path string) string {
	s := p.Settings
	words := []string{"condorsim run --instance", cli.Quoted(path), "--policy", cli.Quoted(s.Policy)}
	keyed := func(flag string, values map[string]string) {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			words = append(words, flag, cli.Quoted(name+"="+values[name]))
		}
	}
	keyed("--policy-opt", s.Options)
	pool := s.Pool
	if pool == embedded {
		pool = "" // the instance has the size of its machine
	}
	for _, flag := range []struct{ name, value, usual string }{
		{"--order", s.Order, ""},
		{"--pool", pool, ""},
		{"--placement", s.Placement, "rank"},
		{"--plan-depth", strconv.Itoa(s.PlanDepth), "0"},
		{"--plan-horizon", strconv.FormatInt(int64(s.PlanHorizon/time.Second), 10), "0"},
		{"--estimates", s.Estimates, ""},
		{"--estimates-order", s.EstimatesOrder, ""},
		{"--estimates-backfill", s.EstimatesBackfill, ""},
		{"--estimates-running", s.EstimatesRunning, ""},
		{"--history", s.History, ""},
		{"--plugin-dir", strings.Join(s.Plugins.Dirs, ","), ""},
	} {
		if flag.value != "" && flag.value != flag.usual {
			words = append(words, flag.name, cli.Quoted(flag.value))
		}
	}
	keyed("--estimates-opt", s.EstimatesOptions)
	if s.Reorder {
		words = append(words, "--reorder")
	}
	return strings.Join(words, " ")
}
